//! Turns tool calls that a model wrote as text into proper tool calls.
//!
//! ```text
//!   chunk ──NormalizationObserver──► nothing of a marker in it ──► continue
//!                 │
//!                 ▼ held from the first character that may begin one
//!   Group (one per choice): Marker ──► pieces: text, call, text, … ──lay──► loads: one for each chunk
//!                                                                             │
//!   Queue (one per invocation): the longest settled front ◄──────────────────┘ ──► release
//! ```
//!
//! - `marker.rs` knows the dialects: how a marker begins, goes on and ends. Half a marker is a state, not an error.
//! - `group.rs` is the rule: it takes the text of one choice apart into pieces while it comes.
//! - `layout.rs` lays pieces onto chunks, one for one; without room for each, the last chunk carries calls beside its text.
//! - `queue.rs` knows which held chunks may go on together.
//! - `observer.rs` answers chunks.
#![forbid(unsafe_code)]

mod config;
mod group;
mod layout;
mod marker;
mod observer;
mod queue;

use std::sync::Arc;

use seam_plugin_api::prelude::*;

pub use config::Config;
pub use marker::Dialect;
pub use observer::NormalizationObserver;

use config::Settings;
use observer::Tallies;

/// The id of the observer that the plugin registers; a call that it made says so in its payload.
pub const OBSERVER_ID: &str = "dialect-normalization";

/// The plugin.
pub struct DialectNormalization {
    settings: Arc<Settings>,
    tallies: Tallies,
}

impl Plugin for DialectNormalization {
    type Config = Config;

    fn configure(config: Config, host: Host) -> Result<Self, Vec<ConfigFault>> {
        Ok(Self { settings: Arc::new(config.check()?), tallies: Tallies::new(host) })
    }

    fn registrations(&self) -> Vec<Registration> {
        let (settings, tallies) = (Arc::clone(&self.settings), self.tallies);
        let make = move |context: &FactoryContext<'_>| NormalizationObserver::new(&settings, tallies, context);
        vec![Registration::new(When::Any, OBSERVER_ID, make)]
    }
}

seam_plugin_api::export_plugin!(DialectNormalization, "dialect-normalization");
