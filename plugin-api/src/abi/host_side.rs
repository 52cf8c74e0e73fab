//! The host's half: safe handles on a library, a configured plugin and an observer. Nothing that a plugin answers is
//! believed before it was checked.

use abi_stable::library::{LibHeader, LibraryError};
use abi_stable::std_types::RStr;
use serde::de::IgnoredAny;

use super::invocation::Invocation;
use super::module::{Exported, PluginModuleRef, module};
use super::raw::{
    FaultSink, ObserverTable, PairSink, PluginTable, RawBody, RawEvent, RawObserver, RawPlugin, RawRegistration,
    RawReleased, Reply,
};
use super::{ABI_VERSION, code};
use crate::chunk::{Chunk, ChunkKind};
use crate::context::{CallClass, Context, InvocationResult};
use crate::host::Host;
use crate::plugin::{ConfigFault, When};

/// What kind of fault an observer or plugin was at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// A panic, caught on the plugin's side.
    Panic,
    /// An answer that breaks the contract.
    Violation,
    /// More held than the operator allows.
    HoldOverBound,
    /// A value that is not what its type promises: text that is not UTF-8, a payload that is not JSON, a code out of
    /// range.
    Malformed,
}

impl FaultKind {
    /// The kind's name in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Violation => "violation",
            Self::HoldOverBound => "hold_over_bound",
            Self::Malformed => "malformed",
        }
    }
}

/// A fault of a plugin: it never harms another one, another stream or the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// What happened, in one line.
    pub message: String,
    /// Where in the author's code, where that is known: `src/lib.rs:12:5`.
    pub place: Option<String>,
}

impl Fault {
    /// A fault without a place.
    #[must_use]
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), place: None }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.message)?;
        match &self.place {
            Some(place) => write!(f, " (at {place})"),
            None => Ok(()),
        }
    }
}

/// What a plugin says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Its own name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it does.
    pub description: String,
    /// Its licence.
    pub licence: String,
    /// The compiler that built it.
    pub built_with: String,
    /// The target that it was built for.
    pub built_for: String,
    /// Its panic strategy.
    pub panic: String,
    /// The version of this crate that it was built with.
    pub api: String,
    /// The JSON Schema of its configuration table.
    pub config_schema: String,
}

/// Why a plugin was not configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigureError {
    /// Its table has faults.
    Refused(Vec<ConfigFault>),
    /// It was at fault itself.
    Fault(Fault),
}

/// One registration of a configured plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationInfo {
    /// For which invocations the observer is made.
    pub when: When,
    /// The observer's id.
    pub observer_id: String,
}

/// A fault sink and what was put into it.
struct Caught(Option<Fault>);

impl Caught {
    fn sink(&mut self) -> FaultSink {
        unsafe extern "C" fn put(into: *mut (), message: RStr<'_>, place: RStr<'_>) {
            // SAFETY: `sink` put a `&mut Caught` there that outlives the call that the sink is passed to.
            let caught = unsafe { &mut *into.cast::<Caught>() };
            let place = (!place.is_empty()).then(|| place.as_str().to_owned());
            caught.0 = Some(Fault { kind: FaultKind::Panic, message: message.as_str().to_owned(), place });
        }
        FaultSink { into: std::ptr::from_mut(self).cast(), put }
    }

    fn take(self) -> Fault {
        self.0.unwrap_or_else(|| Fault::new(FaultKind::Malformed, "an entry reports a fault and says nothing of it"))
    }
}

/// Calls an entry with a sink for its name and value pairs.
fn collect_pairs<T>(entry: impl FnOnce(&PairSink) -> T) -> (T, Vec<(String, String)>) {
    unsafe extern "C" fn put(into: *mut (), name: RStr<'_>, value: RStr<'_>) {
        // SAFETY: the sink below holds a `&mut Vec` that outlives the call that the sink is passed to.
        let pairs = unsafe { &mut *into.cast::<Vec<(String, String)>>() };
        pairs.push((name.as_str().to_owned(), value.as_str().to_owned()));
    }
    let mut pairs: Vec<(String, String)> = Vec::new();
    let result = entry(&PairSink { into: std::ptr::from_mut(&mut pairs).cast(), put });
    (result, pairs)
}

/// Calls an entry with a sink for its fault.
fn collect_fault(entry: impl FnOnce(&FaultSink) -> u8) -> Result<u8, Fault> {
    let mut caught = Caught(None);
    let code = entry(&caught.sink());
    if code == code::FAULT { Err(caught.take()) } else { Ok(code) }
}

/// A loaded library whose layout was checked.
#[derive(Clone, Copy)]
pub struct PluginLibrary {
    module: PluginModuleRef,
}

impl PluginLibrary {
    /// Checks a library's header: `abi_stable`'s own checks, then the layout of every type of this ABI.
    ///
    /// # Errors
    /// Whatever `abi_stable` finds; its text can be long.
    pub fn check(header: &'static LibHeader) -> Result<Self, LibraryError> {
        let module = header.init_root_module::<PluginModuleRef>()?;
        Ok(Self { module })
    }

    /// A plugin that is linked into this program, behind the very same entries.
    #[must_use]
    pub fn linked<P: Exported>() -> Self {
        Self { module: module::<P>() }
    }

    /// The ABI that the library says it speaks.
    ///
    /// # Errors
    /// The version, where it is not [`ABI_VERSION`].
    pub fn speaks_our_abi(&self) -> Result<(), u32> {
        let version = self.module.abi_version();
        if version == ABI_VERSION { Ok(()) } else { Err(version) }
    }

    /// What the plugin says of itself.
    ///
    /// # Errors
    /// A panic of the author's schema.
    pub fn describe(&self) -> Result<Description, Fault> {
        // SAFETY: both sinks are valid during the call.
        let (result, pairs) =
            collect_pairs(|pairs| collect_fault(|fault| unsafe { (self.module.describe())(pairs, fault) }));
        result?;
        let mut description = Description::default();
        for (name, value) in pairs {
            match name.as_str() {
                "name" => description.name = value,
                "version" => description.version = value,
                "description" => description.description = value,
                "licence" => description.licence = value,
                "built_with" => description.built_with = value,
                "built_for" => description.built_for = value,
                "panic" => description.panic = value,
                "api" => description.api = value,
                "config_schema" => description.config_schema = value,
                // A newer plugin says more than this crate knows to ask for.
                _ => {}
            }
        }
        Ok(description)
    }

    /// Configures the plugin with its table as a JSON object.
    ///
    /// # Errors
    /// The faults of the table, or a fault of the plugin.
    pub fn configure(&self, config: &str, host: Host) -> Result<PluginHandle, ConfigureError> {
        let mut raw = RawPlugin::EMPTY;
        let (result, pairs) = collect_pairs(|pairs| {
            // SAFETY: `out` and both sinks are valid during the call.
            collect_fault(|fault| unsafe { (self.module.configure())(config.into(), host, &mut raw, pairs, fault) })
        });
        match result.map_err(ConfigureError::Fault)? {
            code::CONTINUE => PluginHandle::new(raw).map_err(ConfigureError::Fault),
            _ => Err(ConfigureError::Refused(
                pairs.into_iter().map(|(path, message)| ConfigFault { path, message }).collect(),
            )),
        }
    }

    /// A later slot of the plugin by name and version, if it has it.
    #[must_use]
    pub fn has(&self, name: &str, version: u32) -> bool {
        // SAFETY: a look-up takes nothing but its arguments.
        !unsafe { (self.module.find())(name.into(), version) }.is_null()
    }
}

/// A configured plugin. Dropping it drops the plugin's own value.
pub struct PluginHandle {
    raw: RawPlugin,
    table: &'static PluginTable,
    registrations: Vec<RegistrationInfo>,
}

// SAFETY: the plugin's value is `Send + Sync` (`Plugin` demands it, and `Configured` holds nothing else), and its entries
// may be called from any thread.
unsafe impl Send for PluginHandle {}
// SAFETY: as above.
unsafe impl Sync for PluginHandle {}

/// How many registrations a plugin may have: far more than any ladder needs, and an end for a list that has none.
const MOST_REGISTRATIONS: u64 = 1024;

impl PluginHandle {
    fn new(raw: RawPlugin) -> Result<Self, Fault> {
        if raw.plugin.is_null() || raw.table.is_null() {
            return Err(Fault::new(FaultKind::Malformed, "configure handed over no plugin"));
        }
        // SAFETY: not null, and entries lie in a library that is never unmapped.
        let table = unsafe { &*raw.table };
        let mut handle = Self { raw, table, registrations: Vec::new() };
        for index in 0..MOST_REGISTRATIONS {
            match handle.registration(index)? {
                Some(registration) => handle.registrations.push(registration),
                None => return Ok(handle),
            }
        }
        Err(Fault::new(FaultKind::Violation, format!("more than {MOST_REGISTRATIONS} registrations")))
    }

    fn registration(&self, index: u64) -> Result<Option<RegistrationInfo>, Fault> {
        let mut raw = RawRegistration { observer_id: super::RawText::EMPTY, call_class: 0 };
        // SAFETY: the plugin was handed over by `configure` and is freed only when this handle is dropped.
        if unsafe { (self.table.registration)(self.raw.plugin, index, &mut raw) } != code::CONTINUE {
            return Ok(None);
        }
        let malformed = |what: &str| Fault::new(FaultKind::Malformed, format!("registration {index}: {what}"));
        // SAFETY: the id belongs to the plugin, which this handle keeps; it is copied at once.
        let id = unsafe { raw.observer_id.read() }.ok_or_else(|| malformed("its observer id is not text"))?;
        let when = match raw.call_class {
            u8::MAX => When::Any,
            class => When::CallClass(CallClass::from_code(class).ok_or_else(|| malformed("its call class is unknown"))?),
        };
        Ok(Some(RegistrationInfo { when, observer_id: id.to_owned() }))
    }

    /// The plugin's registrations, in their order.
    #[must_use]
    pub fn registrations(&self) -> &[RegistrationInfo] {
        &self.registrations
    }

    /// Makes an observer of the registration at `index`, with the host's services attributed to it.
    ///
    /// # Errors
    /// A fault of the factory.
    pub fn make_observer(&self, index: usize, invocation: &Invocation, host: Host) -> Result<ObserverHandle, Fault> {
        let mut raw = RawObserver::EMPTY;
        let code = invocation.show(host, |context| {
            // SAFETY: the plugin is kept by this handle; context, `out` and sink are valid during the call.
            collect_fault(|fault| unsafe {
                (self.table.make_observer)(self.raw.plugin, index as u64, context, &mut raw, fault)
            })
        })?;
        if code != code::CONTINUE {
            return Err(Fault::new(FaultKind::Violation, format!("there is no registration {index}")));
        }
        ObserverHandle::new(raw)
    }

    /// Drops the plugin's own value and says what it did about that.
    ///
    /// # Errors
    /// A panic in the plugin's `Drop`.
    pub fn close(self) -> Result<(), Fault> {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is not used again and its `Drop` does not run: the value is freed once. The registrations are
        // moved out of it once, to be freed as well.
        let (result, registrations) = unsafe { (this.free(), std::ptr::read(&raw const this.registrations)) };
        drop(registrations);
        result
    }

    /// # Safety
    /// To be called once, and nothing after it.
    unsafe fn free(&self) -> Result<(), Fault> {
        // SAFETY: handed over by `configure`, and freed once by the caller's promise.
        collect_fault(|fault| unsafe { (self.table.free)(self.raw.plugin, fault) }).map(drop)
    }
}

impl Drop for PluginHandle {
    fn drop(&mut self) {
        // SAFETY: `close` prevents this drop, so the value is freed once. Its fault concerns nobody who could be told.
        let _ = unsafe { self.free() };
    }
}

/// One observer. Dropping it drops the observer's own value.
pub struct ObserverHandle {
    raw: RawObserver,
    table: &'static ObserverTable,
    reply: Reply,
}

// SAFETY: the observer's value is `Send` (`StreamObserver` demands it), and `&mut self` keeps its entries to one thread at
// a time.
unsafe impl Send for ObserverHandle {}

/// What an observer answered, borrowed from it until its next call.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer<'a> {
    /// See [`Verdict::Continue`](crate::Verdict::Continue).
    Continue,
    /// See [`Verdict::Amend`](crate::Verdict::Amend).
    Amend(BodyView<'a>),
    /// See [`Verdict::Emit`](crate::Verdict::Emit).
    Emit(Vec<EventView<'a>>),
    /// See [`Verdict::Stop`](crate::Verdict::Stop).
    Stop {
        /// The reason given.
        reason: &'a str,
        /// The observer's own count.
        chunk_index: u64,
        /// The observer's own count.
        accumulated_content_length: u64,
    },
    /// See [`Verdict::Buffer`](crate::Verdict::Buffer).
    Buffer,
    /// See [`Verdict::Release`](crate::Verdict::Release).
    Release {
        /// The first held chunks, in order.
        chunks: Vec<ReleasedView<'a>>,
        /// What is taken back of the delivered text.
        strip_accumulated: Option<u64>,
    },
    /// The observer was at fault. After a panic nothing but its drop may follow; the handle sees to that.
    Fault(Fault),
}

/// The part of a chunk that an observer may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyView<'a> {
    /// What it carries.
    pub kind: ChunkKind,
    /// Its text.
    pub text: &'a str,
    /// Its JSON: one valid document.
    pub payload: Option<&'a str>,
}

/// One event of an `emit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventView<'a> {
    /// The channel as the observer named it.
    pub channel: &'a str,
    /// The author's word for the event.
    pub kind: &'a str,
    /// One valid JSON document.
    pub payload: &'a str,
}

/// One chunk of a `release`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleasedView<'a> {
    /// Which held chunk.
    pub seq: u64,
    /// What goes on in its place.
    pub amended: Option<BodyView<'a>>,
}

impl ObserverHandle {
    fn new(raw: RawObserver) -> Result<Self, Fault> {
        if raw.instance.is_null() || raw.table.is_null() {
            return Err(Fault::new(FaultKind::Malformed, "the factory handed over no observer"));
        }
        // SAFETY: not null, and entries lie in a library that is never unmapped.
        Ok(Self { raw, table: unsafe { &*raw.table }, reply: Reply::EMPTY })
    }

    /// Shows the observer a chunk.
    #[inline]
    pub fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Answer<'_> {
        let mut caught = Caught(None);
        let sink = caught.sink();
        // SAFETY: the instance was handed over by the factory and is freed only when this handle is dropped; `&mut self`
        // makes the call exclusive; everything passed is valid during the call.
        let code = unsafe { (self.table.on_chunk)(self.raw.instance, chunk, context, &mut self.reply, &sink) };
        match code {
            code::CONTINUE => Answer::Continue,
            code::BUFFER => Answer::Buffer,
            code::FAULT => Answer::Fault(caught.take()),
            _ => self.read_reply(code).unwrap_or_else(Answer::Fault),
        }
    }

    /// Tells the observer how the invocation ended.
    ///
    /// # Errors
    /// A panic of the observer.
    pub fn on_end_invocation(&mut self, result: &InvocationResult<'_>) -> Result<(), Fault> {
        // SAFETY: as in `on_chunk`.
        collect_fault(|fault| unsafe { (self.table.on_end_invocation)(self.raw.instance, result, fault) }).map(drop)
    }

    /// Drops the observer's own value and says what it did about that.
    ///
    /// # Errors
    /// A panic in the observer's `Drop`.
    pub fn close(self) -> Result<(), Fault> {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is not used again and its `Drop` does not run: the value is freed once.
        unsafe { this.free() }
    }

    /// # Safety
    /// To be called once, and nothing after it.
    unsafe fn free(&self) -> Result<(), Fault> {
        // SAFETY: handed over by the factory, and freed once by the caller's promise.
        collect_fault(|fault| unsafe { (self.table.free)(self.raw.instance, fault) }).map(drop)
    }

    /// The parts of an answer, each checked.
    #[cold]
    fn read_reply(&self, code: u8) -> Result<Answer<'_>, Fault> {
        let reply = &self.reply;
        Ok(match code {
            code::AMEND => Answer::Amend(read_body(&reply.body)?),
            code::EMIT => {
                // SAFETY: the list belongs to the instance until its next call, which needs `&mut self`.
                let events = unsafe { read_list(reply.events, reply.events_length) }?;
                Answer::Emit(events.iter().map(read_event).collect::<Result<_, _>>()?)
            }
            code::STOP => Answer::Stop {
                reason: text(reply.reason, "the reason of a stop")?,
                chunk_index: reply.chunk_index,
                accumulated_content_length: reply.accumulated_content_length,
            },
            code::RELEASE => {
                // SAFETY: as for the events.
                let released = unsafe { read_list(reply.released, reply.released_length) }?;
                Answer::Release {
                    chunks: released.iter().map(read_released).collect::<Result<_, _>>()?,
                    strip_accumulated: (reply.strips != 0).then_some(reply.strip_accumulated),
                }
            }
            unknown => return Err(malformed(format!("{unknown} is not the code of a verdict"))),
        })
    }
}

impl Drop for ObserverHandle {
    fn drop(&mut self) {
        // SAFETY: `close` prevents this drop, so the value is freed once. Its fault concerns nobody who could be told.
        let _ = unsafe { self.free() };
    }
}

fn malformed(message: impl Into<String>) -> Fault {
    Fault::new(FaultKind::Malformed, message)
}

/// Text of an answer. Its lifetime is that of the borrow of the reply that it was read from.
fn text<'a>(raw: super::RawText, what: &str) -> Result<&'a str, Fault> {
    // SAFETY: what a reply points to belongs to the instance until its next call; every caller hands the text out under
    // the borrow of the handle that excludes one.
    unsafe { raw.read() }.ok_or_else(|| malformed(format!("{what} is not valid UTF-8")))
}

fn json<'a>(raw: super::RawText, what: &str) -> Result<Option<&'a str>, Fault> {
    let json: &str = text(raw, what)?;
    if json.is_empty() {
        return Ok(None);
    }
    match serde_json::from_str::<IgnoredAny>(json) {
        Ok(_) => Ok(Some(json)),
        Err(error) => Err(malformed(format!("{what} is not JSON: {error}"))),
    }
}

fn read_body(raw: &RawBody) -> Result<BodyView<'_>, Fault> {
    let kind = ChunkKind::from_code(raw.kind).ok_or_else(|| malformed(format!("{} is not a chunk kind", raw.kind)))?;
    Ok(BodyView {
        kind,
        text: text(raw.text, "the text of an amended chunk")?,
        payload: json(raw.payload, "the payload of an amended chunk")?,
    })
}

fn read_event(raw: &RawEvent) -> Result<EventView<'_>, Fault> {
    Ok(EventView {
        channel: text(raw.channel, "the channel of an event")?,
        kind: text(raw.kind, "the kind of an event")?,
        payload: json(raw.payload, "the payload of an event")?.unwrap_or("null"),
    })
}

fn read_released(raw: &RawReleased) -> Result<ReleasedView<'_>, Fault> {
    let amended = if raw.amended == 0 { None } else { Some(read_body(&raw.body)?) };
    Ok(ReleasedView { seq: raw.seq, amended })
}

/// # Safety
/// If `start` is not null, `length` items must be readable there for `'a`.
unsafe fn read_list<'a, T>(start: *const T, length: usize) -> Result<&'a [T], Fault> {
    if length == 0 {
        return Ok(&[]);
    }
    if start.is_null() || !start.is_aligned() || length > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(malformed("a list of an answer lies nowhere"));
    }
    // SAFETY: not null, aligned, length in range, readable for 'a by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(start, length) })
}
