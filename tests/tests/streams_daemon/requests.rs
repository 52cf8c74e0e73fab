//! What clients may ask, and how.

use e2e::patience::within;
use e2e::provider::Script;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bench::CHAT;
use crate::scene::{Plan, Scene, error_of, hello, request, whole_hello};

#[tokio::test]
async fn one_connection_after_the_other_answer() {
    let scene = Scene::start();
    scene.provider.answer_always(Script::events([hello()]));
    let mut client = scene.client().await;
    for _ in 0..5 {
        let mut response = client.post(CHAT, &request(true)).await.unwrap();
        assert_eq!(response.text().await.unwrap(), hello());
        client = response.reuse().unwrap();
    }
    assert_eq!(scene.provider.connections(), 1, "the provider's connection is kept as well");
}

#[tokio::test]
async fn errors_keep_the_connection() {
    let scene = Scene::start();
    scene.provider.answer(Script::events([hello()]));
    let mut response = scene.client().await.post("/nowhere", &request(true)).await.unwrap();
    assert_eq!(response.status, 404);
    response.body().await.unwrap();
    let mut response = response.reuse().unwrap().post(CHAT, &request(true)).await.unwrap();
    assert_eq!(response.text().await.unwrap(), hello());
}

#[tokio::test]
async fn several_at_once_on_one_connection_are_answered_in_order() {
    let scene = Scene::start();
    scene.provider.answer_with(|request| Script::json(200, &json!({"echo": request.json()["model"]}).to_string()));
    let body = |nth: u32| json!({"model": nth.to_string(), "messages": []}).to_string();
    let one = |nth: u32| {
        let body = body(nth);
        format!("POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    let mut client = scene.client().await;
    client.send_raw((0..4).map(one).collect::<String>()).await.unwrap();
    for nth in 0..4 {
        let mut response = client.receive().await.unwrap();
        assert_eq!(response.json().await.unwrap()["echo"], nth.to_string());
        client = response.reuse().unwrap();
    }
}

#[tokio::test]
async fn a_request_in_chunks() {
    let scene = Scene::start();
    scene.provider.answer(Script::events([hello()]));
    let body = request(true).to_string();
    let (first, second) = body.split_at(7);
    let mut client = scene.client().await;
    let head = format!("POST {CHAT} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    client.send_raw(format!("{head}{:x}\r\n{first}\r\n", first.len())).await.unwrap();
    client.send_raw(format!("{:x}\r\n{second}\r\n0\r\n\r\n", second.len())).await.unwrap();
    assert_eq!(client.receive().await.unwrap().text().await.unwrap(), hello());
    let call = scene.provider.next_call().await.unwrap();
    assert_eq!(call.request().body, body);
    assert_eq!(call.request().header("content-length"), Some(&*body.len().to_string()));
    assert_eq!(call.request().header("transfer-encoding"), None);
}

#[tokio::test]
async fn a_client_that_waits_to_be_told_to_send_its_body() {
    let scene = Scene::start();
    scene.provider.answer(Script::events([hello()]));
    let body = request(true).to_string();
    let mut connection = TcpStream::connect(scene.daemon.listen()).await.unwrap();
    let headers = format!("host: x\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-length: {}", body.len());
    connection.write_all(format!("POST {CHAT} HTTP/1.1\r\n{headers}\r\n\r\n").as_bytes()).await.unwrap();
    let mut interim = [0; 25];
    within("to be told", connection.read_exact(&mut interim)).await.unwrap().unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    connection.write_all(body.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    within("the answer", connection.read_to_end(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", answer.escape_ascii());
    assert_eq!(scene.provider.next_call().await.unwrap().request().header("expect"), None);
}

#[tokio::test]
async fn a_client_of_http_1_0() {
    let scene = Scene::start();
    scene.provider.answer(Script::events([hello()]));
    let body = request(true).to_string();
    let mut client = scene.client().await;
    client.send_raw(format!("POST {CHAT} HTTP/1.0\r\ncontent-length: {}\r\n\r\n{body}", body.len())).await.unwrap();
    let answer = client.closed().await.unwrap();
    assert!(
        answer.starts_with(b"HTTP/1.0 200 OK\r\n") && answer.ends_with(hello().as_bytes()),
        "{}",
        answer.escape_ascii()
    );
}

#[tokio::test]
async fn a_body_that_is_too_large_whether_or_not_it_says_so() {
    let scene = Scene::planned(&Plan { server: "max_request = \"2KiB\"".into(), ..Plan::default() });
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "x".repeat(2_100)}]}).to_string();
    let mut said = scene.client().await.request("POST", CHAT, &[], &body).await.unwrap();
    assert_eq!(said.status, 413);
    let (message, kind, code) = error_of(&mut said).await;
    assert!(message.contains("2048 bytes") && message.contains("server.max_request"), "{message}");
    assert_eq!((&*kind, &*code), ("invalid_request_error", "request_too_large"));
    let mut client = scene.client().await;
    let chunked = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    client.send_raw(chunked).await.unwrap();
    assert_eq!(client.receive().await.unwrap().status, 413);
    assert!(scene.provider.requests().is_empty());
}

#[tokio::test]
async fn a_body_that_is_no_request() {
    let scene = Scene::start();
    for body in ["", "{", "7", "[]", "\"text\"", "{\"model\": 7, \"messages\": []}", "\u{0}"] {
        let mut response = scene.client().await.request("POST", CHAT, &[], body).await.unwrap();
        assert_eq!(response.status, 400, "{body:?}");
        let (message, kind, code) = error_of(&mut response).await;
        assert!(message.starts_with("the request's body "), "{message}");
        assert_eq!((&*kind, &*code), ("invalid_request_error", "invalid_body"), "{body:?}");
    }
    assert!(scene.provider.requests().is_empty());
    assert_eq!(scene.metric("seamd_requests_total", &[("status", "400")]).await, Some(7.0));
}

#[tokio::test]
async fn a_request_without_a_model_is_the_providers_to_judge() {
    let scene = Scene::start();
    let refusal = r#"{"error":{"message":"you must provide a model parameter"}}"#;
    scene.provider.answer(Script::json(400, refusal));
    let mut response = scene.client().await.request("POST", CHAT, &[], "{\"messages\":[]}").await.unwrap();
    assert_eq!((response.status, response.text().await.unwrap()), (400, refusal.to_owned()));
}

#[tokio::test]
async fn a_body_that_breaks_off_reaches_no_provider() {
    let scene = Scene::start();
    let mut client = scene.client().await;
    client
        .send_raw(format!("POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n{{\"model\""))
        .await
        .unwrap();
    drop(client);
    scene.provider.answer(Script::events([hello()]));
    assert_eq!(scene.ask().await.text().await.unwrap(), hello());
    assert_eq!(scene.provider.requests().len(), 1);
}

#[tokio::test]
async fn a_call_class_that_does_not_exist() {
    let scene = Scene::start();
    let headers = [("x-seam-call-class", "Synthesise")];
    let mut response = scene.client().await.request("POST", CHAT, &headers, request(true).to_string()).await.unwrap();
    assert_eq!(response.status, 400);
    let (message, _, code) = error_of(&mut response).await;
    assert!(message.contains("Synthesise") && message.contains("synthesize, reasoning, utility"), "{message}");
    assert_eq!(code, "invalid_call_class");
}

#[tokio::test]
async fn other_methods_are_told_the_right_one() {
    let scene = Scene::start();
    for (method, path, right) in [
        ("GET", CHAT, "POST"),
        ("PUT", CHAT, "POST"),
        ("OPTIONS", CHAT, "POST"),
        ("DELETE", CHAT, "POST"),
        ("POST", "/v1/models", "GET"),
    ] {
        let mut response = scene.client().await.request(method, path, &[], "").await.unwrap();
        assert_eq!((response.status, response.header("allow")), (405, Some(right)), "{method} {path}");
        assert_eq!(error_of(&mut response).await.2, "wrong_method");
    }
    // The answer to HEAD has the length of a body and no body.
    let mut client = scene.client().await;
    client.send_raw(format!("HEAD {CHAT} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).await.unwrap();
    let answer = client.closed().await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 405 ") && answer.ends_with(b"\r\n\r\n"), "{}", answer.escape_ascii());
}

#[tokio::test]
async fn a_path_without_a_route_is_told_those_that_there_are() {
    let scene = Scene::start();
    for path in ["/", "/v1/chat/completions/", "/v1/completions", "//v1/models"] {
        let mut response = scene.client().await.post(path, &request(true)).await.unwrap();
        assert_eq!(response.status, 404);
        let (message, _, code) = error_of(&mut response).await;
        assert!(message.contains(path) && message.contains("/v1/chat/completions and /v1/models"), "{message}");
        assert_eq!(code, "no_route");
    }
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_the_next_client_is_served() {
    let scene = Scene::start();
    let mut client = scene.client().await;
    client.send_raw("\u{16}\u{3}\u{1} this is no HTTP\r\n\r\n").await.unwrap();
    let answer = client.closed().await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 400 "), "{}", answer.escape_ascii());
    scene.provider.answer(Script::json(200, &whole_hello()));
    assert_eq!(scene.ask_whole().await.status, 200);
}

#[tokio::test]
async fn the_models_are_the_providers() {
    let scene = Scene::start();
    let models = r#"{"object":"list", "data":[{"id":"m-1"}]}"#;
    scene.provider.answer(Script::json(200, models));
    let mut response = scene.client().await.get("/v1/models?limit=3").await.unwrap();
    assert_eq!(response.text().await.unwrap(), models);
    let call = scene.provider.next_call().await.unwrap();
    assert_eq!((&*call.request().method, &*call.request().target), ("GET", "/v1/models?limit=3"));
}

#[tokio::test]
async fn a_streamed_request_that_is_answered_whole_and_the_other_way_around() {
    let scene = Scene::start();
    scene.provider.answer(Script::json(200, &whole_hello()));
    assert_eq!(scene.ask().await.json().await.unwrap(), serde_json::from_str::<Value>(&whole_hello()).unwrap());
    scene.provider.answer(Script::events([hello()]));
    assert_eq!(scene.ask_whole().await.text().await.unwrap(), hello());
}
