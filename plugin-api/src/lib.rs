//! What a plugin author compiles against.
//!
//! A plugin is a library that registers *observers*. The daemon makes a fresh observer for every invocation (one provider
//! call) and shows it each chunk of the answer, synchronously and in order; the observer answers with a [`Verdict`]:
//! let it go on, amend it, emit an event beside it, stop the stream, hold the chunk, or release held ones.
//!
//! ```text
//!   Plugin::configure(its TOML table)
//!        └─ registrations() ── factory ──┐  once per invocation
//!                                        ▼
//!   chunk ──► observer 1 ──► observer 2 ──► … ──► client
//!             on_chunk       on_chunk
//!             on_end_invocation, once, however it ended
//! ```
//!
//! A complete plugin, in safe Rust, with this crate as its only dependency:
//!
//! ```
//! #![forbid(unsafe_code)]
//! use seam_plugin_api::prelude::*;
//!
//! #[derive(Clone, Deserialize, JsonSchema)]
//! #[serde(crate = "seam_plugin_api::serde", deny_unknown_fields)]
//! #[schemars(crate = "seam_plugin_api::schemars")]
//! struct Replace { word: String, instead: String }
//!
//! impl Plugin for Replace {
//!     type Config = Self;
//!     fn configure(config: Self, _: Host) -> Result<Self, Vec<ConfigFault>> {
//!         if config.word.is_empty() { return Err(vec![ConfigFault::new("word", "must not be empty")]); }
//!         Ok(config)
//!     }
//!     fn registrations(&self) -> Vec<Registration> {
//!         let replace = self.clone();
//!         vec![Registration::new(When::Any, "replace", move |_: &FactoryContext<'_>| replace.clone())]
//!     }
//! }
//!
//! impl StreamObserver for Replace {
//!     fn on_chunk(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Verdict {
//!         if chunk.kind() != ChunkKind::ContentDelta || !chunk.text().contains(&self.word) { return Verdict::Continue; }
//!         Verdict::amend_text(chunk, chunk.text().replace(&self.word, &self.instead))
//!     }
//! }
//!
//! seam_plugin_api::export_plugin!(Replace, "replace");
//! # fn main() {}
//! ```
//!
//! It replaces a word that lies in one chunk as a whole; one that a provider cuts in two takes [`Verdict::Buffer`].
//! Build it as a `cdylib` and name the file in the daemon's TOML. `seam-plugin-testkit` runs an observer through the real
//! ladder in a unit test.

mod chunk;
mod config;
mod context;
mod host;
mod plugin;
mod verdict;

#[expect(
    unsafe_code,
    reason = "the ABI has its one address here; every block argues from the contract in the module's docs"
)]
pub mod abi;

pub use chunk::{Chunk, ChunkKind, NewChunk};
pub use context::{
    CallClass, Context, Correlation, Ending, FactoryContext, InvocationResult, Outcome, Progress, StopView, Value,
};
pub use host::{Counter, Histogram, Host, Level, is_metric_name};
pub use plugin::{ConfigFault, Plugin, Registration, StreamObserver, When};
pub use verdict::{Event, Release, Released, Stop, Verdict, is_name};

/// For the derives on a plugin's configuration.
pub use {schemars, serde, serde_json};

/// Everything that a plugin usually names.
pub mod prelude {
    pub use crate::{
        CallClass, Chunk, ChunkKind, ConfigFault, Context, Counter, Event, FactoryContext, Histogram, Host,
        InvocationResult, Level, NewChunk, Outcome, Plugin, Registration, Release, Released, StreamObserver, Verdict,
        When,
    };
    pub use schemars::JsonSchema;
    pub use serde::Deserialize;
}

/// Exports a [`Plugin`] from its library: `export_plugin!(MyPlugin);` under the package's name, or
/// `export_plugin!(MyPlugin, "name");` under another one, `[a-z0-9][a-z0-9_.-]{0,63}`. Once per library.
#[macro_export]
macro_rules! export_plugin {
    ($plugin:ty) => {
        $crate::export_plugin!($plugin, env!("CARGO_PKG_NAME"));
    };
    ($plugin:ty, $name:expr) => {
        #[cfg(panic = "abort")]
        compile_error!(
            "a plugin must be built with panic = \"unwind\": with \"abort\" a panic in it would end the daemon"
        );

        const _: () = {
            assert!(
                $crate::is_name($name),
                "a plugin is named by up to 64 of a-z 0-9 _ . -, the first of them a letter or digit"
            );

            impl $crate::abi::Exported for $plugin {
                const NAME: &'static str = $name;
                const VERSION: &'static str = env!("CARGO_PKG_VERSION");
                const DESCRIPTION: &'static str = env!("CARGO_PKG_DESCRIPTION");
                const LICENCE: &'static str = env!("CARGO_PKG_LICENSE");
            }

            extern "C" fn module() -> $crate::abi::export::RootModuleResult {
                $crate::abi::export::call_loader($crate::abi::export::load::<$plugin>)
            }

            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            static _1as_0lib_1header_0root_bmodule_bloader: $crate::abi::export::LibHeader =
                $crate::abi::export::library_header(module);

            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            static seam_plugin_manifest: [u8; $crate::abi::MANIFEST_LENGTH] =
                $crate::abi::export::manifest_bytes($name, env!("CARGO_PKG_VERSION"));
        };
    };
}
