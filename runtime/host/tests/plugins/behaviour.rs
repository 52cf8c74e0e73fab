//! A plugin that does what its table says: marks texts, refuses its table, panics at a chosen place.

use seam_plugin_api::prelude::*;

/// Where it panics.
#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", rename_all = "snake_case")]
#[schemars(crate = "seam_plugin_api::schemars")]
enum Place {
    Configure,
    Factory,
    Chunk,
    End,
    ObserverDrop,
    PluginDrop,
}

/// Its table.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", deny_unknown_fields)]
#[schemars(crate = "seam_plugin_api::schemars")]
pub(crate) struct Config {
    /// What comes between its mark and the text.
    #[serde(default)]
    say: String,
    /// The ids of its observers; those that begin with a call class's name are registered for that one.
    #[serde(default = "one_observer")]
    observers: Vec<String>,
    /// Where it panics.
    panics_in: Option<Place>,
    /// Keys that it says are at fault.
    #[serde(default)]
    refuse: Vec<String>,
}

fn one_observer() -> Vec<String> {
    vec!["marker".to_owned()]
}

/// The configured plugin.
pub(crate) struct Fixture {
    config: Config,
    host: Host,
}

struct Marker {
    config: Config,
    marked: Counter,
}

impl Config {
    fn panic_in(&self, place: Place) {
        assert!(self.panics_in != Some(place), "as its table says");
    }
}

impl Plugin for Fixture {
    type Config = Config;

    fn configure(config: Config, host: Host) -> Result<Self, Vec<ConfigFault>> {
        config.panic_in(Place::Configure);
        if !config.refuse.is_empty() {
            return Err(config.refuse.iter().map(|key| ConfigFault::new(key, "is refused")).collect());
        }
        host.log(Level::Info, "configured");
        Ok(Self { config, host })
    }

    fn registrations(&self) -> Vec<Registration> {
        let register = |id: &String| {
            let class = CallClass::ALL.into_iter().find(|class| id.starts_with(class.as_str()));
            let config = self.config.clone();
            let make = move |context: &FactoryContext<'_>| {
                config.panic_in(Place::Factory);
                context.host().log(Level::Debug, "made");
                Marker { config: config.clone(), marked: context.host().counter("marked") }
            };
            Registration::new(class.map_or(When::Any, When::CallClass), id, make)
        };
        self.config.observers.iter().map(register).collect()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.host.log(Level::Info, "dropped");
        self.config.panic_in(Place::PluginDrop);
    }
}

impl StreamObserver for Marker {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Verdict {
        self.config.panic_in(Place::Chunk);
        if chunk.kind() != ChunkKind::ContentDelta {
            return Verdict::Continue;
        }
        self.marked.add(1);
        Verdict::amend_text(chunk, format!("{}:{}:{}", crate::MARK, self.config.say, chunk.text()))
    }

    fn on_end_invocation(&mut self, _: &InvocationResult<'_>) {
        self.config.panic_in(Place::End);
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        self.config.panic_in(Place::ObserverDrop);
    }
}
