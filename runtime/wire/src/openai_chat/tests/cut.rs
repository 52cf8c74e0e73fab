//! What lies behind a stop, in places that no chunk shows; text behind a finish; and silence.

use super::{content, frame, frames, fresh, rendered, shown};
use crate::{Decoded, Edit, Stop, Wire};

const KEEP: Edit<'static> = Edit::Keep;
const STOP: Stop<'static> = Stop { sentinel: "{}", delivered: &|_| "" };

fn stopped_body(body: &str, edits: &[Edit<'_>]) -> String {
    let (mut chat, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
    chat.decode_body(body.as_bytes(), &mut decoded);
    assert_eq!(decoded.len(), edits.len());
    chat.stop_body(body.as_bytes(), &decoded, edits, &STOP, &mut out);
    String::from_utf8(out).unwrap()
}

fn pass(chat: &mut Wire, data: &str) {
    let mut decoded = Decoded::default();
    for frame in frames(format!("data: {data}\n\n").as_bytes()) {
        chat.decode(&frame, &mut decoded);
        chat.passed(&frame, &decoded);
    }
}

#[test]
fn a_transcript_of_what_was_stopped_does_not_go_out_beside_it() {
    let body = r#"{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"secret","audio":{"id":"a","transcript":"secret","data":"AAAA"},"n":1},"summary":"secret","finish_reason":"stop"}],"usage":{"total_tokens":1}}"#;
    insta::assert_snapshot!(stopped_body(body, &[Edit::Remove; 3]), @r#"{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"","n":1},"finish_reason":"content_filter"}],"usage":null,"seam":{"stop":{}}}"#);
}

#[test]
fn a_choice_behind_the_stopped_one_says_nothing_in_members_that_no_chunk_shows() {
    let body = r#"{"id":"c","choices":[{"index":0,"message":{"content":"fine","x":"fine"},"finish_reason":"stop"},{"index":1,"message":{"content":"secret"},"finish_reason":"stop"},{"index":2,"message":{"content":{"t":"secret"},"tool_calls":[{"type":"web","web":{"q":"secret"}}],"audio":{"transcript":"secret"}},"finish_reason":null}]}"#;
    let edits = [KEEP, KEEP, Edit::Remove, Edit::Remove];
    insta::assert_snapshot!(stopped_body(body, &edits), @r#"{"id":"c","choices":[{"index":0,"message":{"content":"fine","x":"fine"},"finish_reason":"stop"},{"index":1,"message":{"content":""},"finish_reason":"content_filter"},{"index":2,"message":{"content":null},"finish_reason":"content_filter"}],"seam":{"stop":{}}}"#);
}

#[test]
fn parts_and_calls_that_no_chunk_shows_are_cut_with_the_rest() {
    let body = r#"{"choices":[{"index":0,"message":{"content":[{"type":"text","text":"fine"},{"type":"image_url","image_url":{"url":"data:secret"}},{"type":"text","text":"secret"}],"tool_calls":[{"type":"web","web":{"q":"secret"}},{"id":"i","function":{"name":"f","arguments":"secret"}}]},"finish_reason":"stop"}]}"#;
    insta::assert_snapshot!(stopped_body(body, &[KEEP, Edit::Remove, Edit::Remove, Edit::Remove]), @r#"{"choices":[{"index":0,"message":{"content":[{"type":"text","text":"fine"},{"type":"text","text":""}]},"finish_reason":"content_filter"}],"seam":{"stop":{}}}"#);
}

#[test]
fn a_frame_that_is_cut_says_nothing_beside_its_chunks() {
    let data = r#"{"choices":[{"index":0,"delta":{"reasoning":"fine","content":"secret","audio":{"transcript":"secret"}},"finish_reason":null}]}"#;
    insta::assert_snapshot!(rendered(data, &[KEEP, Edit::Remove]), @r#"data: {"choices":[{"index":0,"delta":{"reasoning":"fine","content":""},"finish_reason":null}]}"#);
    insta::assert_snapshot!(rendered(data, &[KEEP, content("[R]")]), @r#"data: {"choices":[{"index":0,"delta":{"reasoning":"fine","content":"[R]","audio":{"transcript":"secret"}},"finish_reason":null}]}"#);
}

/// A finish in mid-stream, and the rest of a number behind it. Clients go on to add text, so that it is text like any
/// other: observers see it, and the choice is open again, so that a stop finishes it with its own reason.
#[test]
fn text_behind_a_finish_is_shown_to_observers_and_opens_its_choice_again() {
    let mut chat = fresh();
    pass(&mut chat, r#"{"id":"c","choices":[{"index":0,"delta":{"content":"4111 1111 "},"finish_reason":null}]}"#);
    pass(&mut chat, r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#);
    let rest = r#"{"id":"c","choices":[{"index":0,"delta":{"content":"1111 1111"},"finish_reason":null}]}"#;
    assert_eq!(shown(rest), [r#"0 content_delta "1111 1111""#]);
    pass(&mut chat, rest);
    assert!(chat.arrival().complete, "it has its finish reason");
    let mut out = Vec::new();
    chat.end_stopped(&STOP, &mut out);
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains(r#""choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]"#), "{out}");
}

fn keepalive(chat: &mut Wire) -> String {
    let mut out = Vec::new();
    chat.keepalive(&mut out);
    String::from_utf8(out).unwrap()
}

/// Codex counts events, not bytes: no comment resets its timer.
#[test]
fn a_silent_stream_is_not_given_up_by_clients_that_pass_over_comments() {
    let mut chat = fresh();
    assert_eq!(keepalive(&mut chat), ": keepalive\n\n", "what names the answer is not known");
    let first =
        r#"{"id":"c","model":"m","created":5,"choices":[{"index":1,"delta":{"role":"assistant","content":""}}]}"#;
    let mut decoded = Decoded::default();
    let held = frame(first);
    chat.decode(&held, &mut decoded);
    assert_eq!(keepalive(&mut chat), ": keepalive\n\n", "a held frame is none that the client saw");
    chat.passed(&held, &decoded);
    insta::assert_snapshot!(keepalive(&mut chat), @r#"data: {"id":"c","object":"chat.completion.chunk","created":5,"model":"m","choices":[{"index":1,"delta":{},"finish_reason":null}]}"#);
    pass(&mut chat, r#"{"id":"c","choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}"#);
    assert_eq!(keepalive(&mut chat), ": keepalive\n\n", "no event may follow the finish of its choice");
    pass(&mut chat, "[DONE]");
    assert_eq!(keepalive(&mut chat), "");
}
