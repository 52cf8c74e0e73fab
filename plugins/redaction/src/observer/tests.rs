use std::sync::LazyLock;

use proptest::prelude::*;
use seam_plugin_testkit::{Kit, OnEndHeld, Policy, Run, ScriptedChunk};
use serde_json::Value;

use super::*;
use crate::Redaction;
use crate::reference;
use crate::stream::tests::{NEAR_MISSES, SECRETS, any_index, cut, every_kind, jumble};

fn kit() -> &'static Kit {
    static KIT: LazyLock<Kit> = LazyLock::new(|| Kit::of::<Redaction>("{}").expect("the empty table is one"));
    &KIT
}

fn finish() -> ScriptedChunk {
    ScriptedChunk::new(ChunkKind::Finish, "stop")
}

fn assert_clean(run: &Run) {
    assert!(run.faults.is_empty(), "{:?}", run.faults);
    assert_eq!(run.out.len(), run.sent.len(), "one for one");
    assert!(run.out.iter().zip(0..).all(|(chunk, seq)| chunk.seq == seq), "in order");
}

fn texts(run: &Run) -> Vec<&str> {
    run.out.iter().map(|chunk| chunk.text.as_str()).collect()
}

#[test]
fn redaction_is_the_same_at_every_cut() {
    let redactor = every_kind();
    let kit = kit();
    for text in SECRETS.into_iter().chain(NEAR_MISSES) {
        kit.assert_same_at_every_cut(text, &reference::redact(redactor, text));
    }
}

#[test]
fn an_answer_without_a_match_leaves_as_it_came() {
    let pieces = ["The", " quick", " brown", " fox", " is", " 12", " years", " old", ",", " not", " 13", "."];
    let run = kit().run(pieces.map(ScriptedChunk::content).into_iter().chain([finish()]));
    assert_clean(&run);
    assert!(run.out.iter().all(|chunk| !chunk.amended), "{:?}", run.out);
    assert_eq!(run.out.iter().map(|chunk| &*chunk.text).collect::<String>(), pieces.concat() + "stop");
}

#[test]
fn a_label_leaves_in_the_chunk_in_which_the_match_begins() {
    let run = kit().run(
        ["card 41", "11 1111 ", "1111 11", "11 is", " mine."].map(ScriptedChunk::content).into_iter().chain([finish()]),
    );
    assert_clean(&run);
    assert_eq!(texts(&run), ["card [REDACTED:card]", "", "", " is", " mine.", "stop"]);
    assert!(!run.out[4].amended, "nothing of it was changed");
}

#[test]
fn nothing_is_held_behind_a_finished_word() {
    let verdicts = kit().run(["Hello world, ", "done! "]).verdicts_of("redaction");
    assert_eq!(verdicts, [Verdict::Continue, Verdict::Continue]);
}

#[test]
fn a_large_chunk_does_not_wait_as_a_whole_for_its_last_word() {
    let long = "; then a good many words that are settled at once, and on";
    let run = kit().run(["One", long, "e."].map(ScriptedChunk::content).into_iter().chain([finish()]));
    assert_clean(&run);
    assert_eq!(texts(&run), ["One; then a good many words that are settled at once, and ", "on", "e.", "stop"]);
}

#[test]
fn a_key_of_many_chunks_is_swallowed_and_not_held() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n".repeat(80);
    let key = format!("Key: -----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\nDone.");
    let run = kit().run(key.chars().map(ScriptedChunk::content).chain([finish()]));
    assert_clean(&run);
    assert_eq!(run.content(), "Key: [REDACTED:private_key]\nDone.");
}

#[test]
fn what_is_held_at_the_finish_is_settled_as_the_end() {
    for (text, expected) in [
        ("write to bob@acme.com", "write to [REDACTED:email]"),
        ("write to bob", "write to bob"),
        ("4111 1111 1111 1111", "[REDACTED:card]"),
        ("-----BEGIN PRIVATE KEY-----\nMII", "[REDACTED:private_key]"),
    ] {
        let run = kit().run([ScriptedChunk::content(text), finish()]);
        assert_clean(&run);
        assert_eq!(run.content(), expected);
    }
}

#[test]
fn a_stream_cut_off_without_a_finish_fails_closed_only_with_discard() {
    let cut_off = ["write to bob@ac", "me.c"];
    assert_eq!(kit().run(cut_off).content(), "write to bob@acme.c");
    let policy = Policy { on_end_held: OnEndHeld::Discard, ..Policy::default() };
    let kit = Kit::of::<Redaction>(r#"{"kinds": ["email"]}"#).expect("a table").policy(policy);
    let run = kit.run(cut_off);
    assert_eq!(run.content(), "");
}

#[test]
fn reasoning_that_ends_in_a_word_does_not_hold_up_the_answer() {
    let answer = (0..20).map(|_| ScriptedChunk::content("so. "));
    let run = kit().run([ScriptedChunk::reasoning("I am done")].into_iter().chain(answer).chain([finish()]));
    assert_clean(&run);
    let verdicts = run.verdicts_of("redaction");
    assert!(matches!(verdicts[8], Verdict::Release(_)), "{verdicts:?}");
    assert_eq!(verdicts[9], Verdict::Continue);
}

#[test]
fn the_rest_of_a_match_that_was_let_go_is_taken_out() {
    let answer = (0..9).map(|_| ScriptedChunk::content("so. "));
    let run = kit().run(
        [ScriptedChunk::reasoning("4111 1111 ")]
            .into_iter()
            .chain(answer)
            .chain([ScriptedChunk::reasoning("1111 1111 it is."), finish()]),
    );
    assert_clean(&run);
    assert_eq!(run.text_of(ChunkKind::ReasoningDelta), "4111 1111 [REDACTED:card] it is.");
}

#[test]
fn blocks_with_one_finish_for_all_are_settled_by_it() {
    let run = kit().run([
        ScriptedChunk::reasoning("Hm.").in_choice(0),
        ScriptedChunk::content("Write to bob@acme.com").in_choice(1),
        finish().in_choice(0),
    ]);
    assert_clean(&run);
    assert_eq!(run.content_of(1), "Write to [REDACTED:email]");
}

#[test]
fn a_match_in_signed_text_ends_the_stream_in_front_of_it() {
    let signed = |text: &str| ScriptedChunk::reasoning(text).signed();
    let run = kit().run([signed("The card "), signed("is 4111 1111 "), signed("1111 1111"), signed(" then"), finish()]);
    let stop = run.stop.as_ref().expect("a stop");
    assert_eq!(stop.reason, "redaction_in_signed_text");
    assert_eq!(texts(&run), ["The card "]);
    let run = kit().run([signed("The card "), signed("is 4111 1112 "), signed("1111 1111"), signed(" then"), finish()]);
    assert!(run.stop.is_none() && run.out.iter().all(|chunk| !chunk.amended), "{:?}", run.out);
    let long = "a word and ".repeat(9);
    let run = kit().run([signed("one me"), signed(&format!("{long}me")), finish()]);
    assert!(run.faults.is_empty() && run.out.iter().all(|chunk| !chunk.amended), "no text is moved: {:?}", run.out);
}

#[test]
fn signed_text_is_left_alone_where_the_table_says_so() {
    let kit = Kit::of::<Redaction>(r#"{"signed": "pass"}"#).expect("a table");
    let run = kit.run([
        ScriptedChunk::reasoning("4111 1111 1111 1111 ").signed(),
        ScriptedChunk::reasoning("4111 1111 1111 1111 "),
        finish(),
    ]);
    assert_clean(&run);
    assert_eq!(texts(&run), ["4111 1111 1111 1111 ", "[REDACTED:card] ", "stop"]);
}

#[test]
fn a_choice_that_ends_does_not_let_go_of_another() {
    let run = kit().run([
        ScriptedChunk::content("4111 1111 "),
        ScriptedChunk::content("Write to bob@acme.com").in_choice(1),
        finish().in_choice(1),
        finish().in_choice(2),
        ScriptedChunk::content("1111 1111 it is."),
        finish(),
    ]);
    assert_clean(&run);
    assert_eq!(run.content(), "[REDACTED:card] it is.");
    assert_eq!(run.content_of(1), "Write to [REDACTED:email]");
}

#[test]
fn texts_of_thousands_of_choices_are_each_redacted() {
    const CHOICES: u32 = 20_000;
    let of_choice = |choice: u32| {
        [ScriptedChunk::content("card 4111 1111 1111 1111"), finish()].map(|chunk| chunk.in_choice(choice))
    };
    let run = kit().run((0..CHOICES).flat_map(of_choice));
    assert_clean(&run);
    assert!((0..CHOICES as usize).all(|choice| run.out[2 * choice].text == "card [REDACTED:card]"));
}

/// What becomes of an opaque chunk's payload.
fn opaque(payload: &str) -> String {
    let chunk = ScriptedChunk { payload: Some(payload.to_owned()), ..ScriptedChunk::new(ChunkKind::Opaque, "") };
    let run = kit().run([chunk]);
    assert_clean(&run);
    let out = run.out[0].payload.clone().expect("a payload");
    assert_eq!(run.out[0].kind, ChunkKind::Opaque);
    assert_eq!(run.out[0].amended, out != payload);
    serde_json::from_str::<serde::de::IgnoredAny>(&out).expect("still JSON");
    out
}

#[test]
fn what_is_not_recognised_is_read_as_json() {
    for (payload, expected) in [
        (r#"{"to":"bob@acme.com","n":5}"#, r#"{"to":"[REDACTED:email]","n":5}"#),
        (r#"[4111111111111111, "\u0034111 1111 1111 1111"]"#, r#"["[REDACTED:card]", "[REDACTED:card]"]"#),
        (r#"["\u0034111 1111 1111 1111 \"x\""]"#, r#"["[REDACTED:card] \"x\""]"#),
        ("4111111111111111", r#""[REDACTED:card]""#),
        (" 4111111111111111\n", " \"[REDACTED:card]\"\n"),
        (r#""<html>bob@acme.com""#, r#""<html>[REDACTED:email]""#),
        (r#""{\"a\":NaN,\"b\":\"bob@acme.com\"}""#, r#""{\"a\":NaN,\"b\":\"[REDACTED:email]\"}""#),
        (r#"{"half":"\ud800","b":null}"#, r#"{"half":"\ud800","b":null}"#),
        ("null", "null"),
    ] {
        assert_eq!(opaque(payload), expected);
    }
}

#[test]
fn what_is_not_recognised_stays_json_however_long_or_deep_it_is() {
    let digits = "7".repeat(1000);
    assert_eq!(
        opaque(&format!(r#"[{digits},"bob@acme.com",4111111111111111]"#)),
        format!(r#"[{digits},"[REDACTED:email]","[REDACTED:card]"]"#)
    );
    let (open, close) = ("[".repeat(5000), "]".repeat(5000));
    assert_eq!(opaque(&format!(r#"{open}"bob@acme.com"{close}"#)), format!(r#"{open}"[REDACTED:email]"{close}"#));
}

#[test]
fn what_is_not_recognised_keeps_its_place_behind_held_text() {
    let payload = serde_json::json!({"mail": "bob@acme.com"});
    for rest in [" is mine.", "111 1111 it is."] {
        let run = kit().run([
            ScriptedChunk::content("4111 1111 1"),
            ScriptedChunk::opaque(&payload),
            ScriptedChunk::content(rest),
            finish(),
        ]);
        assert_clean(&run);
        assert_eq!(run.out[1].payload.as_deref(), Some(r#"{"mail":"[REDACTED:email]"}"#));
    }
    let run = kit().run([ScriptedChunk::content("bob"), ScriptedChunk::opaque(&payload)]);
    assert_eq!(run.out[1].payload.as_deref(), Some(r#"{"mail":"[REDACTED:email]"}"#));
}

#[test]
fn what_is_not_recognised_passes_where_it_is_not_named() {
    let kit = Kit::of::<Redaction>(r#"{"fields": ["content"]}"#).expect("a table");
    let run = kit.run([ScriptedChunk::opaque(&serde_json::json!({"mail": "bob@acme.com"}))]);
    assert!(!run.out[0].amended);
}

#[test]
fn fields_that_are_not_named_pass_untouched() {
    let kit = Kit::of::<Redaction>(r#"{"fields": ["content"], "kinds": ["email"], "replacement": "({kind})"}"#)
        .expect("a table");
    let run = kit.run([ScriptedChunk::reasoning("bob@acme.com"), ScriptedChunk::content("bob@acme.com"), finish()]);
    assert_eq!(texts(&run), ["bob@acme.com", "(email)", "stop"]);
}

#[test]
fn allowed_texts_stay() {
    let kit = Kit::of::<Redaction>(r#"{"allow": ["support@acme.com", "10.0.0.1"]}"#).expect("a table");
    kit.assert_same_at_every_cut(
        "support@acme.com, support@acme.co, 10.0.0.1 and 10.0.0.12.",
        "support@acme.com, [REDACTED:email], 10.0.0.1 and [REDACTED:ipv4].",
    );
}

#[test]
fn faults_of_the_table_name_their_keys() {
    let error = Kit::of::<Redaction>(r#"{"kinds": ["email", "passport"], "patterns": [{"name": "x"}], "colour": 1}"#)
        .expect_err("faults");
    insta::assert_snapshot!(error.to_string());
}

#[test]
fn arguments_stay_json() {
    let redactor = every_kind();
    for (arguments, expected) in [
        (r#"{"to":"bob@acme.com","n":5}"#, r#"{"to":"[REDACTED:email]","n":5}"#),
        (r#"{"card":4111111111111111}"#, r#"{"card":"[REDACTED:card]"}"#),
        (r#"[4111111111111111, 12, -0.5e3, true, null]"#, r#"["[REDACTED:card]", 12, -0.5e3, true, null]"#),
        (
            r#"{"a":"\u0034111 1111\u00201111 1111\n","b":"\ud83d\ude00 \"x\\"}"#,
            r#"{"a":"[REDACTED:card]\n","b":"\ud83d\ude00 \"x\\"}"#,
        ),
        (
            r#"{"key":"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"}"#,
            r#"{"key":"[REDACTED:private_key]\n"}"#,
        ),
        (
            r#"{"a":"4111 1111","b":"1111 1111","bob@acme.com":[]}"#,
            r#"{"a":"4111 1111","b":"1111 1111","[REDACTED:email]":[]}"#,
        ),
        (r#""ssn 123-45-6789""#, r#""ssn [REDACTED:ssn]""#),
        ("plain bob@acme.com \"x", "plain [REDACTED:email] \"x"),
        ("{ mail: bob@acme.com, 4111 1111 1111 1111", "{ mail: [REDACTED:email], [REDACTED:card]"),
    ] {
        let redactor_agrees = reference::redact(redactor, arguments);
        let borders: Vec<usize> = (0..=arguments.len()).filter(|&at| arguments.is_char_boundary(at)).collect();
        for cuts in borders.iter().map(|&at| vec![at]).chain([borders.clone()]) {
            let run = run_arguments(arguments, &cuts);
            assert_clean(&run);
            assert_eq!(
                run.text_of(ChunkKind::ToolCallDelta),
                expected,
                "cut at {cuts:?}; as plain text: {redactor_agrees}"
            );
        }
    }
}

fn run_arguments(arguments: &str, cuts: &[usize]) -> Run {
    let mut chunks = vec![ScriptedChunk::tool_call(0, "call-1", "send", "")];
    chunks.extend(pieces(arguments, cuts).into_iter().map(|piece| ScriptedChunk::tool_arguments(0, piece)));
    chunks.push(finish());
    kit().run(chunks)
}

fn pieces<'a>(text: &'a str, cuts: &[usize]) -> Vec<&'a str> {
    let ends = cuts.iter().copied().chain([text.len()]);
    ends.scan(0, |from, to| Some(&text[std::mem::replace(from, to)..to])).collect()
}

/// A JSON value with secrets in its keys and strings, and what it should become.
fn redacted(redactor: &Redactor, value: &Value) -> Value {
    match value {
        Value::String(text) => reference::redact(redactor, text).into(),
        Value::Array(values) => values.iter().map(|value| redacted(redactor, value)).collect(),
        Value::Object(table) => {
            table.iter().map(|(key, value)| (reference::redact(redactor, key), redacted(redactor, value))).collect()
        }
        other => other.clone(),
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        jumble().prop_map(Value::from),
        (0..100_u8).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    prop::collection::vec(("[a-c]", leaf), 1..4).prop_map(|entries| Value::Object(entries.into_iter().collect()))
}

/// Writes some characters of the strings as escapes.
fn escaped(json: &str, indices: &[prop::sample::Index]) -> String {
    let mut out: Vec<String> = json.chars().map(String::from).collect();
    for index in indices {
        let at = index.index(out.len());
        let symbol = &out[at];
        if symbol.len() == 1
            && symbol.chars().all(|symbol| symbol.is_ascii_digit())
            && out[..at].concat().matches('"').count() % 2 == 1
        {
            let before = at.checked_sub(1).map(|at| out[at].clone());
            if before.as_deref() != Some("\\") {
                out[at] = format!("\\u{:04x}", u32::from(symbol.as_bytes()[0]));
            }
        }
    }
    out.concat()
}

/// Chunks of several texts, each in order, interleaved as the numbers say.
fn interleaved(mut texts: Vec<Vec<ScriptedChunk>>, order: &[usize]) -> Vec<ScriptedChunk> {
    texts.iter_mut().for_each(|chunks| chunks.reverse());
    let mut out = Vec::new();
    let mut turn = 0;
    while texts.iter().any(|chunks| !chunks.is_empty()) {
        let at = order.get(turn % order.len().max(1)).copied().unwrap_or(turn) % texts.len();
        turn += 1;
        // No text is left behind for longer than an observer waits for one.
        let longest = (0..texts.len()).max_by_key(|&at| texts[at].len()).expect("texts");
        let at = if texts[at].is_empty() || turn % 3 == 0 { longest } else { at };
        out.extend(texts[at].pop());
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn interleaved_choices_are_each_redacted_as_a_whole(
        first in jumble(), second in jumble(), thought in jumble(),
        cuts in prop::collection::vec(any_index(), 0..5),
        others in prop::collection::vec(any_index(), 0..5),
        order in prop::collection::vec(0..3_usize, 1..8),
    ) {
        let redactor = every_kind();
        let chunks_of = |text: &str, cuts: &[prop::sample::Index], make: &dyn Fn(&str) -> ScriptedChunk| -> Vec<ScriptedChunk> {
            pieces(text, &cut(text, cuts)).into_iter().map(make).collect()
        };
        let mut chunks = interleaved(vec![
            chunks_of(&first, &cuts, &|piece| ScriptedChunk::content(piece)),
            chunks_of(&second, &others, &|piece| ScriptedChunk::content(piece).in_choice(1)),
            chunks_of(&thought, &cuts, &|piece| ScriptedChunk::reasoning(piece)),
        ], &order);
        chunks.extend([finish().in_choice(1), finish(), ScriptedChunk::usage(&serde_json::json!({"total": 1}))]);
        let run = kit().run(chunks);
        assert_clean(&run);
        prop_assert_eq!(run.content(), reference::redact(redactor, &first));
        prop_assert_eq!(run.content_of(1), reference::redact(redactor, &second));
        prop_assert_eq!(run.text_of(ChunkKind::ReasoningDelta), reference::redact(redactor, &thought));
    }

    #[test]
    fn documents_are_redacted_as_what_they_spell(value in json(), escapes in prop::collection::vec(any_index(), 0..4)) {
        let out: Value = serde_json::from_str(&opaque(&escaped(&value.to_string(), &escapes))).expect("JSON");
        prop_assert_eq!(out, redacted(every_kind(), &value));
    }

    #[test]
    fn arguments_are_redacted_as_what_they_spell(
        value in json(), escapes in prop::collection::vec(any_index(), 0..4), indices in prop::collection::vec(any_index(), 0..6),
    ) {
        let redactor = every_kind();
        let arguments = escaped(&value.to_string(), &escapes);
        prop_assert_eq!(&serde_json::from_str::<Value>(&arguments).expect("JSON"), &value);
        let run = run_arguments(&arguments, &cut(&arguments, &indices));
        assert_clean(&run);
        let out: Value = serde_json::from_str(&run.text_of(ChunkKind::ToolCallDelta)).expect("still JSON");
        prop_assert_eq!(out, redacted(redactor, &value));
    }
}
