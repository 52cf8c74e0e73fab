//! Content that carries tool calls beside its text.

use seam_plugin_api::ChunkKind;

use super::{content, content_with, fresh, payload_edit, rendered, rendered_body, rendered_by};
use crate::{Body, Edit};

const KEEP: Edit<'static> = Edit::Keep;
const CALLS: &str = r#"{"tool_calls":[{"index":0,"id":"mine","name":"search","arguments":"{\"q\":1}"},{"index":0,"name":"look","arguments":""}],"x":2}"#;

#[test]
fn a_delta_says_the_text_and_the_calls() {
    let data = r#"{"choices":[{"index":1,"delta":{"role":"assistant","content":"<tool>","z":1},"finish_reason":"stop"}],"obfuscation":"pad"}"#;
    insta::assert_snapshot!(rendered(data, &[content_with("Let me look.", CALLS), KEEP]), @r#"data: {"choices":[{"index":1,"delta":{"role":"assistant","content":"Let me look.","tool_calls":[{"index":0,"id":"mine","type":"function","function":{"name":"search","arguments":"{\"q\":1}"}},{"index":1,"id":"call_seam_1_1","type":"function","function":{"name":"look","arguments":""}}],"z":1},"finish_reason":"tool_calls"}]}"#);
    insta::assert_snapshot!(rendered(data, &[content_with("", CALLS), KEEP]), @r#"data: {"choices":[{"index":1,"delta":{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"mine","type":"function","function":{"name":"search","arguments":"{\"q\":1}"}},{"index":1,"id":"call_seam_1_1","type":"function","function":{"name":"look","arguments":""}}],"z":1},"finish_reason":"tool_calls"}]}"#);
}

#[test]
fn a_message_says_the_text_and_the_calls() {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"<tool>","tool_calls":null},"finish_reason":"stop"}]}"#;
    insta::assert_snapshot!(rendered_body(body, &[content_with("Let me look.", CALLS), KEEP]), @r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"mine","type":"function","function":{"name":"search","arguments":"{\"q\":1}"}},{"id":"call_seam_0_1","type":"function","function":{"name":"look","arguments":""}}]},"finish_reason":"tool_calls"}]}"#);
    insta::assert_snapshot!(rendered_body(body, &[content_with("", CALLS), KEEP]), @r#"{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"mine","type":"function","function":{"name":"search","arguments":"{\"q\":1}"}},{"id":"call_seam_0_1","type":"function","function":{"name":"look","arguments":""}}]},"finish_reason":"tool_calls"}]}"#);
}

#[test]
fn calls_beside_a_part_and_beside_text_that_moved_join_the_providers() {
    let data = r#"{"choices":[{"delta":{"content":[{"type":"text","text":"<tool>"}],"tool_calls":[{"index":0,"id":"p","function":{"name":"f","arguments":""}}]}}]}"#;
    insta::assert_snapshot!(rendered(data, &[content_with("a", CALLS), KEEP]), @r#"data: {"choices":[{"delta":{"content":[{"type":"text","text":"a"}],"tool_calls":[{"index":0,"id":"p","function":{"name":"f","arguments":""}},{"index":1,"id":"mine","type":"function","function":{"name":"search","arguments":"{\"q\":1}"}},{"index":2,"id":"call_seam_0_2","type":"function","function":{"name":"look","arguments":""}}]}}]}"#);
    let data = r#"{"choices":[{"delta":{"reasoning":"<tool>","z":1}}]}"#;
    insta::assert_snapshot!(rendered(data, &[content_with("a", CALLS)]), @r#"data: {"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"mine","type":"function","function":{"name":"search","arguments":"{\"q\":1}"}},{"index":1,"id":"call_seam_0_1","type":"function","function":{"name":"look","arguments":""}}],"z":1}}]}"#);
}

#[test]
fn what_a_frame_has_no_place_for_takes_its_calls_along_and_is_remembered() {
    let mut chat = fresh();
    let data = r#"{"id":"c","choices":[],"usage":{"t":1}}"#;
    insta::assert_snapshot!(rendered_by(&mut chat, data, &[content_with("a", CALLS)]), @r#"data: {"id":"c","object":"chat.completion.chunk","created":0,"model":"","choices":[{"index":0,"delta":{"content":"a","tool_calls":[{"index":0,"id":"mine","type":"function","function":{"name":"search","arguments":"{\"q\":1}"}},{"index":1,"id":"call_seam_0_1","type":"function","function":{"name":"look","arguments":""}}]},"finish_reason":null}]}"#);
    let finish = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let expected = finish.replace("stop", "tool_calls");
    assert_eq!(rendered_by(&mut chat, finish, &[KEEP]), format!("data: {expected}\n\n"));
}

#[test]
fn what_is_no_list_of_calls_says_nothing() {
    let data = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    let plain = rendered(data, &[content("b"), KEEP]);
    for calls in [
        "null",
        "[]",
        "{}",
        r#""search""#,
        r#"{"name":"f","arguments":"{}"}"#,
        r#"[["name","f","arguments","{}"]]"#,
        r#"[{"name":"f"}]"#,
        r#"[{"name":"","arguments":"{}"}]"#,
        r#"[{"name":1,"arguments":"{}"}]"#,
        r#"[{"name":"f","arguments":{}}]"#,
        r#"[{"name":"f","arguments":"{}"},{"arguments":"{}"}]"#,
    ] {
        let payload = format!("{{\"tool_calls\":{calls}}}");
        assert_eq!(rendered(data, &[content_with("b", &payload), KEEP]), plain, "{calls}");
    }
    let other_kind = Edit::Replace(Body { kind: ChunkKind::ReasoningDelta, text: "b", payload: Some(CALLS) });
    assert!(!rendered(data, &[other_kind, KEEP]).contains("tool_calls"));
    assert!(!rendered(data, &[payload_edit(ChunkKind::Annotation, CALLS), KEEP]).contains("\"function\""));
}
