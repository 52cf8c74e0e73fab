//! Connections to providers: kept, found closed, encrypted, HTTP/2.

use e2e::provider::{BodyFraming, Gate, Protocol, Script};

use crate::bench::{delta, ending, until};
use crate::scene::{Plan, Scene, error_of, hello, whole_hello};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

fn trusted() -> Plan {
    Plan::provider("ca_file = \"roots.pem\"")
}

async fn assert_answered(scene: &Scene, times: usize) {
    for _ in 0..times {
        scene.provider.answer(Script::events([hello()]));
        assert_eq!(scene.ask().await.text().await.unwrap(), hello());
    }
}

#[tokio::test]
async fn one_is_used_again_and_again() {
    let scene = Scene::start();
    assert_answered(&scene, 10).await;
    assert_eq!(scene.provider.connections(), 1);
}

#[tokio::test]
async fn one_is_used_again_after_an_error_status_and_an_answer_that_is_not_streamed() {
    let scene = Scene::start();
    for script in [Script::json(429, "{}"), Script::json(200, &whole_hello()), Script::json(500, "{}")] {
        scene.provider.answer(script);
        scene.ask().await.body().await.unwrap();
    }
    assert_answered(&scene, 1).await;
    assert_eq!(scene.provider.connections(), 1);
}

#[tokio::test]
async fn none_is_kept_where_the_operator_wants_none() {
    let scene = Scene::planned(&Plan::provider("pool_idle = 0"));
    assert_answered(&scene, 3).await;
    assert_eq!(scene.provider.connections(), 3);
}

#[tokio::test]
async fn one_that_the_provider_closed_between_two_calls_costs_no_error() {
    let scene = Scene::start();
    for _ in 0..20 {
        let (gate, body) = (Gate::new(), whole_hello());
        let kept = Script::blank().head(200, &JSON, BodyFraming::Length(body.len() as u64)).raw(&body);
        scene.provider.answer(kept.wait(&gate).cut());
        assert_eq!(scene.ask_whole().await.text().await.unwrap(), body);
        gate.open();
        scene.provider.next_call().await.unwrap().over().await.unwrap();
        assert_answered(&scene, 1).await;
        scene.provider.next_call().await.unwrap();
    }
    assert_eq!(scene.count("completed").await, 40.0);
}

#[tokio::test]
async fn a_provider_that_closes_after_each_answer_costs_no_error() {
    let scene = Scene::start();
    let body = whole_hello();
    let closing = [JSON[0], ("connection", "close")];
    for _ in 0..5 {
        let draft = Script::blank().head(200, &closing, BodyFraming::Length(body.len() as u64));
        scene.provider.answer(draft.raw(&body).cut());
        let mut response = scene.ask_whole().await;
        assert_eq!((response.text().await.unwrap(), response.header("connection")), (body.clone(), None));
    }
    assert_eq!(scene.provider.connections(), 5);
}

#[tokio::test]
async fn two_streams_at_once_have_two_and_both_are_kept() {
    let scene = Scene::start();
    let gate = Gate::new();
    let script = || Script::stream().chunk(delta("a")).wait(&gate).chunk(ending()).end();
    scene.provider.answer(script());
    scene.provider.answer(script());
    let (mut first, mut second) = (scene.ask().await, scene.ask().await);
    gate.open_for_good();
    first.body().await.unwrap();
    second.body().await.unwrap();
    assert_answered(&scene, 4).await;
    assert_eq!(scene.provider.connections(), 2);
}

#[tokio::test]
async fn tls_with_a_root_of_ones_own() {
    for (protocol, http) in [(Protocol::Http1Tls, "auto"), (Protocol::Http1Tls, "1.1"), (Protocol::Http2Tls, "auto")] {
        let plan = Plan { provider: format!("{}\nhttp = \"{http}\"", trusted().provider), ..Plan::default() };
        let scene = Scene::spoken(protocol, &plan);
        assert_answered(&scene, 3).await;
        assert_eq!(scene.provider.connections(), 1, "{protocol:?}");
    }
}

#[tokio::test]
async fn tls_with_an_unknown_root_is_refused() {
    let scene = Scene::spoken(Protocol::Http1Tls, &Plan::default());
    let mut response = scene.ask().await;
    assert_eq!(response.status, 502);
    let (message, _, code) = error_of(&mut response).await;
    assert!(message.contains("scripted") && message.contains("certificate"), "{message}");
    assert_eq!(code, "provider_unreachable");
    assert!(scene.provider.requests().is_empty());
}

#[tokio::test]
async fn tls_that_is_cut_without_its_farewell_is_a_stream_that_broke_off() {
    let scene = Scene::spoken(Protocol::Http1Tls, &trusted());
    let events = scene.events(Script::stream().chunk(delta("a")).cut()).await;
    assert_eq!(crate::scene::final_error(&events)["code"], "provider_broke_off");
}

#[tokio::test]
async fn http2_carries_many_streams_over_one() {
    for (protocol, keys) in [(Protocol::Http2Tls, trusted().provider), (Protocol::Http2, "http = \"2\"".into())] {
        let scene = Scene::spoken(protocol, &Plan::provider(&keys));
        assert_answered(&scene, 1).await;
        let gate = Gate::new();
        let mut streams = Vec::new();
        for _ in 0..8 {
            scene.provider.answer(Script::stream().chunk(delta("a")).wait(&gate).chunk(ending()).end());
            streams.push(scene.ask().await);
        }
        gate.open_for_good();
        for stream in &mut streams {
            assert_eq!(stream.text().await.unwrap(), [delta("a"), ending()].concat());
        }
        assert_eq!(scene.provider.connections(), 1, "{protocol:?}");
    }
}

#[tokio::test]
async fn http2_requests_name_their_host_once() {
    let scene = Scene::spoken(Protocol::Http2, &Plan::provider("http = \"2\""));
    assert_answered(&scene, 1).await;
    let call = scene.provider.next_call().await.unwrap();
    assert_eq!((&*call.request().target, call.request().header("host")), ("/v1/chat/completions", None));
}

#[tokio::test]
async fn http2_that_the_provider_ended_between_two_calls_costs_no_error() {
    let scene = Scene::spoken(Protocol::Http2, &Plan::provider("http = \"2\""));
    let body = whole_hello();
    for _ in 0..5 {
        let gate = Gate::new();
        scene.provider.answer(Script::stream().chunk(hello()).wait(&gate).cut());
        let mut response = scene.ask().await;
        while !response.next_event().await.unwrap().unwrap().is_done() {}
        gate.open();
        response.body().await.unwrap();
        scene.provider.answer(Script::json(200, &body));
        assert_eq!(scene.ask_whole().await.text().await.unwrap(), body);
    }
    until("every call to be counted", async || scene.count("completed").await == 10.0).await;
}
