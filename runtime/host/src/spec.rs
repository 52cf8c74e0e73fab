//! What an operator says of a plugin.

use std::path::PathBuf;

use seam_ladder::Policy;
use seam_plugin_api::CallClass;

/// One plugin to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginSpec {
    /// Its name here; by default its own one. Unique among the plugins of a generation.
    pub name: Option<String>,
    /// Its file. A relative path is relative to the process's working directory: whoever read it elsewhere resolves it.
    pub path: PathBuf,
    /// Its table, a JSON object.
    pub config: String,
    /// The only call classes that its observers are made for; `None`: all that it registers them for.
    pub call_classes: Option<Vec<CallClass>>,
    /// How its observers are treated.
    pub policy: Policy,
    /// What becomes of the others if it cannot be loaded.
    pub on_load_error: OnLoadError,
}

/// What becomes of a generation of which one plugin cannot be loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnLoadError {
    /// Nothing is loaded. The default: a plugin that is missing unnoticed is worse than a daemon that does not start.
    #[default]
    Refuse,
    /// The others are loaded without it.
    Skip,
}

impl OnLoadError {
    /// Both, in the order of their mention.
    pub const ALL: [Self; 2] = [Self::Refuse, Self::Skip];

    /// The name in configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Skip => "skip",
        }
    }
}
