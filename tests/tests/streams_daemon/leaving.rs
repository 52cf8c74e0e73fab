//! Clients that leave: the provider's call ends at once, observers are told, the record says so. And clients that do not
//! read: they slow the provider down and cost no memory.

use std::time::Duration;

use e2e::client::Client;
use e2e::os::monotonic_nanos;
use e2e::provider::{Call, Protocol, Script};
use tokio::time::sleep;

use crate::bench::{CHAT, delta, ending, until};
use crate::scene::{AT_ONCE, Plan, Scene, hello, request, whole_hello};

/// That the provider saw its client leave at once, and that the record and the observers know.
async fn assert_gone(scene: &Scene, call: &Call, left: u64) {
    let seen = call.client_gone().await.unwrap();
    let took = Duration::from_nanos(seen.saturating_sub(left));
    assert!(took < AT_ONCE, "the provider's call went on for {took:?}");
    scene.ended("client_gone").await;
    assert_eq!(scene.count("client_gone").await, 1.0);
    scene.daemon.log_line(|line| line.contains("told of the end: client_gone")).await.unwrap();
    scene.idle().await;
}

fn witnessed() -> Plan {
    Plan::default().plugin("witness", "")
}

#[tokio::test]
async fn in_the_middle_of_a_stream() {
    let scene = Scene::planned(&witnessed().plugin("stream_metrics", ""));
    scene.provider.answer(Script::stream().chunk(delta("a")).stall());
    let mut response = scene.ask().await;
    response.next_event().await.unwrap().unwrap();
    let call = scene.provider.next_call().await.unwrap();
    let left = monotonic_nanos();
    drop(response);
    assert_gone(&scene, &call, left).await;
    let counted = [("plugin", "stream-metrics"), ("name", "chunks")];
    assert_eq!(scene.metric("seamd_plugin_counter_total", &counted).await, Some(1.0));
}

#[tokio::test]
async fn in_the_middle_of_a_stream_with_a_reset() {
    let scene = Scene::planned(&witnessed());
    scene.provider.answer(Script::stream().chunk(delta("a")).stall());
    let mut response = scene.ask().await;
    response.next_event().await.unwrap().unwrap();
    let call = scene.provider.next_call().await.unwrap();
    let left = monotonic_nanos();
    response.reset().unwrap();
    assert_gone(&scene, &call, left).await;
}

#[tokio::test]
async fn in_the_middle_of_a_stream_over_http2() {
    let scene = Scene::spoken(Protocol::Http2, &Plan { provider: "http = \"2\"".into(), ..witnessed() });
    scene.provider.answer(Script::stream().chunk(delta("a")).stall());
    let mut response = scene.ask().await;
    response.next_event().await.unwrap().unwrap();
    let call = scene.provider.next_call().await.unwrap();
    let left = monotonic_nanos();
    drop(response);
    assert_gone(&scene, &call, left).await;
}

#[tokio::test]
async fn before_the_first_byte() {
    let scene = Scene::planned(&witnessed());
    scene.provider.answer(Script::mute());
    let mut client = scene.client().await;
    client.send("POST", CHAT, &[], request(true).to_string()).await.unwrap();
    let call = scene.provider.next_call().await.unwrap();
    let left = monotonic_nanos();
    drop(client);
    assert_gone(&scene, &call, left).await;
}

#[tokio::test]
async fn while_an_answer_that_is_not_streamed_is_gathered() {
    let scene = Scene::planned(&witnessed());
    let json = [("content-type", "application/json")];
    let head = Script::blank().head(200, &json, e2e::provider::BodyFraming::Chunked);
    scene.provider.answer(head.chunk(&whole_hello()[..20]).stall());
    let mut client = scene.client().await;
    client.send("POST", CHAT, &[], request(false).to_string()).await.unwrap();
    let call = scene.provider.next_call().await.unwrap();
    until("the beginning of the answer to be sent", async || call.sent() > 0).await;
    let left = monotonic_nanos();
    drop(client);
    assert_gone(&scene, &call, left).await;
}

#[tokio::test]
async fn a_client_that_ends_its_sending_direction_has_left() {
    let scene = Scene::planned(&witnessed());
    scene.provider.answer(Script::stream().chunk(delta("a")).stall());
    let mut client = scene.client().await;
    client.send("POST", CHAT, &[], request(true).to_string()).await.unwrap();
    let call = scene.provider.next_call().await.unwrap();
    until("the first event to be sent", async || call.sent() > 0).await;
    let left = monotonic_nanos();
    client.finish_sending().await.unwrap();
    assert_gone(&scene, &call, left).await;
}

#[tokio::test]
async fn the_next_client_is_answered_over_a_connection_of_its_own() {
    let scene = Scene::start();
    scene.provider.answer(Script::stream().chunk(delta("stale")).stall());
    let mut response = scene.ask().await;
    response.next_event().await.unwrap().unwrap();
    drop(response);
    scene.provider.next_call().await.unwrap().client_gone().await.unwrap();
    scene.provider.answer(Script::events([hello()]));
    assert_eq!(scene.ask().await.text().await.unwrap(), hello());
    assert_eq!(scene.provider.connections(), 2);
}

#[tokio::test]
async fn a_client_that_has_the_whole_answer_is_not_gone() {
    let scene = Scene::planned(&witnessed());
    scene.provider.answer(Script::events([hello()]));
    let mut response = scene.ask().await;
    while !response.next_event().await.unwrap().unwrap().is_done() {}
    drop(response);
    scene.ended("completed").await;
    assert_eq!(scene.count("client_gone").await, 0.0);
}

/// What a provider has sent once it can send no more.
async fn most_sent(call: &Call) -> u64 {
    let mut sent = 0;
    let mut still = 0;
    // Half a second without a byte, on loopback: everything is full.
    while still < 10 {
        sleep(Duration::from_millis(50)).await;
        still = if call.sent() == sent && sent > 0 { still + 1 } else { 0 };
        sent = call.sent();
    }
    sent
}

#[tokio::test]
async fn a_client_that_never_reads_does_not_drain_the_provider() {
    const EVENTS: u64 = 12_000;
    let scene = Scene::start();
    let event = delta(&"x".repeat(16_000));
    let whole = event.len() as u64 * EVENTS;
    scene.provider.answer(Script::stream().repeat(&event, EVENTS).chunk(ending()).end());
    let mut client = Client::connect_with_receive_buffer(scene.daemon.listen(), 8 * 1024).await.unwrap();
    client.send("POST", CHAT, &[], request(true).to_string()).await.unwrap();
    let call = scene.provider.next_call().await.unwrap();
    let sent = most_sent(&call).await;
    // What fits into the buffers of the kernel's two connections, and no more.
    assert!(sent < 16 << 20, "{sent} of {whole} bytes were taken for a client that does not read");
    drop(client);
    call.client_gone().await.unwrap();
    scene.ended("client_gone").await;
}
