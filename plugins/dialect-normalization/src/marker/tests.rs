use proptest::prelude::*;

use super::*;

fn rules() -> Rules {
    Rules { dialects: Dialect::ALL.to_vec(), names: None, max_marker: 1000 }
}

fn read(text: &str) -> Reading {
    Marker::default().read(text, &rules())
}

/// The call that the whole text is.
fn call(text: &str) -> (String, String) {
    match read(text) {
        Reading::Call(length, call) if length == text.len() => (call.name, call.arguments),
        other => panic!("{text} reads as {other:?}"),
    }
}

fn expected(name: &str, arguments: &str) -> (String, String) {
    (name.to_owned(), arguments.to_owned())
}

#[test]
fn every_dialect_is_read_with_its_liberties() {
    let search = expected("search", r#"{"q": "x"}"#);
    for text in [
        r#"<tool name="search">{"q": "x"}</tool>"#,
        r#"<tool name='search'>{"q": "x"}</tool>"#,
        "<TOOL\n id='7'  Name = \"search\" kind='function' >\n {\"q\": \"x\"} \n</Tool >",
        r#"<tool_call>{"name":"search","arguments":{"q": "x"}}</tool_call>"#,
        "<tool_call>\n{\"arguments\": {\"q\": \"x\"}, \"name\": \"search\"}\n</tool_call>",
        r#"<tool_call>{"name":"search","parameters":{"q": "x"}}</tool_call>"#,
        r#"<tool_call>{"name":"search","arguments":"{\"q\": \"x\"}"}</tool_call>"#,
        r#"<function=search>{"q": "x"}</function>"#,
        r#"<function = "search" > {"q": "x"} </function>"#,
        r#"{0:"search", 1:{"q": "x"}}"#,
        "{ 0 : 'search' ,\n 1 : {\"q\": \"x\"} }",
    ] {
        assert_eq!(call(text), search, "{text}");
    }
}

#[test]
fn a_call_without_arguments_has_an_empty_object() {
    for text in [
        "<tool name='now'></tool>",
        "<tool name='now'> {} </tool>",
        "<tool name='now' />",
        "<tool name='now'/>",
        "<function=now></function>",
        r#"<tool_call>{"name":"now"}</tool_call>"#,
        r#"<tool_call>{"name":"now","arguments":null}</tool_call>"#,
        "{0:'now',1:{}}",
    ] {
        assert_eq!(call(text), expected("now", "{}"), "{text}");
    }
}

#[test]
fn braces_quotes_and_tags_in_arguments_end_nothing() {
    let arguments = r#"{"a": {"b": "}} </tool> \" { \\"}, "c": [{}, "é}"]}"#;
    assert_eq!(call(&format!("<tool name=\"f\">{arguments}</tool>")), expected("f", arguments));
    assert_eq!(call(&format!("{{0:\"f\",1:{arguments}}}")), expected("f", arguments));
}

#[test]
fn what_is_no_marker_is_given_back_at_once() {
    for text in [
        "<b",
        "< tool",
        "<toolbox",
        "<tool>{}",
        "<tool name=>",
        "<tool name=\"\">",
        "<tool name=\"a b\">",
        "<tool/>",
        "<tool name=\"f\">no",
        "<tool name=\"f\" =",
        "<tool_calls>",
        "<tool_call> [",
        "<function=>",
        "<function=f g",
        "<function>",
        "{\"0\"",
        "{ 1",
        "{0:f",
        "{0:\"f\"}",
        "{0:\"f\",2",
        "{0:\"f\",1:\"",
        "{}",
    ] {
        assert_eq!(read(text), Reading::Text(1), "{text}");
    }
}

#[test]
fn bad_arguments_are_given_back_with_their_opening() {
    for (text, length) in [
        ("<tool name=\"f\">{'q': 1}</tool>", 23),
        ("<tool name=\"f\">{\"q\": 1,}</tool>", 24),
        ("<tool name=\"f\">{\"q\": 1} or so</tool>", 23),
        ("<tool_call>{\"name\":\"f\",\"arguments\":[1]}</tool_call>", 39),
        ("<tool_call>{\"name\":\"f\",\"arguments\":\"x\"}</tool_call>", 39),
        ("<tool_call>{\"arguments\":{}}</tool_call>", 27),
        ("<tool_call>{\"name\":\"\"}</tool_call>", 22),
        ("<function=f>{\"q\": 1}</tool>", 20),
        ("{0:\"f\",1:{\"q\"}}", 14),
    ] {
        assert_eq!(read(text), Reading::Text(length), "{text}");
    }
}

#[test]
fn only_allowed_names_are_calls() {
    let rules = Rules { names: Some(vec!["search".to_owned()]), ..rules() };
    for (text, is_call) in [
        ("<tool name='search'/>", true),
        ("<tool name='Search'/>", false),
        ("<function=rm>{}</function>", false),
        ("{0:'rm',1:{}}", false),
        (r#"<tool_call>{"name":"search"}</tool_call>"#, true),
        (r#"<tool_call>{"name":"rm"}</tool_call>"#, false),
    ] {
        let reading = Marker::default().read(text, &rules);
        assert_eq!(matches!(reading, Reading::Call(..)), is_call, "{text}");
    }
}

#[test]
fn only_the_configured_dialects_are_read() {
    let rules = Rules { dialects: vec![Dialect::Tuple], ..rules() };
    assert_eq!(Marker::default().read("<tool name='f'/>", &rules), Reading::Text(1));
    assert!(matches!(Marker::default().read("{0:'f',1:{}}", &rules), Reading::Call(..)));
}

#[test]
fn a_marker_over_its_bound_is_given_back_as_far_as_it_was_read() {
    let rules = Rules { max_marker: 64, ..rules() };
    let of_length = |length: usize| format!("<function=f>{{\"é\":\"{}\"}}</function>", "é".repeat(length - 20));
    assert!(matches!(Marker::default().read(&of_length(64), &rules), Reading::Call(..)));
    let over = of_length(65);
    let bytes = over.char_indices().nth(64).unwrap().0;
    assert_eq!(Marker::default().read(&over, &rules), Reading::Text(bytes));
    assert_eq!(Marker::default().read(&over[..bytes], &rules), Reading::Text(bytes));
}

#[test]
fn an_opening_or_closing_of_mostly_white_space_is_given_back() {
    let space = " ".repeat(LONGEST_EDGE);
    assert_eq!(read(&format!("<tool{space}")), Reading::Text(1));
    assert_eq!(read(&format!("<tool{space}name='f'/>")), Reading::Text(1));
    assert_eq!(read(&format!("<tool name='f'>{{}}{space}</tool>")), Reading::Text(17));
}

proptest! {
    /// Pieces of markers in any order, so that what is read comes near to markers often.
    #[test]
    fn a_reading_does_not_depend_on_where_the_text_is_cut(
        first in prop::sample::select(vec!["<tool", "<tool name='f'>", "<tool_call>", "<function=f>", "{0:'f',1:"]),
        parts in prop::collection::vec(prop::sample::select(vec![
            "<tool", "<tool_call", "<function=", " ", "name=", "\"f\"", "'f'", "f", ">", "/>", "{", "}", "\"", "0:", "1:",
            ",", "\\", "{\"name\":\"f\"}", "</tool>", "</tool_call>", "</function>", "é",
        ]), 0..12),
        max_marker in 4..40_usize,
    ) {
        let text = format!("{first}{}", parts.concat());
        let rules = Rules { max_marker, ..rules() };
        let whole = Marker::default().read(&text, &rules);
        let mut marker = Marker::default();
        let mut ends = text.char_indices().map(|(at, character)| at + character.len_utf8());
        let by_character = ends.find_map(|end| {
            let reading = marker.read(&text[..end], &rules);
            (reading != Reading::Incomplete).then_some(reading)
        });
        prop_assert_eq!(by_character.unwrap_or(Reading::Incomplete), whole);
    }
}
