//! Catches panics on the author's side of the boundary, where alone they can be caught.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

use super::raw::FaultSink;
use crate::host::{Host, Level};

/// What was caught.
pub(super) struct Caught {
    message: String,
    place: String,
}

thread_local! {
    /// Where the last panic of this thread happened, as the hook saw it. Taken by the guard that catches it.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs an author's code. No panic leaves it, and none that the panic's payload makes when it is dropped.
#[inline]
pub(super) fn guarded<T>(entry: impl FnOnce() -> T) -> Result<T, Caught> {
    catch_unwind(AssertUnwindSafe(entry)).map_err(caught)
}

#[cold]
fn caught(payload: Box<dyn Any + Send>) -> Caught {
    let message = if let Some(text) = payload.downcast_ref::<&'static str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic whose payload is not text".to_owned()
    };
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // A payload that panics when dropped may bring another such payload: leaking it ends the chain.
        std::mem::forget(second);
    }
    Caught { message, place: PLACE.take() }
}

impl Caught {
    /// Hands the fault to the host.
    pub(super) fn report(&self, sink: &FaultSink) {
        // SAFETY: the host put `into` and `put` together and both are valid during the call that it passed them to.
        unsafe { (sink.put)(sink.into, self.message.as_str().into(), self.place.as_str().into()) }
    }
}

/// Notes where a panic happens. In a plugin of its own file the standard library is its own as well: there the hook
/// replaces the default one, and each panic becomes a line in the daemon's log at once, so that one which ends the
/// process (a panic while panicking) or a thread of the plugin has said where it was.
pub(super) fn install_hook(host: Host, own_file: bool) {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            note_place(info);
            if own_file {
                host.log(Level::Warn, &info.to_string().replace('\n', " "));
            } else {
                previous(info);
            }
        }));
    });
}

fn note_place(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    // A thread that is going away has no place to note it in; the fault is then reported without one.
    let _ = PLACE.try_with(|cell| cell.replace(place));
}
