//! The entries that a plugin exports: each turns what crosses into the author's types, guards the author's code, and
//! turns the answer back.

use abi_stable::std_types::RStr;

use super::code;
use super::guard::{Caught, discard, guarded, install_hook};
use super::module::Exported;
use super::raw::{
    FaultSink, ObserverTable, PairSink, PluginTable, RawBody, RawEvent, RawObserver, RawPlugin, RawRegistration,
    RawReleased, RawText, Reply,
};
use crate::chunk::{Chunk, NewChunk};
use crate::config::decode_config;
use crate::context::{Context, FactoryContext, InvocationResult};
use crate::host::Host;
use crate::plugin::{ConfigFault, Plugin, Registration, StreamObserver, When};
use crate::verdict::{Event, Released, Verdict};

/// The code of [`When::Any`].
const ANY_CALL_CLASS: u8 = 255;

/// A configured plugin and what it registered.
struct Configured<P> {
    plugin: P,
    registrations: Vec<Registration>,
}

/// An observer that a factory made, its type forgotten.
pub struct MadeObserver(RawObserver);

impl MadeObserver {
    pub(crate) fn new<O: StreamObserver>(observer: O) -> Self {
        let instance = Box::new(Instance { observer: Some(observer), answer: Answered::default() });
        Self(RawObserver { instance: Box::into_raw(instance).cast(), table: Instance::<O>::TABLE })
    }
}

/// One observer and its last answer, which the host reads until the next call.
struct Instance<O> {
    /// `None` once the observer was at fault.
    observer: Option<O>,
    answer: Answered,
}

/// An answer and the views of its parts. The views point into the verdict, whose parts lie on the heap and are not
/// touched until the next answer replaces both.
#[derive(Default)]
struct Answered {
    verdict: Option<Verdict>,
    payloads: Vec<String>,
    events: Vec<RawEvent>,
    released: Vec<RawReleased>,
}

pub(super) unsafe extern "C" fn configure<P: Exported>(
    config: RStr<'_>,
    host: Host,
    out: &mut RawPlugin,
    faults: &PairSink,
    fault: &FaultSink,
) -> u8 {
    install_hook(Some(host), P::own_file());
    match configured::<P>(config.as_str(), host) {
        Ok(Ok(configured)) => {
            *out = RawPlugin { plugin: Box::into_raw(Box::new(configured)).cast(), table: Configured::<P>::TABLE };
            code::CONTINUE
        }
        Ok(Err(found)) => {
            for fault in found {
                // SAFETY: the host put `into` and `put` together and both are valid during this call.
                unsafe { (faults.put)(faults.into, fault.path.as_str().into(), fault.message.as_str().into()) };
            }
            code::REFUSED
        }
        Err(caught) => {
            caught.report(fault);
            code::FAULT
        }
    }
}

/// The plugin and its registrations, or the faults of its table, or the panic of either step. Each step is guarded on its
/// own: a plugin that panics while it registers is dropped after that panic has unwound, and may panic again.
fn configured<P: Plugin>(config: &str, host: Host) -> Result<Result<Configured<P>, Vec<ConfigFault>>, Caught> {
    let plugin = match guarded(|| P::configure(decode_config(config)?, host))? {
        Ok(plugin) => plugin,
        Err(faults) => return Ok(Err(faults)),
    };
    match guarded(|| plugin.registrations()) {
        Ok(registrations) => Ok(Ok(Configured { plugin, registrations })),
        Err(caught) => {
            discard(plugin);
            Err(caught)
        }
    }
}

/// What the host's handles rely on.
const fn is_shared_between_threads<T: Send + Sync>() {}

impl<P: Plugin> Configured<P> {
    const TABLE: &'static PluginTable = {
        is_shared_between_threads::<Self>();
        &PluginTable { registration: Self::registration, make_observer: Self::make_observer, free: Self::free }
    };

    unsafe extern "C" fn registration(plugin: *const (), index: u64, out: &mut RawRegistration) -> u8 {
        // SAFETY: the host calls with what `configure::<P>` handed over and has not freed it.
        let configured = unsafe { &*plugin.cast::<Self>() };
        let Some(registration) = usize::try_from(index).ok().and_then(|at| configured.registrations.get(at)) else {
            return code::REFUSED;
        };
        *out = RawRegistration {
            observer_id: RawText::of(&registration.observer_id),
            call_class: match registration.when {
                When::Any => ANY_CALL_CLASS,
                When::CallClass(class) => class.code(),
            },
        };
        code::CONTINUE
    }

    unsafe extern "C" fn make_observer(
        plugin: *const (),
        index: u64,
        context: &FactoryContext<'_>,
        out: &mut RawObserver,
        fault: &FaultSink,
    ) -> u8 {
        // SAFETY: the host calls with what `configure::<P>` handed over and has not freed it.
        let configured = unsafe { &*plugin.cast::<Self>() };
        let Some(registration) = usize::try_from(index).ok().and_then(|at| configured.registrations.get(at)) else {
            return code::REFUSED;
        };
        match guarded(|| (registration.factory)(context)) {
            Ok(made) => {
                *out = made.0;
                code::CONTINUE
            }
            Err(caught) => {
                caught.report(fault);
                code::FAULT
            }
        }
    }

    unsafe extern "C" fn free(plugin: *mut (), fault: &FaultSink) -> u8 {
        // SAFETY: the host frees what `configure::<P>` handed over once, and uses it no more.
        let Self { plugin, registrations } = *unsafe { Box::from_raw(plugin.cast::<Self>()) };
        // Each on its own: two panics at once would end the process, and one must not keep another from being dropped.
        let dropped = finish(guarded(|| drop(plugin)), fault);
        registrations.into_iter().fold(dropped, |code, own| code.max(finish(guarded(|| drop(own)), fault)))
    }
}

fn finish(result: Result<(), Caught>, fault: &FaultSink) -> u8 {
    match result {
        Ok(()) => code::CONTINUE,
        Err(caught) => {
            caught.report(fault);
            code::FAULT
        }
    }
}

impl<O: StreamObserver> Instance<O> {
    const TABLE: &'static ObserverTable =
        &ObserverTable { on_chunk: Self::on_chunk, on_end_invocation: Self::on_end_invocation, free: Self::free };

    unsafe extern "C" fn on_chunk(
        instance: *mut (),
        chunk: &Chunk<'_>,
        context: &Context<'_>,
        reply: &mut Reply,
        fault: &FaultSink,
    ) -> u8 {
        // SAFETY: the host calls with what the factory handed over, has not freed it, and from one thread at a time.
        let instance = unsafe { &mut *instance.cast::<Self>() };
        let Self { observer: Some(observer), answer } = instance else { return code::CONTINUE };
        if !chunk.is_known() {
            return code::CONTINUE;
        }
        let guarded = guarded(|| {
            let verdict = observer.on_chunk(chunk, context);
            if matches!(verdict, Verdict::Continue) {
                // It owns nothing; forgetting it spares most calls the drop of an enum whose other variants do.
                std::mem::forget(verdict);
                return code::CONTINUE;
            }
            answer.keep(verdict, reply)
        });
        guarded.unwrap_or_else(|caught| instance.fail(&caught, fault))
    }

    unsafe extern "C" fn on_end_invocation(instance: *mut (), result: &InvocationResult<'_>, fault: &FaultSink) -> u8 {
        // SAFETY: as in `on_chunk`.
        let instance = unsafe { &mut *instance.cast::<Self>() };
        let Some(observer) = instance.observer.as_mut() else { return code::CONTINUE };
        match guarded(|| observer.on_end_invocation(result)) {
            Ok(()) => code::CONTINUE,
            Err(caught) => instance.fail(&caught, fault),
        }
    }

    unsafe extern "C" fn free(instance: *mut (), fault: &FaultSink) -> u8 {
        // SAFETY: the host frees what the factory handed over once, and uses it no more.
        let mut instance = unsafe { Box::from_raw(instance.cast::<Self>()) };
        let observer = instance.observer.take();
        finish(guarded(|| drop(observer)), fault)
    }

    /// Drops the observer, which may panic once more, and reports the first panic.
    #[cold]
    fn fail(&mut self, caught: &Caught, fault: &FaultSink) -> u8 {
        discard(self.observer.take());
        caught.report(fault);
        code::FAULT
    }
}

impl Answered {
    /// Keeps a verdict until the next one and points the reply at its parts.
    #[cold]
    fn keep(&mut self, verdict: Verdict, reply: &mut Reply) -> u8 {
        self.events.clear();
        self.released.clear();
        self.payloads.clear();
        match self.verdict.insert(verdict) {
            Verdict::Continue => code::CONTINUE,
            Verdict::Buffer => code::BUFFER,
            Verdict::Amend(chunk) => {
                reply.body = body(chunk);
                code::AMEND
            }
            Verdict::Emit(events) => {
                self.payloads.extend(events.iter().map(|event| event.payload.to_string()));
                self.events.extend(events.iter().zip(&self.payloads).map(raw_event));
                reply.events = self.events.as_ptr();
                reply.events_length = self.events.len();
                code::EMIT
            }
            Verdict::Stop(stop) => {
                reply.reason = RawText::of(&stop.reason);
                reply.chunk_index = stop.chunk_index;
                reply.accumulated_content_length = stop.accumulated_content_length;
                code::STOP
            }
            Verdict::Release(release) => {
                self.released.extend(release.chunks.iter().map(raw_released));
                reply.released = self.released.as_ptr();
                reply.released_length = self.released.len();
                reply.strips = u8::from(release.strip_accumulated.is_some());
                reply.strip_accumulated = release.strip_accumulated.unwrap_or(0);
                code::RELEASE
            }
        }
    }
}

fn body(chunk: &NewChunk) -> RawBody {
    RawBody {
        kind: chunk.kind.code(),
        text: RawText::of(&chunk.text),
        payload: chunk.payload.as_deref().map_or(RawText::EMPTY, RawText::of),
    }
}

fn raw_event((event, payload): (&Event, &String)) -> RawEvent {
    RawEvent { channel: RawText::of(&event.channel), kind: RawText::of(&event.kind), payload: RawText::of(payload) }
}

fn raw_released(released: &Released) -> RawReleased {
    RawReleased {
        seq: released.seq,
        amended: u8::from(released.amended.is_some()),
        body: released.amended.as_ref().map_or(Reply::EMPTY.body, body),
    }
}
