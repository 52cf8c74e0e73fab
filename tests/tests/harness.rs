//! The harness against itself: its provider spoken to by its client, without a daemon between them.

use e2e::client::{Client, Response};
use e2e::os::monotonic_nanos;
use e2e::patience::Backoff;
use e2e::provider::{BodyFraming, CallEnd, Gate, Protocol, Provider, Script, unused_address};
use e2e::sse::chat_text;
use serde_json::json;
use std::io::{self, ErrorKind};
use std::time::Duration;

const SOON: u64 = Duration::from_millis(500).as_nanos() as u64;

async fn ask(provider: &Provider) -> io::Result<Response> {
    let client = Client::connect(provider.address()).await?;
    client.post("/v1/chat/completions", &json!({"model": "m"})).await
}

#[tokio::test]
async fn a_script_is_played_to_the_byte_and_to_the_cut() {
    let provider = Provider::start().unwrap();
    let gate = Gate::new();
    let script = Script::stream()
        .chunk("data: {\"choices\":[{\"delta\":{\"content\":\"北\"}}]}\n")
        .wait(&gate)
        .cut_chunks("\ndata: [DONE]\n\n", &[1, 3])
        .end();
    provider.answer(script);
    let mut response = ask(&provider).await.unwrap();
    assert_eq!(response.status, 200);
    assert_eq!(response.header("Content-Type"), Some("text/event-stream"));
    let first = response.next_piece().await.unwrap().unwrap();
    assert!(first.bytes.ends_with(b"}\n"));
    gate.open();
    let rest = response.pieces().await.unwrap();
    let rest: Vec<_> = rest.iter().map(|piece| &piece.bytes[..]).collect();
    assert_eq!(rest, [&b"\n"[..], b"da", b"ta: [DONE]\n\n"]);
    let call = provider.next_call().await.unwrap();
    assert_eq!(call.over().await.unwrap(), CallEnd::Finished);
    assert_eq!(call.request().json()["model"], "m");
    assert_eq!(call.request().target, "/v1/chat/completions");
}

#[tokio::test]
async fn events_are_collected_and_the_connection_is_used_again() {
    let provider = Provider::start().unwrap();
    provider.answer(Script::events([
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n",
        "data: [DONE]\n\n",
    ]));
    provider.answer_always(Script::json(429, "{\"error\":1}"));
    let mut response = ask(&provider).await.unwrap();
    let events = response.events().await.unwrap();
    assert_eq!(chat_text(&events), "ab");
    assert!(events[2].is_done());
    let mut again = response.reuse().unwrap().get("/v1/models").await.unwrap();
    assert_eq!(again.status, 429);
    assert_eq!(again.json().await.unwrap(), json!({"error": 1}));
    assert_eq!(provider.connections(), 1);
    assert_eq!(provider.requests()[1].method, "GET");
}

#[tokio::test]
async fn a_cut_stream_is_no_end() {
    let provider = Provider::start().unwrap();
    provider.answer(Script::stream().chunk("data: a\n\n").cut());
    let mut response = ask(&provider).await.unwrap();
    assert_eq!(response.next_piece().await.unwrap().unwrap().bytes, "data: a\n\n");
    let error = response.next_piece().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    let call = provider.next_call().await.unwrap();
    assert_eq!(call.over().await.unwrap(), CallEnd::Broken);
}

#[tokio::test]
async fn a_reset_stream_is_reset() {
    let provider = Provider::start().unwrap();
    let gate = Gate::new();
    provider.answer(Script::stream().chunk("data: a\n\n").wait(&gate).reset());
    let mut response = ask(&provider).await.unwrap();
    assert!(response.next_piece().await.unwrap().is_some());
    gate.open();
    let error = response.next_piece().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn malformed_chunks_and_noise_reach_the_client_as_they_are() {
    let provider = Provider::start().unwrap();
    provider.answer(Script::stream().raw("zz\r\nno number\r\n").stall());
    let mut response = ask(&provider).await.unwrap();
    let error = response.next_piece().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    provider.answer(Script::blank().raw("\x16\x03\x01 noise").cut());
    let mut client = Client::connect(provider.address()).await.unwrap();
    client.send("GET", "/", &[], "").await.unwrap();
    assert_eq!(client.closed().await.unwrap(), "\x16\x03\x01 noise");
}

#[tokio::test]
async fn bodies_end_by_length_or_by_the_close() {
    let provider = Provider::start().unwrap();
    provider.answer(Script::blank().head(200, &[], BodyFraming::UntilClose).chunk("abc").end());
    assert_eq!(ask(&provider).await.unwrap().text().await.unwrap(), "abc");
    provider.answer(Script::blank().head(200, &[], BodyFraming::Length(5)).chunk("abc").cut());
    let error = ask(&provider).await.unwrap().text().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn a_chunked_request_is_recorded_without_its_coding() {
    let provider = Provider::start().unwrap();
    provider.answer(Script::json(200, "{}"));
    let mut client = Client::connect(provider.address()).await.unwrap();
    client
        .send_raw("POST /x?y=1 HTTP/1.1\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
        .await
        .unwrap();
    client.receive().await.unwrap().body().await.unwrap();
    let request = &provider.requests()[0];
    assert_eq!(request.body, "abc");
    assert_eq!(request.target, "/x?y=1");
    assert_eq!(request.header("x-a"), Some("b"));
    assert!(request.head.starts_with(b"POST /x?y=1 HTTP/1.1\r\nX-A: b\r\n"));
}

#[tokio::test]
async fn a_client_that_leaves_is_seen_at_once_in_every_state_of_the_answer() {
    let gate = Gate::new();
    let mute = Script::mute();
    let stalled = Script::stream().chunk("data: a\n\n").stall();
    let waiting = Script::stream().chunk("data: a\n\n").wait(&gate).end();
    for (script, answered) in [(mute, false), (stalled, true), (waiting, true)] {
        let provider = Provider::start().unwrap();
        provider.answer(script);
        let mut client = Client::connect(provider.address()).await.unwrap();
        client.send("POST", "/", &[], "{}").await.unwrap();
        let call = provider.next_call().await.unwrap();
        assert_eq!(call.end(), None);
        let left = if answered {
            let mut response = client.receive().await.unwrap();
            response.next_piece().await.unwrap();
            let left = monotonic_nanos();
            drop(response);
            left
        } else {
            let left = monotonic_nanos();
            drop(client);
            left
        };
        let seen = call.client_gone().await.unwrap();
        assert!(seen >= left, "seen before it happened");
        assert!(seen - left < SOON, "seen after {} ns", seen - left);
    }
}

#[tokio::test]
async fn a_client_that_resets_has_left_too() {
    let provider = Provider::start().unwrap();
    provider.answer(Script::stream().chunk("data: a\n\n").stall());
    let mut response = ask(&provider).await.unwrap();
    response.next_piece().await.unwrap();
    response.reset().unwrap();
    provider.next_call().await.unwrap().client_gone().await.unwrap();
}

#[tokio::test]
async fn a_client_that_leaves_after_the_end_has_not_left_in_the_middle() {
    let provider = Provider::start().unwrap();
    provider.answer(Script::events(["data: [DONE]\n\n"]));
    ask(&provider).await.unwrap().body().await.unwrap();
    let call = provider.next_call().await.unwrap();
    assert_eq!(call.over().await.unwrap(), CallEnd::Finished);
    assert!(call.client_gone().await.is_err());
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_the_provider_up() {
    const WHOLE: u64 = 1024 * 64 * 1024;
    let provider = Provider::start().unwrap();
    provider.answer(Script::stream().repeat(vec![b'x'; 64 * 1024], 1024).end());
    let client = Client::connect_with_receive_buffer(provider.address(), 16 * 1024).await.unwrap();
    let response = client.post("/", &json!({})).await.unwrap();
    let call = provider.next_call().await.unwrap();
    let (mut backoff, mut before) = (Backoff::default(), u64::MAX);
    while call.sent() != before {
        before = call.sent();
        tokio::time::sleep(backoff.pause() * 4).await;
    }
    assert_eq!(call.end(), None);
    assert!(before > 0 && before < WHOLE / 2, "{before}");
    drop(response);
    call.client_gone().await.unwrap();
}

#[tokio::test]
async fn requests_can_be_answered_by_what_they_ask_for() {
    let provider = Provider::start().unwrap();
    provider.answer_with(|request| Script::json(200, &request.json()["model"].to_string()));
    let mut response = ask(&provider).await.unwrap();
    assert_eq!(response.text().await.unwrap(), "\"m\"");
}

#[tokio::test]
async fn a_request_without_a_script_is_told_so() {
    let provider = Provider::start().unwrap();
    let mut response = ask(&provider).await.unwrap();
    assert_eq!(response.status, 500);
    assert!(response.text().await.unwrap().contains("no script"));
}

#[tokio::test]
async fn an_unused_address_refuses_until_a_provider_comes() {
    let address = unused_address().unwrap();
    let error = Client::connect(address).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    let provider = Provider::start_on(Protocol::Http1, address).unwrap();
    provider.answer_always(Script::json(200, "{}"));
    assert_eq!(ask(&provider).await.unwrap().status, 200);
}
