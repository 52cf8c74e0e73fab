//! How a daemon ends: when it is asked to, when it is asked twice, when its clients do not let it, when it is killed.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold, as they do")]

mod bench;

use bench::*;
use e2e::client::Client;
use e2e::daemon::Daemon;
use e2e::os::Signal;
use e2e::provider::{CallEnd, Provider, Script};
use e2e::sse::Event;
use serde_json::json;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A daemon that gives its streams so long, with version 1 of the plugin `versioned`.
fn daemon(provider: &Provider, drain_timeout: &str) -> Daemon {
    let server = format!("drain_timeout = \"{drain_timeout}\"\nstate_dir = \"state\"");
    let toml = toml_with(provider, &server, &plugin_table("versioned.so", ""));
    setup(&toml, &[("versioned.so", &versioned(b'1'))]).start().unwrap()
}

async fn draining(daemon: &Daemon) {
    daemon.log_line(|line| line.contains("told to end: no new streams")).await.unwrap();
    // The line comes first, then the listener goes.
    until("nobody to listen", async || Client::connect(daemon.listen()).await.is_err()).await;
}

async fn ends_in_order(daemon: &mut Daemon) {
    assert_eq!(daemon.exit().await.unwrap().code(), Some(0), "{}", daemon.log());
}

/// Whether a stream that was cut short ended with an error event that says why, the end marker, and nothing more.
fn ended_by_shutdown(events: &[Event]) -> bool {
    let [.., error, done] = events else { return false };
    let error = error.json();
    error["error"]["code"] == "shutdown" && error["error"]["type"] == "server_error" && done.is_done() && done.whole()
}

#[tokio::test]
async fn asked_to_end_it_takes_no_new_connections_and_lets_running_streams_finish() {
    for signal in [Signal::Terminate, Signal::Interrupt] {
        let provider = Provider::start().unwrap();
        let mut daemon = daemon(&provider, "1h");
        let mut streams = Vec::new();
        for _ in 0..5 {
            streams.push(Paced::begin(&daemon, &provider).await);
        }
        daemon.signal(signal).unwrap();
        draining(&daemon).await;
        let refused = daemon.client().await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        for stream in &mut streams {
            assert_eq!(stream.next_mark().await, "1:");
        }
        for stream in streams {
            assert!(ended_well(&stream.finish().await));
        }
        ends_in_order(&mut daemon).await;
        counted(&daemon, "outcome=\"completed\"", 5).await;
        daemon.log_line(|line| line.ends_with("every stream has ended")).await.unwrap();
    }
}

#[tokio::test]
async fn a_connection_that_is_kept_takes_no_new_stream() {
    let provider = Provider::start().unwrap();
    let mut daemon = daemon(&provider, "1h");
    let running = Paced::begin(&daemon, &provider).await;
    provider.answer(answer(&["a"]));
    let mut idle = ask(&daemon).await;
    idle.body().await.unwrap();
    daemon.signal(Signal::Terminate).unwrap();
    draining(&daemon).await;
    assert_eq!(idle.reuse().unwrap().closed().await.unwrap(), "", "an idle connection is closed");
    assert!(ended_well(&running.finish().await));
    ends_in_order(&mut daemon).await;
}

#[tokio::test]
async fn when_the_time_is_over_streams_are_given_a_proper_end() {
    let provider = Provider::start().unwrap();
    let mut daemon = daemon(&provider, "50ms");
    let mut stream = Paced::begin(&daemon, &provider).await;
    stream.next_mark().await;
    let silent = Paced::begin(&daemon, &provider).await;
    daemon.signal(Signal::Terminate).unwrap();
    let events = stream.rest().await;
    assert!(ended_by_shutdown(&events), "{events:?}");
    assert!(ended_by_shutdown(&silent.rest().await));
    ends_in_order(&mut daemon).await;
    counted(&daemon, "outcome=\"shutdown\"", 2).await;
    for call in provider.calls() {
        assert!(matches!(call.over().await.unwrap(), CallEnd::ClientGone { .. }));
    }
}

#[tokio::test]
async fn a_call_that_has_no_answer_yet_is_told_so_when_the_time_is_over() {
    let provider = Provider::start().unwrap();
    let mut daemon = daemon(&provider, "50ms");
    provider.answer(Script::mute());
    let mut client = daemon.client().await.unwrap();
    let body = json!({"model": "m", "stream": true, "messages": []}).to_string();
    client.send("POST", CHAT, &[("content-type", "application/json")], body).await.unwrap();
    provider.next_call().await.unwrap();
    daemon.signal(Signal::Terminate).unwrap();
    let mut response = client.receive().await.unwrap();
    assert_eq!(response.status, 503);
    assert_eq!(response.json().await.unwrap()["error"]["code"], "shutdown");
    ends_in_order(&mut daemon).await;
    counted(&daemon, "outcome=\"shutdown\"", 1).await;
}

#[tokio::test]
async fn asked_a_second_time_it_ends_at_once() {
    let provider = Provider::start().unwrap();
    let mut daemon = daemon(&provider, "1h");
    let stream = Paced::begin(&daemon, &provider).await;
    daemon.signal(Signal::Terminate).unwrap();
    draining(&daemon).await;
    daemon.signal(Signal::Interrupt).unwrap();
    assert!(ended_by_shutdown(&stream.rest().await));
    ends_in_order(&mut daemon).await;
}

#[tokio::test]
async fn a_client_that_never_reads_cannot_keep_it() {
    let provider = Provider::start().unwrap();
    let mut daemon = daemon(&provider, "0s");
    provider.answer(Script::stream().repeat(delta(&"x".repeat(4096)), 10_000).stall());
    let client = Client::connect_with_receive_buffer(daemon.listen(), 4096).await.unwrap();
    let stuck = client.post(CHAT, &json!({"model": "m", "stream": true, "messages": []})).await.unwrap();
    let call = provider.next_call().await.unwrap();
    // On a busy machine one look may fall between two writes.
    let (mut before, mut looks) = (0, 0);
    until("the provider to be held up", async || {
        let sent = call.sent();
        looks = if sent > 0 && sent == before { looks + 1 } else { 0 };
        before = sent;
        looks == 50
    })
    .await;
    let reads = Paced::begin(&daemon, &provider).await;
    let asked = Instant::now();
    daemon.signal(Signal::Terminate).unwrap();
    assert!(ended_by_shutdown(&reads.rest().await));
    ends_in_order(&mut daemon).await;
    assert!(asked.elapsed() < Duration::from_secs(15), "{:?}", asked.elapsed());
    counted(&daemon, "a client does not take the end of its stream", 1).await;
    drop(stuck);
}

#[tokio::test]
async fn a_plugin_that_never_returns_cannot_keep_it() {
    let provider = Provider::start().unwrap();
    let table = plugin_table("broken.so", "call_class = \"utility\"\n[plugin.config]\nfault = \"endless_loop\"");
    let toml = toml_with(&provider, "drain_timeout = \"0s\"", &table);
    let mut daemon = setup(&toml, &[("broken.so", &library("broken"))]).start().unwrap();
    let running = Paced::begin(&daemon, &provider).await;
    provider.answer(answer(&["a"]));
    let stuck = send_as(&daemon, "m", "utility").await;
    until("the observer to be shown", async || admin(&daemon, "/invocations").await[1]["in_call"][0] == "broken").await;
    daemon.signal(Signal::Terminate).unwrap();
    assert!(ended_by_shutdown(&running.rest().await), "a stream of another worker is given its end");
    ends_in_order(&mut daemon).await;
    counted(&daemon, "a call into a plugin does not return", 1).await;
    drop(stuck);
}

/// The one private folder in a daemon's state folder.
fn private_folder(state: &Path) -> PathBuf {
    let folders: Vec<PathBuf> = fs::read_dir(state).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders[0].clone()
}

#[tokio::test]
async fn private_copies_are_its_users_alone_and_go_with_it() {
    let provider = Provider::start().unwrap();
    let mut daemon = daemon(&provider, "0s");
    let state = daemon.folder().join("state");
    let folder = private_folder(&state);
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    daemon.signal(Signal::Terminate).unwrap();
    ends_in_order(&mut daemon).await;
    assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
}

#[tokio::test]
async fn after_it_was_killed_the_next_one_starts_and_clears_up() {
    let provider = Provider::start().unwrap();
    let shared = tempfile::tempdir().unwrap();
    let toml = toml_with(&provider, &format!("state_dir = {:?}", shared.path().join("state")), "").replace(
        "admin = \"127.0.0.1:0\"",
        &format!("admin = \"unix:{}\"", shared.path().join("admin.sock").display()),
    );
    let mut first = Daemon::start(&toml).unwrap();
    let left_behind = private_folder(&shared.path().join("state"));
    let second = Daemon::start(&toml).unwrap_err().to_string();
    assert!(second.contains("another process answers on this socket"), "{second}");
    assert!(left_behind.exists(), "the copies of a daemon that runs are left alone");
    first.signal(Signal::Kill).unwrap();
    first.exit().await.unwrap();
    assert!(left_behind.exists() && shared.path().join("admin.sock").exists());
    let mut third = Daemon::start(&toml).unwrap();
    assert_eq!(text(&third, &provider, &["a"]).await, "a");
    assert_eq!(third.admin(), format!("unix:{}", shared.path().join("admin.sock").display()));
    assert_eq!(admin(&third, "/health").await, json!({"status": "ok"}));
    assert!(!left_behind.exists());
    third.signal(Signal::Terminate).unwrap();
    ends_in_order(&mut third).await;
    assert!(!shared.path().join("admin.sock").exists());
}

#[tokio::test]
async fn generations_go_when_their_last_stream_does() {
    let provider = Provider::start().unwrap();
    let daemon = daemon(&provider, "1h");
    let mut streams = Vec::new();
    for generation in 2..=6 {
        streams.push(Paced::begin(&daemon, &provider).await);
        assert_eq!(reload(&daemon).await.1["generation"], generation);
    }
    let numbers = async || {
        let plugins = admin(&daemon, "/plugins").await;
        let generations = plugins["generations"].as_array().unwrap().clone();
        generations
            .iter()
            .map(|it| (it["number"].as_u64().unwrap(), it["invocations"].as_u64().unwrap()))
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers().await, [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 0)]);
    assert!(ended_well(&streams.remove(2).finish().await));
    until("the third to be gone", async || numbers().await == [(1, 1), (2, 1), (4, 1), (5, 1), (6, 0)]).await;
    for stream in streams {
        assert!(ended_well(&stream.finish().await));
    }
    until("the last to stand alone", async || numbers().await == [(6, 0)]).await;
}
