//! What an observer is told beside the chunk: about the invocation when it is made, about the stream with each chunk,
//! and about the end.

use std::marker::PhantomData;

use abi_stable::StableAbi;
use abi_stable::std_types::{RSlice, RStr};

use crate::abi::ValueSource;
use crate::host::Host;
use crate::verdict::{Stop, Verdict};

/// Which kind of call an invocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallClass {
    /// The user-facing answer.
    Synthesize,
    /// Reasoning in the middle of a turn.
    Reasoning,
    /// Classification, routing, planning.
    Utility,
    /// Short user-facing prose.
    Converse,
}

impl CallClass {
    /// Every call class, in the order of the codes.
    pub const ALL: [Self; 4] = [Self::Synthesize, Self::Reasoning, Self::Utility, Self::Converse];

    /// The class's code in the ABI.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The class with this code.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        if (code as usize) < Self::ALL.len() { Some(Self::ALL[code as usize]) } else { None }
    }

    /// The class's name in configuration, headers and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Synthesize => "synthesize",
            Self::Reasoning => "reasoning",
            Self::Utility => "utility",
            Self::Converse => "converse",
        }
    }

    /// The class with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }
}

impl std::fmt::Display for CallClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How an invocation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The provider's answer came to its end.
    Completed,
    /// An observer stopped the stream.
    Stopped,
    /// The provider failed or broke off.
    ProviderError,
    /// The client went away.
    ClientGone,
    /// An observer that must not be skipped was at fault.
    ObserverFault,
    /// The daemon was stopped.
    Shutdown,
}

impl Outcome {
    /// Every outcome, in the order of the codes.
    pub const ALL: [Self; 6] =
        [Self::Completed, Self::Stopped, Self::ProviderError, Self::ClientGone, Self::ObserverFault, Self::Shutdown];

    /// The outcome's code in the ABI.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The outcome's name in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Stopped => "stopped",
            Self::ProviderError => "provider_error",
            Self::ClientGone => "client_gone",
            Self::ObserverFault => "observer_fault",
            Self::Shutdown => "shutdown",
        }
    }
}

/// A value that was looked up by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A text.
    Text(&'a str),
    /// A number.
    Number(u64),
    /// A JSON document.
    Json(&'a str),
}

/// What an observer is told with each chunk: a borrowed view, valid for one call.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct Context<'a> {
    pub(crate) delivered: RStr<'a>,
    pub(crate) delivered_length: u64,
    pub(crate) seen: u64,
    pub(crate) held_chunks: u64,
    pub(crate) held_length: u64,
    pub(crate) arrival: u64,
    pub(crate) values: ValueSource<'a>,
}

/// The numbers of a [`Context`], for whoever drives an observer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress<'a> {
    /// See [`Context::delivered`].
    pub delivered: &'a str,
    /// See [`Context::delivered_length`].
    pub delivered_length: u64,
    /// See [`Context::seen`].
    pub seen: u64,
    /// See [`Context::held_chunks`].
    pub held_chunks: u64,
    /// See [`Context::held_length`].
    pub held_length: u64,
    /// See [`Context::arrival_nanos`].
    pub arrival_nanos: u64,
}

impl<'a> Context<'a> {
    /// A view of the stream's progress; other values are looked up in `values`.
    #[must_use]
    #[inline]
    pub fn new(progress: Progress<'a>, values: ValueSource<'a>) -> Self {
        Self {
            delivered: progress.delivered.into(),
            delivered_length: progress.delivered_length,
            seen: progress.seen,
            held_chunks: progress.held_chunks,
            held_length: progress.held_length,
            arrival: progress.arrival_nanos,
            values,
        }
    }

    /// The same view for another observer: only what is the observer's own differs. For whoever drives several observers
    /// with one chunk.
    #[inline]
    pub fn turn_to(&mut self, seen: u64, held_chunks: u64, held_length: u64) {
        self.seen = seen;
        self.held_chunks = held_chunks;
        self.held_length = held_length;
    }

    /// The answer text delivered so far in the chunk's choice: what came out of the whole ladder.
    #[must_use]
    pub fn delivered(&self) -> &'a str {
        self.delivered.as_str()
    }

    /// The length of [`Self::delivered`] in Unicode scalar values.
    #[must_use]
    pub const fn delivered_length(&self) -> u64 {
        self.delivered_length
    }

    /// How many chunks this observer has seen, this one included.
    #[must_use]
    pub const fn seen(&self) -> u64 {
        self.seen
    }

    /// How many chunks this observer holds, this one not included.
    #[must_use]
    pub const fn held_chunks(&self) -> u64 {
        self.held_chunks
    }

    /// How much text this observer holds, in Unicode scalar values.
    #[must_use]
    pub const fn held_length(&self) -> u64 {
        self.held_length
    }

    /// When the chunk arrived, in nanoseconds since the start of the invocation, as recorded. There is no other clock.
    #[must_use]
    pub const fn arrival_nanos(&self) -> u64 {
        self.arrival
    }

    /// A value by name, for what later daemons add. Every daemon answers the names of [`FactoryContext::value`] and
    /// `signed` (see [`Self::is_signed`]); an unknown name is `None`.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Value<'a>> {
        self.values.find(name)
    }

    /// Whether the provider signed what the chunk carries, as Anthropic signs its model's thinking. A provider refuses
    /// signed text that was changed in the next turn, so to amend such a chunk is a contract violation: an observer that
    /// must not let it through stops the stream.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.value("signed") == Some(Value::Number(1))
    }

    /// The verdict that ends the stream in front of this chunk, its two numbers filled from this context.
    #[must_use]
    pub fn stop(&self, reason: impl Into<String>) -> Verdict {
        Verdict::Stop(Stop {
            reason: reason.into(),
            chunk_index: self.seen,
            accumulated_content_length: self.delivered_length,
        })
    }
}

/// What a factory is told about the invocation that an observer is made for: a borrowed view, valid for one call.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct FactoryContext<'a> {
    pub(crate) call_class: u8,
    pub(crate) turn_id: RStr<'a>,
    pub(crate) invocation_id: RStr<'a>,
    pub(crate) model: RStr<'a>,
    pub(crate) provider: RStr<'a>,
    pub(crate) family: RStr<'a>,
    pub(crate) system_prompt: RStr<'a>,
    pub(crate) messages: RStr<'a>,
    pub(crate) tool_names: RSlice<'a, RStr<'a>>,
    pub(crate) correlation: RSlice<'a, Correlation<'a>>,
    pub(crate) seed: u64,
    pub(crate) host: Host,
    pub(crate) values: ValueSource<'a>,
}

/// A correlation value that a request brought along.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Correlation<'a> {
    pub(crate) name: RStr<'a>,
    pub(crate) value: RStr<'a>,
}

impl<'a> Correlation<'a> {
    /// The value's name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.name.as_str()
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> &'a str {
        self.value.as_str()
    }
}

impl<'a> FactoryContext<'a> {
    /// The kind of call. A class that this crate does not know reads as [`CallClass::Utility`], the least visible one.
    #[must_use]
    pub fn call_class(&self) -> CallClass {
        CallClass::from_code(self.call_class).unwrap_or(CallClass::Utility)
    }

    /// The turn that the invocation belongs to.
    #[must_use]
    pub fn turn_id(&self) -> &'a str {
        self.turn_id.as_str()
    }

    /// The invocation's own id.
    #[must_use]
    pub fn invocation_id(&self) -> &'a str {
        self.invocation_id.as_str()
    }

    /// The model that was asked for.
    #[must_use]
    pub fn model(&self) -> &'a str {
        self.model.as_str()
    }

    /// The provider's name in the daemon's configuration.
    #[must_use]
    pub fn provider(&self) -> &'a str {
        self.provider.as_str()
    }

    /// The provider's family: `openai` and so on.
    #[must_use]
    pub fn family(&self) -> &'a str {
        self.family.as_str()
    }

    /// The request's system prompt; empty if it has none.
    #[must_use]
    pub fn system_prompt(&self) -> &'a str {
        self.system_prompt.as_str()
    }

    /// The request's messages as the JSON array that the client sent; empty if there is none.
    #[must_use]
    pub fn messages(&self) -> &'a str {
        self.messages.as_str()
    }

    /// The names of the tools that the request offers.
    pub fn tool_names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.tool_names.as_slice().iter().map(|name| name.as_str())
    }

    /// The correlation values of the request, as name and value.
    #[must_use]
    pub fn correlation(&self) -> &'a [Correlation<'a>] {
        self.correlation.as_slice()
    }

    /// A number that is fixed for the invocation: the only source of chance that replays.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The daemon's services, attributed to this observer.
    #[must_use]
    pub const fn host(&self) -> Host {
        self.host
    }

    /// A value by name: `call_class`, `turn_id`, `invocation_id`, `model`, `provider`, `family`, `seed`, and
    /// `correlation.NAME`; further names in later daemons. An unknown name is `None`.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Value<'a>> {
        self.values.find(name)
    }
}

/// The stop that ended a stream, as its sentinel says it.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct StopView<'a> {
    pub(crate) reason: RStr<'a>,
    pub(crate) observer_id: RStr<'a>,
    pub(crate) plugin: RStr<'a>,
    /// See [`Stop::chunk_index`].
    pub chunk_index: u64,
    /// See [`Stop::accumulated_content_length`].
    pub accumulated_content_length: u64,
    /// The `seq` of the chunk in front of which the stream ended.
    pub seq: u64,
}

impl<'a> StopView<'a> {
    /// A view of a stop.
    #[must_use]
    pub fn new(reason: &'a str, observer_id: &'a str, plugin: &'a str, numbers: (u64, u64, u64)) -> Self {
        let (chunk_index, accumulated_content_length, seq) = numbers;
        Self {
            reason: reason.into(),
            observer_id: observer_id.into(),
            plugin: plugin.into(),
            chunk_index,
            accumulated_content_length,
            seq,
        }
    }

    /// The reason that was given.
    #[must_use]
    pub fn reason(&self) -> &'a str {
        self.reason.as_str()
    }

    /// The observer that stopped the stream.
    #[must_use]
    pub fn observer_id(&self) -> &'a str {
        self.observer_id.as_str()
    }

    /// The plugin of that observer.
    #[must_use]
    pub fn plugin(&self) -> &'a str {
        self.plugin.as_str()
    }
}

/// How an invocation ended: a borrowed view, valid for one call.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct InvocationResult<'a> {
    pub(crate) outcome: u8,
    pub(crate) has_stop: u8,
    pub(crate) chunks_in: u64,
    pub(crate) chunks_out: u64,
    pub(crate) delivered_length: u64,
    /// Empty stands for absent.
    pub(crate) usage: RStr<'a>,
    pub(crate) stop: StopView<'a>,
    pub(crate) values: ValueSource<'a>,
    pub(crate) lifetime: PhantomData<&'a ()>,
}

/// What an [`InvocationResult`] says, for whoever drives an observer.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// How the invocation ended.
    pub outcome: Outcome,
    /// Chunks that entered the ladder.
    pub chunks_in: u64,
    /// Chunks that left it.
    pub chunks_out: u64,
    /// The length of the delivered text over all choices, in Unicode scalar values.
    pub delivered_length: u64,
    /// The last usage payload that was seen.
    pub usage: Option<&'a str>,
    /// The stop, if there was one.
    pub stop: Option<StopView<'a>>,
}

impl<'a> InvocationResult<'a> {
    /// A view of an ending; other values are looked up in `values`.
    #[must_use]
    pub fn new(ending: Ending<'a>, values: ValueSource<'a>) -> Self {
        Self {
            outcome: ending.outcome.code(),
            has_stop: u8::from(ending.stop.is_some()),
            chunks_in: ending.chunks_in,
            chunks_out: ending.chunks_out,
            delivered_length: ending.delivered_length,
            usage: ending.usage.unwrap_or_default().into(),
            stop: ending.stop.unwrap_or_else(|| StopView::new("", "", "", (0, 0, 0))),
            values,
            lifetime: PhantomData,
        }
    }

    /// How the invocation ended. An outcome that this crate does not know reads as [`Outcome::ProviderError`].
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome::ALL.get(usize::from(self.outcome)).copied().unwrap_or(Outcome::ProviderError)
    }

    /// Chunks that entered the ladder.
    #[must_use]
    pub const fn chunks_in(&self) -> u64 {
        self.chunks_in
    }

    /// Chunks that left it.
    #[must_use]
    pub const fn chunks_out(&self) -> u64 {
        self.chunks_out
    }

    /// The length of the delivered text over all choices, in Unicode scalar values.
    #[must_use]
    pub const fn delivered_length(&self) -> u64 {
        self.delivered_length
    }

    /// The token counts that were seen last, as JSON.
    #[must_use]
    pub fn usage(&self) -> Option<&'a str> {
        if self.usage.as_str().is_empty() { None } else { Some(self.usage.as_str()) }
    }

    /// The stop, if one ended the stream.
    #[must_use]
    pub const fn stop(&self) -> Option<StopView<'a>> {
        if self.has_stop == 0 { None } else { Some(self.stop) }
    }

    /// A value by name: the names of [`FactoryContext::value`], and further ones in later daemons.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Value<'a>> {
        self.values.find(name)
    }
}
