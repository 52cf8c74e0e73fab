//! The plugins that are built against the copies, and the host that is built against the newer one.

/// A plugin that puts a text in front of each piece of answer text. `said` is an expression that may use `host`.
pub(crate) fn plugin(name: &str, said: &str) -> String {
    format!(
        r##"//! Puts a text in front of each piece of answer text.
#![forbid(unsafe_code)]
use seam_plugin_api::prelude::*;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", deny_unknown_fields)]
#[schemars(crate = "seam_plugin_api::schemars")]
struct Config {{}}

struct Say;

struct Sayer(String);

impl Plugin for Say {{
    type Config = Config;
    fn configure(_: Config, _: Host) -> Result<Self, Vec<ConfigFault>> {{
        Ok(Self)
    }}
    fn registrations(&self) -> Vec<Registration> {{
        vec![Registration::new(When::Any, "say", |context: &FactoryContext<'_>| {{
            let host = context.host();
            let _ = host;
            Sayer({said})
        }})]
    }}
}}

impl StreamObserver for Sayer {{
    fn on_chunk(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Verdict {{
        Verdict::amend_text(chunk, format!("{{}}: {{}}", self.0, chunk.text()))
    }}
}}

seam_plugin_api::export_plugin!(Say, "{name}");
"##
    )
}

/// Every plugin: its name, the copy that it is built against (`None`: the crate as it is), what it says.
pub(crate) fn plugins() -> Vec<(&'static str, Option<&'static str>, String)> {
    let plain = |name: &'static str, copy| (name, copy, format!("\"{name}\".to_owned()"));
    let asking = |name: &'static str, service: &str| {
        (name, Some(name), format!("format!(\"{name}, {service} {{:?}}\", host.{service}(1))"))
    };
    vec![
        plain("older", None),
        asking("newer", "greeting"),
        asking("fork", "weather"),
        plain("wide-chunk", Some("wide-chunk")),
        plain("wide-reply", Some("wide-reply")),
        plain("wide-module", Some("wide-module")),
        plain("abi-two", Some("abi-two")),
        plain("zero", Some("zero")),
    ]
}

/// A host of the newer copy: loads the libraries it is given and says what each makes of a text.
pub(crate) const HOST: &str = r##"//! Loads plugins and says what each makes of a text.
use std::sync::Arc;

use seam_host::{Loader, OnLoadError, PluginSpec};
use seam_ladder::{Observer, Policy};
use seam_plugin_api::abi::{Answer, Invocation, ValueSource};
use seam_plugin_api::{CallClass, Chunk, ChunkKind, Context, Progress};

fn main() {
    let loader = Loader::new(None).expect("a loader");
    let spec = |path: std::ffi::OsString| PluginSpec {
        name: None,
        path: path.into(),
        config: "{}".to_owned(),
        call_classes: None,
        policy: Policy::default(),
        on_load_error: OnLoadError::Skip,
    };
    let specs: Vec<PluginSpec> = std::env::args_os().skip(1).map(spec).collect();
    let loaded = loader.load(&specs).expect("what cannot be loaded is skipped");
    loaded.skipped.iter().for_each(|rejection| println!("{rejection}"));
    let invocation = Arc::new(Invocation::new(CallClass::Converse));
    let mut rungs = loaded.generation.rungs(&invocation).expect("every observer");
    let context = Context::new(Progress::default(), ValueSource::of(&*invocation));
    let chunk = Chunk::new(0, 0, ChunkKind::ContentDelta, "text", None);
    for (plugin, rung) in loaded.generation.plugins().iter().zip(&mut rungs) {
        let Answer::Amend(body) = rung.observer.on_chunk(&chunk, &context) else { panic!("it amends") };
        let described = plugin.description();
        println!("{} with {}, {}: {:?}", described.name, described.api, described.description, body.text);
    }
}
"##;
