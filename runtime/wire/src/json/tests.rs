//! The scanner against `serde_json`: what is accepted, where values lie, what strings spell.

use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::*;

fn accepted(text: &str) -> bool {
    is_document(text)
}

#[test]
fn accepts_and_rejects_what_serde_json_does() {
    let cases = [
        "",
        " ",
        "null",
        "nul",
        "true",
        "false ",
        "truex",
        "0",
        "-0",
        "01",
        "1.",
        ".5",
        "1.5e",
        "1.5e+3",
        "-",
        "+1",
        "1e5",
        "1E-5",
        "\"\"",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u123g\"",
        "\"\\u1234\"",
        "\"\t\"",
        "\"\u{7f}\"",
        "{}",
        "{",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{\"a\":1 \"b\":2}",
        "{a:1}",
        "[]",
        "[",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1,2",
        "[1]]",
        "\u{FEFF}1",
        " [ 1 , { \"a\" : [ ] } ] ",
        "1 2",
        "{\"a\":1}x",
        "nan",
        "Infinity",
        "'a'",
        "[1]\u{a0}",
        "\"\\\"",
        "\"é🦀\"",
        "-a",
        "1.e1",
        "[tru]",
    ];
    for case in cases {
        assert_eq!(accepted(case), serde_json::from_str::<IgnoredAny>(case).is_ok(), "{case:?}");
    }
}

#[test]
fn nesting_is_bounded_where_serde_json_bounds_it() {
    for depth in [1, 126, 127, 128, 129, 100_000] {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(accepted(&text), serde_json::from_str::<Value>(&text).is_ok(), "{depth} deep");
    }
}

/// The deliberate differences to `serde_json`: read, but as no strict document.
#[test]
fn what_common_encoders_write_is_read_and_known_as_loose() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for (text, strictly) in [
        ("NaN", "null".to_owned()),
        ("-Infinity ", "null ".to_owned()),
        ("[Infinity, {\"a\" :NaN}, -1]", "[null, {\"a\" :null}, -1]".to_owned()),
        (&deep(128), format!("{}null{}", "[".repeat(127), "]".repeat(127))),
        (&deep(512), format!("{}null{}", "[".repeat(127), "]".repeat(127))),
    ] {
        assert!(is_readable(text) && !is_document(text), "{text}");
        assert_eq!(strict(text), strictly);
        assert!(is_document(&strictly));
    }
    assert!(is_readable("\u{FEFF} {}") && document_span("\u{FEFF} {} ") == Span::new(4, 6));
    for text in
        ["-NaN", "nan", "NaNa", "Inf", "+Infinity", "Infinit", "[N]", " \u{FEFF}1", "\"\u{1}\"", "[1,]", &deep(513)]
    {
        assert!(!is_readable(text), "{text}");
    }
    assert_eq!(strict(" {\"a\": [1.50]} "), " {\"a\": [1.50]} ");
}

#[test]
fn a_control_character_or_quote_is_found_at_every_position_of_a_block() {
    for length in 0..40 {
        for (byte, stops) in [
            ('"', true),
            ('\\', true),
            ('\u{1f}', true),
            ('\0', true),
            (' ', false),
            ('\u{7f}', false),
            ('é', false),
            ('!', false),
            ('#', false),
        ] {
            let text = format!("{}{byte}{}", "€".repeat(length), "y".repeat(20));
            let expected = if stops { length * 3 } else { text.len() };
            assert_eq!(plain_until(text.as_bytes(), 0), expected, "{byte:?} at {}", length * 3);
        }
    }
}

#[test]
fn a_lone_surrogate_reads_as_the_replacement_character() {
    let spelt = |text: &str| {
        let mut out = String::new();
        unescape(text, &mut out);
        out
    };
    assert!(accepted(r#"{"a":"\uD83E"}"#));
    assert_eq!(spelt(r"\ud83e\udd80 \uD83E\uDD80"), "🦀 🦀");
    assert_eq!(spelt(r"a\uD83Eb"), "a\u{FFFD}b");
    assert_eq!(spelt(r"\uDD80"), "\u{FFFD}");
    assert_eq!(spelt(r"\uD83E\u0041"), "\u{FFFD}A");
    assert_eq!(spelt(r"\uD83E\uD83E\uDD80"), "\u{FFFD}🦀");
    assert_eq!(spelt(r"\uD83E\n"), "\u{FFFD}\n");
}

#[test]
fn the_last_member_of_a_name_counts_however_it_is_spelt() {
    let text = r#"{"a":1,"b":2,"\u0061":3}"#;
    let value = member_of(text, Span::new(0, text.len()), "a").unwrap();
    assert_eq!(value.of_str(text), "3");
}

/// Any document, with the white space and escapes that providers write.
fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f32>().prop_map(|number| Value::from(f64::from(number))),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,5}", inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The value at a span, put together from the scanner's own spans.
fn rebuild(text: &str, span: Span) -> Value {
    match kind_of(text, span) {
        Kind::Object => {
            let members = members_of(text, span);
            Value::Object(
                members
                    .iter()
                    .map(|member| (key_name(text, member.key).into_owned(), rebuild(text, member.value)))
                    .collect(),
            )
        }
        Kind::Array => elements_of(text, span).into_iter().map(|element| rebuild(text, element)).collect(),
        Kind::String => {
            let mut spelt = String::new();
            unescape(span.inside_quotes().of_str(text), &mut spelt);
            Value::from(spelt)
        }
        _ => serde_json::from_str(span.of_str(text)).unwrap(),
    }
}

proptest! {
    #[test]
    fn spans_give_the_values_that_serde_json_reads(value in document(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let read: Value = serde_json::from_str(&text).unwrap();
        prop_assert!(accepted(&text));
        prop_assert_eq!(rebuild(&text, Span::new(0, text.len())), read);
    }

    #[test]
    fn a_damaged_document_is_accepted_exactly_when_serde_json_accepts_it(
        value in document(),
        at in any::<prop::sample::Index>(),
        put in prop::sample::select(vec!["", "\"", "\\", ",", ":", "{", "}", "[", "]", "0", "e", ".", "-", "\\u", " ", "\n", "n"]),
        taken in 0..3_usize,
    ) {
        let text: Vec<char> = value.to_string().chars().collect();
        let at = at.index(text.len() + 1);
        let after = (at + taken).min(text.len());
        let damaged: String = text[..at].iter().copied().chain(put.chars()).chain(text[after..].iter().copied()).collect();
        prop_assert_eq!(accepted(&damaged), serde_json::from_str::<IgnoredAny>(&damaged).is_ok(), "{}", damaged);
    }

    #[test]
    fn random_text_is_accepted_exactly_when_serde_json_accepts_it(text in r#"[\[\]{}",:0-9eE.+\-\\utrfalsn ]{0,12}"#) {
        prop_assert_eq!(accepted(&text), serde_json::from_str::<IgnoredAny>(&text).is_ok());
    }

    #[test]
    fn a_written_string_reads_back(text in any::<String>()) {
        let written = string(&text);
        prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }

    #[test]
    fn escapes_spell_what_serde_json_says(units in prop::collection::vec(any::<char>(), 0..10)) {
        let escaped: String = units.iter().flat_map(|unit| {
            let mut buffer = [0; 2];
            unit.encode_utf16(&mut buffer).iter().map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>()
        }).collect();
        let mut spelt = String::new();
        unescape(&escaped, &mut spelt);
        let read: String = serde_json::from_str(&format!("\"{escaped}\"")).unwrap();
        prop_assert_eq!(spelt, read);
    }
}
