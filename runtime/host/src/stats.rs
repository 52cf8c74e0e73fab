//! What plugins did, counted by name over all generations, so that no count ever goes back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use seam_ladder::{RungReport, VerdictCounts};
use seam_plugin_api::abi::FaultKind;

/// Every kind of fault, in the order of their counts.
const FAULT_KINDS: [FaultKind; 4] =
    [FaultKind::Panic, FaultKind::Violation, FaultKind::HoldOverBound, FaultKind::Malformed];

const fn fault_index(kind: FaultKind) -> usize {
    match kind {
        FaultKind::Panic => 0,
        FaultKind::Violation => 1,
        FaultKind::HoldOverBound => 2,
        FaultKind::Malformed => 3,
    }
}

/// The counts of one plugin. Each only grows.
#[derive(Debug, Default)]
pub struct PluginStats {
    invocations: AtomicU64,
    chunks: AtomicU64,
    verdicts: [AtomicU64; 6],
    faults: [AtomicU64; FAULT_KINDS.len()],
    nanos: AtomicU64,
}

/// The counts of one plugin at one moment. Counts of invocations that are still running are not all in it: what an
/// observer did is added when its invocation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginCounts {
    /// Invocations that had an observer of it in their ladder.
    pub invocations: u64,
    /// Chunks that its observers were shown; one that two observers saw counts twice.
    pub chunks: u64,
    /// Verdicts of its observers.
    pub verdicts: VerdictCounts,
    /// Faults by kind.
    pub faults: [(FaultKind, u64); 4],
    /// Nanoseconds that its observers took for `on_chunk`: an estimate, see [`SAMPLED`](crate::SAMPLED).
    pub nanos: u64,
}

impl PluginStats {
    /// Adds what an observer did in an invocation that has ended.
    pub fn add_report(&self, report: &RungReport) {
        self.chunks.fetch_add(report.chunks_seen, Ordering::Relaxed);
        for (count, (_, amount)) in self.verdicts.iter().zip(report.verdicts.by_name()) {
            count.fetch_add(amount, Ordering::Relaxed);
        }
        for fault in [&report.fault, &report.end_fault].into_iter().flatten() {
            self.add_fault(fault.kind);
        }
    }

    /// Adds a fault.
    pub fn add_fault(&self, kind: FaultKind) {
        self.faults[fault_index(kind)].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_invocation(&self) {
        self.invocations.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_nanos(&self, nanos: u64) {
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The counts now.
    #[must_use]
    pub fn counts(&self) -> PluginCounts {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let [continued, amended, emitted, stopped, buffered, released] = self.verdicts.each_ref().map(load);
        PluginCounts {
            invocations: load(&self.invocations),
            chunks: load(&self.chunks),
            verdicts: VerdictCounts { continued, amended, emitted, stopped, buffered, released },
            faults: FAULT_KINDS.map(|kind| (kind, load(&self.faults[fault_index(kind)]))),
            nanos: load(&self.nanos),
        }
    }
}

/// The counts of every plugin that was ever loaded, by name.
#[derive(Debug, Default)]
pub struct StatsTable(Mutex<BTreeMap<String, Arc<PluginStats>>>);

impl StatsTable {
    /// The counts under a name; zeros under a new one.
    #[must_use]
    pub fn of(&self, plugin: &str) -> Arc<PluginStats> {
        let mut table = self.0.lock();
        if let Some(stats) = table.get(plugin) {
            return Arc::clone(stats);
        }
        Arc::clone(table.entry(plugin.to_owned()).or_default())
    }

    /// Every plugin's counts, by name in alphabetical order.
    #[must_use]
    pub fn counts(&self) -> Vec<(String, PluginCounts)> {
        self.0.lock().iter().map(|(plugin, stats)| (plugin.clone(), stats.counts())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seam_plugin_api::abi::Fault;

    #[test]
    fn reports_add_up_under_one_name() {
        let table = StatsTable::default();
        let report = RungReport {
            plugin: "p".into(),
            observer_id: "o".into(),
            chunks_seen: 7,
            verdicts: VerdictCounts { continued: 4, stopped: 1, released: 1, ..VerdictCounts::default() },
            discarded_at_end: 0,
            fault: Some(Fault::new(FaultKind::HoldOverBound, "held")),
            end_fault: Some(Fault::new(FaultKind::Panic, "drop")),
        };
        table.of("p").add_report(&report);
        table.of("p").add_report(&report);
        let counts = table.of("p").counts();
        assert_eq!((counts.chunks, counts.verdicts.continued, counts.verdicts.released), (14, 8, 2));
        let faults: Vec<u64> = counts.faults.iter().map(|(_, count)| *count).collect();
        assert_eq!(faults, [2, 0, 2, 0]);
        assert_eq!(table.counts().len(), 1);
        assert_eq!(table.of("q").counts().chunks, 0);
    }

    #[test]
    fn every_kind_of_fault_has_its_own_count() {
        for (index, kind) in FAULT_KINDS.into_iter().enumerate() {
            assert_eq!(fault_index(kind), index);
        }
    }
}
