//! Catches panics on the author's side of the boundary, where alone they can be caught.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Once, OnceLock};

use super::raw::FaultSink;
use crate::host::{Host, Level};

/// What was caught.
pub(super) struct Caught {
    message: String,
    place: String,
}

thread_local! {
    /// Where the last panic of this thread happened, as the hook saw it. Taken by the guard that catches it.
    static PLACE: Cell<String> = const { Cell::new(String::new()) };
}

/// Runs an author's code. No panic leaves it, and none that the panic's payload makes when it is dropped. What no guard
/// can keep in is a second panic while the first one unwinds (in the `Drop` of something that the author's code owns):
/// Rust ends the process there.
#[inline]
pub(super) fn guarded<T>(entry: impl FnOnce() -> T) -> Result<T, Caught> {
    catch_unwind(AssertUnwindSafe(entry)).map_err(caught)
}

/// Drops an author's value. A panic that it makes is told to nobody.
pub(super) fn discard<T>(value: T) {
    let _ = guarded(|| drop(value));
}

#[cold]
fn caught(payload: Box<dyn Any + Send>) -> Caught {
    // Before the payload is dropped, which may panic and so note a place of its own.
    let place = take_place();
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
        take_place();
    }
    Caught { message, place }
}

impl Caught {
    /// Hands the fault to the host.
    pub(super) fn report(&self, sink: &FaultSink) {
        // SAFETY: the host put `into` and `put` together and both are valid during the call that it passed them to.
        unsafe { (sink.put)(sink.into, self.message.as_str().into(), self.place.as_str().into()) }
    }
}

/// The daemon that this library's panics are logged to, once it is known.
static HOST: OnceLock<Host> = OnceLock::new();

/// Notes from now on where a panic happens. In a plugin of its own file the standard library is its own as well: there
/// the hook replaces the default one as soon as there is a daemon to log to, and each panic becomes a line in its log at
/// once, so that one which ends the process (a panic while panicking) or a thread of the plugin has said where it was.
/// In a plugin that is linked into a test the hook that was there is called as well.
pub(super) fn install_hook(host: Option<Host>, own_file: bool) {
    static INSTALLED: Once = Once::new();
    if let Some(host) = host {
        HOST.get_or_init(|| host);
    }
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            note_place(info);
            match HOST.get() {
                Some(host) if own_file => host.log(Level::Warn, &info.to_string().replace('\n', " ")),
                _ => previous(info),
            }
        }));
    });
}

fn note_place(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    // A thread that is going away has no place to note it in; the fault is then reported without one.
    let _ = PLACE.try_with(|cell| cell.set(place));
}

/// The place that was noted, unless the thread is going away.
fn take_place() -> String {
    PLACE.try_with(Cell::take).unwrap_or_default()
}
