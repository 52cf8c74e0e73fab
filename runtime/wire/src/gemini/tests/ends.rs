//! How a stream or body ends that is not ended by the provider.

use serde_json::Value;

use super::{content, frame, fresh, parts, rendered_by};
use crate::{Blame, Decoded, Edit, Failure, Framing, Protocol, Stop, Wire};

const STOP: Stop<'static> = Stop { sentinel: r#"{"reason":"r"}"#, delivered: &|_| "" };

fn failure(blame: Blame) -> Failure<'static> {
    Failure { message: "it \"broke\"", blame, code: "provider_broke_off" }
}

fn stopped(wire: &mut Wire) -> String {
    let mut out = Vec::new();
    wire.end_stopped(&STOP, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_stop_ends_each_candidate_that_is_open() {
    let mut wire = fresh();
    let data = r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"index":0},{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP","index":1}],"modelVersion":"m\"1","responseId":"id"}"#;
    rendered_by(&mut wire, data, &[Edit::Keep; 3]);
    insta::assert_snapshot!(stopped(&mut wire), @r#"data: {"candidates":[{"finishReason":"SAFETY","index":0}],"seam":{"stop":{"reason":"r"}},"modelVersion":"m\"1","responseId":"id"}"#);
    assert_eq!(stopped(&mut wire), "");
}

#[test]
fn a_stop_before_anything_was_delivered_ends_candidate_0() {
    insta::assert_snapshot!(stopped(&mut fresh()), @r#"data: {"candidates":[{"finishReason":"SAFETY","index":0}],"seam":{"stop":{"reason":"r"}}}"#);
}

#[test]
fn a_stop_after_the_reason_ends_nothing_twice() {
    let mut wire = fresh();
    rendered_by(&mut wire, r#"{"candidates":[{"finishReason":"STOP"}]}"#, &[Edit::Keep]);
    insta::assert_snapshot!(stopped(&mut wire), @r#"data: {"candidates":[],"seam":{"stop":{"reason":"r"}}}"#);
}

/// The Python client raises on events that start so, the JavaScript client on a number from 400 to 599.
#[test]
fn an_error_is_one_that_the_clients_raise() {
    let mut out = Vec::new();
    fresh().end_error(&failure(Blame::Provider), &mut out);
    insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r#"data: {"error":{"code":502,"message":"it \"broke\"","status":"UNAVAILABLE","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"provider_broke_off","domain":"seamd"}]}}"#);
    for (status, blame, code, name) in [
        (0, Blame::Client, 400, "INVALID_ARGUMENT"),
        (0, Blame::Plugin, 500, "INTERNAL"),
        (0, Blame::Seamd, 503, "UNAVAILABLE"),
        (404, Blame::Client, 404, "NOT_FOUND"),
        (413, Blame::Client, 413, "INVALID_ARGUMENT"),
        (429, Blame::Seamd, 429, "RESOURCE_EXHAUSTED"),
        (504, Blame::Provider, 504, "DEADLINE_EXCEEDED"),
    ] {
        let body: Value = serde_json::from_str(&Protocol::Gemini.error_body(status, &failure(blame))).unwrap();
        assert_eq!((&body["error"]["code"], &body["error"]["status"]), (&code.into(), &name.into()));
    }
}

/// The Python client takes a comment for broken JSON; no client sees an empty line.
#[test]
fn a_keepalive_is_an_empty_line() {
    for framing in [Framing::Sse, Framing::JsonArray] {
        let mut out = Vec::new();
        Wire::new(Protocol::Gemini, framing).keepalive(&mut out);
        assert_eq!(out, b"\n");
    }
}

#[test]
fn a_stopped_body_says_so_where_it_says_nothing_else() {
    let stop_body = |body: &str, keep: usize| {
        let (mut wire, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
        wire.decode_body(body.as_bytes(), &mut decoded);
        let edits: Vec<Edit<'_>> =
            (0..decoded.len()).map(|position| if position < keep { Edit::Keep } else { Edit::Remove }).collect();
        wire.stop_body(body.as_bytes(), &decoded, &edits, &STOP, &mut out);
        String::from_utf8(out).unwrap()
    };
    let body = r#"{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b"}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1},"responseId":"i"}"#;
    insta::assert_snapshot!(stop_body(body, 1), @r#"{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"},"finishReason":"SAFETY"}],"responseId":"i","seam":{"stop":{"reason":"r"}}}"#);
    insta::assert_snapshot!(stop_body(body, 3), @r#"{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b"}],"role":"model"},"finishReason":"STOP"}],"responseId":"i","seam":{"stop":{"reason":"r"}}}"#);
    insta::assert_snapshot!(stop_body(r#"{"promptFeedback":{"blockReason":"OTHER"}}"#, 1), @r#"{"promptFeedback":{"blockReason":"OTHER"},"seam":{"stop":{"reason":"r"}}}"#);
    for other in ["", "[]", "\"x\"", "not json", "{}"] {
        let value: Value = serde_json::from_str(&stop_body(other, 0)).unwrap();
        assert_eq!(value["candidates"][0]["finishReason"], "SAFETY", "{other}");
        assert_eq!(value["seam"]["stop"]["reason"], "r", "{other}");
    }
}

#[test]
fn an_amended_stream_still_stops_well() {
    let mut wire = fresh();
    rendered_by(&mut wire, &parts(r#"{"text":"a"}"#), &[content("b")]);
    assert!(stopped(&mut wire).contains(r#"[{"finishReason":"SAFETY","index":0}]"#));
    let mut decoded = Decoded::default();
    wire.decode(&frame("{}"), &mut decoded);
    let mut out = Vec::new();
    wire.keepalive(&mut out);
    assert!(out.is_empty(), "nothing comes after the end");
}
