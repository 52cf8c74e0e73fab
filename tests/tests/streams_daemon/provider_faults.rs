//! Providers that answer with errors, break off, garble, stall or are not there: the client gets an error in its own
//! protocol and a clean end, and the record says whose fault it was.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use e2e::provider::{BodyFraming, Draft, Gate, Protocol, Script, unused_address};
use e2e::sse::chat_text;

use crate::bench::{CHAT, delta, ending};
use crate::scene::{AT_ONCE, Plan, Scene, error_of, final_error, hello, request, whole_hello};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// That a call without an answer is an error with this status and code, whose message names the provider.
async fn assert_unanswered(scene: &Scene, status: u16, code: &str) -> String {
    let mut response = scene.ask().await;
    assert_eq!(response.status, status);
    assert!(response.header("x-seam-invocation-id").is_some());
    let (message, kind, said) = error_of(&mut response).await;
    assert!(message.contains("provider \"scripted\""), "{message}");
    assert_eq!((&*kind, &*said), ("provider_error", code), "{message}");
    let line = scene.ended("provider_error").await;
    assert!(line.contains(&format!("status={status}")), "{line}");
    assert_eq!(scene.count("provider_error").await, 1.0);
    message
}

#[tokio::test]
async fn an_error_status_reaches_the_client_as_it_was() {
    let scene = Scene::start();
    let limited = r#"{"error": {"message": "slow down",  "type": "rate_limit"}}"#;
    let answers = [
        (429, vec![JSON[0], ("retry-after", "7"), ("x-ratelimit-reset-requests", "1s")], limited),
        (401, vec![JSON[0]], r#"{"error":{"message":"no key"}}"#),
        (500, vec![("content-type", "text/html")], "<h1>down</h1>"),
        (503, vec![("retry-after", "1")], ""),
        (307, vec![("location", "/elsewhere")], ""),
    ];
    for (status, headers, body) in &answers {
        scene.provider.answer(Script::whole(*status, headers, body));
        let mut response = scene.ask().await;
        assert_eq!(response.status, *status);
        for (name, value) in headers {
            assert_eq!(response.header(name), Some(*value), "{status}");
        }
        assert_eq!(response.text().await.unwrap(), *body);
    }
    assert_eq!(scene.count("provider_error").await, answers.len() as f64);
}

#[tokio::test]
async fn an_error_status_keeps_its_compressed_body() {
    let scene = Scene::start();
    let headers = [("content-type", "text/plain"), ("content-encoding", "gzip")];
    scene.provider.answer(Script::whole(502, &headers, b"\x1f\x8b not looked at"));
    let mut response = scene.ask().await;
    assert_eq!((response.status, response.header("content-encoding")), (502, Some("gzip")));
    assert_eq!(response.body().await.unwrap(), &b"\x1f\x8b not looked at"[..]);
}

#[tokio::test]
async fn an_error_body_that_breaks_off_is_seen_to_be_cut() {
    let scene = Scene::start();
    scene.provider.answer(Script::blank().head(500, &JSON, BodyFraming::Chunked).chunk("{\"error\"").cut());
    let mut response = scene.ask().await;
    assert_eq!(response.status, 500);
    assert_eq!(response.body().await.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn an_error_under_a_good_status_is_the_providers_error() {
    let scene = Scene::start();
    let body = r#"{"error": {"message": "overloaded", "code": 529}}"#;
    scene.provider.answer(Script::json(200, body));
    let mut response = scene.ask().await;
    assert_eq!((response.status, response.text().await.unwrap()), (502, body.to_owned()));
    scene.ended("provider_error").await;
}

#[tokio::test]
async fn an_error_inside_the_stream_passes_and_is_the_providers_error() {
    let scene = Scene::start();
    let stream = [&delta("a"), "event: error\ndata: {\"error\": {\"message\": \"overloaded\"}}\n\n"].concat();
    scene.provider.answer(Script::events([&stream]));
    assert_eq!(scene.ask().await.text().await.unwrap(), stream);
    scene.ended("provider_error").await;
}

#[tokio::test]
async fn a_coding_that_nobody_knows_was_not_asked_for_and_is_refused() {
    let scene = Scene::start();
    let headers = [("content-type", "text/event-stream"), ("content-encoding", "compress")];
    scene.provider.answer(Script::whole(200, &headers, b"\x1f\x9d"));
    let mut response = scene.ask().await;
    assert_eq!(response.status, 502);
    assert!(response.header("x-seam-invocation-id").is_some());
    let (message, kind, code) = error_of(&mut response).await;
    assert!(message.contains("compress"), "{message}");
    assert_eq!((&*kind, &*code), ("provider_error", "provider_content_encoding"));
    scene.ended("provider_error").await;
}

#[tokio::test]
async fn nobody_listens() {
    let address = unused_address().unwrap().to_string();
    let scene = Scene::planned(&Plan { base_url: Some(format!("http://{address}")), ..Plan::default() });
    let message = assert_unanswered(&scene, 502, "provider_unreachable").await;
    assert!(message.contains(&address), "{message}");
}

#[tokio::test]
async fn a_connection_that_is_never_set_up() {
    // It is accepted by the kernel, and nobody ever answers the greeting of TLS.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = Some(format!("https://{}", silent.local_addr().unwrap()));
    let plan = Plan { base_url, ..Plan::provider("connect_timeout = \"150ms\"") };
    let message = assert_unanswered(&Scene::planned(&plan), 504, "provider_connect_timeout").await;
    assert!(message.contains("within 150ms"), "{message}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_whose_first_packet_is_never_answered() {
    // A full queue of connections that nobody accepts drops further ones, as a firewall does.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap();
    let fill = || {
        let filler = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        filler.set_nonblocking(true).unwrap();
        // It is under way; more than that is not wanted of it.
        let _ = filler.connect(&address);
        filler
    };
    let _fillers: Vec<_> = (0..4).map(|_| fill()).collect();
    let base_url = Some(format!("http://{}", address.as_socket().unwrap()));
    let plan = Plan { base_url, ..Plan::provider("connect_timeout = \"150ms\"") };
    assert_unanswered(&Scene::planned(&plan), 504, "provider_connect_timeout").await;
}

#[tokio::test]
async fn a_reset_before_the_head() {
    let scene = Scene::start();
    scene.provider.answer(Script::blank().reset());
    assert_unanswered(&scene, 502, "provider_broke_off").await;
}

#[tokio::test]
async fn a_close_before_the_head_and_in_the_middle_of_it() {
    for sent in ["", "HTTP/1.1 200 OK\r\ncontent-ty"] {
        let scene = Scene::start();
        scene.provider.answer(Script::blank().raw(sent).cut());
        assert_unanswered(&scene, 502, "provider_broke_off").await;
    }
}

#[tokio::test]
async fn something_else_than_http() {
    let scene = Scene::start();
    scene.provider.answer(Script::blank().raw("220 mail.example ESMTP\r\n\r\n").stall());
    assert_unanswered(&scene, 502, "provider_broke_off").await;
}

#[tokio::test]
async fn no_first_byte_in_time() {
    let scene = Scene::planned(&Plan::provider("first_byte_timeout = \"150ms\""));
    scene.provider.answer(Script::mute());
    let message = assert_unanswered(&scene, 504, "provider_first_byte_timeout").await;
    assert!(message.contains("no first byte within 150ms"), "{message}");
    scene.provider.next_call().await.unwrap().client_gone().await.unwrap();
}

/// That a stream which breaks like this is ended by an error event with this code, the end marker and a proper end of the
/// body, and that the record says whose fault it was.
async fn assert_broken(scene: &Scene, script: Script, code: &str) {
    scene.provider.answer(script);
    let mut response = scene.ask().await;
    assert_eq!(response.status, 200);
    let events = response.events().await.unwrap();
    assert_eq!(chat_text(&events), "a", "what came before is delivered");
    let error = final_error(&events);
    assert_eq!((&error["type"], &error["code"]), (&"provider_error".into(), &code.into()), "{events:?}");
    let line = scene.ended("provider_error").await;
    assert!(line.contains("reason="), "{line}");
    assert_eq!(scene.count("provider_error").await, 1.0);
    let mut again = response.reuse().unwrap().get("/nowhere").await.unwrap();
    assert_eq!(again.status, 404, "the client's connection goes on");
    again.body().await.unwrap();
}

fn begun() -> Draft {
    Script::stream().chunk(delta("a"))
}

#[tokio::test]
async fn a_reset_in_the_middle_of_a_stream() {
    assert_broken(&Scene::start(), begun().reset(), "provider_broke_off").await;
}

#[tokio::test]
async fn a_close_without_the_last_chunk() {
    assert_broken(&Scene::start(), begun().cut(), "provider_broke_off").await;
}

#[tokio::test]
async fn a_close_in_the_middle_of_an_event() {
    let scene = Scene::start();
    scene.provider.answer(begun().chunk("data: {\"choices\":[{\"ind").cut());
    let events = scene.ask().await.events().await.unwrap();
    assert_eq!(final_error(&events)["code"], "provider_broke_off");
    assert_eq!(events.len(), 3, "the torn event is not passed on: {events:?}");
}

#[tokio::test]
async fn a_body_that_ends_properly_before_the_answer_does() {
    assert_broken(&Scene::start(), begun().end(), "provider_broke_off").await;
}

#[tokio::test]
async fn chunks_with_malformed_sizes() {
    for garbage in ["zz\r\nnot a chunk\r\n", "-1\r\n", "ffffffffffffffffff\r\n", "\u{0}\u{1}\u{2}"] {
        assert_broken(&Scene::start(), begun().raw(garbage).stall(), "provider_broke_off").await;
    }
}

#[tokio::test]
async fn a_body_shorter_than_its_length() {
    let event_stream = [("content-type", "text/event-stream")];
    let head = Script::blank().head(200, &event_stream, BodyFraming::Length(100_000));
    assert_broken(&Scene::start(), head.chunk(delta("a")).cut(), "provider_broke_off").await;
}

#[tokio::test]
async fn silence_in_the_middle_of_a_stream() {
    let scene = Scene::planned(&Plan::provider("idle_timeout = \"150ms\""));
    assert_broken(&scene, begun().stall(), "provider_idle_timeout").await;
    scene.provider.next_call().await.unwrap().client_gone().await.unwrap();
}

#[tokio::test]
async fn silence_is_noticed_after_idle_timeout_though_first_byte_timeout_is_longer() {
    let scene = Scene::planned(&Plan::provider("first_byte_timeout = \"1h\"\nidle_timeout = \"150ms\""));
    let began = Instant::now();
    assert_broken(&scene, begun().stall(), "provider_idle_timeout").await;
    assert!(began.elapsed() < AT_ONCE);
}

#[tokio::test]
async fn silence_behind_the_head() {
    let scene = Scene::planned(&Plan::provider("first_byte_timeout = \"150ms\""));
    scene.provider.answer(Script::stream().stall());
    let events = scene.ask().await.events().await.unwrap();
    assert_eq!(final_error(&events)["code"], "provider_first_byte_timeout");
}

#[tokio::test]
async fn an_event_that_is_too_long() {
    let scene = Scene::planned(&Plan { server: "max_frame = \"4KiB\"".into(), ..Plan::default() });
    scene.provider.answer(begun().repeat("x".repeat(1_000), 100).stall());
    let events = scene.ask().await.events().await.unwrap();
    let error = final_error(&events);
    assert_eq!((chat_text(&events), &error["code"]), ("a".to_owned(), &"provider_frame_too_long".into()));
    scene.provider.next_call().await.unwrap().client_gone().await.unwrap();
    assert!(scene.ended("provider_error").await.contains("status=200"));
}

#[tokio::test]
async fn a_reset_of_an_http2_stream_and_of_its_connection() {
    let gate = Gate::new();
    for script in [begun().wait(&gate).reset(), begun().wait(&gate).cut()] {
        let scene = Scene::spoken(Protocol::Http2, &Plan::provider("http = \"2\""));
        scene.provider.answer(script);
        let mut response = scene.ask().await;
        // What is under way may be lost with the connection, so that it must be there before.
        let first = response.next_event().await.unwrap().unwrap();
        gate.open();
        let rest = response.events().await.unwrap();
        assert_eq!((chat_text(&[first]), rest.len()), ("a".to_owned(), 2));
        assert_eq!(final_error(&rest)["code"], "provider_broke_off");
        assert!(scene.ended("provider_error").await.contains("broke off"));
    }
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_breaks_off() {
    for script in [
        Script::blank().head(200, &JSON, BodyFraming::Chunked).chunk(whole_hello()).cut(),
        Script::blank().head(200, &JSON, BodyFraming::Length(9_999)).raw(whole_hello()).reset(),
    ] {
        let scene = Scene::start();
        scene.provider.answer(script);
        assert_unanswered(&scene, 502, "provider_broke_off").await;
    }
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_falls_silent() {
    let scene = Scene::planned(&Plan::provider("idle_timeout = \"150ms\""));
    scene.provider.answer(Script::blank().head(200, &JSON, BodyFraming::Chunked).chunk("{").stall());
    assert_unanswered(&scene, 504, "provider_idle_timeout").await;
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_is_too_large() {
    let scene = Scene::planned(&Plan { server: "max_response = \"4KiB\"".into(), ..Plan::default() });
    scene.provider.answer(Script::blank().head(200, &JSON, BodyFraming::Chunked).repeat("x".repeat(1_000), 100).end());
    let mut response = scene.ask_whole().await;
    let (message, _, code) = error_of(&mut response).await;
    assert_eq!((response.status, &*code), (502, "provider_answer_too_large"));
    assert!(message.contains("server.max_response"), "{message}");
}

#[tokio::test]
async fn a_stream_that_is_not_ended_behind_its_end_marker_is_ended_for_the_client() {
    let scene = Scene::start();
    scene.provider.answer(Script::stream().chunk(hello()).stall());
    let began = Instant::now();
    let mut response = scene.ask().await;
    assert_eq!(response.text().await.unwrap(), hello());
    assert!(began.elapsed() < Duration::from_secs(5));
    scene.provider.next_call().await.unwrap().client_gone().await.unwrap();
    scene.ended("completed").await;
    let client = response.reuse().unwrap();
    scene.provider.answer(Script::events([hello()]));
    assert_eq!(client.post(CHAT, &request(true)).await.unwrap().text().await.unwrap(), hello());
}

#[tokio::test]
async fn what_an_observer_holds_is_let_go_when_a_stream_is_not_ended_behind_its_end_marker() {
    let hold = "[plugin.config]\nfault = \"hold_forever\"";
    let scene = Scene::planned(&Plan::default().plugin("broken", hold));
    scene.provider.answer(Script::stream().chunk(hello()).stall());
    assert_eq!(scene.ask().await.text().await.unwrap(), hello());
    scene.ended("completed").await;
}

#[tokio::test]
async fn a_reset_behind_the_end_marker_breaks_nothing() {
    let scene = Scene::start();
    scene.provider.answer(Script::stream().chunk(hello()).reset());
    assert_eq!(scene.ask().await.text().await.unwrap(), hello());
    scene.ended("completed").await;
}

#[tokio::test]
async fn a_finish_without_an_end_marker_is_complete() {
    let scene = Scene::start();
    let stream = [delta("a"), ending().replace("data: [DONE]\n\n", "")].concat();
    scene.provider.answer(Script::events([&stream]));
    assert_eq!(scene.ask().await.text().await.unwrap(), stream);
    scene.ended("completed").await;
}
