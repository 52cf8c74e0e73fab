//! Anthropic Messages: streamed events about content blocks, whole bodies with a `content`.
//!
//! ```text
//!   names    what the protocol's members are called
//!   decode   data ──► chunks       the choice of a chunk is the index of its content block
//!   lanes    which blocks the client sees, under which index, and which of them are open
//!   render   chunks ──► events     only the changed values are other bytes
//!   body     chunks ──► a whole message, or the one inside `message_start`
//!   made     blocks and events that the provider did not send
//!   ends     what a stream that is cut here says to its client
//! ```
//!
//! One block of the provider is one of the client's, unless an observer made something of another kind of it: then the
//! block is closed in front of that, and what follows goes on in a block of its own, so that the indexes of later blocks
//! shift.

mod body;
mod decode;
mod ends;
mod lanes;
mod made;
mod names;
mod render;
pub(crate) mod request;

use crate::answer::{Answer, Arrival, Document, Event, Failure, Piece, Rendered, Stop};
use crate::chunk::Decoded;
use crate::json::Malformed;
use decode::Arriving;
use lanes::Client;

pub(crate) use ends::error_body;

/// One answer in the Messages protocol: what came in of it, and what of it the client has seen.
#[derive(Debug, Default)]
pub(crate) struct AnthropicMessages {
    arriving: Arriving,
    client: Client,
}

/// What an event is about. The code of it is kept with what was decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
enum EventKind {
    /// `ping` and what is not known.
    #[default]
    Other,
    MessageStart,
    TextStart,
    ThinkingStart,
    /// Of a block of any type of tool use.
    CallStart,
    /// Of any other block.
    OtherStart,
    Delta,
    /// `signature_delta`: it vouches for the block's text so far.
    Signature,
    BlockStop,
    MessageDelta,
    MessageStop,
    Error,
    /// No event: a whole message.
    Message,
}

impl EventKind {
    const ALL: [Self; 13] = [
        Self::Other,
        Self::MessageStart,
        Self::TextStart,
        Self::ThinkingStart,
        Self::CallStart,
        Self::OtherStart,
        Self::Delta,
        Self::Signature,
        Self::BlockStop,
        Self::MessageDelta,
        Self::MessageStop,
        Self::Error,
        Self::Message,
    ];

    /// What was decoded; the codes are made by `kind as u8`.
    fn of(decoded: &Decoded) -> Self {
        Self::ALL.get(usize::from(decoded.event)).copied().unwrap_or_default()
    }
}

/// The places where chunks are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Slot {
    /// A whole event that is signed.
    Signed,
    /// `text` of a block or delta.
    Text,
    /// `thinking` of a block or delta.
    Thinking,
    /// `content` of a compaction block or delta.
    Compaction,
    /// A block of a tool use.
    Call,
    /// `partial_json` of a delta.
    Fragment,
    /// `citations` of a block.
    Citations,
    /// `citation` of a delta.
    Citation,
    /// A whole `content_block_stop`.
    BlockStop,
    /// `explanation` in `stop_details`.
    Explanation,
    /// `stop_reason`.
    StopReason,
    /// `usage`.
    Usage,
    /// `error`.
    Error,
}

impl Slot {
    const ALL: [Self; 13] = [
        Self::Signed,
        Self::Text,
        Self::Thinking,
        Self::Compaction,
        Self::Call,
        Self::Fragment,
        Self::Citations,
        Self::Citation,
        Self::BlockStop,
        Self::Explanation,
        Self::StopReason,
        Self::Usage,
        Self::Error,
    ];

    /// Where the chunk of a piece was found; the codes are made by `slot as u8`.
    fn of(piece: &Piece<'_>) -> Self {
        Self::ALL.get(usize::from(piece.entry.place.slot)).copied().unwrap_or(Self::Error)
    }

    /// Whether it lies inside a content block.
    fn in_block(self) -> bool {
        !matches!(self, Self::Explanation | Self::StopReason | Self::Usage | Self::Error)
    }
}

impl Answer for AnthropicMessages {
    fn read(&mut self, document: &Document<'_>, decoded: &mut Decoded) -> Result<bool, Malformed> {
        self.arriving.read(document, decoded)
    }

    fn arrival(&self) -> Arrival {
        self.arriving.arrival()
    }

    fn passed(&mut self, _: &[u8], decoded: &Decoded) {
        self.client.note_passed(EventKind::of(decoded), decoded);
    }

    fn needs_rewrite(&self, data: &[u8], decoded: &Decoded) -> bool {
        self.client.is_touched() && self.no_longer_fits(data, decoded)
    }

    fn rewrite(&mut self, document: &Document<'_>, decoded: &Decoded, pieces: &[Piece<'_>]) -> Rendered {
        self.rewrite_document(document, decoded, pieces)
    }

    fn end_stopped(&mut self, stop: &Stop<'_>) -> Vec<Event> {
        self.stopped_events(stop)
    }

    fn end_error(&mut self, failure: &Failure<'_>) -> Vec<Event> {
        vec![Event::named("error", error_body(0, failure))]
    }

    fn stop_body(&mut self, left: &str, stop: &Stop<'_>) -> String {
        self.stopped_body(left, stop)
    }

    fn keepalive(&mut self) -> Option<Event> {
        // Before its message has begun, a client may take an event for a fault.
        self.client.started.then(|| Event::named("ping", "{\"type\":\"ping\"}"))
    }
}

impl AnthropicMessages {
    /// The state of one answer.
    pub(crate) fn new() -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests;
