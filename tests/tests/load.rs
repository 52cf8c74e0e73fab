//! The load against its own source, without a proxy between them.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold, as they do")]

use e2e::load::connection::Target;
use e2e::load::leave::{LIMIT, Moment};
use e2e::load::{hold, leave, source, steady};
use serde_json::Value;
use std::future::Future;
use std::io;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::LocalSet;

/// Runs `measure` beside a source.
async fn beside_source<T, F>(measure: impl FnOnce(SocketAddr) -> F) -> T
where
    F: Future<Output = T>,
{
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let local = LocalSet::new();
    local.spawn_local(source::serve(listener));
    local.run_until(measure(address)).await
}

fn target(address: SocketAddr, model: &str) -> Target {
    Target { address, model: model.to_owned(), chunks: 70 }
}

async fn measure_steady(model: &str) -> Value {
    beside_source(async |address| {
        let plan = steady::Plan {
            target: target(address, model),
            streams: 4,
            warm: Duration::ZERO,
            window: Duration::from_millis(300),
            pid: Some(std::process::id()),
        };
        steady::run(plan).await.unwrap()
    })
    .await
}

#[tokio::test]
async fn steady_streams_come_whole_and_in_order() {
    for model in ["fake", "fake-20x2ms"] {
        let report = measure_steady(model).await;
        assert_eq!(report["errors"], serde_json::json!({}), "{report}");
        assert!(report["completed"].as_u64() > Some(0), "{report}");
        assert!(report["cpu_seconds_per_million_chunks"].as_f64() > Some(0.0), "{report}");
        assert!(report["delay_us"]["p50"].as_f64() > Some(0.0), "{report}");
    }
}

#[tokio::test]
async fn a_target_that_is_down_is_reported_and_not_hammered() {
    let plan = steady::Plan {
        target: target(e2e::provider::unused_address().unwrap(), "fake"),
        streams: 1,
        warm: Duration::ZERO,
        window: Duration::from_millis(100),
        pid: None,
    };
    let report = LocalSet::new().run_until(steady::run(plan)).await.unwrap();
    let errors = report["errors"].as_object().unwrap();
    assert!(errors.keys().any(|error| error.contains("refused")), "{report}");
    assert!(errors.values().all(|count| count.as_u64() < Some(50)), "{report}");
}

#[tokio::test]
async fn every_client_that_leaves_is_seen() {
    for moment in [Moment::BeforeFirst, Moment::AfterFirst, Moment::Saturated] {
        let report = beside_source(async |address| {
            let plan = leave::Plan { address, source: address, streams: 5, moment };
            leave::run(plan).await.unwrap()
        })
        .await;
        assert_eq!(report["seen"], 5, "{moment:?}: {report}");
        let slowest = report["delay_ms"]["max"].as_f64().unwrap();
        assert!(slowest < LIMIT.as_secs_f64() * 1e3, "{moment:?}: {report}");
    }
}

async fn held(model: &'static str, read: bool, window: Duration) -> io::Result<Value> {
    beside_source(async |address| {
        let plan = hold::Plan {
            target: target(address, model),
            // More than are opened at a time.
            streams: 100,
            window,
            pid: std::process::id(),
            read,
        };
        hold::run(plan).await
    })
    .await
}

#[tokio::test]
async fn streams_are_held_read_or_unread() {
    let read = held("fake-10x200ms", true, Duration::ZERO).await.unwrap();
    assert_eq!(read["streams"], 100);
    assert!(read["resident_peak"].as_u64() >= read["resident_before"].as_u64());
    held("fake", false, Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn a_held_stream_that_ends_is_an_error() {
    let error = held("fake", true, Duration::from_millis(1)).await.unwrap_err();
    assert!(error.to_string().contains("ended"), "{error}");
}

#[test]
fn the_programs_speak_to_each_other() {
    let mut provider = Command::new(env!("CARGO_BIN_EXE_scripted-provider"));
    provider.arg("0").stdout(Stdio::piped());
    let mut provider = e2e::process::Process::start(&mut provider, Duration::ZERO).unwrap();
    let mut line = String::new();
    let stdout = provider.child().stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let address = ready["listen"].as_str().unwrap();
    let client = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_load-client"));
        command.args(["--address", address]).args(arguments).output().unwrap()
    };
    let pid = provider.id().to_string();
    let output = client(&["--warm", "0", "--window", "0.2", "--streams", "2", "--pid", &pid]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["chunks_per_second"].as_f64() > Some(0.0), "{report}");
    let output = client(&["--mode", "before-first", "--source", address, "--streams", "2"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["seen"], 2, "{report}");
    let output = client(&["--mode", "no-such"]);
    assert!(!output.status.success());
}
