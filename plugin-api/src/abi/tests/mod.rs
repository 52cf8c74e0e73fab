//! The boundary from both sides at once: plugins of this program behind the very entries that a library has.

mod panics;

use super::{Fault, Invocation, ObserverHandle, PluginHandle, Services};
use crate::context::CallClass;
use crate::host::{Host, Level};

/// A host that has nothing.
struct Bare;

impl Services for Bare {
    type Counter = ();
    type Histogram = ();
    fn log(&self, _: Level, _: &str) {}
    fn counter(&self, _: &str) -> &'static () {
        &()
    }
    fn count((): &(), _: u64) {}
    fn histogram(&self, _: &str) -> &'static () {
        &()
    }
    fn record((): &(), _: f64) {}
}

pub(super) fn host() -> Host {
    Host::of(&Bare)
}

/// Makes the first observer of a plugin.
pub(super) fn make(plugin: &PluginHandle) -> Result<ObserverHandle, Fault> {
    let invocation = Invocation {
        turn_id: "t".to_owned(),
        invocation_id: "i".to_owned(),
        model: "m".to_owned(),
        provider: "p".to_owned(),
        family: "f".to_owned(),
        seed: 1,
        correlation: vec![("user".to_owned(), "u1".to_owned())],
        ..Invocation::new(CallClass::Converse)
    };
    plugin.make_observer(0, &invocation, host())
}
