//! Repetitions, numbers, items put in, ends. Real streams and whole bodies run through the matrix of the daemon's tests.

use bytes::Bytes;
use seam_plugin_api::ChunkKind;
use serde_json::{Value, json};

use crate::{Blame, Body, Decoded, Edit, Failure, Frame, Framing, Protocol, SseDecoder, Stop, Wire};

/// One message of two pieces, with what repeats it.
fn stream() -> Vec<Value> {
    let item = |status: &str, content: Value| json!({"id": "msg_1", "type": "message", "role": "assistant", "status": status, "content": content});
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
    let cited = json!([{"type": "url_citation", "url": "u", "title": "t", "start_index": 8, "end_index": 10}]);
    let whole =
        json!({"type": "output_text", "text": "see 4111 ok", "annotations": cited, "logprobs": [{"token": "see"}]});
    let response = |status: &str, output: Value, usage: Value| {
        json!({"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status,
            "incomplete_details": null, "error": null, "output": output, "usage": usage})
    };
    let place = |kind: &str, rest: Value| {
        let mut event = json!({"type": kind, "item_id": "msg_1", "output_index": 0, "content_index": 0});
        event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        event
    };
    let delta =
        |text: &str| place("response.output_text.delta", json!({"delta": text, "logprobs": [], "obfuscation": "x"}));
    let mut events = vec![
        json!({"type": "response.created", "response": response("in_progress", json!([]), Value::Null)}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item("in_progress", json!([]))}),
        place("response.content_part.added", json!({"part": part("")})),
        delta("see 41"),
        delta("11 ok"),
        place("response.output_text.done", json!({"text": "see 4111 ok", "logprobs": []})),
        place("response.content_part.done", json!({"part": whole})),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item("completed", json!([whole]))}),
        json!({"type": "response.completed", "response": response("completed", json!([item("completed", json!([whole]))]),
            json!({"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}))}),
    ];
    for (number, event) in (0..).zip(&mut events) {
        event["sequence_number"] = json!(number);
    }
    events
}

fn frames(events: &[Value]) -> Vec<Frame> {
    let text: String =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect();
    let mut decoder = SseDecoder::new(1 << 20);
    decoder.feed(Bytes::from(text));
    std::iter::from_fn(|| decoder.next_frame().unwrap()).collect()
}

/// Runs a stream through edits, which are asked for with each chunk's kind and text; answers the events that left.
fn run(wire: &mut Wire, events: &[Value], edit: impl Fn(ChunkKind, &str) -> Edit<'static>) -> Vec<Value> {
    let mut out = Vec::new();
    for frame in frames(events) {
        let mut decoded = Decoded::default();
        wire.decode(&frame, &mut decoded);
        let data = frame.data().unwrap();
        let edits: Vec<_> = decoded.chunks(data).map(|chunk| edit(chunk.kind, chunk.text)).collect();
        if edits.iter().all(|edit| *edit == Edit::Keep) && !wire.needs_render(&frame, &decoded) {
            wire.passed(&frame, &decoded);
            out.extend_from_slice(frame.raw());
        } else {
            wire.render(&frame, &decoded, &edits, &mut out);
        }
    }
    read(&out)
}

fn read(out: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(out).unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

fn fresh() -> Wire {
    Wire::new(Protocol::OpenAiResponses, Framing::Sse)
}

const fn text(kind: ChunkKind, text: &'static str) -> Edit<'static> {
    Edit::Replace(Body { kind, text, payload: None })
}

fn assert_numbered(events: &[Value]) {
    let numbers: Vec<u64> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>(), "{events:#?}");
}

#[test]
fn a_text_is_shown_once_and_its_end_told_once() {
    let (mut wire, mut seen) = (fresh(), Vec::new());
    for frame in frames(&stream()) {
        let mut decoded = Decoded::default();
        wire.decode(&frame, &mut decoded);
        let kinds = decoded.chunks(frame.data().unwrap()).filter(|chunk| chunk.kind != ChunkKind::Opaque);
        seen.extend(kinds.map(|chunk| format!("{} {} {}", chunk.choice, chunk.kind, chunk.text).trim_end().to_owned()));
    }
    let expected = ["0 content_delta see 41", "0 content_delta 11 ok", "0 finish", "0 finish completed", "0 usage"];
    assert_eq!(seen, expected);
    assert!(wire.arrival().over && wire.arrival().complete && !wire.arrival().failed);
}

#[test]
fn what_was_redacted_is_redacted_wherever_it_is_repeated() {
    let left = run(&mut fresh(), &stream(), |_, delta| match delta {
        "see 41" => text(ChunkKind::ContentDelta, "see [card]"),
        "11 ok" => text(ChunkKind::ContentDelta, " ok"),
        _ => Edit::Keep,
    });
    assert_numbered(&left);
    let all = serde_json::to_string(&left).unwrap();
    assert!(!all.contains("4111") && !all.contains("obfuscation") && !all.contains("\"token\""), "{all}");
    assert_eq!(left[5]["text"], "see [card] ok");
    let part = &left[8]["response"]["output"][0]["content"][0];
    assert_eq!((&part["text"], &part["annotations"][0]["start_index"]), (&json!("see [card] ok"), &json!(10)));
    assert_eq!((&left[7]["item"]["content"][0], &left[6]["part"]), (part, part));
}

#[test]
fn an_event_that_is_left_out_leaves_no_gap_in_the_numbers() {
    let left = run(&mut fresh(), &stream(), |_, delta| if delta == "see 41" { Edit::Remove } else { Edit::Keep });
    assert_eq!(left.len(), 8);
    assert_numbered(&left);
    assert_eq!(left[7]["response"]["output"][0]["content"][0]["text"], "11 ok");
}

#[test]
fn a_call_in_the_place_of_text_is_an_item_of_its_own_and_in_the_response() {
    let payload = r#"{"index":0,"id":"call_9","name":"search"}"#;
    let call = Edit::Replace(Body { kind: ChunkKind::ToolCallDelta, text: "{\"q\":1}", payload: Some(payload) });
    let left = run(&mut fresh(), &stream(), |_, delta| if delta == "11 ok" { call } else { Edit::Keep });
    assert_numbered(&left);
    let kinds: Vec<_> =
        left.iter().map(|event| event["type"].as_str().unwrap().trim_start_matches("response.")).collect();
    assert_eq!(
        kinds,
        [
            "created",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_item.added",
            "function_call_arguments.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "function_call_arguments.done",
            "output_item.done",
            "completed"
        ]
    );
    let output = &left[11]["response"]["output"];
    assert_eq!(output[0]["content"][0]["text"], "see 41");
    assert_eq!((&output[1]["call_id"], &output[1]["arguments"]), (&json!("call_9"), &json!("{\"q\":1}")));
    assert_eq!(left[10]["item"], output[1]);
}

#[test]
fn a_stop_closes_what_is_open_and_says_what_was_delivered() {
    let mut wire = fresh();
    let mut left = run(&mut wire, &stream()[..4], |_, _| Edit::Keep);
    let mut out = Vec::new();
    wire.end_stopped(&Stop { sentinel: "{\"reason\":\"no\"}", delivered: &|_| "see 41" }, &mut out);
    let end = read(&out);
    let kinds: Vec<_> = end.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let expected = ["response.output_text.done", "response.content_part.done", "response.output_item.done"];
    assert_eq!(kinds, [&expected[..], &["response.incomplete"]].concat());
    assert_eq!(end[0]["text"], "see 41");
    let response = &end[3]["response"];
    assert_eq!((&response["id"], &response["status"]), (&json!("resp_1"), &json!("incomplete")));
    assert_eq!(response["incomplete_details"], json!({"reason": "content_filter"}));
    assert_eq!(response["output"][0]["content"][0]["text"], "see 41");
    assert_eq!(
        (&response["output"][0]["status"], &end[3]["seam"]["stop"]["reason"]),
        (&json!("incomplete"), &json!("no"))
    );
    left.extend(end);
    assert_numbered(&left);
}

#[test]
fn an_error_is_a_failed_response_or_stands_alone_before_there_is_one() {
    let failure = Failure { message: "gone", blame: Blame::Provider, code: "provider_broke_off" };
    let (mut wire, mut out) = (fresh(), Vec::new());
    wire.end_error(&failure, &mut out);
    let alone =
        json!({"type": "error", "sequence_number": 0, "code": "provider_broke_off", "message": "gone", "param": null});
    assert_eq!(read(&out), [alone]);
    let (mut wire, mut out) = (fresh(), Vec::new());
    run(&mut wire, &stream()[..4], |_, _| Edit::Keep);
    wire.end_error(&failure, &mut out);
    let event = &read(&out)[0];
    assert_eq!((&event["type"], &event["sequence_number"]), (&json!("response.failed"), &json!(4)));
    assert_eq!(event["response"]["error"], json!({"code": "provider_broke_off", "message": "gone"}));
}

#[test]
fn a_keepalive_has_a_number_and_later_events_are_moved() {
    let (mut wire, mut out) = (fresh(), Vec::new());
    wire.keepalive(&mut out);
    assert!(out.starts_with(b":"), "nothing has begun");
    let mut left = run(&mut wire, &stream()[..4], |_, _| Edit::Keep);
    out.clear();
    wire.keepalive(&mut out);
    left.extend(read(&out));
    left.extend(run(&mut wire, &stream()[4..], |_, _| Edit::Keep));
    assert_numbered(&left);
    assert_eq!(left[4]["type"], "keepalive");
}

#[test]
fn a_second_answer_behind_the_end_of_the_first_is_an_answer_of_its_own() {
    let mut wire = fresh();
    run(&mut wire, &stream(), |_, _| Edit::Keep);
    run(&mut wire, &stream()[..4], |_, _| Edit::Keep);
    assert!(!wire.arrival().over);
    let mut out = Vec::new();
    wire.end_stopped(&Stop { sentinel: "{}", delivered: &|_| "see 41" }, &mut out);
    assert_eq!(read(&out).last().unwrap()["type"], "response.incomplete");
}
