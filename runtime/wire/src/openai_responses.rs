//! OpenAI Responses: typed events about items and their parts, whole bodies with an `output`.
//!
//! ```text
//!   names    what events and members are called
//!   texts    where in an item or a response text stands
//!   decode   data ──► chunks       the choice of a chunk is the output index of its item
//!   client   what the client has seen: response, items, parts, numbers
//!   render   chunks ──► events     only the changed values are other bytes, and what repeats them follows
//!   made     items that the provider did not send
//!   ends     what a stream that is cut here says to its client
//! ```
//!
//! A text is streamed in pieces and then repeated: when it ends, when its part ends, when its item ends, and when the
//! response is over. Observers see it once; where a piece of it went out otherwise than it came, each repetition says what
//! went out. Events are numbered without a gap, whatever was left out or put in.

mod client;
mod decode;
mod ends;
mod made;
mod names;
mod render;
pub(crate) mod request;
mod texts;

use std::collections::BTreeMap;

use crate::answer::{Answer, Arrival, Document, Event, Failure, Form, Piece, Rendered, Stop};
use crate::chunk::{Decoded, Place};
use crate::edits::TextEdits;
use crate::json::{self, Malformed};
use client::Client;
use decode::{Arriving, Read};
use made::Made;
use names::{About, Lane};
use texts::Address;

/// One answer in the Responses protocol.
#[derive(Debug, Default)]
pub(crate) struct OpenAiResponses {
    arriving: Arriving,
    client: Client,
    /// What went out of each text, under the provider's own output index.
    texts: BTreeMap<Address, TextEdits>,
    /// Whether any of it went out otherwise than it came.
    altered: bool,
    /// What is added to the provider's numbers of events: how many were put in, less those that were left out.
    offset: i64,
    /// Items that observers put in, in the order of their output indexes.
    made: Vec<Made>,
}

/// The places where chunks are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// A whole event.
    Event,
    /// The end of a text: a whole event.
    TextEnd,
    /// The status or the reason of a response.
    Finish,
    /// An item that is a call.
    Call,
    /// `annotation`.
    Annotation,
    /// `logprobs`.
    Logprobs,
    /// `usage`.
    Usage,
    /// An error.
    Error,
    /// `delta`.
    Delta(Lane),
    /// A whole text that was not streamed.
    Whole(Lane),
    /// A whole text of which the end was not streamed.
    Rest(Lane),
}

impl Slot {
    const PLAIN: [Self; 8] = [
        Self::Event,
        Self::TextEnd,
        Self::Finish,
        Self::Call,
        Self::Annotation,
        Self::Logprobs,
        Self::Usage,
        Self::Error,
    ];

    fn code(self) -> u8 {
        match self {
            Self::Delta(lane) => 16 + lane as u8,
            Self::Whole(lane) => 32 + lane as u8,
            Self::Rest(lane) => 48 + lane as u8,
            plain => (0..).zip(Self::PLAIN).find(|(_, own)| *own == plain).map_or(0, |(code, _)| code),
        }
    }

    fn of(place: Place) -> Self {
        let lane = || Lane::from_code(place.slot % 16);
        match place.slot / 16 {
            1 => Self::Delta(lane()),
            2 => Self::Whole(lane()),
            3 => Self::Rest(lane()),
            _ => Self::PLAIN.get(usize::from(place.slot)).copied().unwrap_or(Self::Event),
        }
    }

    /// The lane whose text a chunk in it is.
    const fn lane(self) -> Option<Lane> {
        match self {
            Self::Delta(lane) | Self::Whole(lane) | Self::Rest(lane) => Some(lane),
            _ => None,
        }
    }
}

impl Answer for OpenAiResponses {
    fn read(&mut self, document: &Document<'_>, decoded: &mut Decoded) -> Result<bool, Malformed> {
        self.arriving.read(document, decoded)
    }

    fn arrival(&self) -> Arrival {
        self.arriving.arrival()
    }

    fn passed(&mut self, data: &[u8], decoded: &Decoded) {
        for (entry, chunk) in decoded.entries.iter().zip(decoded.chunks(data)) {
            let slot = Slot::of(entry.place);
            let Some(lane) = slot.lane() else { continue };
            let address = Address { output: entry.choice, lane, index: entry.place.container };
            self.text(slot, address).kept(chunk.text);
            if let Slot::Delta(_) = slot {
                self.client.piece(address.output, lane, address.index, chunk.text);
            }
        }
        if decoded.event == About::DELTA {
            self.client.count();
        } else {
            self.track(&json::text_of(data));
        }
    }

    fn needs_rewrite(&self, _: &[u8], decoded: &Decoded) -> bool {
        // Log-probabilities spell the text that came in, of earlier pieces too.
        let spells = || decoded.entries.iter().any(|entry| Slot::of(entry.place) == Slot::Logprobs);
        self.offset != 0 || !self.made.is_empty() || (self.altered && (decoded.event != About::DELTA || spells()))
    }

    fn rewrite(&mut self, document: &Document<'_>, decoded: &Decoded, pieces: &[Piece<'_>]) -> Rendered {
        self.rewrite_document(document, decoded, pieces)
    }

    fn end_stopped(&mut self, stop: &Stop<'_>) -> Vec<Event> {
        self.stopped_events(stop)
    }

    fn end_error(&mut self, failure: &Failure<'_>) -> Vec<Event> {
        self.error_events(failure)
    }

    fn stop_body(&mut self, left: &str, stop: &Stop<'_>) -> String {
        ends::stopped_body(left, stop)
    }

    fn keepalive(&mut self) -> Option<Event> {
        // A comment resets no client's timer that counts events. Before the response has begun there is no number.
        self.client.response.as_ref()?;
        let mut events = Vec::new();
        self.emit(&mut events, "keepalive", "");
        events.pop()
    }
}

impl OpenAiResponses {
    /// The state of one answer.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The text at an address; a new one where what stands there is not what was streamed.
    fn text(&mut self, slot: Slot, address: Address) -> &mut TextEdits {
        let text = self.texts.entry(address).or_default();
        if matches!(slot, Slot::Whole(_)) {
            *text = TextEdits::default();
        }
        text
    }

    /// An event of the provider went out, as it came or changed.
    fn track(&mut self, text: &str) {
        let document = Document { text, event: None, form: Form::Stream };
        // It was read before.
        if let Ok((Some(read), _)) = Read::of(&document, &mut Decoded::default()) {
            if read.about == About::Created {
                (self.texts, self.made, self.altered) = (BTreeMap::new(), Vec::new(), false);
            }
            self.client.track(text, &read);
        }
    }
}

#[cfg(test)]
mod tests;
