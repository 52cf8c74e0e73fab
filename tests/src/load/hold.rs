//! Streams that are held open, read or unread, and what memory they cost the proxy.

use super::connection::{Connection, Target};
use super::proc::Family;
use super::stream::Line;
use crate::patience::within;
use serde_json::{Value, json};
use std::io;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// So many streams are opened at a time, lest they overflow the proxy's queue of connections.
const AT_A_TIME: usize = 64;

/// How often the memory is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What each stream asks for.
    pub target: Target,
    /// How many streams.
    pub streams: usize,
    /// How long they are held once all are open.
    pub window: Duration,
    /// The proxy's process.
    pub pid: u32,
    /// Whether what comes is read. If not, nothing is read at all, not even the head.
    pub read: bool,
}

/// Runs the plan, inside a [`tokio::task::LocalSet`]. The report: `resident_before` (none open), `resident_peak`,
/// `growth_bytes` (the one less the other) and `growth_per_stream_bytes`.
///
/// # Errors
/// When a stream cannot be opened or ends early, or the proxy's process cannot be looked at.
pub async fn run(plan: Plan) -> io::Result<Value> {
    let family = Family::of(plan.pid)?;
    let before = family.resident_bytes();
    let mut streams = JoinSet::new();
    let (ready, mut opened) = mpsc::unbounded_channel();
    let opening = async {
        for index in 0..plan.streams {
            streams.spawn_local(hold(plan.target.clone(), plan.read, ready.clone()));
            if index >= AT_A_TIME {
                opened.recv().await;
            }
        }
        for _ in 0..plan.streams.min(AT_A_TIME) {
            opened.recv().await;
        }
    };
    within("the streams to be open", opening).await?;
    let peak = watch(&family, plan.window).await;
    if let Some(ended) = streams.try_join_next() {
        ended??;
        return Err(io::Error::other("a stream ended while it was to be held"));
    }
    let growth = peak.saturating_sub(before);
    Ok(json!({
        "streams": plan.streams,
        "resident_before": before,
        "resident_peak": peak,
        "growth_bytes": growth,
        "growth_per_stream_bytes": growth as f64 / plan.streams.max(1) as f64,
    }))
}

async fn watch(family: &Family, window: Duration) -> u64 {
    let deadline = Instant::now() + window;
    let mut peak = family.resident_bytes();
    while Instant::now() < deadline {
        tokio::time::sleep(LOOK).await;
        peak = peak.max(family.resident_bytes());
    }
    peak
}

/// Opens a stream, says so, and holds it: reads until it ends, or never.
async fn hold(target: Target, read: bool, ready: mpsc::UnboundedSender<()>) -> io::Result<()> {
    let held = open_and_read(&target, read, &ready).await;
    if held.is_err() {
        // Nobody waits for this one any longer; the error is found when all are open.
        let _ = ready.send(());
    }
    held
}

async fn open_and_read(target: &Target, read: bool, ready: &mpsc::UnboundedSender<()>) -> io::Result<()> {
    let mut connection = Connection::open(target).await?;
    connection.ask(target, "").await?;
    if !read {
        let _ = ready.send(());
        std::future::pending::<()>().await;
    }
    connection.head().await?;
    let mut said = false;
    let mut goes_on = true;
    while goes_on {
        let mut text = false;
        goes_on = connection.lines(|line| text |= matches!(line, Line::Text(_))).await?;
        if text && !said {
            said = true;
            let _ = ready.send(());
        }
    }
    Ok(())
}
