//! What observers see: one decoded unit of a provider's frame, and what an observer puts in its place.

use abi_stable::StableAbi;
use abi_stable::std_types::RStr;

/// What a [`Chunk`] carries.
///
/// The codes are part of ABI v1. A kind that this crate does not know yet (sent by a newer daemon) is answered
/// `continue` on the author's behalf, so an observer never meets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum ChunkKind {
    /// Text of the answer. A chunk put in another's place may carry tool calls beside its text, for where there is more to
    /// say than there are chunks: payload `{"tool_calls":[{"index":…,"id":…,"name":…,"arguments":"…"}]}`, `id` only where
    /// there is one.
    ContentDelta = 0,
    /// Text of the model's reasoning; never part of the answer.
    ReasoningDelta = 1,
    /// Text of a provider-side refusal.
    RefusalDelta = 2,
    /// A fragment of a tool call: the text is a fragment of the argument JSON, the payload is
    /// `{"index":…,"id":…,"name":…}` with `id` and `name` only where the provider sent them.
    ToolCallDelta = 3,
    /// Citations, grounding, log-probabilities: JSON in the payload.
    Annotation = 4,
    /// Token counts: JSON in the payload, normalised names beside the provider's own.
    Usage = 5,
    /// The provider's finish reason, as text. Where the choices are the blocks or output items of one answer, each end of a
    /// text in one is a finish of it with an empty text, and the answer's reason comes with the last.
    Finish = 6,
    /// An error that the provider sent inside the stream: its message as text, its JSON as payload.
    Error = 7,
    /// Anything else: the raw JSON as payload.
    Opaque = 8,
}

impl ChunkKind {
    /// Every kind of ABI v1, in the order of the codes.
    pub const ALL: [Self; 9] = [
        Self::ContentDelta,
        Self::ReasoningDelta,
        Self::RefusalDelta,
        Self::ToolCallDelta,
        Self::Annotation,
        Self::Usage,
        Self::Finish,
        Self::Error,
        Self::Opaque,
    ];

    /// The kind's code in the ABI.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The kind with this code, or `None` for one that ABI v1 of this crate does not know.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        if (code as usize) < Self::ALL.len() { Some(Self::ALL[code as usize]) } else { None }
    }

    /// The kind's name in logs, configuration and JSON: `content_delta` and so on.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ContentDelta => "content_delta",
            Self::ReasoningDelta => "reasoning_delta",
            Self::RefusalDelta => "refusal_delta",
            Self::ToolCallDelta => "tool_call_delta",
            Self::Annotation => "annotation",
            Self::Usage => "usage",
            Self::Finish => "finish",
            Self::Error => "error",
            Self::Opaque => "opaque",
        }
    }
}

impl std::fmt::Display for ChunkKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One decoded unit of a provider's frame: a borrowed view, valid for one call. Nothing is copied to show it.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct Chunk<'a> {
    seq: u64,
    choice: u32,
    kind: u8,
    text: RStr<'a>,
    /// Empty stands for absent: no JSON document is empty.
    payload: RStr<'a>,
}

impl<'a> Chunk<'a> {
    /// A view of one chunk. `payload` is a JSON document.
    #[must_use]
    pub fn new(seq: u64, choice: u32, kind: ChunkKind, text: &'a str, payload: Option<&'a str>) -> Self {
        Self { seq, choice, kind: kind.code(), text: text.into(), payload: payload.unwrap_or_default().into() }
    }

    /// The chunk's number within the invocation: from 0, gapless.
    #[must_use]
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// The provider's choice, output or block index.
    #[must_use]
    pub const fn choice(&self) -> u32 {
        self.choice
    }

    /// What the chunk carries. A code that this crate does not know reads as [`ChunkKind::Opaque`]; an observer never
    /// meets one.
    #[must_use]
    pub const fn kind(&self) -> ChunkKind {
        match ChunkKind::from_code(self.kind) {
            Some(kind) => kind,
            None => ChunkKind::Opaque,
        }
    }

    /// Whether this crate knows the kind's code.
    pub(crate) const fn is_known(&self) -> bool {
        ChunkKind::from_code(self.kind).is_some()
    }

    /// The chunk's text; may be empty.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text.as_str()
    }

    /// The chunk's JSON, if it has any.
    #[must_use]
    pub fn payload(&self) -> Option<&'a str> {
        if self.payload.as_str().is_empty() { None } else { Some(self.payload.as_str()) }
    }
}

/// What an observer puts in a chunk's place. `seq` and `choice` stay the chunk's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewChunk {
    /// What the new chunk carries; may differ from the old one's.
    pub kind: ChunkKind,
    /// Its text; may be empty.
    pub text: String,
    /// Its JSON, if it has any; must be one valid document.
    pub payload: Option<String>,
}

impl NewChunk {
    /// The chunk with another text; kind and payload stay.
    #[must_use]
    pub fn with_text_of(chunk: &Chunk<'_>, text: impl Into<String>) -> Self {
        Self { kind: chunk.kind(), text: text.into(), payload: chunk.payload().map(str::to_owned) }
    }

    /// A piece of answer text.
    #[must_use]
    pub fn content(text: impl Into<String>) -> Self {
        Self { kind: ChunkKind::ContentDelta, text: text.into(), payload: None }
    }

    /// A whole tool call. `index` numbers the calls within the choice, `arguments` is its JSON; without an id the wire
    /// makes one.
    #[must_use]
    pub fn tool_call(index: u32, id: Option<&str>, name: &str, arguments: impl Into<String>) -> Self {
        let mut payload = serde_json::json!({ "index": index, "name": name });
        if let Some(id) = id {
            payload["id"] = id.into();
        }
        Self { kind: ChunkKind::ToolCallDelta, text: arguments.into(), payload: Some(payload.to_string()) }
    }
}
