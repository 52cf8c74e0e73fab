//! OpenAI Chat Completions and its dialects: streamed chunks with a `delta`, whole bodies with a `message`.
//!
//! ```text
//!   fields   what the protocol's members are called
//!   decode   data ──► chunks       what each dialect calls reasoning, content, refusal, calls, annotations, usage
//!   render   chunks ──► data       only the changed values are other bytes
//!   made     tool calls that observers put in
//!   ends     what a stream that is cut here says to its client
//! ```

mod calls;
mod choice;
mod decode;
mod ends;
mod fields;
mod made;
mod render;
mod usage;

use std::collections::BTreeMap;

use crate::chunk::{Decoded, Edit};
use crate::json::{self, Span};
use crate::sse::{self, SseFrame};
use calls::ChoiceState;
use seam_plugin_api::ChunkKind;

pub use ends::error_body;

/// One answer in the Chat Completions protocol, from its first frame (or its body) to its end.
///
/// It keeps two views apart. What [`decode`](Self::decode) saw: the ids of the answer and its tool calls, to number
/// them. What was *delivered*: which choices the client saw begin and finish. The caller reports every frame that
/// leaves, in order, by exactly one of [`passed`](Self::passed) (its raw bytes were sent) and [`render`](Self::render) (it was rewritten); a
/// frame that is dropped without either counts as never sent. The ends of a stream are written from that.
#[derive(Debug, Default)]
pub struct OpenAiChat {
    seen: Seen,
    choices: BTreeMap<u32, ChoiceState>,
    /// The end marker was delivered.
    ended: bool,
    /// What must be written before anything else: the last frame was left unterminated by its sender.
    owed: &'static [u8],
}

/// What names the answer, as the provider sent it.
#[derive(Debug, Default)]
struct Seen {
    id: Option<String>,
    model: Option<String>,
    created: Option<String>,
}

/// Whether the JSON is an event of a stream or a whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Stream,
    Body,
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
    const ALL: [Self; 16] = [
        Self::Reasoning,
        Self::OtherReasoning,
        Self::ReasoningDetail,
        Self::Content,
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

impl OpenAiChat {
    /// The state of one answer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the chunks of a frame into `decoded`, which is cleared first. Frames are decoded once each, in arrival
    /// order. Data that is not JSON is one opaque chunk; a frame without data has none. What lenient clients read is read
    /// as well (`NaN` and the infinities, deep nesting, a byte order mark, bytes that are no UTF-8); a payload of such
    /// data shows `null` where a strict reader would fail.
    pub fn decode(&mut self, frame: &SseFrame, decoded: &mut Decoded) {
        decoded.clear();
        if let Some(data) = frame.data() {
            self.read(data, Form::Stream, decoded);
        }
    }

    /// Reads the chunks of a whole answer into `decoded`, which is cleared first.
    pub fn decode_body(&mut self, body: &[u8], decoded: &mut Decoded) {
        decoded.clear();
        self.read(body, Form::Body, decoded);
    }

    /// Takes note that a frame was delivered as the bytes that came in.
    pub fn passed(&mut self, frame: &SseFrame, decoded: &Decoded) {
        self.ended |= decoded.is_end_marker();
        self.owed = frame.missing_terminator();
        for &choice in &decoded.choices {
            self.state(choice).opened = true;
        }
        for entry in decoded.entries.iter().filter(|entry| entry.kind == ChunkKind::Finish) {
            self.state(entry.choice).finished = true;
        }
    }

    /// Whether a frame none of whose chunks is edited must be rendered nevertheless, because of what was changed before
    /// it: its finish reason no longer fits (`stop` after a tool call was put in), the index of its tool call was given
    /// to another, it repeats the whole text so far, or it has log-probabilities of a choice whose text was altered.
    #[must_use]
    pub fn needs_render(&self, frame: &SseFrame, decoded: &Decoded) -> bool {
        self.data_needs_render(frame.data().unwrap_or_default(), decoded)
    }

    fn data_needs_render(&self, data: &[u8], decoded: &Decoded) -> bool {
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
                Slot::Finish => made && chunk.text == "stop",
                Slot::ToolCall => made,
                // They spell the text that came in, of earlier frames too.
                Slot::Logprobs => self.find(entry.choice).is_some_and(|state| state.altered),
                _ => false,
            }
        })
    }

    /// Writes a frame with its edits and takes note of what is delivered by it. `edits` has one for each chunk of
    /// `decoded`; missing ones are [`Edit::Keep`]. Every byte that no edit concerns stays. A frame all of whose chunks
    /// are removed writes nothing; a chunk that can't be said in its frame is written as an event after it.
    pub fn render(&mut self, frame: &SseFrame, decoded: &Decoded, edits: &[Edit<'_>], out: &mut Vec<u8>) {
        let data = frame.data().unwrap_or_default();
        let kept = edits.iter().all(|edit| *edit == Edit::Keep);
        if decoded.is_empty() || (kept && !self.needs_render(frame, decoded)) {
            self.start_writing(out);
            out.extend_from_slice(frame.raw());
            self.passed(frame, decoded);
            return;
        }
        let rendered = self.rewrite(data, decoded, edits, Form::Stream);
        if rendered.is_empty() {
            return;
        }
        self.start_writing(out);
        if let Some(data) = rendered.data {
            sse::write_with_data(frame, &data, out);
        }
        for event in rendered.events {
            sse::write_event(&event, out);
        }
    }

    /// Writes a whole answer with its edits, as [`render`](Self::render) does for a frame. The result is always a body:
    /// what is removed leaves empty texts and nulls behind.
    pub fn render_body(&mut self, body: &[u8], decoded: &Decoded, edits: &[Edit<'_>], out: &mut Vec<u8>) {
        let kept = edits.iter().all(|edit| *edit == Edit::Keep);
        if decoded.is_empty() || (kept && !self.data_needs_render(body, decoded)) {
            out.extend_from_slice(body);
            return;
        }
        let rendered = self.rewrite(body, decoded, edits, Form::Body);
        out.extend_from_slice(rendered.data.unwrap_or_else(|| "{}".to_owned()).as_bytes());
    }

    /// Ends the frame that its sender left unterminated, before another is written.
    fn start_writing(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(std::mem::take(&mut self.owed));
    }

    fn find(&self, choice: u32) -> Option<&ChoiceState> {
        self.choices.get(&choice)
    }

    /// The state of a choice, made when it is first named.
    fn state(&mut self, choice: u32) -> &mut ChoiceState {
        self.choices.entry(choice).or_insert_with(|| ChoiceState::new(choice))
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

fn note_string(known: &mut Option<String>, text: &str, value: Option<Span>) {
    if known.is_none()
        && let Some(span) = value
        && is_text(text, span)
    {
        let mut string = String::new();
        json::unescape(span.inside_quotes().of_str(text), &mut string);
        *known = Some(string);
    }
}

/// Whether the value is a string that says something: an empty one is none.
fn is_text(text: &str, value: Span) -> bool {
    value.end - value.start > 2 && text.as_bytes().get(value.start) == Some(&b'"')
}

#[cfg(test)]
mod tests;
