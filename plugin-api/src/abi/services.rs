//! The host's services as they cross the boundary, and the trait that a host implements.

use abi_stable::StableAbi;
use abi_stable::std_types::RStr;

use super::fault::believed;
use crate::host::{Host, Level};

/// What a host offers to the plugins in it. An implementation stands for one plugin or one observer, so that it can
/// attribute what comes; it lives as long as the process, as a plugin's threads may.
pub trait Services: Sync + 'static {
    /// A counter of the host's metrics.
    type Counter: Sync + 'static;
    /// A histogram of the host's metrics.
    type Histogram: Sync + 'static;

    /// Takes a line for the log.
    fn log(&self, level: Level, message: &str);
    /// The counter of this name; the same name gives the same counter.
    fn counter(&self, name: &str) -> &'static Self::Counter;
    /// Adds to a counter.
    fn count(counter: &Self::Counter, amount: u64);
    /// The histogram of this name; the same name gives the same histogram.
    fn histogram(&self, name: &str) -> &'static Self::Histogram;
    /// Adds a sample to a histogram.
    fn record(histogram: &Self::Histogram, sample: f64);
    /// The later service of this name and version; null: not here.
    fn find(&self, name: &str, version: u32) -> *const () {
        let _ = (name, version);
        std::ptr::null()
    }
}

/// The host's services of v1.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct HostServices {
    host: *const (),
    log: unsafe extern "C" fn(host: *const (), level: u8, message: RStr<'_>),
    counter: unsafe extern "C" fn(host: *const (), name: RStr<'_>) -> *const (),
    count: unsafe extern "C" fn(counter: *const (), amount: u64),
    histogram: unsafe extern "C" fn(host: *const (), name: RStr<'_>) -> *const (),
    record: unsafe extern "C" fn(histogram: *const (), sample: f64),
    find: unsafe extern "C" fn(host: *const (), name: RStr<'_>, version: u32) -> *const (),
}

// SAFETY: `host` points to a `Services`, which is `Sync` and lives as long as the process; the functions have no state.
unsafe impl Send for HostServices {}
// SAFETY: as above.
unsafe impl Sync for HostServices {}

impl Host {
    /// The services of a host, as plugins are handed them.
    #[must_use]
    pub fn of<S: Services>(services: &'static S) -> Self {
        Self(HostServices::of(services))
    }
}

impl HostServices {
    fn of<S: Services>(services: &'static S) -> Self {
        Self {
            host: std::ptr::from_ref(services).cast(),
            log: log::<S>,
            counter: counter::<S>,
            count: count::<S>,
            histogram: histogram::<S>,
            record: record::<S>,
            find: find::<S>,
        }
    }

    pub(crate) fn log(&self, level: Level, message: &str) {
        // SAFETY: `host` and the functions were put together by `of`, and the host lives as long as the process.
        unsafe { (self.log)(self.host, level.code(), message.into()) }
    }

    pub(crate) fn counter(&self, name: &str) -> CounterHandle {
        // SAFETY: as in `log`.
        CounterHandle { counter: unsafe { (self.counter)(self.host, name.into()) }, count: self.count }
    }

    pub(crate) fn histogram(&self, name: &str) -> HistogramHandle {
        // SAFETY: as in `log`.
        HistogramHandle { histogram: unsafe { (self.histogram)(self.host, name.into()) }, record: self.record }
    }

    pub(crate) fn find(&self, name: &str, version: u32) -> *const () {
        // SAFETY: as in `log`.
        unsafe { (self.find)(self.host, name.into(), version) }
    }
}

/// A counter of the host, from the plugin's side.
#[derive(Clone, Copy)]
pub struct CounterHandle {
    counter: *const (),
    count: unsafe extern "C" fn(*const (), u64),
}

// SAFETY: the counter is a `Services::Counter`, which is `Sync` and lives as long as the process.
unsafe impl Send for CounterHandle {}
// SAFETY: as above.
unsafe impl Sync for CounterHandle {}

impl CounterHandle {
    pub(crate) fn add(&self, amount: u64) {
        // SAFETY: `counter` came from the `counter` entry of the same services as `count`.
        unsafe { (self.count)(self.counter, amount) }
    }
}

/// A histogram of the host, from the plugin's side.
#[derive(Clone, Copy)]
pub struct HistogramHandle {
    histogram: *const (),
    record: unsafe extern "C" fn(*const (), f64),
}

// SAFETY: the histogram is a `Services::Histogram`, which is `Sync` and lives as long as the process.
unsafe impl Send for HistogramHandle {}
// SAFETY: as above.
unsafe impl Sync for HistogramHandle {}

impl HistogramHandle {
    pub(crate) fn record(&self, sample: f64) {
        // SAFETY: `histogram` came from the `histogram` entry of the same services as `record`.
        unsafe { (self.record)(self.histogram, sample) }
    }
}

/// The services behind a `host` pointer.
///
/// # Safety
/// `host` must come from `HostServices::of::<S>`.
unsafe fn services<S: Services>(host: *const ()) -> &'static S {
    // SAFETY: `of` was given a `&'static S`.
    unsafe { &*host.cast::<S>() }
}

unsafe extern "C" fn log<S: Services>(host: *const (), level: u8, message: RStr<'_>) {
    // SAFETY: called through `HostServices::of::<S>` alone.
    unsafe { services::<S>(host) }.log(Level::from_code(level), &believed(message));
}

unsafe extern "C" fn counter<S: Services>(host: *const (), name: RStr<'_>) -> *const () {
    // SAFETY: called through `HostServices::of::<S>` alone.
    std::ptr::from_ref(unsafe { services::<S>(host) }.counter(&believed(name))).cast()
}

unsafe extern "C" fn count<S: Services>(counter: *const (), amount: u64) {
    // SAFETY: a handle's counter came from `counter::<S>`, which gives out `&'static S::Counter`.
    S::count(unsafe { &*counter.cast::<S::Counter>() }, amount);
}

unsafe extern "C" fn histogram<S: Services>(host: *const (), name: RStr<'_>) -> *const () {
    // SAFETY: called through `HostServices::of::<S>` alone.
    std::ptr::from_ref(unsafe { services::<S>(host) }.histogram(&believed(name))).cast()
}

unsafe extern "C" fn record<S: Services>(histogram: *const (), sample: f64) {
    // SAFETY: a handle's histogram came from `histogram::<S>`, which gives out `&'static S::Histogram`.
    S::record(unsafe { &*histogram.cast::<S::Histogram>() }, sample);
}

unsafe extern "C" fn find<S: Services>(host: *const (), name: RStr<'_>, version: u32) -> *const () {
    // SAFETY: called through `HostServices::of::<S>` alone.
    unsafe { services::<S>(host) }.find(&believed(name), version)
}
