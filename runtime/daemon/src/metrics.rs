//! The daemon's metrics, in the form that Prometheus reads.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::StatusCode;
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use seam_host::{Loader, PluginCounts};
use seam_plugin_api::Outcome;
use seam_plugin_api::abi::Invocation;

/// How many channels of one plugin are counted by their names: a plugin may make up as many as it likes, and each is kept
/// as long as the process.
const MOST_CHANNELS: usize = 64;

/// What the channels beyond that are counted under; no channel can have that name.
const OTHER_CHANNELS: &str = "_other";

/// What the gateway counts. What concerns plugins is counted by the host and shown beside it.
#[derive(Default)]
pub struct Metrics {
    requests: Family<StatusLabel, Counter>,
    invocations: Family<InvocationLabels, Counter>,
    first_byte: Seconds,
    duration: Seconds,
    envelopes: Family<EnvelopeLabels, Counter>,
    /// How many channels of each plugin are counted by their names.
    channels: Mutex<HashMap<String, usize>>,
    reloads: Family<ReloadLabel, Counter>,
    generation: Gauge<u64, AtomicU64>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StatusLabel {
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct InvocationLabels {
    provider: String,
    call_class: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ProviderLabel {
    provider: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct EnvelopeLabels {
    channel: String,
    plugin: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReloadLabel {
    result: &'static str,
}

/// The buckets that OpenTelemetry's conventions name for answers of models: 10 ms to 82 s.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.01, 2.0, 14))
}

/// Histograms of seconds by provider.
#[derive(Clone)]
struct Seconds(Family<ProviderLabel, Histogram, fn() -> Histogram>);

impl Default for Seconds {
    fn default() -> Self {
        Self(Family::new_with_constructor(seconds))
    }
}

impl Metrics {
    /// The metrics, registered.
    #[must_use]
    pub fn registered(registry: &mut Registry) -> Arc<Self> {
        let metrics = Arc::new(Self::default());
        registry.register("seamd_requests", "Requests by the status they were answered with", metrics.requests.clone());
        registry.register("seamd_invocations", "Provider calls by how they ended", metrics.invocations.clone());
        registry.register_with_unit(
            "seamd_first_byte",
            "Time from a call's begin to the provider's first byte",
            Unit::Seconds,
            metrics.first_byte.0.clone(),
        );
        registry.register_with_unit(
            "seamd_invocation_duration",
            "Time from a call's begin to its last byte",
            Unit::Seconds,
            metrics.duration.0.clone(),
        );
        registry.register("seamd_envelopes", "Events that observers emitted", metrics.envelopes.clone());
        registry.register("seamd_reloads", "Reloads by their result", metrics.reloads.clone());
        registry.register("seamd_generation", "The number of the present generation", metrics.generation.clone());
        metrics
    }

    /// A request was answered.
    pub fn request(&self, status: StatusCode) {
        self.requests.get_or_create(&StatusLabel { status: status.as_u16() }).inc();
    }

    /// An invocation ended.
    pub fn invocation_ended(
        &self,
        invocation: &Invocation,
        outcome: Outcome,
        first_byte: Option<Duration>,
        duration: Duration,
    ) {
        let provider = ProviderLabel { provider: invocation.provider.clone() };
        let labels = InvocationLabels {
            provider: invocation.provider.clone(),
            call_class: invocation.call_class.as_str(),
            outcome: outcome.as_str(),
        };
        self.invocations.get_or_create(&labels).inc();
        if let Some(time) = first_byte {
            self.first_byte.0.get_or_create(&provider).observe(time.as_secs_f64());
        }
        self.duration.0.get_or_create(&provider).observe(duration.as_secs_f64());
    }

    /// An observer emitted an event.
    pub fn envelope(&self, channel: &str, plugin: &str) {
        let mut labels = EnvelopeLabels { channel: channel.to_owned(), plugin: plugin.to_owned() };
        if self.envelopes.get(&labels).is_none() && !self.admits_channel(plugin) {
            OTHER_CHANNELS.clone_into(&mut labels.channel);
        }
        self.envelopes.get_or_create(&labels).inc();
    }

    /// Whether one more channel of a plugin is counted by its name.
    fn admits_channel(&self, plugin: &str) -> bool {
        let mut channels = self.channels.lock();
        let known = channels.entry(plugin.to_owned()).or_default();
        let admits = *known < MOST_CHANNELS;
        *known += usize::from(admits);
        admits
    }

    /// A reload was accepted or refused.
    pub fn reload(&self, result: &'static str) {
        self.reloads.get_or_create(&ReloadLabel { result }).inc();
    }

    /// Another generation stands.
    pub fn generation(&self, number: u64) {
        self.generation.set(number);
    }
}

/// Everything in a registry, as Prometheus reads it.
#[must_use]
pub fn exposition(registry: &Registry) -> String {
    let mut text = String::new();
    // Writing to a String does not fail, and a metric that cannot be encoded must not take the others along.
    let _ = text::encode(&mut text, registry);
    text
}

/// Lines of the log that were dropped because whoever reads it did not keep up.
#[derive(Debug)]
pub struct LogLines(Arc<AtomicU64>);

impl LogLines {
    /// Shows a log's counter.
    #[must_use]
    pub const fn new(dropped: Arc<AtomicU64>) -> Self {
        Self(dropped)
    }
}

impl Collector for LogLines {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let dropped = ConstCounter::new(self.0.load(Ordering::Relaxed));
        let lines = encoder.encode_descriptor(
            "seamd_log_lines_dropped",
            "Log lines dropped because their reader did not keep up",
            None,
            dropped.metric_type(),
        )?;
        dropped.encode(lines)
    }
}

/// What the host counts of each plugin, over all generations.
pub struct PluginMetrics(Arc<Loader>);

impl PluginMetrics {
    /// Shows a loader's counts.
    #[must_use]
    pub const fn new(loader: Arc<Loader>) -> Self {
        Self(loader)
    }
}

impl std::fmt::Debug for PluginMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PluginMetrics")
    }
}

impl Collector for PluginMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let counts = self.0.stats().counts();
        let mut family = |name: &str, help: &str, second: Option<&'static str>, rows: Rows<'_>| {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (plugin, label, value) in rows {
                let labels: Vec<(&str, &str)> =
                    [("plugin", plugin)].into_iter().chain(second.map(|key| (key, label))).collect();
                ConstCounter::new(value).encode(metric.encode_family(&labels)?)?;
            }
            Ok(())
        };
        let plain = |value: fn(&PluginCounts) -> f64| -> Rows<'_> {
            counts.iter().map(|(plugin, counts)| (plugin.as_str(), "", value(counts))).collect()
        };
        family(
            "seamd_plugin_invocations",
            "Invocations with an observer of the plugin",
            None,
            plain(|c| c.invocations as f64),
        )?;
        family("seamd_plugin_chunks", "Chunks shown to the plugin's observers", None, plain(|c| c.chunks as f64))?;
        family(
            "seamd_plugin_time_seconds",
            "Time spent in the plugin's observers, estimated from a sample of calls",
            None,
            plain(|c| nanos_as_seconds(c.nanos)),
        )?;
        let verdicts = counts.iter().flat_map(|(plugin, counts)| {
            counts.verdicts.by_name().map(|(verdict, count)| (plugin.as_str(), verdict, count as f64))
        });
        family("seamd_plugin_verdicts", "Verdicts of the plugin's observers", Some("verdict"), verdicts.collect())?;
        let faults = counts.iter().flat_map(|(plugin, counts)| {
            counts.faults.map(|(kind, count)| (plugin.as_str(), kind.as_str(), count as f64))
        });
        family("seamd_plugin_faults", "Faults of the plugin's observers", Some("kind"), faults.collect())
    }
}

/// Plugin, second label, value.
type Rows<'a> = Vec<(&'a str, &'static str, f64)>;

/// Nanoseconds as seconds, for people and for Prometheus.
#[must_use]
pub fn nanos_as_seconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_that_makes_up_channels_does_not_fill_the_memory() {
        let mut registry = Registry::default();
        let metrics = Metrics::registered(&mut registry);
        for _ in 0..2 {
            for channel in 0..MOST_CHANNELS + 10 {
                metrics.envelope(&format!("c{channel}"), "maker");
            }
        }
        metrics.envelope("c70", "another");
        let text = exposition(&registry);
        assert_eq!(text.matches("seamd_envelopes_total{").count(), MOST_CHANNELS + 2, "{text}");
        for line in [
            "{channel=\"c0\",plugin=\"maker\"} 2",
            "{channel=\"_other\",plugin=\"maker\"} 20",
            "{channel=\"c70\",plugin=\"another\"} 1",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
