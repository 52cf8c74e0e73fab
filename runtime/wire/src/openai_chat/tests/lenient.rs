//! What lenient clients read and a strict reader would not, or would read in another place: nothing of it passes unseen.

use seam_plugin_api::ChunkKind;
use serde_json::Value;

use super::{
    Seen, content, decode_all, frame, frames, fresh, rendered, rendered_body, rendered_by, seen, shown, text_edit,
    tool_call,
};
use crate::{Body, Decoded, Edit};

const KEEP: Edit<'static> = Edit::Keep;
const REMOVE: Edit<'static> = Edit::Remove;

fn shown_body(body: &str) -> Vec<String> {
    let (mut chat, mut decoded) = (fresh(), Decoded::default());
    chat.decode_body(body.as_bytes(), &mut decoded);
    seen(&decoded, body.as_bytes()).iter().map(Seen::to_string).collect()
}

/// Both names shared one place: the null won, the call was not seen, and an edit elsewhere took `function` away.
#[test]
fn a_custom_null_beside_a_function_does_not_hide_or_delete_it() {
    for call in [
        r#"{"index":0,"id":"p","function":{"name":"f","arguments":"secret"},"custom":null}"#,
        r#"{"index":0,"id":"p","custom":{},"function":{"name":"f","arguments":"secret"}}"#,
        r#"{"index":0,"id":"p","function":{},"custom":{"name":"f","input":"secret"}}"#,
        r#"{"index":0,"id":"p","function":{"name":"f","arguments":"secret","input":null}}"#,
        r#"{"index":0,"id":"p","function":{"name":"f","arguments":"","input":"secret"}}"#,
    ] {
        let data = format!(r#"{{"choices":[{{"delta":{{"content":"a","tool_calls":[{call}]}}}}]}}"#);
        let expected = ["0 content_delta \"a\"", r#"0 tool_call_delta "secret" {"id":"p","index":0,"name":"f"}"#];
        assert_eq!(shown(&data), expected);
        let other_edited = rendered(&data, &[content("b"), KEEP]);
        assert_eq!(other_edited, format!("data: {}\n\n", data.replacen("\"a\"", "\"b\"", 1)));
        let edited = rendered(&data, &[KEEP, tool_call("x", r#"{"id":"p","index":0,"name":"f"}"#)]);
        assert_eq!(edited, format!("data: {}\n\n", data.replace("secret", "x")));
    }
}

#[test]
fn arguments_under_two_names_are_both_seen_or_rewritten_together() {
    let call = |function: &str| {
        format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"function":{{{function}}}}}]}}}}]}}"#)
    };
    let payload = r#"{"index":0,"name":"f"}"#;
    let differing = call(r#""name":"f","input":"secret","arguments":"{}""#);
    let both = [r#"0 tool_call_delta "{}" {"index":0,"name":"f"}"#, r#"0 tool_call_delta "secret" {"index":0}"#];
    assert_eq!(shown(&differing), both);
    let edited = rendered(&differing, &[KEEP, tool_call("x", r#"{"index":0}"#)]);
    assert_eq!(edited, format!("data: {}\n\n", differing.replace("secret", "x")));
    let same = call(r#""name":"f","input":"secret","arguments":"secret""#);
    assert_eq!(shown(&same).len(), 1);
    assert_eq!(rendered(&same, &[tool_call("x", payload)]), format!("data: {}\n\n", same.replace("secret", "x")));
}

#[test]
fn an_empty_or_role_only_delta_does_not_hide_the_message() {
    for delta in ["{}", r#"{"role":"assistant"}"#, r#"{"role":"assistant","content":"","tool_calls":[]}"#] {
        let data = format!(r#"{{"choices":[{{"index":0,"delta":{delta},"message":{{"content":"secret"}}}}]}}"#);
        let changed = data.replace("secret", "x");
        assert_eq!(shown(&data), ["0 content_delta \"secret\""]);
        assert_eq!(shown_body(&data), ["0 content_delta \"secret\""]);
        assert_eq!(rendered(&data, &[content("x")]), format!("data: {changed}\n\n"));
        assert!(!rendered_body(&data, &[content("x")]).contains("secret"));
    }
}

#[test]
fn a_whole_answer_is_its_message_and_a_delta_beside_it_goes_with_an_edit() {
    let body = r#"{"choices":[{"delta":{"content":"secret"},"message":{"content":"secret"},"index":0}]}"#;
    assert_eq!(shown_body(body), ["0 content_delta \"secret\""]);
    assert_eq!(rendered_body(body, &[content("x")]), r#"{"choices":[{"message":{"content":"x"},"index":0}]}"#);
    let empty = r#"{"choices":[{"delta":{"content":"secret"},"message":{"content":null},"index":0}]}"#;
    assert_eq!(shown_body(empty), ["0 content_delta \"secret\""]);
    assert_eq!(rendered_body(empty, &[content("x")]), empty.replace("secret", "x"));
}

#[test]
fn numbers_that_are_none_do_not_hide_a_frame() {
    let data = r#"{"choices":[{"index":0,"delta":{"content":"secret"},"logprobs":{"content":[{"logprob":-Infinity}]}}],"x":[NaN,Infinity]}"#;
    let annotation = r#"0 annotation {"logprobs":{"content":[{"logprob":null}]}}"#;
    assert_eq!(shown(data), ["0 content_delta \"secret\"", annotation]);
    assert_eq!(rendered(data, &[KEEP, KEEP]), format!("data: {data}\n\n"));
    let edited = rendered(data, &[content("x"), KEEP]);
    assert_eq!(
        edited,
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"logprobs\":null}],\"x\":[NaN,Infinity]}\n\n"
    );
    assert_eq!(shown(r#"{"x":NaN}"#), [r#"0 opaque {"x":null}"#]);
    let usage = r#"{"usage":{"prompt_tokens":NaN}}"#;
    assert_eq!(shown(usage), [r#"0 usage {"input_tokens":null,"provider":{"prompt_tokens":null}}"#]);
}

#[test]
fn nesting_that_common_readers_bound_does_not_hide_a_frame() {
    let deep = format!("{}{}", "[".repeat(400), "]".repeat(400));
    let data = format!(r#"{{"choices":[{{"delta":{{"content":"secret","annotations":{deep}}}}}]}}"#);
    let all = decode_all(&[frame(&data)]);
    assert_eq!(
        all.iter().map(|chunk| chunk.kind).collect::<Vec<_>>(),
        [ChunkKind::ContentDelta, ChunkKind::Annotation]
    );
    assert_eq!(rendered(&data, &[content("x"), KEEP]), format!("data: {}\n\n", data.replace("secret", "x")));
    let too_deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(decode_all(&[frame(&too_deep)])[0].payload.as_ref().is_some_and(Value::is_string));
}

#[test]
fn a_byte_order_mark_or_broken_bytes_do_not_hide_a_frame() {
    let data = r#"{"choices":[{"delta":{"content":"secret"}}]}"#;
    let marked = format!("\u{FEFF}{data}");
    assert_eq!(shown(&marked), ["0 content_delta \"secret\""]);
    assert_eq!(rendered(&marked, &[content("x")]), format!("data: {}\n\n", marked.replace("secret", "x")));
    assert_eq!(shown("\u{FEFF}{\"a\": 1}"), [r#"0 opaque {"a":1}"#]);

    let broken = b"data: {\"choices\":[{\"delta\":{\"content\":\"secret \xFF\"}}],\"z\":\"\xFE\"}\n\n";
    let (mut chat, mut decoded) = (fresh(), Decoded::default());
    let frame = frames(broken).remove(0);
    chat.decode(&frame, &mut decoded);
    assert_eq!(seen(&decoded, frame.data().unwrap())[0].text, "secret \u{FFFD}");
    let (mut kept, mut edited) = (Vec::new(), Vec::new());
    chat.render(&frame, &decoded, &[KEEP], &mut kept);
    chat.render(&frame, &decoded, &[content("x")], &mut edited);
    assert_eq!(kept, broken);
    let expected = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}],\"z\":\"\u{FFFD}\"}\n\n";
    assert_eq!(String::from_utf8(edited).unwrap(), expected);
}

/// The tokens of reasoning, refusals and arguments spelt what the edit had taken away.
#[test]
fn log_probabilities_go_with_any_text_of_their_choice() {
    let edited = [
        (r#""reasoning":"secret""#, text_edit(ChunkKind::ReasoningDelta, "x")),
        (r#""refusal":"secret""#, text_edit(ChunkKind::RefusalDelta, "x")),
        (r#""tool_calls":[{"index":0,"function":{"arguments":"secret"}}]"#, tool_call("x", r#"{"index":0}"#)),
        (r#""content":"secret""#, content("x")),
    ];
    for (members, edit) in edited {
        let data =
            format!(r#"{{"choices":[{{"delta":{{{members}}},"logprobs":{{"content":[{{"token":"secret"}}]}}}}]}}"#);
        let out = rendered(&data, &[edit, KEEP]);
        assert!(out.contains("\"logprobs\":null") && !out.contains("secret"), "{out}");
    }
}

#[test]
fn log_probabilities_in_a_later_frame_of_an_altered_choice_are_dropped() {
    let later = |choice| {
        format!(r#"{{"choices":[{{"index":{choice},"delta":{{}},"logprobs":{{"content":[{{"token":"secret"}}]}}}}]}}"#)
    };
    let mut chat = fresh();
    rendered_by(&mut chat, r#"{"choices":[{"index":1,"delta":{"content":"secret"}}]}"#, &[content("x")]);
    let (data, mut decoded) = (frame(&later(1)), Decoded::default());
    chat.decode(&data, &mut decoded);
    assert!(chat.needs_render(&data, &decoded));
    assert_eq!(
        rendered_by(&mut chat, &later(1), &[KEEP]),
        "data: {\"choices\":[{\"index\":1,\"delta\":{},\"logprobs\":null}]}\n\n"
    );
    assert_eq!(rendered_by(&mut chat, &later(0), &[KEEP]), format!("data: {}\n\n", later(0)));
}

/// Forty thousand choices in one frame took seconds.
#[test]
fn many_choices_in_one_frame_each_keep_their_edit() {
    let choices: Vec<String> =
        (0..40_000).rev().map(|index| format!(r#"{{"index":{index},"delta":{{"content":"s{index}"}}}}"#)).collect();
    let data = format!(r#"{{"choices":[{}]}}"#, choices.join(","));
    let edits: Vec<_> =
        (0..choices.len()).map(|position| if position % 2 == 0 { content("x") } else { KEEP }).collect();
    let out = rendered(&data, &edits);
    assert!(out.contains(r#"{"index":39999,"delta":{"content":"x"}},{"index":39998,"delta":{"content":"s39998"}}"#));
    assert_eq!(out.matches("\"x\"").count(), 20_000);
}

#[test]
fn reasoning_that_differs_may_leave_while_the_other_stays() {
    let data = r#"{"choices":[{"delta":{"reasoning_content":"a","reasoning":"secret"}}]}"#;
    let moved = Edit::Replace(Body { kind: ChunkKind::ContentDelta, text: "x", payload: None });
    let out = rendered(data, &[KEEP, moved]);
    assert!(out.contains(r#""reasoning_content":"a""#) && out.contains(r#""content":"x""#) && !out.contains("secret"));
    assert!(!rendered(data, &[KEEP, REMOVE]).contains("secret"));
}
