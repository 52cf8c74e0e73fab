//! Plugins from their library files, and a ladder's surroundings, for what is measured.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use e2e::plugins::{build_folder, plugin};
use seam_host::{Generation, LoadedObserver, Loader, OnLoadError, PluginSpec};
use seam_ladder::{Amended, Envelope, FaultReport, Ladder, Policy, Pulse, Sink, Strip};
use seam_plugin_api::abi::Invocation;
use seam_plugin_api::{CallClass, Chunk};
use seamd::seam::Notes;

/// Takes everything and keeps nothing.
pub(crate) struct Nowhere;

impl Sink for Nowhere {
    fn pass(&mut self, _: &Chunk<'_>) {}
    fn amended(&mut self, _: &Amended<'_>) {}
    fn discard(&mut self, _: u64) {}
    fn envelope(&mut self, _: &Envelope<'_>) {}
    fn strip(&mut self, _: &Strip<'_>) {}
    fn fault(&mut self, _: &FaultReport<'_>) {}
}

impl Notes for Nowhere {
    fn envelope(&mut self, _: &Envelope<'_>) {}
    fn fault(&mut self, _: &FaultReport<'_>) {}
}

/// A fresh ladder of a generation.
#[expect(clippy::panic, reason = "a measurement without its observers means nothing")]
pub(crate) fn ladder_of(generation: &Arc<Generation>) -> Ladder<LoadedObserver> {
    let invocation = Arc::new(invocation());
    match generation.rungs(&invocation) {
        Ok(rungs) => Ladder::new(rungs, invocation, Arc::new(Pulse::default())),
        Err(fault) => panic!("{fault}"),
    }
}

/// An invocation as any other.
pub(crate) fn invocation() -> Invocation {
    Invocation {
        turn_id: "turn".into(),
        invocation_id: "invocation".into(),
        model: "model".into(),
        provider: "provider".into(),
        family: "openai".into(),
        messages: "[]".into(),
        seed: 7,
        ..Invocation::new(CallClass::Converse)
    }
}

/// The file of the measured plugin number `n`, which is an example of this crate.
pub(crate) fn measured_plugin(n: usize) -> io::Result<PathBuf> {
    let file = format!("libmeasured_{n}.{}", std::env::consts::DLL_EXTENSION);
    let path = build_folder()?.join("examples").join(file);
    if path.exists() {
        return Ok(path);
    }
    Err(io::Error::new(io::ErrorKind::NotFound, format!("{} is not built: make bench builds it", path.display())))
}

/// The five observers of the whole-daemon figures, from four plugins with their default tables.
pub(crate) fn five_observers() -> io::Result<Arc<Generation>> {
    let mut specs = Vec::new();
    for (library, table) in [
        ("redaction", "{}"),
        ("halt_on_pattern", "{}"),
        ("halt_on_pattern", r#"{"pattern":"(?i)\\b(?:secret|password)\\b"}"#),
        ("dialect_normalization", "{}"),
        ("stream_metrics", "{}"),
    ] {
        specs.push((plugin(library)?, table.to_owned()));
    }
    load(&specs)
}

/// Loads plugins in the order given, each under a name of its own, with its table as JSON.
pub(crate) fn load(plugins: &[(PathBuf, String)]) -> io::Result<Arc<Generation>> {
    let specs: Vec<PluginSpec> = plugins
        .iter()
        .enumerate()
        .map(|(nth, (path, config))| PluginSpec {
            name: Some(format!("measured-{nth}")),
            path: path.clone(),
            config: config.clone(),
            call_classes: None,
            policy: Policy::default(),
            on_load_error: OnLoadError::Refuse,
        })
        .collect();
    let rejected = |rejections: Vec<seam_host::Rejection>| {
        io::Error::other(rejections.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    };
    Loader::new(None)?.load(&specs).map(|loaded| loaded.generation).map_err(rejected)
}
