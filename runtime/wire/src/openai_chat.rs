//! OpenAI Chat Completions and its dialects: streamed chunks with a `delta`, whole bodies with a `message`.
//!
//! ```text
//!   names    what the protocol's members are called
//!   decode   data ──► chunks       what each dialect calls reasoning, content, refusal, calls, annotations, usage
//!   positions  where citations of altered content are now
//!   render   chunks ──► data       only the changed values are other bytes
//!   made     tool calls that observers put in
//!   ends     what a stream that is cut here says to its client
//! ```

mod calls;
mod choice;
mod decode;
mod ends;
mod made;
mod names;
mod places;
mod positions;
mod render;
pub(crate) mod request;
mod says;

use std::collections::BTreeMap;

use crate::answer::{Answer, Arrival, Document, Event, Failure, Finishes, Form, Piece, Rendered, Stop, is_text_kind};
use crate::chunk::{Body, Decoded};
use crate::json::{self, Malformed, Span, is_text};
use crate::usage;
use calls::ChoiceState;
use seam_plugin_api::ChunkKind;

pub(crate) use ends::error_body;

/// One answer in the Chat Completions protocol.
///
/// What came in: the ids of the answer and its tool calls, to number them. What went out: which choices the client saw
/// begin and finish.
#[derive(Debug, Default)]
pub(crate) struct OpenAiChat {
    endpoint: Endpoint,
    seen: Seen,
    finishes: Finishes,
    choices: BTreeMap<u32, ChoiceState>,
}

/// Which of the two protocols that have `choices` the answer is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Endpoint {
    /// A choice has its texts in a `delta` or a `message`.
    #[default]
    Chat,
    /// A choice has its text itself.
    Completions,
}

/// What names the answer, as the provider sent it.
#[derive(Debug, Default)]
struct Seen {
    id: Option<String>,
    model: Option<String>,
    created: Option<String>,
}

/// The places where chunks are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Slot {
    /// `reasoning_content` or `reasoning`, whatever repeats it included.
    Reasoning,
    /// `reasoning` beside a `reasoning_content` that says something else.
    OtherReasoning,
    /// A text in `reasoning_details` that nothing else repeats.
    ReasoningDetail,
    /// `content` that is a string.
    Content,
    /// `text` of a choice, beside a `content` that says something else or nothing.
    Text,
    /// A text, thinking or refusal part of `content` that is an array.
    Part,
    /// `refusal`.
    Refusal,
    /// An element of `tool_calls`.
    ToolCall,
    /// `function_call`.
    FunctionCall,
    /// Arguments of a call under a name that another, with other arguments, goes before.
    OtherArguments,
    /// `annotations`.
    Annotations,
    /// `logprobs` of a choice.
    Logprobs,
    /// `citations` beside the choices.
    Citations,
    /// `finish_reason`.
    Finish,
    /// `error` of a choice.
    ChoiceError,
    /// `usage`, beside the choices or in one.
    Usage,
    /// `error` beside the choices.
    Error,
}

impl Slot {
    /// Where the chunk of a piece was found.
    fn of(piece: &Piece<'_>) -> Self {
        Self::from_code(piece.entry.place.slot)
    }

    const ALL: [Self; 17] = [
        Self::Reasoning,
        Self::OtherReasoning,
        Self::ReasoningDetail,
        Self::Content,
        Self::Text,
        Self::Part,
        Self::Refusal,
        Self::ToolCall,
        Self::FunctionCall,
        Self::OtherArguments,
        Self::Annotations,
        Self::Logprobs,
        Self::Citations,
        Self::Finish,
        Self::ChoiceError,
        Self::Usage,
        Self::Error,
    ];

    /// The slot with this code; the codes are made by `slot as u8`.
    fn from_code(code: u8) -> Self {
        Self::ALL.get(usize::from(code)).copied().unwrap_or(Self::Error)
    }

    /// Whether it lies inside a choice.
    fn in_choice(self) -> bool {
        !matches!(self, Self::Citations | Self::Usage | Self::Error)
    }
}

impl Answer for OpenAiChat {
    fn read(&mut self, document: &Document<'_>, decoded: &mut Decoded) -> Result<bool, Malformed> {
        let loose = self.read_document(document.text, document.form, decoded)?;
        self.finishes.note(decoded);
        Ok(loose)
    }

    fn arrival(&self) -> Arrival {
        self.finishes.arrival()
    }

    fn passed(&mut self, data: &[u8], decoded: &Decoded) {
        for &choice in &decoded.choices {
            self.state(choice).opened = true;
        }
        for (entry, chunk) in decoded.entries.iter().zip(decoded.chunks(data)) {
            self.note_kind(entry.choice, entry.kind);
            if entry.kind == ChunkKind::ContentDelta {
                self.state(entry.choice).positions.kept(chunk.text);
            }
        }
    }

    /// Its finish reason may no longer fit (`stop` after a tool call was put in), the index of its tool call may have
    /// been given to another, it may repeat the whole text so far, or have log-probabilities of a choice whose text was
    /// altered.
    fn needs_rewrite(&self, data: &[u8], decoded: &Decoded) -> bool {
        let is_touched = |choice: &u32| self.find(*choice).is_some_and(|state| state.altered || !state.made.is_empty());
        if !decoded.choices.iter().any(is_touched) {
            return false;
        }
        if decoded.repeats {
            return true;
        }
        decoded.entries.iter().zip(decoded.chunks(data)).any(|(entry, chunk)| {
            let made = self.find(entry.choice).is_some_and(|state| !state.made.is_empty());
            match Slot::from_code(entry.place.slot) {
                Slot::Finish => made && self.endpoint == Endpoint::Chat && chunk.text == "stop",
                Slot::ToolCall => made,
                Slot::Annotations => self.find(entry.choice).is_some_and(|state| state.positions.moved()),
                // They spell the text that came in, of earlier frames too.
                Slot::Logprobs => self.find(entry.choice).is_some_and(|state| state.altered),
                _ => false,
            }
        })
    }

    fn rewrite(&mut self, document: &Document<'_>, decoded: &Decoded, pieces: &[Piece<'_>]) -> Rendered {
        self.rewrite_document(document, decoded, pieces)
    }

    fn end_stopped(&mut self, stop: &Stop<'_>) -> Vec<Event> {
        self.stopped_events(stop)
    }

    fn end_error(&mut self, failure: &Failure<'_>) -> Vec<Event> {
        vec![Event::unnamed(error_body(0, failure)), Event::unnamed("[DONE]")]
    }

    fn stop_body(&mut self, left: &str, stop: &Stop<'_>) -> String {
        self.stopped_body(left, stop)
    }

    fn keepalive(&mut self) -> Option<Event> {
        self.keepalive_event()
    }
}

impl OpenAiChat {
    /// The state of one answer.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The state of one answer of Completions, where a choice has its text itself.
    pub(crate) fn of_completions() -> Self {
        Self { endpoint: Endpoint::Completions, ..Self::default() }
    }

    /// Takes note of chunks that were read in another shape than the protocol's.
    pub(crate) fn note_arrived(&mut self, decoded: &Decoded) {
        self.finishes.note(decoded);
    }

    /// Takes note of what goes out in another shape than the protocol's.
    pub(crate) fn note_rewritten(&mut self, decoded: &Decoded, pieces: &[Piece<'_>]) {
        self.note_altered(pieces);
        self.note_delivered(decoded, pieces);
    }

    /// A tool call in a chunk's place, as the protocol writes it.
    pub(crate) fn made_call(&mut self, choice: u32, body: &Body<'_>, form: Form) -> String {
        made::made_call_json(self.state(choice), body, form)
    }

    fn find(&self, choice: u32) -> Option<&ChoiceState> {
        self.choices.get(&choice)
    }

    /// The state of a choice, made when it is first named.
    fn state(&mut self, choice: u32) -> &mut ChoiceState {
        self.choices.entry(choice).or_insert_with(|| ChoiceState::new(choice))
    }

    /// Takes note of a chunk that goes out. Text after a finish opens its choice again, as clients read it: they go on to
    /// add text, and the last finish reason counts.
    fn note_kind(&mut self, choice: u32, kind: ChunkKind) {
        match kind {
            ChunkKind::Finish => self.state(choice).finished = true,
            _ if is_text_kind(kind) => self.state(choice).finished = false,
            _ => {}
        }
    }

    /// Remembers what names the answer, until all of it is known.
    fn note_names(&mut self, text: &str, id: Option<Span>, model: Option<Span>, created: Option<Span>) {
        note_string(&mut self.seen.id, text, id);
        note_string(&mut self.seen.model, text, model);
        if self.seen.created.is_none()
            && let Some(number) = created.map(|span| span.of_str(text))
            && number.parse::<u64>().is_ok_and(|seconds| seconds > 0)
        {
            self.seen.created = Some(number.to_owned());
        }
    }
}

/// Longer names are not remembered, in bytes of JSON: no provider has any.
const LONGEST_NAME: usize = 512;

fn note_string(known: &mut Option<String>, text: &str, value: Option<Span>) {
    if known.is_none()
        && let Some(span) = value.filter(|span| span.end - span.start <= LONGEST_NAME)
        && is_text(text, span)
    {
        let mut string = String::new();
        json::unescape(span.inside_quotes().of_str(text), &mut string);
        *known = Some(string);
    }
}

#[cfg(test)]
mod tests;
