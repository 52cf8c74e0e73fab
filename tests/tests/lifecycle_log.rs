//! A log that nobody takes: lines are dropped and counted, streams never wait.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold, as they do")]

mod bench;

use bench::*;
use e2e::client::Client;
use e2e::daemon::{Setup, command};
use e2e::process::Process;
use e2e::provider::{Provider, Script};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

/// More lines than the log keeps, and than a pipe holds.
const PIECES: u64 = 20_000;

/// A daemon whose standard error is a pipe that nobody reads, and where it listens and is looked at.
fn unread(setup: &Setup) -> (Process, SocketAddr, SocketAddr) {
    let mut command = command().unwrap();
    command.arg("run").arg("-c").arg(setup.config());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Process::start(&mut command, Duration::ZERO).unwrap();
    let mut line = String::new();
    BufReader::new(process.child().stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let address = |key: &str| ready[key].as_str().unwrap().parse().unwrap();
    (process, address("listen"), address("admin"))
}

#[tokio::test]
async fn a_log_that_nobody_reads_never_holds_up_a_stream() {
    let provider = Provider::start().unwrap();
    // Every piece of text makes a line.
    let toml = toml(&provider, &plugin_table("stream_metrics.so", "[plugin.config]\nevery = 1"))
        .replace("[reload]", "[log]\nlevel = \"info,envelope=debug\"\n[reload]");
    let setup = setup(&toml, &[("stream_metrics.so", &library("stream_metrics"))]);
    let (mut process, listen, admin) = unread(&setup);
    provider.answer(Script::stream().repeat(delta("x"), PIECES).chunk(ending()).end());
    let client = Client::connect(listen).await.unwrap();
    let mut response = client.post(CHAT, &json!({"model": "m", "stream": true, "messages": []})).await.unwrap();
    let events = response.events().await.unwrap();
    assert!(ended_well(&events));
    assert_eq!(events.len() as u64, PIECES + 2);
    let metrics = Client::connect(admin).await.unwrap().get("/metrics").await.unwrap().text().await.unwrap();
    let dropped = metrics.lines().find_map(|line| line.strip_prefix("seamd_log_lines_dropped_total ")).unwrap();
    assert!(dropped.parse::<f64>().unwrap() > 0.0, "{dropped}");
    process.signal(e2e::os::Signal::Terminate).unwrap();
    assert_eq!(process.exit().await.unwrap().code(), Some(0), "nor the end");
}
