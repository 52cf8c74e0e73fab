//! What an edited frame looks like, case by case.

use seam_plugin_api::ChunkKind;

use super::{content, frame, frames, fresh, payload_edit, rendered, rendered_body, rendered_by, text_edit, tool_call};
use crate::{Decoded, Edit};

const KEEP: Edit<'static> = Edit::Keep;
const REMOVE: Edit<'static> = Edit::Remove;

#[test]
fn a_changed_text_changes_its_string_and_what_depends_on_it() {
    let data = r#"{"id":"c", "choices":[{"index":0,"delta":{"content":"a b"},"logprobs":{"content":[{"token":"a b"}]},"x":1.0}],"obfuscation":"pad","y":[ 1 ]}"#;
    insta::assert_snapshot!(rendered(data, &[content("[\"R\"]\n"), KEEP]), @r#"data: {"id":"c", "choices":[{"index":0,"delta":{"content":"[\"R\"]\n"},"logprobs":null,"x":1.0}],"y":[ 1 ]}"#);
}

#[test]
fn every_byte_around_the_data_stays() {
    let text =
        ": note\r\nid: 7\r\nevent: x\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\nretry: 5\r\n\r\n";
    let (frame, mut chat, mut decoded, mut out) =
        (frames(text.as_bytes()).remove(0), fresh(), Decoded::default(), Vec::new());
    chat.decode(&frame, &mut decoded);
    chat.render(&frame, &decoded, &[content("b")], &mut out);
    assert_eq!(String::from_utf8(out).unwrap(), text.replace("\"a\"", "\"b\""));
}

#[test]
fn nothing_passes_under_another_name_or_behind_a_later_member() {
    let twice = r#"{"choices":[{"delta":{"content":"secret"},"delta":{"content":"secret","content":"secret"}}]}"#;
    assert_eq!(rendered(twice, &[content("x")]), "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n");
    let names = r#"{"choices":[{"delta":{"reasoning":"se","reasoning_content":"se","reasoning_details":[{"text":"s"},{"text":"e"}]}}]}"#;
    let edit = text_edit(ChunkKind::ReasoningDelta, "x");
    insta::assert_snapshot!(rendered(names, &[edit]), @r#"data: {"choices":[{"delta":{"reasoning":"x","reasoning_content":"x","reasoning_details":[{"text":"x"},{"text":""}]}}]}"#);
    let differing = r#"{"choices":[{"delta":{"reasoning":"b","reasoning_content":"a"}}]}"#;
    insta::assert_snapshot!(rendered(differing, &[edit, KEEP]), @r#"data: {"choices":[{"delta":{"reasoning":"b","reasoning_content":"x"}}]}"#);
    insta::assert_snapshot!(rendered(differing, &[KEEP, edit]), @r#"data: {"choices":[{"delta":{"reasoning":"x","reasoning_content":"a"}}]}"#);
    insta::assert_snapshot!(rendered(differing, &[edit, REMOVE]), @r#"data: {"choices":[{"delta":{"reasoning":"","reasoning_content":"x"}}]}"#);
    let calls = r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"secret","arguments":"secret"}}]}}]}"#;
    let edit = tool_call("x", r#"{"index":0}"#);
    insta::assert_snapshot!(rendered(calls, &[edit]), @r#"data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"x"}}]}}]}"#);
}

/// What stood among the choices and was none shifted them: the edit was lost.
#[test]
fn a_choice_behind_what_is_none_takes_its_edit() {
    let data = r#"{"choices":[null,[],{"index":0,"delta":{"content":"secret"}}]}"#;
    assert_eq!(rendered(data, &[content("x")]), format!("data: {}\n\n", data.replace("secret", "x")));
    let body = r#"{"choices":["none",{"index":0,"message":{"content":"secret"}}]}"#;
    assert_eq!(rendered_body(body, &[content("x")]), body.replace("secret", "x"));
}

#[test]
fn content_that_becomes_a_tool_call_stands_in_its_place() {
    let data = r#"{"choices":[{"index":1,"delta":{"role":"assistant","content":"<tool>"},"finish_reason":null}]}"#;
    let call = tool_call("{\"a\":1}", r#"{"index":0,"name":"search"}"#);
    insta::assert_snapshot!(rendered(data, &[call]), @r#"data: {"choices":[{"index":1,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_seam_1_0","type":"function","function":{"name":"search","arguments":"{\"a\":1}"}}]},"finish_reason":null}]}"#);
    let body = r#"{"choices":[{"index":0,"message":{"content":"<tool>","refusal":null},"finish_reason":"stop"}]}"#;
    let call = tool_call("{}", r#"{"index":0,"id":"mine","name":"search"}"#);
    insta::assert_snapshot!(rendered_body(body, &[call, KEEP]), @r#"{"choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"mine","type":"function","function":{"name":"search","arguments":"{}"}}],"refusal":null},"finish_reason":"tool_calls"}]}"#);
}

#[test]
fn a_made_tool_call_joins_the_providers_under_a_free_index() {
    let data = r#"{"choices":[{"delta":{"content":"<tool>","tool_calls":[{"index":0,"id":"p","function":{"name":"f","arguments":""}}]}}]}"#;
    let call = tool_call("{}", r#"{"index":0,"name":"g"}"#);
    insta::assert_snapshot!(rendered(data, &[call, KEEP]), @r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"p","function":{"name":"f","arguments":""}},{"index":1,"id":"call_seam_0_1","type":"function","function":{"name":"g","arguments":"{}"}}]}}]}"#);
}

fn piece(members: &str, finish: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{{members}}},"finish_reason":{finish}}}]}}"#)
}

#[test]
fn the_finish_after_a_made_tool_call_says_tool_calls() {
    let mut chat = fresh();
    let (mut decoded, finish) = (Decoded::default(), frame(&piece("", "\"stop\"")));
    chat.decode(&finish, &mut decoded);
    assert!(!chat.needs_render(&finish, &decoded));
    rendered_by(&mut chat, &piece(r#""content":"<tool>""#, "null"), &[tool_call("{}", r#"{"index":0,"name":"g"}"#)]);
    assert!(chat.needs_render(&finish, &decoded));
    assert_eq!(
        rendered_by(&mut chat, &piece("", "\"stop\""), &[KEEP]),
        format!("data: {}\n\n", piece("", "\"tool_calls\""))
    );
    assert_eq!(
        rendered_by(&mut chat, &piece("", "\"length\""), &[KEEP]),
        format!("data: {}\n\n", piece("", "\"length\""))
    );
}

#[test]
fn fragments_of_a_made_call_keep_its_index_and_a_name_begins_another() {
    let mut chat = fresh();
    let mut out = String::new();
    for payload in [r#"{"index":4,"name":"f"}"#, r#"{"index":4}"#, r#"{"index":4,"name":"g"}"#] {
        out += &rendered_by(&mut chat, &piece(r#""content":"<""#, "null"), &[tool_call("{", payload)]);
    }
    insta::assert_snapshot!(out.replace("\n\n", "\n"), @r#"
    data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":4,"id":"call_seam_0_4","type":"function","function":{"name":"f","arguments":"{"}}]},"finish_reason":null}]}
    data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":4,"function":{"arguments":"{"}}]},"finish_reason":null}]}
    data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":5,"id":"call_seam_0_5","type":"function","function":{"name":"g","arguments":"{"}}]},"finish_reason":null}]}
    "#);
}

#[test]
fn a_later_call_of_the_provider_does_not_run_into_a_made_one() {
    let mut chat = fresh();
    rendered_by(&mut chat, &piece(r#""content":"<""#, "null"), &[tool_call("{}", r#"{"index":0,"name":"f"}"#)]);
    for arguments in ["{", "}"] {
        let data = piece(
            &format!(r#""tool_calls":[{{"index":0,"id":"p","function":{{"name":"g","arguments":"{arguments}"}}}}]"#),
            "null",
        );
        let (frame, mut decoded) = (frame(&data), Decoded::default());
        chat.decode(&frame, &mut decoded);
        assert!(chat.needs_render(&frame, &decoded));
        assert_eq!(
            rendered_by(&mut chat, &data, &[KEEP]),
            format!("data: {}\n\n", data.replacen("\"index\":0,\"id\"", "\"index\":1,\"id\"", 1))
        );
    }
}

#[test]
fn a_changed_tool_call_keeps_what_its_payload_does_not_name() {
    let data = piece(
        r#""tool_calls":[{"index":0,"id":"p","extra":{"sig":"s"},"function":{"name":"f","arguments":"{"}}]"#,
        "null",
    );
    let text_alone = tool_call("[", r#"{"index":0}"#);
    assert_eq!(rendered(&data, &[text_alone]), format!("data: {}\n\n", data.replace("\"{\"", "\"[\"")));
    let renamed = tool_call("{", r#"{"index":0,"id":"q","name":"g"}"#);
    let expected = data.replace("\"p\"", "\"q\"").replace("\"f\"", "\"g\"");
    assert_eq!(rendered(&data, &[renamed]), format!("data: {expected}\n\n"));
}

#[test]
fn text_moves_to_the_member_of_its_new_kind() {
    let moved = |members: &str, edits: &[Edit<'_>]| rendered(&piece(members, "null"), edits);
    let wrapped = |members: &str| format!("data: {}\n\n", piece(members, "null"));
    let to_reasoning = text_edit(ChunkKind::ReasoningDelta, "t");
    assert_eq!(moved(r#""content":"a""#, &[to_reasoning]), wrapped(r#""reasoning_content":"t""#));
    assert_eq!(moved(r#""content":"a","reasoning":"r""#, &[KEEP, to_reasoning]), wrapped(r#""reasoning":"rt""#));
    assert_eq!(
        moved(r#""content":"a","reasoning_content":null"#, &[to_reasoning]),
        wrapped(r#""reasoning_content":"t""#)
    );
    assert_eq!(moved(r#""refusal":"a""#, &[content("b")]), wrapped(r#""content":"b""#));
    assert_eq!(moved(r#""refusal":"a","content":"c""#, &[KEEP, content("b")]), wrapped(r#""content":"cb""#));
}

#[test]
fn parts_change_where_they_stand() {
    let data = piece(
        r#""content":[{"type":"thinking","thinking":[{"type":"text","text":"t"}]},{"type":"text","text":"a"}]"#,
        "null",
    );
    assert_eq!(rendered(&data, &[KEEP, content("b")]), format!("data: {}\n\n", data.replace("\"a\"", "\"b\"")));
    insta::assert_snapshot!(rendered(&data, &[content("u"), REMOVE]), @r#"data: {"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":""}]},{"type":"text","text":"u"},{"type":"text","text":""}]},"finish_reason":null}]}"#);
}

#[test]
fn a_removed_chunk_leaves_its_frame_whole() {
    let data = r#"{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"p","function":{"name":"f"}},{"index":1,"id":"q","function":{"name":"f"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}"#;
    insta::assert_snapshot!(rendered(data, &[REMOVE, REMOVE, KEEP, REMOVE, REMOVE]), @r#"data: {"choices":[{"delta":{"content":"","tool_calls":[{"index":1,"id":"q","function":{"name":"f"}}]},"finish_reason":null}],"usage":null}"#);
    insta::assert_snapshot!(rendered(data, &[KEEP, REMOVE, REMOVE, KEEP, KEEP]), @r#"data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}"#);
    assert_eq!(rendered(data, &[REMOVE; 5]), "");
}

#[test]
fn a_new_payload_takes_the_place_of_the_old() {
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":1,"queue":2}}"#;
    let counts = payload_edit(ChunkKind::Usage, r#"{"input_tokens":5,"provider":{"prompt_tokens":1,"queue":2}}"#);
    assert_eq!(rendered(usage, &[counts]), "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"queue\":2}}\n\n");
    let bare = payload_edit(ChunkKind::Usage, r#"{"prompt_tokens":7}"#);
    assert_eq!(rendered(usage, &[bare]), "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7}}\n\n");
    let opaque = payload_edit(ChunkKind::Opaque, r#"{"b": 2}"#);
    assert_eq!(rendered(r#"{"a":1}"#, &[opaque]), "data: {\"b\": 2}\n\n");
    let annotated = piece(r#""annotations":[1]"#, "null");
    let other = payload_edit(ChunkKind::Annotation, r#"{"annotations":[2]}"#);
    assert_eq!(rendered(&annotated, &[other]), format!("data: {}\n\n", annotated.replace("[1]", "[2]")));
}

#[test]
fn a_changed_error_message_changes_in_the_error() {
    let edit =
        Edit::Replace(crate::Body { kind: ChunkKind::Error, text: "b", payload: Some(r#"{"message":"a","code":1}"#) });
    let error = r#"{"error":{"message":"a","code":1}}"#;
    assert_eq!(rendered(error, &[edit]), "data: {\"error\":{\"message\":\"b\",\"code\":1}}\n\n");
}

#[test]
fn text_that_was_no_json_goes_out_as_text() {
    let edit = payload_edit(ChunkKind::Opaque, "\"gone: [R]\\nend\"");
    assert_eq!(rendered("gone: secret", &[edit]), "data: gone: [R]\ndata: end\n\n");
}

#[test]
fn what_a_frame_has_no_place_for_is_an_event_after_it() {
    let data = r#"{"id":"c","model":"m","created":9,"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"t":1}}"#;
    insta::assert_snapshot!(rendered(data, &[KEEP, content("b")]), @r#"
    data: {"id":"c","model":"m","created":9,"choices":[{"index":0,"delta":{"content":"a"}}],"usage":null}

    data: {"id":"c","object":"chat.completion.chunk","created":9,"model":"m","choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}
    "#);
}

#[test]
fn several_data_lines_are_written_as_data_lines() {
    let text = "event: e\ndata: {\"choices\":[{\"delta\":\ndata: {\"content\":\"a\"}}]}\n: c\n\n";
    let (frame, mut chat, mut decoded, mut out) =
        (frames(text.as_bytes()).remove(0), fresh(), Decoded::default(), Vec::new());
    chat.decode(&frame, &mut decoded);
    chat.render(&frame, &decoded, &[content("b")], &mut out);
    assert_eq!(String::from_utf8(out).unwrap(), text.replace("\"a\"", "\"b\""));
}

#[test]
fn a_frame_that_repeats_the_whole_text_stops_doing_so_once_it_is_untrue() {
    let first = r#"{"choices":[{"delta":{"content":"secret"},"message":{"content":"secret"}}]}"#;
    let later = r#"{"choices":[{"delta":{"content":" a"},"message":{"content":"secret a"}}]}"#;
    let mut chat = fresh();
    assert_eq!(
        rendered_by(&mut chat, first, &[content("x")]),
        "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"
    );
    let (frame, mut decoded) = (frame(later), Decoded::default());
    chat.decode(&frame, &mut decoded);
    assert!(chat.needs_render(&frame, &decoded));
    assert_eq!(rendered_by(&mut chat, later, &[KEEP]), "data: {\"choices\":[{\"delta\":{\"content\":\" a\"}}]}\n\n");
}
