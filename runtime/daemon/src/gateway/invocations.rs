//! The invocations that are under way, and the record that each leaves when it ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use seam_host::Generation;
use seam_ladder::{Envelope, FaultReport, Pulse, RungReport};
use seam_plugin_api::Outcome;
use seam_plugin_api::abi::Invocation;

use crate::metrics::Metrics;
use crate::seam::Notes;

/// The invocations under way.
#[derive(Clone, Default)]
pub struct Invocations {
    table: Arc<Mutex<HashMap<u64, Arc<Entry>>>>,
    next: Arc<AtomicU64>,
}

struct Entry {
    invocation: Arc<Invocation>,
    generation: Arc<Generation>,
    watched: Watched,
    began: Instant,
}

/// What is watched of a ladder from outside while it works.
pub struct Watched {
    /// Which rung a chunk is with.
    pub pulse: Arc<Pulse>,
    /// Plugin and observer of each rung, by the pulse's number.
    pub observers: Vec<(Arc<str>, Arc<str>)>,
}

/// One invocation under way, as the admin surface shows it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct InFlight {
    /// Its id.
    pub invocation_id: String,
    /// The model asked for.
    pub model: String,
    /// The provider.
    pub provider: String,
    /// The kind of call.
    pub call_class: &'static str,
    /// The generation that it began with.
    pub generation: u64,
    /// How long it has been running, in milliseconds.
    pub running_ms: u128,
    /// Plugin and observer that a chunk is with at this moment: named here for long, it does not return.
    pub in_call: Option<(String, String)>,
}

impl Invocations {
    /// How many are under way.
    #[must_use]
    pub fn count(&self) -> usize {
        self.table.lock().len()
    }

    /// All that are under way, the oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<InFlight> {
        let mut entries: Vec<Arc<Entry>> = self.table.lock().values().cloned().collect();
        entries.sort_by_key(|entry| entry.began);
        entries.iter().map(|entry| entry.show()).collect()
    }
}

impl Entry {
    fn show(&self) -> InFlight {
        let in_call = self.watched.pulse.current().and_then(|rung| self.watched.observers.get(rung));
        InFlight {
            invocation_id: self.invocation.invocation_id.clone(),
            model: named(&self.invocation.model).to_owned(),
            provider: self.invocation.provider.clone(),
            call_class: self.invocation.call_class.as_str(),
            generation: self.generation.number(),
            running_ms: self.began.elapsed().as_millis(),
            in_call: in_call.map(|(plugin, observer)| (plugin.to_string(), observer.to_string())),
        }
    }
}

/// Characters of a model's name that are logged and shown; a client may write any number.
const MOST_OF_A_NAME: usize = 256;

/// A model's name, as much of it as is logged and shown.
fn named(model: &str) -> &str {
    let end = model.char_indices().nth(MOST_OF_A_NAME).map_or(model.len(), |(end, _)| end);
    &model[..end]
}

/// What is kept of one invocation while it runs, and written down when it ends.
pub struct Record {
    invocations: Invocations,
    metrics: Arc<Metrics>,
    number: u64,
    entry: Arc<Entry>,
    first_byte: Option<Duration>,
}

/// What is known at the end of an invocation.
pub struct Ended<'a> {
    /// How it ended.
    pub outcome: Outcome,
    /// The status that the client was answered with.
    pub status: u16,
    /// What the ladder has to say: one report per observer.
    pub reports: &'a [RungReport],
    /// Chunks in and out.
    pub chunks: (u64, u64),
    /// Why, where it did not go well.
    pub reason: Option<&'a str>,
}

impl Record {
    /// Begins an invocation.
    #[must_use]
    pub fn begin(
        invocations: &Invocations,
        metrics: &Arc<Metrics>,
        invocation: Arc<Invocation>,
        generation: Arc<Generation>,
        watched: Watched,
    ) -> Self {
        let number = invocations.next.fetch_add(1, Ordering::Relaxed);
        let entry = Arc::new(Entry { invocation, generation, watched, began: Instant::now() });
        invocations.table.lock().insert(number, Arc::clone(&entry));
        Self { invocations: invocations.clone(), metrics: Arc::clone(metrics), number, entry, first_byte: None }
    }

    /// When the invocation began.
    #[must_use]
    pub fn began(&self) -> Instant {
        self.entry.began
    }

    /// Notes when the provider's first byte came.
    pub fn first_byte(&mut self, now: Instant) {
        self.first_byte.get_or_insert_with(|| now.saturating_duration_since(self.entry.began));
    }

    /// What takes note of events and faults of this invocation's observers.
    #[must_use]
    pub fn notes(&self) -> InvocationNotes {
        InvocationNotes { entry: Arc::clone(&self.entry), metrics: Arc::clone(&self.metrics) }
    }

    /// Writes down how the invocation ended.
    pub fn end(&self, ended: &Ended<'_>) {
        let invocation = &self.entry.invocation;
        for report in ended.reports {
            self.count(report);
        }
        self.metrics.invocation_ended(invocation, ended.outcome, self.first_byte, self.entry.began.elapsed());
        let (chunks_in, chunks_out) = ended.chunks;
        tracing::info!(
            target: "invocation",
            invocation = %invocation.invocation_id,
            provider = %invocation.provider,
            // Quoted, as whatever a client or a plugin wrote is: no line of the log is theirs to end.
            model = named(&invocation.model),
            call_class = invocation.call_class.as_str(),
            generation = self.entry.generation.number(),
            outcome = ended.outcome.as_str(),
            status = ended.status,
            chunks_in,
            chunks_out,
            duration_ms = self.entry.began.elapsed().as_millis() as u64,
            first_byte_ms = self.first_byte.map(|time| time.as_millis() as u64),
            reason = ended.reason,
            "ended"
        );
    }
}

impl Record {
    /// Adds what an observer did to its plugin's counts.
    fn count(&self, report: &RungReport) {
        let mut plugins = self.entry.generation.plugins().iter();
        if let Some(plugin) = plugins.find(|plugin| plugin.name() == &*report.plugin) {
            plugin.stats().add_report(report);
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.invocations.table.lock().remove(&self.number);
    }
}

/// Writes down events and faults of one invocation's observers.
pub struct InvocationNotes {
    entry: Arc<Entry>,
    metrics: Arc<Metrics>,
}

impl Notes for InvocationNotes {
    fn envelope(&mut self, envelope: &Envelope<'_>) {
        self.metrics.envelope(envelope.channel, envelope.plugin);
        tracing::debug!(
            target: "envelope",
            channel = envelope.channel,
            kind = envelope.kind,
            plugin = envelope.plugin,
            observer = envelope.observer_id,
            invocation = %self.entry.invocation.invocation_id,
            turn = %self.entry.invocation.turn_id,
            seq = envelope.seq,
            ordinal = envelope.ordinal,
            payload = envelope.payload,
            "emitted"
        );
    }

    fn fault(&mut self, report: &FaultReport<'_>) {
        tracing::warn!(
            plugin = report.plugin,
            observer = report.observer_id,
            invocation = %self.entry.invocation.invocation_id,
            chunk = report.seq,
            action = report.action.as_str(),
            fault = report.fault.to_string(),
            "a plugin was at fault"
        );
    }
}
