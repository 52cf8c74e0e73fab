//! ABI v1: the one place where both sides of the boundary are described, and the one place with `unsafe` in it.
//!
//! # The contract
//!
//! - A plugin exports two symbols: the root module under `abi_stable`'s own loader name, whose recursive layout check
//!   compares every type of this module before anything is called, and [`MANIFEST_SYMBOL`], a text that can be read
//!   from the file without loading it.
//! - **Views, never values.** Whatever crosses is borrowed: what the host shows (chunk, context, configuration) for the
//!   length of the call; what a plugin answers ([`Reply`]) until the next call of the same instance. No allocation
//!   changes sides, so neither side frees the other's memory. Types that borrow are named `…View`, `Raw…`, or carry a
//!   lifetime.
//! - **The host trusts nothing that a plugin answers**: text is checked for UTF-8, payloads for JSON, codes for range,
//!   pointers for null and alignment, lists for an absurd length, and a reply that was not filled in is empty. What fails
//!   is a fault of the observer. What no host can check is that a pointer which looks like one leads where it says.
//! - **Every entry is guarded on the plugin's side.** A panic returns [`code::FAULT`] after the message and place were
//!   put into the [`FaultSink`]; the instance's value has then been dropped (guarded as well) and the host calls
//!   nothing but `free` on it. No guard holds back what Rust itself ends the process for: a second panic while the first
//!   one unwinds, a stack overflow, an abort.
//! - **Frozen.** No type here ever grows: `abi-v1.layout` records each of them, a test compares, and a library whose types
//!   differ in anything is refused. What comes later is asked for by name and version: by a plugin through
//!   `HostServices::find`, by the host through `PluginModule::find`; null means "not here" and is an ordinary answer.
//!   Chunk kinds may gain codes; a plugin's side answers `continue` to a code that it does not know.
//!
//! # The files, in the order of a call
//!
//! `module.rs` and `manifest.rs` are what a library exports, `layout.rs` checks it. `host_side.rs` calls, `raw.rs` is what
//! crosses, `plugin_side.rs` takes it up within the `guard.rs`, and `answer.rs` and `fault.rs` read what comes back.
//! `services.rs` and `values.rs` are the calls in the other direction; `invocation.rs` is what a factory is shown.

mod answer;
mod fault;
mod guard;
mod host_side;
mod invocation;
mod layout;
mod manifest;
mod module;
mod plugin_side;
mod raw;
mod services;
mod values;

pub use answer::{Answer, BodyView, EventView, ReleasedView};
pub use fault::{Fault, FaultKind};
pub use host_side::{ConfigureError, Description, ObserverHandle, PluginHandle, PluginLibrary, RegistrationInfo};
pub use invocation::Invocation;
pub use manifest::{MANIFEST_LENGTH, MANIFEST_SYMBOL, Manifest};
pub use module::{Exported, PluginModule, PluginModuleRef};
pub use plugin_side::MadeObserver;
pub use raw::{FaultSink, ObserverTable, PairSink, PluginTable, RawEvent, RawObserver, RawPlugin, RawRegistration};
pub use raw::{RawBody, RawReleased, RawText, Reply};
pub use services::{CounterHandle, HistogramHandle, HostServices, Services};
pub use values::{Found, ValueSource, Values};

/// What only the expansion of [`export_plugin!`](crate::export_plugin) and the author's test kit use.
#[doc(hidden)]
pub mod export {
    pub use super::layout::layout_report;
    pub use super::manifest::{BUILT_FOR, BUILT_WITH, manifest_bytes};
    pub use super::module::{library_header, load};
    pub use abi_stable::library::{__call_root_module_loader as call_loader, LibHeader, RootModuleResult};
}

#[cfg(test)]
mod tests;

/// The version of the ABI that this crate speaks.
pub const ABI_VERSION: u32 = 1;

/// The version of this crate, as a plugin says of itself what it was built with.
pub const API_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The answer codes of every entry.
pub mod code {
    /// The chunk goes on; any other entry: done.
    pub const CONTINUE: u8 = 0;
    /// See [`Verdict::Amend`](crate::Verdict::Amend); `body` is set.
    pub const AMEND: u8 = 1;
    /// See [`Verdict::Emit`](crate::Verdict::Emit); `events` is set.
    pub const EMIT: u8 = 2;
    /// See [`Verdict::Stop`](crate::Verdict::Stop); `reason` and the two numbers are set.
    pub const STOP: u8 = 3;
    /// See [`Verdict::Buffer`](crate::Verdict::Buffer).
    pub const BUFFER: u8 = 4;
    /// See [`Verdict::Release`](crate::Verdict::Release); `released` and `strip_accumulated` are set.
    pub const RELEASE: u8 = 5;
    /// `configure` only: the table has faults, each of which was put into the sink.
    pub const REFUSED: u8 = 6;
    /// A panic was caught; the fault sink has its message and place.
    pub const FAULT: u8 = 255;
}
