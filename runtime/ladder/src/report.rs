//! What is said of a rung when the invocation is over.

use std::sync::Arc;

use seam_plugin_api::abi::Fault;

/// What one observer did in one invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RungReport {
    /// Its plugin.
    pub plugin: Arc<str>,
    /// Its id.
    pub observer_id: Arc<str>,
    /// How many chunks it was shown.
    pub chunks_seen: u64,
    /// Its verdicts that were applied. With the fault, if there is one, they add up to `chunks_seen`.
    pub verdicts: VerdictCounts,
    /// Chunks that it still held at the end and that were discarded for it (`on_end_held = "discard"`).
    pub discarded_at_end: u64,
    /// The fault that took it out of the ladder or stopped the stream. The sink was told of it.
    pub fault: Option<Fault>,
    /// A fault when it was told the end, or dropped. The sink was not told.
    pub end_fault: Option<Fault>,
}

/// Verdicts by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounts {
    /// `continue`.
    pub continued: u64,
    /// `amend`.
    pub amended: u64,
    /// `emit`.
    pub emitted: u64,
    /// `stop`.
    pub stopped: u64,
    /// `buffer`.
    pub buffered: u64,
    /// `release`.
    pub released: u64,
}

impl VerdictCounts {
    /// Each count with the name of its verdict in logs and metrics, in the contract's order.
    #[must_use]
    pub const fn by_name(&self) -> [(&'static str, u64); 6] {
        [
            ("continue", self.continued),
            ("amend", self.amended),
            ("emit", self.emitted),
            ("stop", self.stopped),
            ("buffer", self.buffered),
            ("release", self.released),
        ]
    }
}
