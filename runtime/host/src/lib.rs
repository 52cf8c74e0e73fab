//! Plugins in this process: from a path to a generation.
//!
//! ```text
//!   PluginSpec ─► inspect ──────► copies ─────► library ────────► loader ────────► generation ──► rungs of a ladder
//!                 reads, refuses  private copy  maps it once per  configures, all   immutable,     one LoadedObserver
//!                 before mapping  by digest     digest, for good  faults at once    Arc, in use    per registration
//!                                                                    │                  │
//!                                                                 services            stats
//!                                                                 log, metrics        counts by plugin name
//! ```
//!
//! - **Nothing is mapped that was not inspected** ([`inspect()`]): a cut file, another architecture's library or one that
//!   is no plugin would end the process or answer in riddles.
//! - **What is mapped is a private copy.** A file that is overwritten, renamed or removed while its plugin runs changes
//!   nothing of what runs; the next [`Loader::load`] sees the new one.
//! - **A library is mapped once per digest and never unmapped.** The same bytes with another table are configured anew.
//! - **An invocation keeps the [`Generation`] it started with**; the last one to let go of it drops its plugins.
//!
//! The one module with `unsafe` is `library`.

mod copies;
mod generation;
mod inspect;
mod library;
mod loader;
mod observer;
mod plain;
mod reason;
mod services;
mod spec;
mod stats;

pub use generation::{FactoryFault, Generation, GenerationUse, Generations, LoadedPlugin, LoadedRegistration};
pub use inspect::{Inspection, LARGEST_FILE, Refusal, inspect};
pub use library::{MappedBytes, MappedMemory};
pub use loader::{Loaded, Loader};
pub use observer::{LoadedObserver, SAMPLED};
pub use reason::{Reason, Rejection};
pub use services::{MOST_NAMES, PluginServices};
pub use spec::{OnLoadError, PluginSpec};
pub use stats::{PluginCounts, PluginStats, StatsTable};
