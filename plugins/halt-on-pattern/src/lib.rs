//! Stops a stream as soon as its text matches a pattern.
//!
//! ```text
//!   table ──Config──► Settings (patterns compiled once, for every invocation)
//!                        │
//!   chunk ──HaltObserver─┴─► Scan, one per text ──► nothing yet | the text that matched ──► stop
//! ```
//!
//! - `pattern.rs` compiles patterns into one automaton, and says what in it can be known without the next character.
//! - `scan.rs` steps the automaton over one text as it comes: the rule, apart from chunks and verdicts.
//! - `observer.rs` keeps a scan for each text of an invocation and answers chunks.
#![forbid(unsafe_code)]

mod config;
mod observer;
mod pattern;
mod scan;

use std::sync::Arc;

use seam_plugin_api::prelude::*;

pub use config::{Config, REFUSAL, TextField};
pub use observer::HaltObserver;
pub use pattern::{PatternError, Patterns};
pub use scan::{Scan, Scratch};

use config::Settings;

/// The id of the observer that the plugin registers.
pub const OBSERVER_ID: &str = "halt-on-pattern";

/// The plugin: its patterns, compiled.
pub struct HaltOnPattern {
    settings: Arc<Settings>,
}

impl Plugin for HaltOnPattern {
    type Config = Config;

    fn configure(config: Config, _: Host) -> Result<Self, Vec<ConfigFault>> {
        Ok(Self { settings: Arc::new(config.check()?) })
    }

    fn registrations(&self) -> Vec<Registration> {
        let settings = Arc::clone(&self.settings);
        vec![Registration::new(When::Any, OBSERVER_ID, move |_| HaltObserver::new(Arc::clone(&settings)))]
    }
}

seam_plugin_api::export_plugin!(HaltOnPattern, "halt-on-pattern");
