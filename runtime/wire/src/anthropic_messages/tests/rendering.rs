use super::client::Message;
use super::*;
use serde_json::json;

/// The data of one event after an edit of its only chunk, by a state that has read and passed nothing before.
fn changed(event: &str, edit: Edit<'_>) -> String {
    let out = edited(&[event], &[(0, edit)]);
    let frames = frames(&out);
    assert_eq!(frames.len(), 1, "{}", String::from_utf8_lossy(&out));
    String::from_utf8(frames[0].data().unwrap().to_vec()).unwrap()
}

#[test]
fn only_the_changed_text_is_other_bytes() {
    let delta =
        r#"{ "type":"content_block_delta", "index":0, "delta":{"type":"text_delta","text":"caf\u00e9","x":[1, 2]} }"#;
    let expected = delta.replace(r"caf\u00e9", r#"tea\n\"hot\""#);
    assert_eq!(changed(delta, content("tea\n\"hot\"")), expected);
}

#[test]
fn each_text_of_a_delta_can_be_changed() {
    let delta = |inner: &str| format!(r#"{{"type":"content_block_delta","index":0,"delta":{inner}}}"#);
    for (inner, kind, expected) in [
        (r#"{"type":"text_delta","text":"a"}"#, ChunkKind::ContentDelta, r#"{"type":"text_delta","text":"new"}"#),
        (
            r#"{"type":"thinking_delta","thinking":"a"}"#,
            ChunkKind::ReasoningDelta,
            r#"{"type":"thinking_delta","thinking":"new"}"#,
        ),
        (
            r#"{"type":"input_json_delta","partial_json":"{\"a"}"#,
            ChunkKind::ToolCallDelta,
            r#"{"type":"input_json_delta","partial_json":"new"}"#,
        ),
        (
            r#"{"type":"compaction_delta","content":"a"}"#,
            ChunkKind::ReasoningDelta,
            r#"{"type":"compaction_delta","content":"new"}"#,
        ),
    ] {
        assert_eq!(changed(&delta(inner), text_edit(kind, "new")), delta(expected));
    }
}

#[test]
fn a_citation_is_changed_by_its_payload() {
    let delta =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"cited_text":"a"}}}"#;
    let payload = r#"{"citation":{"cited_text":"b"}}"#;
    let edit = Edit::Replace(Body { kind: ChunkKind::Annotation, text: "", payload: Some(payload) });
    assert_eq!(changed(delta, edit), delta.replace("\"a\"", "\"b\""));
}

#[test]
fn each_text_of_a_block_that_begins_can_be_changed() {
    let start = |inner: &str| format!(r#"{{"type":"content_block_start","index":0,"content_block":{inner}}}"#);
    for (inner, kind, expected) in [
        (r#"{"type":"text","text":"a"}"#, ChunkKind::ContentDelta, r#"{"type":"text","text":"new"}"#),
        (r#"{"type":"thinking","thinking":"a"}"#, ChunkKind::ReasoningDelta, r#"{"type":"thinking","thinking":"new"}"#),
        (
            r#"{"type":"compaction","content":"a"}"#,
            ChunkKind::ReasoningDelta,
            r#"{"type":"compaction","content":"new"}"#,
        ),
    ] {
        assert_eq!(changed(&start(inner), text_edit(kind, "new")), start(expected));
    }
}

const CALL: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":{"q":1}}}"#;

#[test]
fn a_call_that_begins_takes_another_name_id_and_input() {
    let edit = tool_call(r#"{"q":2}"#, r#"{"index":0,"id":"u","name":"m"}"#);
    let expected = CALL.replace(r#""id":"t","name":"n","input":{"q":1}"#, r#""id":"u","name":"m","input":{"q":2}"#);
    assert_eq!(changed(CALL, edit), expected);
}

#[test]
fn arguments_that_are_no_object_follow_the_beginning_of_their_call() {
    let out = edited(&[CALL], &[(0, tool_call("{\"q\":", r#"{"index":0}"#))]);
    let events = events(&out);
    assert_eq!(events[0]["content_block"]["input"], json!({}));
    assert_eq!(events[1]["delta"], json!({"type":"input_json_delta","partial_json":"{\"q\":"}));
}

#[test]
fn usage_and_stop_reason_are_changed_where_they_stand() {
    let usage = Edit::Replace(Body {
        kind: ChunkKind::Usage,
        text: "",
        payload: Some(r#"{"output_tokens":8,"provider":{"output_tokens":9}}"#),
    });
    let out = edited(&[END_TURN], &[(0, text_edit(ChunkKind::Finish, "max_tokens")), (1, usage)]);
    let expected = END_TURN.replace("end_turn", "max_tokens").replace(":9", ":8");
    assert_eq!(events(&out), [serde_json::from_str::<Value>(&expected).unwrap()]);
}

#[test]
fn usage_that_is_removed_leaves_the_count_that_clients_read() {
    let out = edited(&[END_TURN], &[(1, Edit::Remove)]);
    assert_eq!(events(&out)[0]["usage"], json!({"output_tokens":0}));
}

#[test]
fn a_refusals_reason_can_be_changed() {
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"explanation":"no"}},"usage":{"output_tokens":3}}"#;
    let out = edited(&[end], &[(0, text_edit(ChunkKind::RefusalDelta, "yes"))]);
    assert_eq!(events(&out), [serde_json::from_str::<Value>(&end.replace("\"no\"", "\"yes\"")).unwrap()]);
}

#[test]
fn an_errors_message_is_changed_alone() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"host 10.0.0.1 is full"}}"#;
    let payload = r#"{"type":"overloaded_error","message":"host 10.0.0.1 is full"}"#;
    let edit = Edit::Replace(Body { kind: ChunkKind::Error, text: "full", payload: Some(payload) });
    assert_eq!(changed(error, edit), error.replace("host 10.0.0.1 is full", "full"));
}

#[test]
fn a_block_whose_every_delta_is_removed_still_begins_and_ends() {
    let first = text_delta(0, "a");
    let out = edited(&[START, TEXT, &first, STOP_0, END_TURN, STOP], &[(2, Edit::Remove)]);
    assert_eq!(Message::read(&out).unwrap().told(), ["text \"\""]);
}

#[test]
fn what_comes_in_a_block_whose_beginning_is_removed_begins_one() {
    let first = text_delta(0, "a");
    let out = edited(&[START, TEXT, &first, STOP_0, END_TURN, STOP], &[(1, Edit::Remove)]);
    assert_eq!(Message::read(&out).unwrap().told(), ["text \"a\""]);
}

#[test]
fn a_message_whose_beginning_is_removed_begins_before_its_first_block() {
    let first = text_delta(0, "a");
    let out = edited(&[START, TEXT, &first, STOP_0, END_TURN, STOP], &[(0, Edit::Remove)]);
    assert_eq!(Message::read(&out).unwrap().told(), ["text \"a\""]);
    let message = &events(&out)[0]["message"];
    assert_eq!((&message["id"], &message["model"]), (&json!("msg_1"), &json!("claude")));
}

#[test]
fn a_block_whose_end_is_removed_ends_before_the_next() {
    let (first, second) = (text_delta(0, "a"), text_delta(1, "b"));
    let next = TEXT.replace("\"index\":0", "\"index\":1");
    let all = [START, TEXT, &first, STOP_0, &next, &second, STOP_1, END_TURN, STOP];
    let out = edited(&all, &[(3, Edit::Remove), (6, Edit::Remove)]);
    assert_eq!(Message::read(&out).unwrap().told(), ["text \"a\"", "text \"b\""]);
}

#[test]
fn a_call_whose_beginning_is_removed_is_gone_with_its_arguments() {
    let call = CALL.replace(r#"{"q":1}"#, "{}");
    let fragment =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#;
    let end = END_TURN.replace("end_turn", "tool_use");
    let out = edited(&[START, &call, fragment, STOP_0, &end, STOP], &[(1, Edit::Remove)]);
    let message = Message::read(&out).unwrap();
    assert_eq!((message.told(), message.stop_reason.as_deref()), (Vec::new(), Some("end_turn")));
}

#[test]
fn a_signature_does_not_follow_a_text_that_it_does_not_fit() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#;
    let thinking = r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"secret"}}"#;
    let signature = r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}"#;
    let all = [START, start, thinking, signature, STOP_0, END_TURN, STOP];
    let kept = Message::read(&edited(&all, &[])).unwrap();
    assert_eq!((kept.blocks[0].text.as_str(), kept.blocks[0].signature.as_str()), ("secret", "s"));
    let out = edited(&all, &[(2, text_edit(ChunkKind::ReasoningDelta, "[R]"))]);
    let altered = Message::read(&out).unwrap();
    assert_eq!((altered.blocks[0].text.as_str(), altered.blocks[0].signature.as_str()), ("[R]", ""));
}

#[test]
fn an_opaque_event_is_replaced_whole() {
    let edit = Edit::Replace(Body { kind: ChunkKind::Opaque, text: "", payload: Some(r#"{"type":"ping","n":1}"#) });
    assert_eq!(changed(PING, edit), r#"{"type":"ping","n":1}"#);
    let edit = Edit::Replace(Body { kind: ChunkKind::Opaque, text: "", payload: Some("\"other\"") });
    assert_eq!(changed_text("no json", edit), "data: other\n\n");
}

fn changed_text(data: &str, edit: Edit<'_>) -> String {
    let out = run(&mut fresh(), format!("data: {data}\n\n").as_bytes(), |_, _| edit);
    String::from_utf8(out).unwrap()
}
