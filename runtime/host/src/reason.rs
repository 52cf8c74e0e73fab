//! Why a plugin was not loaded.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use seam_plugin_api::ConfigFault;
use seam_plugin_api::abi::{ABI_VERSION, Fault};

use crate::inspect::Refusal;

/// One plugin that was not loaded, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The plugin's place in the list that was to be loaded, from 0.
    pub index: usize,
    /// Its name: the operator's, else its own, else its file's.
    pub plugin: String,
    /// Its file.
    pub path: PathBuf,
    /// What is wrong.
    pub reason: Reason,
}

/// One line: plugin, file, reason.
impl Display for Rejection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "plugin {} ({}): {}", self.plugin, self.path.display(), self.reason)
    }
}

impl std::error::Error for Rejection {}

/// What is wrong with a plugin. Each is one line that reads on after "plugin NAME (FILE): ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// Its file cannot be a plugin here. Nothing of it was mapped.
    #[error(transparent)]
    File(#[from] Refusal),
    /// The copy that it would be mapped from cannot be written.
    #[error("its copy cannot be written to {}: {error}", folder.display())]
    Copy {
        /// The folder of copies.
        folder: PathBuf,
        /// What the system says.
        error: String,
    },
    /// The system's loader does not map it.
    #[error("{0}")]
    Open(String),
    /// Its layout is not that of the ABI.
    #[error("{0}")]
    Check(String),
    /// Its module speaks another ABI than its manifest says.
    #[error("it speaks ABI {0}, this seamd speaks ABI {ABI_VERSION}")]
    OtherAbi(u32),
    /// It was at fault when asked what it is.
    #[error("it cannot say what it is: {0}")]
    Describe(Fault),
    /// The name is none.
    #[error("`{0}` is no name for a plugin: up to 64 of a-z 0-9 _ . -, the first of them a letter or digit")]
    BadName(String),
    /// An earlier plugin of the list has the name.
    #[error("plugin number {} of the list has the same name; give one of them another with `name`", .0 + 1)]
    NameTaken(usize),
    /// The plugin refuses its table.
    #[error("{}", config_faults(.0))]
    Config(Vec<ConfigFault>),
    /// It was at fault while it was configured.
    #[error("it was at fault while it was configured: {0}")]
    Configure(Fault),
    /// It registers an observer under an id that is none.
    #[error(
        "it registers an observer as `{0}`, which is no id: up to 64 of a-z 0-9 _ . -, the first of them a letter or digit"
    )]
    BadObserverId(String),
    /// It registers two observers under one id.
    #[error("it registers two observers as `{0}`")]
    ObserverIdTaken(String),
}

fn config_faults(faults: &[ConfigFault]) -> String {
    let mut line = String::from("it refuses its configuration: ");
    for (at, fault) in faults.iter().enumerate() {
        if at > 0 {
            line.push_str("; ");
        }
        if !fault.path.is_empty() {
            line.push_str(&fault.path);
            line.push_str(": ");
        }
        line.push_str(&fault.message);
    }
    line
}
