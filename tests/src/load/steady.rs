//! Keeps a number of streams open for a window of time and counts what comes.

use super::connection::{Connection, Target};
use super::model::Shape;
use super::proc::Family;
use super::stream::{Line, records};
use crate::os::monotonic_nanos;
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::JoinSet;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What each stream asks for.
    pub target: Target,
    /// How many streams are open at a time.
    pub streams: usize,
    /// How long they run before anything counts.
    pub warm: Duration,
    /// How long they then count.
    pub window: Duration,
    /// The process whose time and memory are taken, with its descendants.
    pub pid: Option<u32>,
}

/// Where in the report what is compared stands, as JSON pointers.
pub mod report_place {
    /// Processor time of the process under test, in seconds for a million chunks.
    pub const CPU: &str = "/cpu_seconds_per_million_chunks";
    /// The median delay of a chunk, in microseconds.
    pub const DELAY_P50: &str = "/delay_us/p50";
    /// The delay that one chunk in a hundred exceeds, in microseconds.
    pub const DELAY_P99: &str = "/delay_us/p99";
}

/// Delays are kept in steps of a hundred nanoseconds.
const STEP: u64 = 100;

/// Ten minutes, in those steps: what takes longer counts as this.
const LONGEST: u64 = 600 * 1_000_000_000 / STEP;

struct Tally {
    counts: bool,
    chunks: u64,
    completed: u64,
    delays: Histogram<u64>,
    first: Histogram<u64>,
    errors: BTreeMap<String, u64>,
}

impl Tally {
    fn new() -> io::Result<Self> {
        let histogram = || Histogram::new_with_bounds(1, LONGEST, 3).map_err(io::Error::other);
        Ok(Self {
            counts: false,
            chunks: 0,
            completed: 0,
            delays: histogram()?,
            first: histogram()?,
            errors: BTreeMap::new(),
        })
    }

    fn error(&mut self, what: impl Into<String>) {
        *self.errors.entry(what.into()).or_default() += 1;
    }
}

type Shared = Rc<RefCell<Tally>>;

/// Runs the plan. It must run inside a [`tokio::task::LocalSet`]. The report is one object: `chunks_per_second`,
/// `delay_us` and `first_us` with percentiles, `cpu_seconds_per_million_chunks`, `resident_bytes`, `completed`, and
/// `errors` by kind (empty when every answer came whole and in order).
///
/// # Errors
/// When the process under test cannot be looked at. What goes wrong with a stream is in the report.
pub async fn run(plan: Plan) -> io::Result<Value> {
    let tally = Rc::new(RefCell::new(Tally::new()?));
    let mut streams = JoinSet::new();
    for _ in 0..plan.streams {
        streams.spawn_local(keep_streaming(plan.target.clone(), Rc::clone(&tally)));
    }
    tokio::time::sleep(plan.warm).await;
    let family = plan.pid.map(Family::of).transpose()?;
    let before = Moment::now(&tally, family.as_ref());
    tally.borrow_mut().counts = true;
    tokio::time::sleep(plan.window).await;
    let after = Moment::now(&tally, family.as_ref());
    tally.borrow_mut().counts = false;
    let resident = family.as_ref().map(Family::resident_bytes);
    // What is still under way at the end is left: it has been checked as far as it came.
    streams.abort_all();
    Ok(report(&plan, &tally.borrow(), &before, &after, resident))
}

/// Counters that are read in the same moment.
struct Moment {
    nanos: u64,
    chunks: u64,
    cpu_seconds: f64,
}

impl Moment {
    fn now(tally: &Shared, family: Option<&Family>) -> Self {
        Self {
            nanos: monotonic_nanos(),
            chunks: tally.borrow().chunks,
            cpu_seconds: family.map_or(f64::NAN, Family::cpu_seconds),
        }
    }
}

fn report(plan: &Plan, tally: &Tally, before: &Moment, after: &Moment, resident: Option<u64>) -> Value {
    let seconds = (after.nanos - before.nanos) as f64 / 1e9;
    let chunks = (after.chunks - before.chunks) as f64;
    let micros = |histogram: &Histogram<u64>| {
        let at = |quantile| (histogram.value_at_quantile(quantile) * STEP) as f64 / 1e3;
        json!({"p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": at(1.0)})
    };
    json!({
        "model": plan.target.model,
        "streams": plan.streams,
        "seconds": seconds,
        "chunks_per_second": chunks / seconds,
        "delay_us": micros(&tally.delays),
        "first_us": micros(&tally.first),
        "cpu_seconds_per_million_chunks": (after.cpu_seconds - before.cpu_seconds) / chunks * 1e6,
        "resident_bytes": resident,
        "completed": tally.completed,
        "errors": tally.errors,
    })
}

/// Streams one answer after the other, on one connection as long as it lives.
async fn keep_streaming(target: Target, tally: Shared) {
    loop {
        if let Err(error) = stream_answers(&target, &tally).await {
            tally.borrow_mut().error(error.to_string());
            // A proxy that is down must not be asked a million times.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn stream_answers(target: &Target, tally: &Shared) -> io::Result<()> {
    let mut connection = Connection::open(target).await?;
    loop {
        let mut answer = Answer { asked: monotonic_nanos(), ..Answer::default() };
        connection.ask(target, "").await?;
        connection.head().await?;
        let mut goes_on = true;
        while goes_on {
            let mut now = None;
            goes_on = connection
                .lines(|line| {
                    let now = *now.get_or_insert_with(monotonic_nanos);
                    answer.see(&line, now, &mut tally.borrow_mut());
                })
                .await?;
        }
        let expected = Shape::of(&target.model, target.chunks).chunks();
        answer.end(expected, &mut tally.borrow_mut());
    }
}

/// What one answer has said so far.
#[derive(Default)]
struct Answer {
    asked: u64,
    next: u64,
    disordered: bool,
    usage: bool,
    done: bool,
    error: bool,
}

impl Answer {
    fn see(&mut self, line: &Line<'_>, now: u64, tally: &mut Tally) {
        match line {
            Line::Text(text) => {
                for (sequence, left) in records(text) {
                    self.record(sequence, left, now, tally);
                }
            }
            Line::Usage => self.usage = true,
            Line::Done => self.done = true,
            Line::Error => self.error = true,
            Line::Other => {}
        }
    }

    fn record(&mut self, sequence: u64, left: u64, now: u64, tally: &mut Tally) {
        self.disordered |= sequence != self.next;
        self.next = sequence + 1;
        tally.chunks += 1;
        if !tally.counts {
            return;
        }
        tally.delays.saturating_record(now.saturating_sub(left) / STEP);
        if sequence == 0 {
            tally.first.saturating_record(now.saturating_sub(self.asked) / STEP);
        }
    }

    fn end(&self, expected: u64, tally: &mut Tally) {
        let faults = [
            (self.disordered, "chunks out of order"),
            (self.next != expected, "not all chunks"),
            (!self.usage, "no usage"),
            (!self.done, "no [DONE]"),
            (self.error, "an error in the stream"),
        ];
        tally.completed += u64::from(faults.iter().all(|(fault, _)| !fault));
        for (_, what) in faults.iter().filter(|(fault, _)| *fault) {
            tally.error(*what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: u64 = 5_000;

    fn tally_of(lines: &[Line<'_>], now: u64, expected: u64) -> Tally {
        let mut tally = Tally::new().unwrap();
        tally.counts = true;
        let mut answer = Answer { asked: ASKED, ..Answer::default() };
        for line in lines {
            answer.see(line, now, &mut tally);
        }
        answer.end(expected, &mut tally);
        tally
    }

    #[test]
    fn delays_of_every_size_are_kept() {
        let text = b"000000:000000000010000 000001:000000000020000 ";
        for delay in [30_000, 3_000_000, 30_000_000_000] {
            let lines = [Line::Text(text), Line::Usage, Line::Done];
            let tally = tally_of(&lines, 20_000 + delay, 2);
            let kept = tally.delays.value_at_quantile(0.5) * STEP;
            let error = kept.abs_diff(delay) as f64 / delay as f64;
            assert!(error < 0.002, "{kept} for {delay}");
            assert_eq!((tally.completed, tally.first.len()), (1, 1));
        }
    }

    #[test]
    fn every_fault_of_an_answer_is_counted() {
        let text = b"000000:000000000010000 000002:000000000020000 ";
        let tally = tally_of(&[Line::Text(text), Line::Error], 30_000, 2);
        let found: Vec<_> = tally.errors.keys().map(String::as_str).collect();
        let expected = ["an error in the stream", "chunks out of order", "no [DONE]", "no usage", "not all chunks"];
        assert_eq!(found, expected);
        assert_eq!(tally.completed, 0);
    }
}
