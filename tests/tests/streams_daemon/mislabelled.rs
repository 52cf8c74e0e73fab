//! Answers under another label than their content's: what cannot be observed does not reach the client as if it had
//! been; and what a client writes does not reach the log as if seamd had.

use e2e::provider::Script;
use serde_json::json;

use crate::bench::{CHAT, delta, ending};
use crate::scene::{Plan, Scene, error_of, final_error};

const SECRET: &str = "card 4111 1111 1111 1111; ";

fn stream() -> String {
    format!("{}{}", delta(SECRET), ending())
}

fn redacting() -> Scene {
    Scene::planned(&Plan::default().plugin("redaction", "on_fault = \"stop\""))
}

#[tokio::test]
async fn a_stream_without_its_label_is_observed_where_one_was_asked_for() {
    let scene = redacting();
    for headers in [&[("content-type", "text/plain")][..], &[]] {
        scene.provider.answer(Script::whole(200, headers, stream()));
        let text = scene.ask().await.text().await.unwrap();
        assert!(text.contains("[REDACTED:card]") && !text.contains("4111"), "{text}");
    }
}

#[tokio::test]
async fn a_stream_under_the_label_of_json_is_refused() {
    let scene = redacting();
    scene.provider.answer(Script::whole(200, &[("content-type", "application/json")], stream()));
    let mut response = scene.ask().await;
    assert_eq!(response.status, 502);
    assert_eq!(error_of(&mut response).await.2, "provider_not_json");
    scene.ended("provider_error").await;
}

#[tokio::test]
async fn json_under_the_label_of_a_stream_ends_in_an_error() {
    let scene = redacting();
    let body = json!({"choices": [{"index": 0, "message": {"content": SECRET}, "finish_reason": "stop"}]}).to_string();
    scene.provider.answer(Script::whole(200, &[("content-type", "text/event-stream")], body));
    let events = scene.ask().await.events().await.unwrap();
    assert!(!format!("{events:?}").contains("4111"), "{events:?}");
    assert_eq!(final_error(&events)["code"], "provider_not_a_stream");
}

#[tokio::test]
async fn a_page_of_text_is_no_answer() {
    let scene = redacting();
    scene.provider.answer(Script::whole(200, &[("content-type", "text/html")], format!("<p>{SECRET}</p>")));
    let mut response = scene.ask_whole().await;
    assert_eq!((response.status, error_of(&mut response).await.2.as_str()), (502, "provider_not_json"));
}

#[tokio::test]
async fn a_models_name_writes_no_line_of_the_log() {
    let scene = Scene::start();
    scene.provider.answer(Script::whole(200, &[("content-type", "text/event-stream")], stream()));
    let model = format!("x\"\n2026-01-01T00:00:00Z ERROR seamd: forged{}", "y".repeat(100_000));
    let body = json!({"model": model, "stream": true, "messages": []});
    scene.client().await.post(CHAT, &body).await.unwrap().body().await.unwrap();
    let line = scene.ended("completed").await;
    assert!(line.len() < 2_000 && line.contains(r#"\n2026-01-01"#), "{line}");
    assert!(!scene.daemon.log().contains("\n2026-01-01"));
}

#[tokio::test]
async fn blank_lines_behind_a_held_chunk_are_bounded() {
    let scene = redacting();
    let flood = "\n".repeat(1 << 20);
    let draft = Script::stream().chunk(delta("card 4111 ")).repeat(flood, 40);
    scene.provider.answer(draft.chunk(ending()).end());
    let events = scene.ask().await.events().await.unwrap();
    assert_eq!(final_error(&events)["code"], "too_much_waiting");
}
