//! The daemon's services in memory: what a plugin logs and counts during a run.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use seam_plugin_api::abi::Services;
use seam_plugin_api::{Level, is_metric_name};

/// A line that a plugin logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How much it matters.
    pub level: Level,
    /// What it says.
    pub message: String,
}

/// The services of one plugin. It lives as long as the process, as the ABI demands; a kit makes one for each plugin.
#[derive(Default)]
pub(crate) struct Recorder {
    log: Mutex<Vec<LogLine>>,
    counters: Mutex<BTreeMap<String, &'static AtomicU64>>,
    histograms: Mutex<BTreeMap<String, &'static Mutex<Vec<f64>>>>,
}

impl Recorder {
    pub(crate) fn leaked() -> &'static Self {
        Box::leak(Box::default())
    }

    /// What was logged since this was last asked.
    pub(crate) fn take_log(&self) -> Vec<LogLine> {
        std::mem::take(&mut lock(&self.log))
    }

    /// What was counted since this was last asked; counters that were asked for and never added to are 0.
    pub(crate) fn take_counters(&self) -> BTreeMap<String, u64> {
        lock(&self.counters).iter().map(|(name, counter)| (name.clone(), counter.swap(0, Ordering::Relaxed))).collect()
    }

    /// What was recorded since this was last asked.
    pub(crate) fn take_histograms(&self) -> BTreeMap<String, Vec<f64>> {
        let take =
            |(name, samples): (&String, &&'static Mutex<Vec<f64>>)| (name.clone(), std::mem::take(&mut *lock(samples)));
        lock(&self.histograms).iter().map(take).collect()
    }

    /// The metric of this name; under a name that the daemon would refuse, one that nobody reads.
    fn metric<T: Default>(&self, metrics: &Mutex<BTreeMap<String, &'static T>>, name: &str) -> &'static T {
        if !is_metric_name(name) {
            let message = format!("{name:?} is not the name of a metric: [a-z][a-z0-9_]{{0,63}}; it is dropped");
            self.log(Level::Warn, &message);
            return Box::leak(Box::default());
        }
        lock(metrics).entry(name.to_owned()).or_insert_with(|| Box::leak(Box::default()))
    }
}

impl Services for Recorder {
    type Counter = AtomicU64;
    type Histogram = Mutex<Vec<f64>>;

    fn log(&self, level: Level, message: &str) {
        lock(&self.log).push(LogLine { level, message: message.to_owned() });
    }

    fn counter(&self, name: &str) -> &'static AtomicU64 {
        self.metric(&self.counters, name)
    }

    fn count(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    fn histogram(&self, name: &str) -> &'static Mutex<Vec<f64>> {
        self.metric(&self.histograms, name)
    }

    fn record(histogram: &Mutex<Vec<f64>>, sample: f64) {
        lock(histogram).push(sample);
    }
}

/// Each lock is held for one push or look-up, so a poisoned one still holds what it should.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
