//! What of a request and of an answer is passed on, and what is not.

use e2e::provider::{BodyFraming, Call, Script};
use serde_json::json;

use crate::bench::CHAT;
use crate::scene::{Plan, Scene, hello, request};

/// Asks with these headers and gives what the provider got.
async fn forwarded(scene: &Scene, headers: &[(&str, &str)]) -> Call {
    scene.provider.answer(Script::events([hello()]));
    let mut response = scene.client().await.request("POST", CHAT, headers, request(true).to_string()).await.unwrap();
    assert_eq!(response.text().await.unwrap(), hello());
    scene.provider.next_call().await.unwrap()
}

#[tokio::test]
async fn method_path_query_and_body_are_the_clients() {
    let scene = Scene::start();
    scene.provider.answer(Script::events([hello()]));
    let body = "{\"model\" : \"m-1\",\n\t\"stream\":true, \"messages\":[], \"own\": 1e2 }";
    let target = format!("{CHAT}?api-version=2&x=%20");
    scene.client().await.request("POST", &target, &[], body).await.unwrap().body().await.unwrap();
    let call = scene.provider.next_call().await.unwrap();
    assert_eq!(call.request().method, "POST");
    assert_eq!(call.request().body, body);
    assert!(call.request().target.ends_with("/v1/chat/completions?api-version=2&x=%20"));
}

#[tokio::test]
async fn the_request_line_is_the_path_alone_and_not_a_whole_url() {
    let scene = Scene::start();
    let call = forwarded(&scene, &[]).await;
    assert_eq!(call.request().target, CHAT);
    let address = scene.provider.address().to_string();
    assert_eq!(call.request().header("host"), Some(&*address), "the provider's, not the daemon's");
}

#[tokio::test]
async fn headers_of_the_message_are_passed_on() {
    let scene = Scene::start();
    let headers = [
        ("content-type", "application/json; charset=utf-8"),
        ("authorization", "Bearer of-the-client"),
        ("openai-organization", "org-1"),
        ("user-agent", "client/1"),
        ("x-request-id", "r-1"),
        ("accept", "text/event-stream"),
    ];
    let call = forwarded(&scene, &headers).await;
    for (name, value) in headers {
        assert_eq!(call.request().header(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn headers_of_the_connection_and_of_seamd_are_not() {
    let scene = Scene::start();
    let headers = [
        ("connection", "keep-alive, x-named-by-connection"),
        ("x-named-by-connection", "1"),
        ("keep-alive", "timeout=5"),
        ("te", "trailers"),
        ("upgrade", "h2c"),
        ("proxy-authorization", "Basic x"),
        ("accept-encoding", "gzip, br"),
        ("x-seam-call-class", "utility"),
        ("x-seam-turn-id", "t-1"),
        ("x-seam-correlation-user", "u-1"),
        ("x-seam-unknown", "1"),
    ];
    let call = forwarded(&scene, &headers).await;
    for (name, _) in headers {
        assert_eq!(call.request().header(name), None, "{name}");
    }
}

#[tokio::test]
async fn of_an_answers_headers_those_of_the_message_are_passed_on() {
    let scene = Scene::start();
    let head = [
        ("content-type", "text/event-stream"),
        ("x-request-id", "r-9"),
        ("x-ratelimit-remaining-tokens", "12"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("keep-alive", "timeout=5"),
        ("connection", "x-named-by-connection"),
        ("x-named-by-connection", "1"),
    ];
    scene.provider.answer(Script::blank().head(200, &head, BodyFraming::Chunked).chunk(hello()).end());
    let mut response = scene.ask().await;
    assert_eq!(response.text().await.unwrap(), hello());
    assert_eq!(response.header("x-request-id"), Some("r-9"));
    assert_eq!(response.header("x-ratelimit-remaining-tokens"), Some("12"));
    assert_eq!(response.head.headers.iter().filter(|(name, _)| name == "set-cookie").count(), 2);
    assert_eq!(response.header("keep-alive"), None);
    assert_eq!(response.header("x-named-by-connection"), None);
}

#[tokio::test]
async fn a_stream_tells_proxies_not_to_gather_it_and_names_its_invocation() {
    let scene = Scene::start();
    scene.provider.answer(Script::events([hello()]));
    let mut response = scene.ask().await;
    response.body().await.unwrap();
    assert_eq!(response.header("cache-control"), Some("no-cache"));
    assert_eq!(response.header("x-accel-buffering"), Some("no"));
    let id = response.header("x-seam-invocation-id").unwrap().to_owned();
    assert!(scene.ended("completed").await.contains(&id));
}

/// The key of each of these tests.
const KEY: &str = "sk-never-to-be-seen-0451";

async fn assert_key_is_sent(plan: Plan) {
    let scene = Scene::planned(&Plan { log: "level = \"trace\"".into(), ..plan });
    let call = forwarded(&scene, &[("authorization", "Bearer of-the-client")]).await;
    let sent = call.request().headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    assert_eq!(sent.map(|(_, value)| &**value).collect::<Vec<_>>(), [format!("Bearer {KEY}")]);
    scene.ended("completed").await;
    let metrics = scene.metrics().await;
    for text in [scene.daemon.log(), scene.daemon.output(), metrics] {
        assert!(!text.contains(KEY), "the key is said: {text}");
    }
}

#[tokio::test]
async fn a_key_from_the_environment_is_sent_and_never_logged() {
    let environment = vec![("SEAMD_TEST_KEY", KEY)];
    assert_key_is_sent(Plan { environment, ..Plan::provider("api_key = { env = \"SEAMD_TEST_KEY\" }") }).await;
}

#[tokio::test]
async fn a_key_from_a_file_is_sent_and_never_logged() {
    let files = vec![("key", format!("{KEY}\n"))];
    assert_key_is_sent(Plan { files, ..Plan::provider("api_key = { file = \"key\" }") }).await;
}

#[tokio::test]
async fn a_key_from_a_command_is_sent_and_never_logged() {
    // In two parts, so that it stands nowhere but in what the command prints.
    let (first, second) = KEY.split_at(9);
    let keys = format!("api_key = {{ command = [\"printf\", \"%s%s\\n\", \"{first}\", \"{second}\"] }}");
    assert_key_is_sent(Plan::provider(&keys)).await;
}

#[tokio::test]
async fn a_providers_own_headers_are_added_and_stand_over_the_clients() {
    let scene = Scene::planned(&Plan::provider("headers = { x-team = \"blue\", openai-project = \"p-1\" }"));
    let call = forwarded(&scene, &[("x-team", "red"), ("x-other", "kept")]).await;
    let of = |name| call.request().headers.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.clone());
    assert_eq!(of("x-team").collect::<Vec<_>>(), ["blue"]);
    assert_eq!(of("openai-project").collect::<Vec<_>>(), ["p-1"]);
    assert_eq!(of("x-other").collect::<Vec<_>>(), ["kept"]);
}

#[tokio::test]
async fn the_base_urls_own_path_and_host_are_kept() {
    let scene = Scene::start();
    let port = scene.provider.address().port();
    let base_url = Some(format!("http://localhost:{port}/openai/deployments/d-1"));
    let behind = Scene::planned(&Plan { base_url, ..Plan::default() });
    scene.provider.answer(Script::json(200, "{}"));
    assert_eq!(behind.ask_whole().await.json().await.unwrap(), json!({}));
    let call = scene.provider.next_call().await.unwrap();
    assert_eq!(call.request().target, "/openai/deployments/d-1/chat/completions");
    assert_eq!(call.request().header("host"), Some(&*format!("localhost:{port}")));
}
