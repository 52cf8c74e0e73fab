//! Emits how much a stream carried and how fast it came on channel `metrics`.
//!
//! ```text
//!   chunk ──StreamMeter──► Tally of its choice, Tally of the stream
//!               │                 │
//!               ├─ finish, error ─┴─► stream.summary     of each choice
//!               ├─ every n-th text ──► stream.progress   of the stream, if asked for
//!               └─ usage ────────────► stream.usage      the provider's counts
//!   end ────────────────────────────► counters and histograms of the daemon
//! ```
//!
//! - `tally.rs` counts: the rule, apart from chunks and verdicts.
//! - `observer.rs` keeps the tallies of an invocation and answers chunks.
#![forbid(unsafe_code)]

mod config;
mod observer;
mod tally;

use seam_plugin_api::prelude::*;

pub use config::Config;
pub use observer::{CHANNEL, StreamMeter};
pub use tally::{BOUNDS, Gaps, Tally, TextKind};

use observer::Meters;

/// The id of the observer that the plugin registers.
pub const OBSERVER_ID: &str = "stream-metrics";

/// The plugin.
pub struct StreamMetrics {
    every: Option<u64>,
    meters: Meters,
}

impl Plugin for StreamMetrics {
    type Config = Config;

    fn configure(config: Config, host: Host) -> Result<Self, Vec<ConfigFault>> {
        Ok(Self { every: config.check()?, meters: Meters::new(host) })
    }

    fn registrations(&self) -> Vec<Registration> {
        let (every, meters) = (self.every, self.meters);
        vec![Registration::new(When::Any, OBSERVER_ID, move |_| StreamMeter::new(every, meters))]
    }
}

seam_plugin_api::export_plugin!(StreamMetrics, "stream-metrics");
