//! Gemini, `generateContent` and `streamGenerateContent`, of the Gemini API and of Vertex AI: every event, or element of
//! the array, is a whole answer that says what is new.
//!
//! ```text
//!   names      what the protocol's members are called
//!   decode     data ──► chunks     texts, thoughts, calls and their streamed values, annotations, usage
//!   render     chunks ──► data     only the changed values are other bytes
//!   candidate  one candidate of it; part: one part of that
//!   streamed   arguments that come value by value
//!   made       parts that observers put in
//!   edits      what was delivered of a candidate's text; grounding: what quotes it
//!   ends       what a stream that is cut here says to its client
//! ```
//!
//! A chunk's choice is the index of its candidate. Each function call of a candidate is a `tool_call_delta` with a number
//! of its own; so is code that the provider runs itself (`code_execution`, with `{"code":"…"}` for arguments), while the
//! output of that is content. Streamed arguments are fragments of one object whose names are JSON paths (see
//! [`streamed`]). Calls that observers put in or change must have an object for arguments: one that has none is left out,
//! and its candidate ends as `MALFORMED_FUNCTION_CALL` instead of `STOP`.

mod calls;
mod candidate;
mod decode;
mod edits;
mod ends;
mod grounding;
mod made;
mod names;
mod part;
mod render;
pub(crate) mod request;
mod streamed;
mod usage;

use std::collections::BTreeMap;

use crate::answer::{Answer, Arrival, Document, Event, Failure, Finishes, Piece, Rendered, Stop};
use crate::chunk::Decoded;
use crate::json::{Malformed, Span, is_text};
use calls::CandidateState;
use candidate::is_answer;
use names::candidate::ANNOTATION_NAMES;
use seam_plugin_api::ChunkKind;

pub(crate) use ends::error_body;

/// One answer of Gemini.
#[derive(Debug, Default)]
pub(crate) struct Gemini {
    seen: Seen,
    finishes: Finishes,
    /// Boxed, because a map makes room for several at once.
    candidates: BTreeMap<u32, Box<CandidateState>>,
}

/// What names the answer, as the provider sent it.
#[derive(Debug, Default)]
struct Seen {
    /// The members, each with a comma in front.
    members: String,
    has_model: bool,
    has_id: bool,
}

impl Seen {
    fn note(&mut self, name: &str, value: &str) {
        // Room for both, so that it is made once.
        self.members.reserve(2 * (name.len() + value.len()) + 16);
        for piece in [",\"", name, "\":", value] {
            self.members.push_str(piece);
        }
    }
}

/// The places where chunks are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Slot {
    /// `text` of a part, a thought or not.
    Text,
    /// `functionCall` of a part.
    Call,
    /// A value of `partialArgs`.
    Partial,
    /// The end of a `functionCall` whose arguments were streamed.
    CallEnd,
    /// `toolCall` of a part.
    ServerCall,
    /// `executableCode` of a part.
    Code,
    /// `output` of a part's `codeExecutionResult`.
    Result,
    /// A part of which nothing is known.
    Part,
    /// `groundingMetadata` of a candidate.
    Grounding,
    /// `citationMetadata`.
    Citations,
    /// `urlContextMetadata`.
    UrlContext,
    /// `logprobsResult`.
    Logprobs,
    /// `finishMessage`.
    FinishMessage,
    /// `finishReason`.
    Finish,
    /// `blockReason` of the prompt.
    Blocked,
    /// `usageMetadata`.
    Usage,
    /// `error`.
    Error,
}

impl Slot {
    const ALL: [Self; 17] = [
        Self::Text,
        Self::Call,
        Self::Partial,
        Self::CallEnd,
        Self::ServerCall,
        Self::Code,
        Self::Result,
        Self::Part,
        Self::Grounding,
        Self::Citations,
        Self::UrlContext,
        Self::Logprobs,
        Self::FinishMessage,
        Self::Finish,
        Self::Blocked,
        Self::Usage,
        Self::Error,
    ];

    /// The annotations, in the order of their names.
    const ANNOTATIONS: [Self; 5] =
        [Self::Grounding, Self::Citations, Self::UrlContext, Self::Logprobs, Self::FinishMessage];

    /// Where the chunk of a piece was found.
    fn of(piece: &Piece<'_>) -> Self {
        Self::from_code(piece.entry.place.slot)
    }

    /// The slot with this code; the codes are made by `slot as u8`.
    fn from_code(code: u8) -> Self {
        Self::ALL.get(usize::from(code)).copied().unwrap_or(Self::Error)
    }

    /// Whether it lies inside a part.
    const fn in_part(self) -> bool {
        matches!(
            self,
            Self::Text
                | Self::Call
                | Self::Partial
                | Self::CallEnd
                | Self::ServerCall
                | Self::Code
                | Self::Result
                | Self::Part
        )
    }

    /// Whether it lies inside a candidate.
    const fn in_candidate(self) -> bool {
        !matches!(self, Self::Blocked | Self::Usage | Self::Error)
    }

    /// The member that an annotation stands in.
    fn annotation_name(self) -> &'static str {
        let position = Self::ANNOTATIONS.iter().position(|slot| *slot == self);
        position.and_then(|position| ANNOTATION_NAMES.get(position)).copied().unwrap_or_default()
    }
}

impl Answer for Gemini {
    fn read(&mut self, document: &Document<'_>, decoded: &mut Decoded) -> Result<bool, Malformed> {
        let loose = self.read_document(document.text, decoded)?;
        self.finishes.note(decoded);
        Ok(loose)
    }

    /// The protocol has no end marker: an answer is complete when each candidate has its reason, or the prompt is
    /// refused, and never over before the stream is. What comes after that are more counts at most.
    fn arrival(&self) -> Arrival {
        self.finishes.arrival()
    }

    fn passed(&mut self, data: &[u8], decoded: &Decoded) {
        for &choice in &decoded.choices {
            self.state(choice).opened = true;
        }
        for (entry, chunk) in decoded.entries.iter().zip(decoded.chunks(data)) {
            match Slot::from_code(entry.place.slot) {
                Slot::Text if is_answer(entry.kind) => self.state(entry.choice).delivered.kept(chunk.text),
                Slot::Finish | Slot::Blocked if entry.kind == ChunkKind::Finish => {
                    let state = self.state(entry.choice);
                    (state.opened, state.finished) = (true, true);
                }
                _ => {}
            }
        }
    }

    /// It may quote a text that was altered, or its finish reason may say that all is well after a call was left out.
    fn needs_rewrite(&self, data: &[u8], decoded: &Decoded) -> bool {
        let is_touched = |state: &CandidateState| state.delivered.is_altered() || state.is_broken();
        if !self.candidates.values().any(|state| is_touched(state)) {
            return false;
        }
        decoded.entries.iter().zip(decoded.chunks(data)).any(|(entry, chunk)| {
            let Some(state) = self.candidates.get(&entry.choice) else { return false };
            match Slot::from_code(entry.place.slot) {
                Slot::Grounding | Slot::Citations | Slot::Logprobs => state.delivered.is_altered(),
                Slot::Finish => state.is_broken() && chunk.text == "STOP",
                _ => false,
            }
        })
    }

    fn rewrite(&mut self, document: &Document<'_>, decoded: &Decoded, pieces: &[Piece<'_>]) -> Rendered {
        self.rewrite_document(document, decoded, pieces)
    }

    fn end_stopped(&mut self, stop: &Stop<'_>) -> Vec<Event> {
        vec![Event::unnamed(self.stopped_event(stop))]
    }

    fn end_error(&mut self, failure: &Failure<'_>) -> Vec<Event> {
        vec![Event::unnamed(error_body(0, failure))]
    }

    fn stop_body(&mut self, left: &str, stop: &Stop<'_>) -> String {
        self.stopped_body(left, stop)
    }

    /// An empty line. The Python client takes every line that is neither empty nor data for JSON, so that a comment ends
    /// its stream with an error; an answer that says nothing makes the clients drop the turn from their conversation.
    fn keepalive(&mut self) -> Option<Event> {
        Some(Event::default())
    }
}

impl Gemini {
    /// The state of one answer.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The state of a candidate, made when it is first named.
    fn state(&mut self, choice: u32) -> &mut CandidateState {
        self.candidates.entry(choice).or_default()
    }

    /// Remembers what names the answer, each as it comes first.
    fn note_names(&mut self, text: &str, model: Option<Span>, id: Option<Span>) {
        let of = |value: Option<Span>| value.filter(|value| is_text(text, *value)).map(|value| value.of_str(text));
        if let Some(model) = of(model).filter(|_| !self.seen.has_model) {
            self.seen.has_model = true;
            self.seen.note("modelVersion", model);
        }
        if let Some(id) = of(id).filter(|_| !self.seen.has_id) {
            self.seen.has_id = true;
            self.seen.note("responseId", id);
        }
    }
}

#[cfg(test)]
mod tests;
