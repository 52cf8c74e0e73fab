//! The daemon's services for plugins: log, counters, histograms. There is no clock and no randomness among them.

use abi_stable::StableAbi;

use crate::abi::{CounterHandle, HistogramHandle, HostServices};

/// How much a log line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed.
    Error,
    /// Something is not as it should be.
    Warn,
    /// Something an operator wants to know.
    Info,
    /// Something the author wants to know.
    Debug,
    /// Every step.
    Trace,
}

impl Level {
    /// Every level, in the order of the codes.
    pub const ALL: [Self; 5] = [Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace];

    /// The level's code in the ABI.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The level with this code; an unknown one reads as [`Level::Trace`].
    #[must_use]
    pub fn from_code(code: u8) -> Self {
        Self::ALL.get(usize::from(code)).copied().unwrap_or(Self::Trace)
    }
}

/// The daemon's services. A handle: cheap to copy, valid as long as the process.
#[repr(transparent)]
#[derive(Clone, Copy, StableAbi)]
pub struct Host(pub(crate) HostServices);

impl Host {
    /// A line in the daemon's log, with plugin and observer named by the daemon.
    pub fn log(&self, level: Level, message: &str) {
        self.0.log(level, message);
    }

    /// A counter in the daemon's metrics, by name: `[a-z][a-z0-9_]{0,63}`. The same name gives the same counter; ask
    /// once and keep it. Under a name that is not of this form, or over the daemon's bound on names, counts are dropped
    /// and a line in the log says so.
    #[must_use]
    pub fn counter(&self, name: &str) -> Counter {
        Counter(self.0.counter(name))
    }

    /// A histogram in the daemon's metrics, by name; see [`Self::counter`].
    #[must_use]
    pub fn histogram(&self, name: &str) -> Histogram {
        Histogram(self.0.histogram(name))
    }

    /// Whether the daemon has the service of this name and version, for what later daemons add.
    #[must_use]
    pub fn has(&self, name: &str, version: u32) -> bool {
        !self.0.find(name, version).is_null()
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Host")
    }
}

/// Whether a text is a name that a counter or histogram can have: `[a-z][a-z0-9_]{0,63}`.
#[must_use]
pub fn is_metric_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// A counter in the daemon's metrics.
#[derive(Clone, Copy)]
pub struct Counter(CounterHandle);

impl Counter {
    /// Adds to the counter.
    pub fn add(&self, amount: u64) {
        self.0.add(amount);
    }
}

impl std::fmt::Debug for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Counter")
    }
}

/// A histogram in the daemon's metrics.
#[derive(Clone, Copy)]
pub struct Histogram(HistogramHandle);

impl Histogram {
    /// Adds a sample.
    pub fn record(&self, sample: f64) {
        self.0.record(sample);
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Histogram")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_metrics_follow_the_rule() {
        assert!(is_metric_name("a") && is_metric_name("a_0") && is_metric_name(&"x".repeat(64)));
        for bad in ["", "_a", "a b", "0a", "A", "é", &"x".repeat(65)] {
            assert!(!is_metric_name(bad), "{bad:?}");
        }
    }
}
