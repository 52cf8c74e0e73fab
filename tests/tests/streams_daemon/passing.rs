//! Bytes pass unchanged and at once.

use std::path::Path;

use e2e::client::Client;
use e2e::os::monotonic_nanos;
use e2e::provider::{Gate, Protocol, Script};
use e2e::sse::chat_text;

use crate::bench::{CHAT, delta, ending};
use crate::scene::{Plan, Scene, UNTIL_CLOSE, hello, request, whole_hello};

/// Streams with comments, CRLF, several choices, tool calls and text of many bytes per character.
fn fixtures() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/wire/fixtures");
    let is_stream = |path: &std::path::PathBuf| path.extension().is_some_and(|ending| ending == "sse");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(is_stream).collect();
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

#[tokio::test]
async fn an_answer_behind_an_interim_one() {
    let scene = Scene::start();
    let early = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n";
    let event_stream = [("content-type", "text/event-stream")];
    scene.provider.answer(Script::blank().raw(early).head(200, &event_stream, UNTIL_CLOSE).chunk(hello()).end());
    assert_eq!(scene.ask().await.text().await.unwrap(), hello());
}

/// How long the slowest event of a short answer takes, in milliseconds, each sent as soon as the one before it was read.
async fn slowest(scene: &Scene, client: Client) -> (f64, Client) {
    const EVENTS: usize = 4;
    let gate = Gate::new();
    let events = (0..EVENTS).fold(Script::stream(), |draft, nth| draft.wait(&gate).chunk(delta(&nth.to_string())));
    scene.provider.answer(events.chunk(ending()).end());
    let mut response = client.post(CHAT, &request(true)).await.unwrap();
    let mut slowest = 0;
    for _ in 0..EVENTS {
        let sent = monotonic_nanos();
        gate.open();
        let piece = response.next_piece().await.unwrap().unwrap();
        slowest = slowest.max(piece.at.saturating_sub(sent));
    }
    response.body().await.unwrap();
    (slowest as f64 / 1e6, response.reuse().unwrap())
}

/// Where questions and answers take turns on a connection, the kernel delays the acknowledgement of the next answer's
/// beginning by 40 ms. With Nagle's algorithm on, an event would wait for it in each answer.
async fn assert_no_stalls(scene: &Scene) {
    const ANSWERS: usize = 15;
    let mut client = scene.client().await;
    let mut delays = Vec::new();
    for _ in 0..ANSWERS {
        let (delay, reused) = slowest(scene, client).await;
        delays.push(delay);
        client = reused;
    }
    delays.sort_by(f64::total_cmp);
    assert!(delays[ANSWERS / 2] < 10.0, "an event that waits in most answers: {delays:?} ms");
}

#[tokio::test]
async fn small_events_do_not_wait_for_delayed_acknowledgements() {
    assert_no_stalls(&Scene::start()).await;
}

#[tokio::test]
async fn small_events_do_not_wait_for_delayed_acknowledgements_over_tls_and_http2() {
    assert_no_stalls(&Scene::spoken(Protocol::Http2Tls, &Plan::provider("ca_file = \"roots.pem\""))).await;
}
