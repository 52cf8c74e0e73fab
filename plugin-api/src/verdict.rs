//! What an observer answers for one chunk.

use crate::chunk::{Chunk, NewChunk};

/// The answer for one chunk: one of six.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The chunk goes on to the next observer unchanged.
    Continue,
    /// The chunk is replaced, one for one; the next observer sees the new one.
    Amend(NewChunk),
    /// The chunk goes on unchanged and each event becomes an envelope on its channel. At most 1,048,576 of them.
    Emit(Vec<Event>),
    /// The stream ends in front of this chunk. [`Context::stop`](crate::Context::stop) fills the numbers.
    Stop(Stop),
    /// The chunk is held at this observer.
    Buffer,
    /// Held chunks go on.
    Release(Release),
}

/// A side-event on a named channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The channel: `[a-z0-9][a-z0-9_.-]{0,63}`; another name is a contract violation.
    pub channel: String,
    /// What kind of event it is; the author's own word.
    pub kind: String,
    /// What it says.
    pub payload: serde_json::Value,
}

impl Event {
    /// An event on a channel.
    #[must_use]
    pub fn new(channel: impl Into<String>, kind: impl Into<String>, payload: serde_json::Value) -> Self {
        Self { channel: channel.into(), kind: kind.into(), payload }
    }
}

/// Why and where a stream was stopped, in the observer's own count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The reason, for the client and the log.
    pub reason: String,
    /// How many chunks the observer had seen, this one included.
    pub chunk_index: u64,
    /// How much text it had accumulated, in Unicode scalar values.
    pub accumulated_content_length: u64,
}

/// Which held chunks go on. The chunk being answered counts as held, last in the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Release {
    /// The first held chunks, in order, one for one; the rest stay held. Empty: every held chunk goes on unchanged.
    /// At most 1,048,576 of them.
    pub chunks: Vec<Released>,
    /// How many characters of the delivered text (Unicode scalar values) are taken back before the released chunks
    /// are appended.
    pub strip_accumulated: Option<u64>,
}

impl Release {
    /// Every held chunk, the present one included, goes on unchanged.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }
}

/// One held chunk that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Released {
    /// Which one.
    pub seq: u64,
    /// What goes on in its place; `None`: itself.
    pub amended: Option<NewChunk>,
}

impl Released {
    /// The chunk goes on as it was held.
    #[must_use]
    pub const fn unchanged(seq: u64) -> Self {
        Self { seq, amended: None }
    }

    /// Another chunk goes on in its place.
    #[must_use]
    pub const fn amended(seq: u64, chunk: NewChunk) -> Self {
        Self { seq, amended: Some(chunk) }
    }
}

impl Verdict {
    /// The chunk goes on with another text, kind and payload as they were.
    #[must_use]
    pub fn amend_text(chunk: &Chunk<'_>, text: impl Into<String>) -> Self {
        Self::Amend(NewChunk::with_text_of(chunk, text))
    }
}

/// Whether a text is a name as the contract writes names of channels, plugins and observers:
/// `[a-z0-9][a-z0-9_.-]{0,63}`.
#[must_use]
pub const fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.is_empty() || bytes.len() > 64 {
        return false;
    }
    let mut at = 0;
    while at < bytes.len() {
        let plain = bytes[at].is_ascii_lowercase() || bytes[at].is_ascii_digit();
        if !plain && (at == 0 || !matches!(bytes[at], b'_' | b'.' | b'-')) {
            return false;
        }
        at += 1;
    }
    true
}
