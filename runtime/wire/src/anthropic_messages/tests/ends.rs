use super::client::Message;
use super::*;
use crate::{Blame, Failure, Stop};
use serde_json::json;

const SENTINEL: &str = r#"{"reason":"secret"}"#;

fn stop() -> Stop<'static> {
    Stop { sentinel: SENTINEL, delivered: &|_| "" }
}

/// A stream of which so many events were passed, stopped then.
fn stopped_after(events: &[&str]) -> Vec<u8> {
    let mut wire = fresh();
    let mut out = run(&mut wire, &stream(events), |_, _| Edit::Keep);
    wire.end_stopped(&stop(), &mut out);
    out
}

#[test]
fn a_stopped_stream_ends_its_open_block_and_its_message() {
    let first = text_delta(0, "a");
    let out = stopped_after(&[START, TEXT, &first]);
    let end = String::from_utf8(out[stream(&[START, TEXT, &first]).len()..].to_vec()).unwrap();
    insta::assert_snapshot!(end, @r#"
    event: content_block_stop
    data: {"type":"content_block_stop","index":0}

    event: message_delta
    data: {"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null},"usage":{"output_tokens":1},"seam":{"stop":{"reason":"secret"}}}

    event: message_stop
    data: {"type":"message_stop"}
    "#);
}

#[test]
fn a_stop_at_any_place_is_a_message_that_was_refused() {
    let first = text_delta(0, "a");
    let all = [START, TEXT, &first, STOP_0, END_TURN];
    for count in 0..=all.len() {
        let message = Message::read(&stopped_after(&all[..count])).unwrap();
        assert_eq!(message.stop_reason.as_deref(), Some("refusal"), "{count}");
        assert_eq!(message.sentinel, Some(json!({"reason":"secret"})), "{count}");
    }
}

#[test]
fn a_stop_says_what_the_provider_counted_last() {
    let counted = END_TURN.replace("\"end_turn\"", "null");
    assert_eq!(Message::read(&stopped_after(&[START, &counted])).unwrap().output_tokens, 9);
}

#[test]
fn a_stop_before_anything_was_delivered_begins_the_message_once() {
    let (mut wire, mut out) = (fresh(), Vec::new());
    wire.end_stopped(&stop(), &mut out);
    assert_eq!(events(&out)[0]["message"]["id"], "msg_seam");
    // What came in names it, though it was removed.
    let mut wire = fresh();
    let mut out = run(&mut wire, &stream(&[START]), |_, _| Edit::Remove);
    wire.end_stopped(&stop(), &mut out);
    assert_eq!(events(&out)[0]["message"]["id"], "msg_1");
    Message::read(&out).unwrap();
}

#[test]
fn a_call_that_is_cut_stays_cut_and_is_closed() {
    let call = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}"#;
    let fragment =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"q"}}"#;
    let message = Message::read(&stopped_after(&[START, call, fragment])).unwrap();
    assert_eq!(
        (message.told(), message.stop_reason.as_deref()),
        (vec!["tool_use n\"{\\\"q\"".into()], Some("refusal"))
    );
}

#[test]
fn nothing_is_written_behind_the_end() {
    let all = [START, TEXT, STOP_0, END_TURN, STOP];
    assert_eq!(stopped_after(&all), stream(&all));
    let mut wire = fresh();
    let mut out = run(&mut wire, &stream(&all), |_, _| Edit::Keep);
    wire.keepalive(&mut out);
    wire.end_error(&failure(), &mut out);
    assert_eq!(out, stream(&all));
}

fn failure() -> Failure<'static> {
    Failure { message: "the provider broke off", blame: Blame::Provider, code: "provider_broke_off" }
}

#[test]
fn a_stream_that_fails_ends_with_an_error_event() {
    let (mut wire, mut out) = (fresh(), Vec::new());
    wire.end_error(&failure(), &mut out);
    insta::assert_snapshot!(String::from_utf8(out.clone()).unwrap(), @r#"
    event: error
    data: {"type":"error","error":{"type":"api_error","message":"the provider broke off","code":"provider_broke_off","blame":"provider"}}
    "#);
    assert!(Message::read(&out).unwrap().error.is_some());
}

#[test]
fn an_errors_type_is_the_one_of_its_status() {
    let kind = |status, blame| {
        let body = Protocol::AnthropicMessages.error_body(status, &Failure { blame, ..failure() });
        serde_json::from_str::<Value>(&body).unwrap()["error"]["type"].as_str().unwrap().to_owned()
    };
    for (status, expected) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (405, "invalid_request_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (502, "api_error"),
        (503, "overloaded_error"),
        (504, "timeout_error"),
        (529, "overloaded_error"),
    ] {
        assert_eq!(kind(status, Blame::Seamd), expected, "{status}");
    }
    assert_eq!(kind(0, Blame::Client), "invalid_request_error");
}

#[test]
fn a_silent_stream_is_kept_alive_by_pings_once_it_has_begun() {
    let (mut wire, mut out) = (fresh(), Vec::new());
    wire.keepalive(&mut out);
    assert_eq!(String::from_utf8(std::mem::take(&mut out)).unwrap(), ": keepalive\n\n");
    run(&mut wire, &stream(&[START]), |_, _| Edit::Keep);
    wire.keepalive(&mut out);
    assert_eq!(String::from_utf8(out).unwrap(), "event: ping\ndata: {\"type\":\"ping\"}\n\n");
}

#[test]
fn after_a_providers_error_nothing_of_the_seam_follows() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_eq!(stopped_after(&[START, TEXT, error]), stream(&[START, TEXT, error]));
}
