//! Chunks that become chunks of another kind.

use super::client::Message;
use super::*;
use serde_json::json;

const LOOK: &str = r#"{"index":0,"name":"look"}"#;

fn read(out: &[u8]) -> Message {
    Message::read(out).unwrap_or_else(|fault| panic!("{fault}\n{}", String::from_utf8_lossy(out)))
}

fn two_blocks() -> Vec<String> {
    let next = TEXT.replace("\"index\":0", "\"index\":1");
    let mut all: Vec<String> = vec![START.into(), TEXT.into()];
    all.extend(["a", "b", "c"].map(|text| text_delta(0, text)));
    all.extend([STOP_0.into(), next, text_delta(1, "d"), STOP_1.into(), END_TURN.into(), STOP.into()]);
    all
}

fn edited_blocks(edits: &[(usize, Edit<'_>)]) -> Vec<u8> {
    let all = two_blocks();
    edited(&all.iter().map(String::as_str).collect::<Vec<_>>(), edits)
}

#[test]
fn text_that_becomes_a_call_is_a_block_of_its_own() {
    let out = edited_blocks(&[(3, tool_call("{\"q\":1}", LOOK))]);
    let message = read(&out);
    assert_eq!(message.told(), ["text \"a\"", "tool_use look\"{\\\"q\\\":1}\"", "text \"c\"", "text \"d\""]);
    assert_eq!(message.stop_reason.as_deref(), Some("tool_use"));
}

#[test]
fn a_made_call_begins_as_the_providers_do() {
    let out = edited_blocks(&[(3, tool_call("{\"q\":1}", LOOK))]);
    let made = &events(&out)[3..7];
    assert_eq!(
        made,
        [
            json!({"type":"content_block_stop","index":0}),
            json!({"type":"content_block_start","index":1,
                "content_block":{"type":"tool_use","id":"toolu_seam_1_0","name":"look","input":{}}}),
            json!({"type":"content_block_delta","index":1,
                "delta":{"type":"input_json_delta","partial_json":"{\"q\":1}"}}),
            json!({"type":"content_block_stop","index":1}),
        ]
    );
}

#[test]
fn fragments_of_a_made_call_go_on_in_its_block() {
    let out = edited_blocks(&[
        (2, tool_call("{\"q\"", LOOK)),
        (3, tool_call(":1}", r#"{"index":0}"#)),
        (4, tool_call("{}", r#"{"index":1,"name":"see","id":"toolu_x"}"#)),
    ]);
    let message = read(&out);
    assert_eq!(message.told(), ["text \"\"", "tool_use look\"{\\\"q\\\":1}\"", "tool_use see\"{}\"", "text \"d\""]);
    assert_eq!(message.blocks[2].id, "toolu_x");
    assert_ne!(message.blocks[1].id, message.blocks[2].id);
}

#[test]
fn calls_beside_text_are_blocks_behind_it() {
    let payload = r#"{"tool_calls":[{"index":0,"name":"look","arguments":"{\"q\":1}"},{"index":1,"name":"see","arguments":"{}"}]}"#;
    let edit = Edit::Replace(Body { kind: ChunkKind::ContentDelta, text: "A", payload: Some(payload) });
    let message = read(&edited_blocks(&[(2, edit)]));
    let expected = ["text \"A\"", "tool_use look\"{\\\"q\\\":1}\"", "tool_use see\"{}\"", "text \"bc\"", "text \"d\""];
    assert_eq!(message.told(), expected);
    assert_eq!(message.stop_reason.as_deref(), Some("tool_use"));
}

#[test]
fn a_block_that_holds_its_text_already_is_replaced_by_the_call() {
    let start = TEXT.replace(r#""text":"""#, r#""text":"call""#);
    let out = edited(&[START, &start, STOP_0, END_TURN, STOP], &[(1, tool_call("{}", LOOK))]);
    assert_eq!(read(&out).told(), ["tool_use look\"{}\""]);
}

#[test]
fn reasoning_that_is_not_signed_becomes_text() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"a"}}"#;
    let thinking = r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"b"}}"#;
    let all = [START, start, thinking, thinking, STOP_0, END_TURN, STOP];
    assert_eq!(
        read(&edited(&all, &[(1, content("A")), (2, content("B")), (3, content("C"))])).told(),
        ["text \"ABC\""]
    );
    let some = read(&edited(&all, &[(2, content("B"))])).told();
    assert_eq!(some, ["thinking \"a\"", "text \"B\"", "thinking \"b\""]);
}

#[test]
fn text_becomes_reasoning() {
    let message = read(&edited_blocks(&[(2, text_edit(ChunkKind::ReasoningDelta, "A"))]));
    assert_eq!(message.told(), ["text \"\"", "thinking \"A\"", "text \"bc\"", "text \"d\""]);
}

#[test]
fn a_call_becomes_text() {
    let call = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}"#;
    let fragment =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#;
    let end = END_TURN.replace("end_turn", "tool_use");
    let all = [START, call, fragment, fragment, STOP_0, &end, STOP];
    let message = read(&edited(&all, &[(1, content("")), (2, content("no ")), (3, content("call"))]));
    assert_eq!(message.told(), ["text \"no call\""]);
    assert_eq!(message.stop_reason.as_deref(), Some("end_turn"));
    // What is left of the call keeps its place.
    let message = read(&edited(&all, &[(2, content("note"))]));
    assert_eq!(message.told(), ["tool_use n\"{}\"", "text \"note\""]);
}

#[test]
fn text_beside_the_blocks_is_a_block_of_its_own() {
    let first = text_delta(0, "a");
    let all = [START, PING, TEXT, PING, &first, STOP_0, PING, END_TURN, STOP];
    let message = read(&edited(&all, &[(1, content("x")), (3, content("y")), (6, content("z"))]));
    assert_eq!(message.told(), ["text \"x\"", "text \"ya\"", "text \"z\""]);
}

#[test]
fn a_finish_that_becomes_text_comes_before_the_messages_end() {
    let first = text_delta(0, "a");
    let all = [START, TEXT, &first, STOP_0, END_TURN, STOP];
    let message = read(&edited(&all, &[(3, content("b")), (4, content("c"))]));
    assert_eq!(message.told(), ["text \"ab\"", "text \"c\""]);
    assert_eq!(message.stop_reason, None);
}

#[test]
fn an_error_in_place_of_text_is_the_protocols() {
    let error = Edit::Replace(Body { kind: ChunkKind::Error, text: "no", payload: None });
    let out = edited(&[START, TEXT, &text_delta(0, "a")], &[(2, error)]);
    assert_eq!(events(&out)[2], json!({"type":"error","error":{"type":"api_error","message":"no"}}));
}

#[test]
fn ids_of_made_calls_differ_between_messages_of_one_conversation() {
    let id = |start: &str| {
        let out = edited(&[start, TEXT, &text_delta(0, "a")], &[(2, tool_call("{}", LOOK))]);
        events(&out)[3]["content_block"]["id"].as_str().unwrap().to_owned()
    };
    assert_ne!(id(START), id(&START.replace("msg_1", "msg_2")));
}

#[test]
fn a_message_that_begins_with_content_takes_every_edit_in_it() {
    let start =
        START.replace(r#""content":[]"#, r#""content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#);
    let next = TEXT.replace("\"index\":0", "\"index\":2");
    let stop = STOP_0.replace("\"index\":0", "\"index\":2");
    let all = [&start, &next, &text_delta(2, "c"), &stop, END_TURN, STOP];
    let out = edited(&all, &[(0, tool_call("{}", LOOK)), (1, Edit::Remove)]);
    let events = events(&out);
    assert_eq!(events[0]["message"]["content"].as_array().unwrap().len(), 1);
    assert_eq!(events[0]["message"]["content"][0]["name"], "look");
    assert_eq!((&events[1]["index"], &events[2]["index"], &events[3]["index"]), (&json!(1), &json!(1), &json!(1)));
    assert_eq!(events[4]["delta"]["stop_reason"], "tool_use");
}

#[test]
fn a_result_does_not_come_without_its_call() {
    let call = r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"n","input":{}}}"#;
    let result = r#"{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":[]}}"#;
    let next = TEXT.replace("\"index\":0", "\"index\":2");
    let stop = STOP_0.replace("\"index\":0", "\"index\":2");
    let all = [START, call, STOP_0, result, STOP_1, &next, &text_delta(2, "a"), &stop, END_TURN, STOP];
    assert_eq!(read(&edited(&all, &[])).blocks.len(), 3);
    let message = read(&edited(&all, &[(1, content("[no search]"))]));
    assert_eq!(message.told(), ["text \"[no search]\"", "text \"a\""]);
}
