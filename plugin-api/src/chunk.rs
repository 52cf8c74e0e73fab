//! What observers see: one decoded unit of a provider's frame.


/// What a [`Chunk`] carries.
///
/// The codes are part of ABI v1. A kind that this crate does not know yet (sent by a newer daemon) is answered
/// `continue` on the author's behalf, so an observer never meets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum ChunkKind {
    /// Text of the answer.
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
    /// The provider's finish reason, as text.
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
