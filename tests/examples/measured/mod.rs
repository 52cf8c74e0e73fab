//! A plugin whose observer does the measured work and answers `continue`.

#[path = "../../benches/figures/work.rs"]
pub(crate) mod work;

/// Exports the measured plugin number `$n`: ten different libraries, since copies of one would share what the processor
/// learns of their branches.
macro_rules! measured_plugin {
    ($n:literal) => {
        use seam_plugin_api::prelude::*;

        #[derive(Deserialize, JsonSchema)]
        #[serde(crate = "seam_plugin_api::serde", deny_unknown_fields)]
        #[schemars(crate = "seam_plugin_api::schemars")]
        struct Config {}

        struct Measured;

        struct Observer(measured::work::Work<$n>);

        impl Plugin for Measured {
            type Config = Config;

            fn configure(_: Config, _: Host) -> Result<Self, Vec<ConfigFault>> {
                Ok(Self)
            }

            fn registrations(&self) -> Vec<Registration> {
                vec![Registration::new(When::Any, "measured", |_| Observer(measured::work::Work::new()))]
            }
        }

        impl StreamObserver for Observer {
            fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Verdict {
                if self.0.look(chunk.seq(), chunk.text()) { context.stop("never") } else { Verdict::Continue }
            }
        }

        seam_plugin_api::export_plugin!(Measured, concat!("measured-", stringify!($n)));
    };
}
