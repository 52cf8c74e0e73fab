//! The four plugins of this repository on the streams of the demo.

use std::collections::BTreeMap;
use std::path::Path;

use e2e::provider::Script;
use e2e::sse::{Event, chat_text};
use serde_json::Value;

use crate::scene::{Plan, Scene};

/// A card number that passes the check digit, as the demo's stream says it.
const CARD: &str = "4111 1111 1111 1111";

fn demo(file: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/daemon/demo/streams").join(file)).unwrap()
}

/// The demo's ladder.
fn all_four() -> Scene {
    ladder("on_fault = \"stop\"\non_end_held = \"discard\"")
}

/// The four plugins, with these keys for the first.
fn ladder(redaction: &str) -> Scene {
    let plan = Plan::default()
        .plugin("redaction", redaction)
        .plugin("halt_on_pattern", "")
        .plugin("dialect_normalization", "")
        .plugin("stream_metrics", "");
    Scene::planned(&plan)
}

/// Plays a stream of the demo whole, byte by byte, and cut at odd places; every answer must be the same.
async fn streamed(scene: &Scene, file: &str) -> Vec<Event> {
    let stream = demo(file);
    let odd: Vec<usize> = (0..stream.len()).step_by(977).collect();
    let whole = scene.events(Script::events([&stream])).await;
    let in_pieces = scene.events(Script::stream().cut_chunks(&stream, &odd).end()).await;
    assert_eq!(whole, in_pieces);
    let by_byte = scene.events(Script::stream().bytewise(&stream).end()).await;
    assert_eq!(whole, by_byte);
    whole
}

/// The last events as a person reads them.
fn last(events: &[Event], count: usize) -> String {
    let events = &events[events.len() - count..];
    events.iter().map(|event| String::from_utf8_lossy(&event.raw).into_owned()).collect()
}

#[tokio::test]
async fn a_card_number_across_chunks_comes_out_redacted() {
    let scene = all_four();
    let events = streamed(&scene, "card.sse").await;
    let text = chat_text(&events);
    insta::assert_snapshot!("card", text);
    let bytes: String = events.iter().map(|event| String::from_utf8_lossy(&event.raw).into_owned()).collect();
    assert!(!bytes.contains("4111") && !text.contains(CARD));
    assert!(events.last().unwrap().is_done());
}

#[tokio::test]
async fn a_refusal_is_stopped_with_a_well_formed_end() {
    let scene = all_four();
    let events = streamed(&scene, "refusal.sse").await;
    insta::assert_snapshot!("refusal", last(&events, 3));
    scene.ended("stopped").await;
    assert_eq!(scene.count("stopped").await, 3.0);
}

#[tokio::test]
async fn a_stop_ends_the_providers_call_at_once_and_keeps_the_clients_connection() {
    let scene = all_four();
    scene.provider.answer(Script::stream().chunk(demo("refusal.sse")).stall());
    let mut response = scene.ask().await;
    assert!(response.events().await.unwrap().last().unwrap().is_done());
    scene.provider.next_call().await.unwrap().client_gone().await.unwrap();
    let mut again = response.reuse().unwrap().get("/nowhere").await.unwrap();
    assert_eq!(again.status, 404);
    again.body().await.unwrap();
}

#[tokio::test]
async fn a_marker_in_the_text_becomes_a_tool_call() {
    let scene = all_four();
    let events = streamed(&scene, "tool.sse").await;
    let said = |event: &&Event| event.json().pointer("/choices/0/delta/tool_calls").is_some();
    let calls: Vec<Value> = events.iter().filter(said).map(|event| event.json()["choices"][0].clone()).collect();
    insta::assert_json_snapshot!("tool", calls);
    assert_eq!(chat_text(&events).matches("<tool").count(), 0);
    insta::assert_snapshot!("tool_end", last(&events, 3));
}

#[tokio::test]
async fn answers_that_are_not_streamed_go_through_the_same_ladder() {
    let scene = all_four();
    for name in ["card", "refusal", "tool"] {
        let file = format!("{name}.json");
        scene.provider.answer(Script::json(200, std::str::from_utf8(&demo(&file)).unwrap()));
        let answer = scene.ask_whole().await.json().await.unwrap();
        insta::assert_json_snapshot!(format!("whole_{name}"), answer);
    }
}

#[tokio::test]
async fn what_stream_metrics_emits_is_counted() {
    let scene = all_four();
    scene.events(Script::events([demo("card.sse")])).await;
    scene.ended("completed").await;
    let counted = [("channel", "metrics"), ("plugin", "stream-metrics")];
    let envelopes = scene.metric("seamd_envelopes_total", &counted).await.unwrap_or(0.0);
    assert!(envelopes >= 1.0, "{}", scene.metrics().await);
    let chunks = scene.metric("seamd_plugin_counter_total", &[("plugin", "stream-metrics"), ("name", "chunks")]).await;
    assert!(chunks > Some(1.0));
}

/// All text of a stream by the member it stands in. Redaction may move text to the chunk in which it became certain that
/// it is none of what it looks for.
fn texts(events: &[Event]) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for event in events {
        let json = event.json();
        let deltas = json["choices"].as_array().into_iter().flatten().filter_map(|choice| choice["delta"].as_object());
        for (name, value) in deltas.flatten() {
            let arguments = |call: &Value| call["function"]["arguments"].as_str().map(str::to_owned);
            let text = match value {
                Value::String(text) if name != "role" => text.clone(),
                Value::Array(calls) => calls.iter().filter_map(arguments).collect(),
                _ => continue,
            };
            *texts.entry(name.clone()).or_default() += text.as_str();
        }
    }
    texts
}

#[tokio::test]
async fn recorded_streams_without_anything_to_find_keep_their_texts() {
    // One provider never says that a choice is finished; what is still held then is to be let go here.
    let scene = ladder("");
    let direct = Scene::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/streams/openai-chat");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: there are no recorded streams at {}", folder.display());
        return;
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    for path in paths.filter(|path| path.extension().is_some_and(|ending| ending == "sse")) {
        let script = Script::events([std::fs::read(&path).unwrap()]);
        let (through, past) = (scene.events(script.clone()).await, direct.events(script).await);
        assert_eq!(through.len(), past.len(), "{}", path.display());
        assert_eq!(texts(&through), texts(&past), "{}", path.display());
    }
}
