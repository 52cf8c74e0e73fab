//! What goes wrong, and where.

use seam_plugin_api::prelude::*;

/// Its table.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", deny_unknown_fields)]
#[schemars(crate = "seam_plugin_api::schemars")]
pub(crate) struct Config {
    /// What goes wrong.
    pub(crate) fault: Fault,
    /// At which chunk, counted from 1.
    #[serde(default = "first")]
    pub(crate) at: u64,
    /// How long [`Fault::Slow`] takes, in milliseconds.
    #[serde(default)]
    pub(crate) millis: u64,
}

fn first() -> u64 {
    1
}

/// Each way in which it is broken.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", rename_all = "snake_case")]
#[schemars(crate = "seam_plugin_api::schemars")]
pub(crate) enum Fault {
    /// None: every chunk is answered `continue`.
    None,
    /// Says that the table is at fault, in two keys.
    RefuseConfig,
    /// Says that the table is at fault, and not why.
    RefuseSilently,
    /// Registers an observer under an id that is none.
    BadObserverId,
    /// Panics while it is configured.
    PanicConfigure,
    /// Panics while it registers, and again when the plugin is dropped after that.
    PanicRegistrations,
    /// Panics while it makes an observer.
    PanicFactory,
    /// Panics at a chunk.
    PanicChunk,
    /// Panics at a chunk, and again when the observer is dropped after that.
    PanicChunkAndDrop,
    /// Panics at a chunk with a payload that panics when it is dropped.
    PanicPayload,
    /// Panics at the end of the invocation.
    PanicEnd,
    /// Panics when the observer is dropped.
    PanicDrop,
    /// Panics when the plugin is dropped.
    PanicPluginDrop,
    /// Amends a chunk with a payload that is not JSON.
    NonJsonPayload,
    /// Emits on a channel whose name is none.
    BadChannel,
    /// Holds the chunks before, then releases one that it never saw.
    ReleaseUnknown,
    /// Holds the chunks before, then releases more than are held.
    ReleaseTooMany,
    /// Holds the chunks before, then releases the present one ahead of them.
    ReleaseOutOfOrder,
    /// Takes back more than was delivered.
    StripTooMuch,
    /// Holds every chunk from the given one on.
    HoldForever,
    /// Stops the stream, which is no fault.
    Stop,
    /// Amends answer text into reasoning, which is no fault.
    AmendKind,
    /// Emits on channel `broken`, which is no fault.
    Emit,
    /// Takes its time over a chunk.
    Slow,
    /// Never answers a chunk.
    EndlessLoop,
    /// Ends the process with status 7.
    Exit,
    /// Aborts the process.
    Abort,
}

impl Config {
    /// Panics, as the table says, at the place that calls it.
    #[track_caller]
    pub(crate) fn panic(self) -> ! {
        panic!("broken, as its table says")
    }
}
