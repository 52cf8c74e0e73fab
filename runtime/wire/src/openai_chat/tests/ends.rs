//! What a stream or body that is cut short says to its client.

use serde_json::Value;

use super::{content, frame, frames, fresh, rendered_by};
use crate::{Blame, Decoded, Edit, Failure, Protocol, Stop, Wire};

const SENTINEL: &str = r#"{"reason":"r"}"#;

const CUT: Failure<'_> = Failure { message: "upstream closed", blame: Blame::Provider, code: "truncated" };

fn stop() -> Stop<'static> {
    Stop { sentinel: SENTINEL, delivered: &|_| "" }
}

fn error_body(failure: &Failure<'_>) -> String {
    Protocol::OpenAiChat.error_body(502, failure)
}

fn pass(chat: &mut Wire, text: &str) {
    let mut decoded = Decoded::default();
    for frame in frames(text.as_bytes()) {
        chat.decode(&frame, &mut decoded);
        chat.passed(&frame, &decoded);
    }
}

fn stopped(chat: &mut Wire) -> String {
    let mut out = Vec::new();
    chat.end_stopped(&stop(), &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_stop_finishes_every_choice_that_is_open() {
    let mut chat = fresh();
    pass(
        &mut chat,
        "data: {\"id\":\"c1\",\"model\":\"m\",\"created\":7,\"choices\":[{\"index\":2,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
    );
    pass(
        &mut chat,
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"},{\"index\":1,\"delta\":{\"content\":\"b\"}}]}\n\n",
    );
    insta::assert_snapshot!(stopped(&mut chat), @r#"
    data: {"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":1,"delta":{},"finish_reason":"content_filter"},{"index":2,"delta":{},"finish_reason":"content_filter"}],"seam":{"stop":{"reason":"r"}}}

    data: [DONE]
    "#);
}

#[test]
fn a_stop_before_anything_was_delivered_finishes_choice_zero() {
    let mut chat = fresh();
    // Seen is not delivered.
    chat.decode(&frame(r#"{"choices":[{"index":5,"delta":{"content":"a"}}]}"#), &mut Decoded::default());
    insta::assert_snapshot!(stopped(&mut chat), @r#"
    data: {"id":"chatcmpl-seam","object":"chat.completion.chunk","created":0,"model":"","choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}],"seam":{"stop":{"reason":"r"}}}

    data: [DONE]
    "#);
}

/// A choice that only an observer began was left open.
#[test]
fn a_stop_finishes_a_choice_that_an_observer_began() {
    for data in [r#"{"unknown":1}"#, r#"{"choices":[],"usage":{"total_tokens":1}}"#] {
        let mut chat = fresh();
        pass(&mut chat, "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}}]}\n\n");
        rendered_by(&mut chat, data, &[content("made")]);
        let stopped = stopped(&mut chat);
        for choice in [0, 1] {
            let end = format!(r#"{{"index":{choice},"delta":{{}},"finish_reason":"content_filter"}}"#);
            assert!(stopped.contains(&end), "{choice} of {stopped}");
        }
    }
}

#[test]
fn a_stop_after_the_finish_still_carries_the_sentinel() {
    let mut chat = fresh();
    pass(&mut chat, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
    assert!(stopped(&mut chat).contains(r#""choices":[],"seam":{"stop":{"reason":"r"}}"#));
}

#[test]
fn a_withheld_finish_leaves_no_stray_stop() {
    let mut chat = fresh();
    let data = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    let out = rendered_by(&mut chat, data, &[content("b"), Edit::Remove]);
    assert!(out.contains(r#""finish_reason":null"#));
    assert_eq!(stopped(&mut chat).matches("content_filter").count(), 1);
    assert_eq!(rendered_by(&mut fresh(), data, &[Edit::Remove; 2]), "");
}

#[test]
fn nothing_follows_the_providers_own_end_marker() {
    let mut chat = fresh();
    pass(&mut chat, "data: [DONE]\n\n");
    assert_eq!(stopped(&mut chat), "");
}

#[test]
fn an_end_after_an_unterminated_frame_starts_on_its_own_line() {
    for (text, owed) in
        [("data: {\"choices\":[]}", "\n\n"), ("data: {\"choices\":[]}\n", "\n"), ("data: {\"choices\":[]}\n\n", "")]
    {
        let mut chat = fresh();
        pass(&mut chat, text);
        let mut out = Vec::new();
        chat.end_error(&CUT, &mut out);
        let expected = format!("{owed}data: {}\n\ndata: [DONE]\n\n", error_body(&CUT));
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

#[test]
fn an_error_is_in_the_protocols_shape() {
    insta::assert_snapshot!(error_body(&Failure { message: "no \"model\"", blame: Blame::Client, code: "model_not_found" }), @r#"{"error":{"message":"no \"model\"","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#);
}

#[test]
fn a_stopped_body_keeps_what_was_delivered_and_says_why() {
    let body = r#"{"id":"b", "choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"},{"index":1,"message":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}"#;
    let (mut chat, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
    chat.decode_body(body.as_bytes(), &mut decoded);
    let edits = [Edit::Keep, Edit::Keep, Edit::Remove, Edit::Remove, Edit::Remove];
    chat.stop_body(body.as_bytes(), &decoded, &edits, &stop(), &mut out);
    insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r#"{"id":"b", "choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"},{"index":1,"message":{"content":""},"finish_reason":"content_filter"}],"usage":null,"seam":{"stop":{"reason":"r"}}}"#);
}

#[test]
fn a_stopped_body_of_any_kind_is_an_answer() {
    for body in ["", "not json", "[1]", "{}", "{\"a\":1}", "{\"choices\":null}", "{\"choices\":[1]}"] {
        let (mut chat, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
        chat.decode_body(body.as_bytes(), &mut decoded);
        chat.stop_body(body.as_bytes(), &decoded, &vec![Edit::Remove; decoded.len()], &stop(), &mut out);
        let value: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value["seam"]["stop"]["reason"], "r", "{body}");
        assert_eq!(value["choices"][0]["finish_reason"], "content_filter", "{body}");
    }
}
