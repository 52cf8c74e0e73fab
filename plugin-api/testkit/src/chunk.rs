//! What a test sends in: chunks as a provider's answer would be decoded to.

use seam_plugin_api::{Chunk, ChunkKind};
use serde_json::{Value, json};

/// One chunk that a test sends. Its number is its place in the list that is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedChunk {
    /// What it carries.
    pub kind: ChunkKind,
    /// The provider's choice.
    pub choice: u32,
    /// Its text; may be empty.
    pub text: String,
    /// Its JSON, if it has any: one valid document.
    pub payload: Option<String>,
    /// Whether the provider signed it: see [`Context::is_signed`](seam_plugin_api::Context::is_signed).
    pub signed: bool,
}

impl ScriptedChunk {
    /// A chunk of a kind with a text, in choice 0, without payload.
    #[must_use]
    pub fn new(kind: ChunkKind, text: impl Into<String>) -> Self {
        Self { kind, choice: 0, text: text.into(), payload: None, signed: false }
    }

    /// A piece of the answer.
    #[must_use]
    pub fn content(text: impl Into<String>) -> Self {
        Self::new(ChunkKind::ContentDelta, text)
    }

    /// A piece of the model's reasoning.
    #[must_use]
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::new(ChunkKind::ReasoningDelta, text)
    }

    /// A piece of a refusal by the provider.
    #[must_use]
    pub fn refusal(text: impl Into<String>) -> Self {
        Self::new(ChunkKind::RefusalDelta, text)
    }

    /// The first piece of a tool call: its id and name, and the first fragment of its arguments.
    #[must_use]
    pub fn tool_call(index: u32, id: &str, name: &str, arguments: impl Into<String>) -> Self {
        let payload = json!({ "index": index, "id": id, "name": name });
        Self::new(ChunkKind::ToolCallDelta, arguments).with_payload(&payload)
    }

    /// A further fragment of a tool call's arguments.
    #[must_use]
    pub fn tool_arguments(index: u32, fragment: impl Into<String>) -> Self {
        Self::new(ChunkKind::ToolCallDelta, fragment).with_payload(&json!({ "index": index }))
    }

    /// Citations, grounding, log-probabilities.
    #[must_use]
    pub fn annotation(payload: &Value) -> Self {
        Self::new(ChunkKind::Annotation, "").with_payload(payload)
    }

    /// Token counts.
    #[must_use]
    pub fn usage(payload: &Value) -> Self {
        Self::new(ChunkKind::Usage, "").with_payload(payload)
    }

    /// The finish reason.
    #[must_use]
    pub fn finish(reason: impl Into<String>) -> Self {
        Self::new(ChunkKind::Finish, reason)
    }

    /// An error that the provider sends inside the stream.
    #[must_use]
    pub fn error(message: impl Into<String>, payload: &Value) -> Self {
        Self::new(ChunkKind::Error, message).with_payload(payload)
    }

    /// Anything else.
    #[must_use]
    pub fn opaque(payload: &Value) -> Self {
        Self::new(ChunkKind::Opaque, "").with_payload(payload)
    }

    /// The chunk with a payload.
    #[must_use]
    pub fn with_payload(self, payload: &Value) -> Self {
        Self { payload: Some(payload.to_string()), ..self }
    }

    /// The chunk in another choice.
    #[must_use]
    pub fn in_choice(self, choice: u32) -> Self {
        Self { choice, ..self }
    }

    /// The chunk as one that its provider signed.
    #[must_use]
    pub fn signed(self) -> Self {
        Self { signed: true, ..self }
    }

    /// The chunk as observers see it.
    pub(crate) fn view(&self, seq: u64) -> Chunk<'_> {
        Chunk::new(seq, self.choice, self.kind, &self.text, self.payload.as_deref())
    }
}

impl From<&str> for ScriptedChunk {
    /// A piece of the answer.
    fn from(text: &str) -> Self {
        Self::content(text)
    }
}

impl From<String> for ScriptedChunk {
    /// A piece of the answer.
    fn from(text: String) -> Self {
        Self::content(text)
    }
}
