//! What observers are shown of an invocation, and which of them see it.

use e2e::provider::Script;
use serde_json::{Value, json};

use crate::bench::CHAT;
use crate::scene::{Plan, Scene, hello, request};

/// A log for machines, with every event that an observer emits.
const EVENTS: &str = "format = \"json\"\nlevel = \"info,envelope=debug\"";

/// Asks with these headers and this body, and gives the line of the event that `witness` emits, with its payload.
async fn witnessed(scene: &Scene, headers: &[(&str, &str)], body: &Value) -> (Value, Value) {
    scene.provider.answer(Script::events([hello()]));
    let mut response = scene.client().await.request("POST", CHAT, headers, body.to_string()).await.unwrap();
    let invocation = response.header("x-seam-invocation-id").unwrap().to_owned();
    response.body().await.unwrap();
    let is_it = |line: &str| line.contains("\"channel\":\"witness\"") && line.contains(&invocation);
    let line: Value = serde_json::from_str(&scene.daemon.log_line(is_it).await.unwrap()).unwrap();
    let payload = serde_json::from_str(line["payload"].as_str().unwrap()).unwrap();
    (line, payload)
}

#[tokio::test]
async fn turn_correlation_call_class_and_request_reach_them() {
    let scene = Scene::planned(&Plan { log: EVENTS.into(), ..Plan::default() }.plugin("witness", ""));
    let headers = [
        ("x-seam-turn-id", "turn-7"),
        ("x-seam-call-class", "synthesize"),
        ("x-seam-correlation-user", "u-1"),
        ("x-seam-correlation-trace", "t-2"),
    ];
    let body = json!({
        "model": "m-1",
        "stream": true,
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
        "tools": [{"type": "function", "function": {"name": "now"}}],
    });
    let (line, shown) = witnessed(&scene, &headers, &body).await;
    assert_eq!((&line["turn"], &line["kind"], &line["seq"]), (&"turn-7".into(), &"begun".into(), &0.into()));
    assert_eq!(shown["turn_id"], "turn-7");
    assert_eq!(shown["call_class"], "synthesize");
    assert_eq!(shown["model"], "m-1");
    assert_eq!((&shown["provider"], &shown["family"]), (&"scripted".into(), &"openai".into()));
    assert_eq!(shown["system_prompt"], "be brief");
    assert_eq!(shown["tool_names"], json!(["now"]));
    let messages: Value = serde_json::from_str(shown["messages"].as_str().unwrap()).unwrap();
    assert_eq!(messages, body["messages"]);
    let mut correlation: Vec<Value> = shown["correlation"].as_array().unwrap().clone();
    correlation.sort_by_key(ToString::to_string);
    assert_eq!(correlation, [json!(["trace", "t-2"]), json!(["user", "u-1"])]);
}

#[tokio::test]
async fn without_a_turn_the_invocation_is_its_own_and_the_class_is_the_routes() {
    let scene = Scene::planned(&Plan { log: EVENTS.into(), ..Plan::default() }.plugin("witness", ""));
    let (_, shown) = witnessed(&scene, &[], &request(true)).await;
    assert_eq!(shown["turn_id"], shown["invocation_id"]);
    assert_eq!(shown["call_class"], "converse");
    assert_eq!(shown["correlation"], json!([]));
}

#[tokio::test]
async fn a_call_class_in_the_toml_narrows_a_plugin_to_it() {
    let plan = Plan::default()
        .plugin("witness", "name = \"one\"\ncall_class = \"synthesize\"")
        .plugin("witness", "name = \"two\"\ncall_class = [\"synthesize\", \"utility\"]")
        .plugin("witness", "name = \"all\"");
    let scene = Scene::planned(&plan);
    for class in ["synthesize", "utility", "reasoning", "converse"] {
        scene.provider.answer(Script::events([hello()]));
        let headers = [("x-seam-call-class", class)];
        let asked = scene.client().await.request("POST", CHAT, &headers, request(true).to_string()).await;
        asked.unwrap().body().await.unwrap();
    }
    for (plugin, invocations) in [("one", 1.0), ("two", 2.0), ("all", 4.0)] {
        let counted = scene.metric("seamd_plugin_invocations_total", &[("plugin", plugin)]).await;
        assert_eq!(counted, Some(invocations), "{plugin}");
    }
}

#[tokio::test]
async fn each_is_told_once_how_the_invocation_ended() {
    let scene = Scene::planned(&Plan::default().plugin("witness", ""));
    let told = |outcome: &str| {
        let line = format!("told of the end: {outcome} ");
        scene.daemon.log().lines().filter(|own| own.contains(&line)).count()
    };
    scene.events(Script::events([hello()])).await;
    scene.ended("completed").await;
    scene.events(Script::stream().cut()).await;
    scene.ended("provider_error").await;
    assert_eq!((told("completed"), told("provider_error")), (1, 1));
}
