//! The daemon's services for plugins: what a plugin says and counts, attributed to it and its observer.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use seam_plugin_api::abi::Services;
use seam_plugin_api::{Host, Level, is_metric_name};

/// How many counters and histograms one plugin may have: each is kept as long as the process and is a line, or twenty, of
/// every scrape.
pub const MOST_NAMES: usize = 64;

/// The buckets of every histogram: plugins measure seconds, characters, tokens and money alike.
const BUCKETS: [f64; 19] =
    [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1e3, 5e3, 1e4, 5e4, 1e5, 5e5, 1e6];

type Labels = [(&'static str, String); 2];
type Counters = Family<Labels, Counter>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// The services of one process. A clone is a handle on the same ones.
#[derive(Clone)]
pub struct PluginServices(Arc<Inner>);

struct Inner {
    counters: Counters,
    histograms: Histograms,
    /// By plugin; as many as there are names in configurations.
    plugins: Mutex<HashMap<String, &'static PluginMetrics>>,
    /// By plugin and observer.
    attributions: Mutex<HashMap<(String, Option<String>), &'static Attribution>>,
}

impl Default for PluginServices {
    fn default() -> Self {
        Self(Arc::new(Inner {
            counters: Family::default(),
            histograms: Family::new_with_constructor(new_histogram),
            plugins: Mutex::default(),
            attributions: Mutex::default(),
        }))
    }
}

fn new_histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

impl PluginServices {
    /// Adds the families `seamd_plugin_counter_total` and `seamd_plugin_histogram`, each with the labels `plugin` and
    /// `name`, to a registry that puts nothing before their names.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("seamd_plugin_counter", "Counters that plugins keep", self.0.counters.clone());
        registry.register("seamd_plugin_histogram", "Histograms that plugins keep", self.0.histograms.clone());
    }

    /// The services as a plugin, or one of its observers, is handed them. What it is handed lives as long as the process,
    /// as a plugin's threads may; the same plugin and observer are handed the same.
    #[must_use]
    pub(crate) fn host(&self, plugin: &str, observer: Option<&str>) -> Host {
        let key = (plugin.to_owned(), observer.map(str::to_owned));
        let mut attributions = self.0.attributions.lock();
        let attribution = *attributions.entry(key).or_insert_with(|| {
            Box::leak(Box::new(Attribution {
                plugin: plugin.to_owned(),
                observer: observer.map(str::to_owned),
                metrics: self.metrics(plugin),
            }))
        });
        Host::of(attribution)
    }

    fn metrics(&self, plugin: &str) -> &'static PluginMetrics {
        let mut plugins = self.0.plugins.lock();
        plugins.entry(plugin.to_owned()).or_insert_with(|| {
            Box::leak(Box::new(PluginMetrics {
                plugin: plugin.to_owned(),
                counters: self.0.counters.clone(),
                histograms: self.0.histograms.clone(),
                names: Mutex::default(),
                dropped: (Counter::default(), new_histogram()),
                said_bad_name: AtomicBool::new(false),
                said_too_many: AtomicBool::new(false),
            }))
        })
    }
}

/// Whose call it is.
struct Attribution {
    plugin: String,
    observer: Option<String>,
    metrics: &'static PluginMetrics,
}

/// The metrics of one plugin.
struct PluginMetrics {
    plugin: String,
    counters: Counters,
    histograms: Histograms,
    names: Mutex<Names>,
    /// Where samples go that have no name of their own. Nobody reads it.
    dropped: (Counter, Histogram),
    said_bad_name: AtomicBool,
    said_too_many: AtomicBool,
}

#[derive(Default)]
struct Names {
    counters: HashMap<String, &'static Counter>,
    histograms: HashMap<String, &'static Histogram>,
}

impl PluginMetrics {
    fn counter(&'static self, name: &str) -> &'static Counter {
        let mut names = self.names.lock();
        if let Some(counter) = names.counters.get(name) {
            return counter;
        }
        if !self.admits(name, &names) {
            return &self.dropped.0;
        }
        let counter: &Counter = Box::leak(Box::new(self.counters.get_or_create_owned(&self.labels(name))));
        names.counters.insert(name.to_owned(), counter);
        counter
    }

    fn histogram(&'static self, name: &str) -> &'static Histogram {
        let mut names = self.names.lock();
        if let Some(histogram) = names.histograms.get(name) {
            return histogram;
        }
        if !self.admits(name, &names) {
            return &self.dropped.1;
        }
        let histogram: &Histogram = Box::leak(Box::new(self.histograms.get_or_create_owned(&self.labels(name))));
        names.histograms.insert(name.to_owned(), histogram);
        histogram
    }

    fn labels(&self, name: &str) -> Labels {
        [("plugin", self.plugin.clone()), ("name", name.to_owned())]
    }

    /// Whether there may be a metric of this name; the first time that there may not, the log says so.
    fn admits(&self, name: &str, names: &Names) -> bool {
        if !is_metric_name(name) {
            if !self.said_bad_name.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    target: "plugin",
                    plugin = self.plugin,
                    name = &name[..name.floor_char_boundary(80)],
                    "samples under a name that is not [a-z][a-z0-9_]{{0,63}} are dropped"
                );
            }
            return false;
        }
        let full = names.counters.len() + names.histograms.len() >= MOST_NAMES;
        if full && !self.said_too_many.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                target: "plugin",
                plugin = self.plugin,
                name,
                "samples under more than {MOST_NAMES} names are dropped"
            );
        }
        !full
    }
}

impl Services for Attribution {
    type Counter = Counter;
    type Histogram = Histogram;

    fn log(&self, level: Level, message: &str) {
        let (plugin, observer) = (self.plugin.as_str(), self.observer.as_deref());
        match level {
            Level::Error => tracing::error!(target: "plugin", plugin, observer, "{message}"),
            Level::Warn => tracing::warn!(target: "plugin", plugin, observer, "{message}"),
            Level::Info => tracing::info!(target: "plugin", plugin, observer, "{message}"),
            Level::Debug => tracing::debug!(target: "plugin", plugin, observer, "{message}"),
            Level::Trace => tracing::trace!(target: "plugin", plugin, observer, "{message}"),
        }
    }

    fn counter(&self, name: &str) -> &'static Counter {
        self.metrics.counter(name)
    }

    fn count(counter: &Counter, amount: u64) {
        counter.inc_by(amount);
    }

    fn histogram(&self, name: &str) -> &'static Histogram {
        self.metrics.histogram(name)
    }

    fn record(histogram: &Histogram, sample: f64) {
        // One sample that is no number would make the sum of all none.
        if sample.is_finite() {
            histogram.observe(sample);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exposed(services: &PluginServices) -> String {
        let mut registry = Registry::default();
        services.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        // The families are in order, the lines of one are not.
        let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        lines.sort_unstable();
        lines.join("\n")
    }

    #[test]
    fn counts_of_all_observers_of_a_plugin_meet_under_one_name() {
        let services = PluginServices::default();
        services.host("redaction", None).counter("cards").add(2);
        services.host("redaction", Some("cards")).counter("cards").add(3);
        services.host("other", None).counter("cards").add(4);
        services.host("other", None).histogram("wait").record(0.2);
        services.host("other", None).histogram("wait").record(f64::NAN);
        insta::assert_snapshot!(exposed(&services));
    }

    #[test]
    fn names_out_of_the_rule_or_over_the_bound_are_dropped() {
        let services = PluginServices::default();
        let host = services.host("p", None);
        for bad in ["", "Upper", "1st", "with-dash", "ümlaut", &"x".repeat(65)] {
            host.counter(bad).add(1);
        }
        assert!(!exposed(&services).contains("} 1"));
        for at in 0..MOST_NAMES / 2 {
            host.counter(&format!("c{at}")).add(1);
            host.histogram(&format!("h{at}")).record(1.0);
        }
        host.counter("late").add(1);
        host.histogram("late").record(1.0);
        host.counter("c0").add(1);
        let text = exposed(&services);
        assert_eq!(text.matches("seamd_plugin_counter_total{").count(), MOST_NAMES / 2);
        assert!(!text.contains("late") && text.contains(r#"name="c0"} 2"#), "{text}");
    }
}
