//! The types that cross the boundary as they lie in memory.

use abi_stable::StableAbi;
use abi_stable::std_types::RStr;

use crate::chunk::Chunk;
use crate::context::{Context, FactoryContext, InvocationResult};

/// Text from a plugin, not yet believed: may be null, may be anything but UTF-8.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RawText {
    pub(crate) start: *const u8,
    pub(crate) length: usize,
}

impl RawText {
    pub(crate) const EMPTY: Self = Self { start: std::ptr::null(), length: 0 };

    pub(crate) const fn of(text: &str) -> Self {
        Self { start: text.as_ptr(), length: text.len() }
    }

    /// The text, if it is text.
    ///
    /// # Safety
    /// If `start` is not null, `length` bytes must be readable there for `'a`.
    pub(crate) unsafe fn read<'a>(self) -> Option<&'a str> {
        if self.start.is_null() {
            return (self.length == 0).then_some("");
        }
        if self.length > isize::MAX as usize {
            return None;
        }
        // SAFETY: not null, length in range, and readable for 'a by the caller's promise.
        std::str::from_utf8(unsafe { std::slice::from_raw_parts(self.start, self.length) }).ok()
    }
}

/// The part of a chunk that a plugin may replace.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RawBody {
    pub(crate) kind: u8,
    pub(crate) text: RawText,
    pub(crate) payload: RawText,
}

/// One event of an `emit`.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RawEvent {
    pub(crate) channel: RawText,
    pub(crate) kind: RawText,
    pub(crate) payload: RawText,
}

/// One chunk of a `release`.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RawReleased {
    pub(crate) seq: u64,
    pub(crate) amended: u8,
    pub(crate) body: RawBody,
}

/// What a verdict other than `continue` and `buffer` says. Owned by the host, filled by the plugin; what it points to
/// belongs to the observer's instance and stays until the next call of that instance.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct Reply {
    pub(crate) body: RawBody,
    pub(crate) reason: RawText,
    pub(crate) chunk_index: u64,
    pub(crate) accumulated_content_length: u64,
    pub(crate) events: *const RawEvent,
    pub(crate) events_length: usize,
    pub(crate) released: *const RawReleased,
    pub(crate) released_length: usize,
    pub(crate) strips: u8,
    pub(crate) strip_accumulated: u64,
}

impl Reply {
    pub(crate) const EMPTY: Self = Self {
        body: RawBody { kind: 0, text: RawText::EMPTY, payload: RawText::EMPTY },
        reason: RawText::EMPTY,
        chunk_index: 0,
        accumulated_content_length: 0,
        events: std::ptr::null(),
        events_length: 0,
        released: std::ptr::null(),
        released_length: 0,
        strips: 0,
        strip_accumulated: 0,
    };
}

/// Where a guarded entry puts what it caught.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct FaultSink {
    pub(crate) into: *mut (),
    pub(crate) put: unsafe extern "C" fn(into: *mut (), message: RStr<'_>, place: RStr<'_>),
}

/// Where an entry puts any number of name and value pairs.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct PairSink {
    pub(crate) into: *mut (),
    pub(crate) put: unsafe extern "C" fn(into: *mut (), name: RStr<'_>, value: RStr<'_>),
}

/// The entries of one observer.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct ObserverTable {
    pub(crate) on_chunk: unsafe extern "C" fn(
        instance: *mut (),
        chunk: &Chunk<'_>,
        context: &Context<'_>,
        reply: &mut Reply,
        fault: &FaultSink,
    ) -> u8,
    pub(crate) on_end_invocation:
        unsafe extern "C" fn(instance: *mut (), result: &InvocationResult<'_>, fault: &FaultSink) -> u8,
    pub(crate) free: unsafe extern "C" fn(instance: *mut (), fault: &FaultSink) -> u8,
}

/// One observer, as its factory hands it over.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RawObserver {
    pub(crate) instance: *mut (),
    pub(crate) table: *const ObserverTable,
}

impl RawObserver {
    pub(crate) const EMPTY: Self = Self { instance: std::ptr::null_mut(), table: std::ptr::null() };
}

/// One registration; the id belongs to the configured plugin.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RawRegistration {
    pub(crate) observer_id: RawText,
    /// A call class's code, or 255 for every class.
    pub(crate) call_class: u8,
}

/// The entries of one configured plugin.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct PluginTable {
    pub(crate) registration: unsafe extern "C" fn(plugin: *const (), index: u64, out: &mut RawRegistration) -> u8,
    pub(crate) make_observer: unsafe extern "C" fn(
        plugin: *const (),
        index: u64,
        context: &FactoryContext<'_>,
        out: &mut RawObserver,
        fault: &FaultSink,
    ) -> u8,
    pub(crate) free: unsafe extern "C" fn(plugin: *mut (), fault: &FaultSink) -> u8,
}

/// One configured plugin, as `configure` hands it over.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RawPlugin {
    pub(crate) plugin: *mut (),
    pub(crate) table: *const PluginTable,
}

impl RawPlugin {
    pub(crate) const EMPTY: Self = Self { plugin: std::ptr::null_mut(), table: std::ptr::null() };
}
