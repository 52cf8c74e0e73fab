//! Bytes pass unchanged and at once.

use std::path::Path;

use e2e::os::monotonic_nanos;
use e2e::provider::{Gate, Protocol, Script};
use e2e::sse::chat_text;

use crate::bench::{delta, ending};
use crate::scene::{Plan, Scene, UNTIL_CLOSE, hello, whole_hello};

/// Streams with comments, CRLF, several choices, tool calls and text of many bytes per character.
fn fixtures() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/wire/fixtures");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[tokio::test]
async fn byte_by_byte_cut_within_characters_or_all_at_once() {
    let scene = Scene::start();
    for stream in fixtures() {
        let within_characters: Vec<usize> = (1..stream.len()).filter(|at| stream[*at] & 0xC0 == 0x80).collect();
        let scripts = [
            Script::stream().bytewise(&stream).end(),
            Script::stream().cut_chunks(&stream, &within_characters).end(),
            Script::events([&stream]),
        ];
        for script in scripts {
            scene.provider.answer(script);
            let body = scene.ask().await.body().await.unwrap();
            assert!(body.starts_with(&stream), "{}", body.escape_ascii());
        }
    }
}

#[tokio::test]
async fn comments_arrive_while_the_provider_is_silent() {
    let scene = Scene::start();
    let gate = Gate::new();
    scene.provider.answer(Script::stream().chunk(": thinking\n\n").wait(&gate).chunk(hello()).end());
    let mut response = scene.ask().await;
    assert_eq!(response.next_event().await.unwrap().unwrap().raw, ": thinking\n\n");
    gate.open();
    assert_eq!(chat_text(&response.events().await.unwrap()), "hello");
}

#[tokio::test]
async fn the_head_arrives_before_the_first_event() {
    let scene = Scene::start();
    let gate = Gate::new();
    scene.provider.answer(Script::stream().wait(&gate).chunk(hello()).end());
    let mut response = scene.ask().await;
    assert_eq!(response.status, 200);
    gate.open();
    assert_eq!(response.text().await.unwrap(), hello());
}

#[tokio::test]
async fn an_event_in_pieces_arrives_when_it_is_whole() {
    let scene = Scene::start();
    let gate = Gate::new();
    let event = delta("whole");
    let (first, second) = event.split_at(20);
    let script = Script::stream().chunk([&*delta("a"), first].concat()).wait(&gate).chunk(second).wait(&gate);
    scene.provider.answer(script.chunk(ending()).end());
    let mut response = scene.ask().await;
    assert_eq!(response.next_piece().await.unwrap().unwrap().bytes, delta("a"));
    gate.open();
    assert_eq!(response.next_piece().await.unwrap().unwrap().bytes, event);
    gate.open();
    assert_eq!(response.text().await.unwrap(), ending());
}

#[tokio::test]
async fn what_the_provider_sends_together_leaves_together() {
    let scene = Scene::start();
    scene.provider.answer(Script::events([hello()]));
    let pieces = scene.ask().await.pieces().await.unwrap();
    assert_eq!(pieces.len(), 1, "{pieces:?}");
}

#[tokio::test]
async fn an_answer_that_is_not_streamed() {
    let scene = Scene::start();
    let body = whole_hello().replace("\"created\":1", "\"created\" : 1, \"own\": [1,  2]");
    scene.provider.answer(Script::json(200, &body));
    let mut response = scene.ask_whole().await;
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.text().await.unwrap(), body);
    scene.ended("completed").await;
}

#[tokio::test]
async fn a_body_as_long_as_its_connection() {
    let scene = Scene::start();
    let event_stream = [("content-type", "text/event-stream; charset=utf-8")];
    scene.provider.answer(Script::blank().head(200, &event_stream, UNTIL_CLOSE).chunk(hello()).end());
    let mut response = scene.ask().await;
    assert_eq!(response.text().await.unwrap(), hello());
    assert_eq!(response.header("content-type"), Some("text/event-stream; charset=utf-8"));
    scene.ended("completed").await;
}

#[tokio::test]
async fn an_answer_larger_than_every_buffer() {
    let scene = Scene::start();
    let event = delta(&"x".repeat(10_000));
    scene.provider.answer(Script::stream().repeat(&event, 800).chunk(ending()).end());
    let body = scene.ask().await.body().await.unwrap();
    assert_eq!(body.len(), event.len() * 800 + ending().len());
    assert_eq!(body, [event.repeat(800), ending()].concat());
}

/// Each event is sent as soon as the one before it was read. With Nagle's algorithm on either side every second one would
/// wait for a delayed acknowledgement: 40 ms.
async fn assert_no_stalls(scene: &Scene) {
    const EVENTS: usize = 60;
    let gate = Gate::new();
    let events = (0..EVENTS).fold(Script::stream(), |draft, nth| draft.wait(&gate).chunk(delta(&nth.to_string())));
    scene.provider.answer(events.chunk(ending()).end());
    let mut response = scene.ask().await;
    let mut delays = Vec::new();
    for _ in 0..EVENTS {
        let sent = monotonic_nanos();
        gate.open();
        let piece = response.next_piece().await.unwrap().unwrap();
        delays.push(piece.at.saturating_sub(sent) as f64 / 1e6);
    }
    delays.sort_by(f64::total_cmp);
    assert!(delays[EVENTS / 2] < 10.0, "half of the events took longer than {} ms", delays[EVENTS / 2]);
    assert!(delays[EVENTS * 3 / 4] < 30.0, "a quarter of the events took longer than {} ms", delays[EVENTS * 3 / 4]);
}

#[tokio::test]
async fn small_events_do_not_wait_for_delayed_acknowledgements() {
    assert_no_stalls(&Scene::start()).await;
}

#[tokio::test]
async fn small_events_do_not_wait_for_delayed_acknowledgements_over_tls_and_http2() {
    assert_no_stalls(&Scene::spoken(Protocol::Http2Tls, &Plan::provider("ca_file = \"roots.pem\""))).await;
}
