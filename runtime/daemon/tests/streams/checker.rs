//! Strict readers of each protocol: what a client that forgives nothing makes of a stream. Providers break some rules
//! themselves, so each rule that does not hold has a name: what leaves may break none that what came did not.

mod anthropic;
mod chat;
mod completions;
mod gemini;
mod responses;

use std::collections::BTreeMap;
use std::ops::Range;

use seam_plugin_api::ChunkKind;
use seam_wire::Protocol;
use serde_json::Value;

use crate::frames::Frame;
use crate::observers::Owned;

/// How a stream stands after its last event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Something is still to come.
    #[default]
    Open,
    /// Everything that began has its end; the protocol's end marker did not come, or there is none.
    Complete,
    /// The protocol's end came.
    Over,
    /// An error ended it.
    Failed,
}

/// What a client read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// Rules that do not hold, by name, each with where it was first broken.
    pub(crate) broken: BTreeMap<&'static str, String>,
    /// The text of each choice, by what it is.
    pub(crate) texts: BTreeMap<(u64, &'static str), String>,
    /// The names of the tools that are called.
    pub(crate) calls: Vec<String>,
    /// The finish reasons of each choice, or those of the answer.
    pub(crate) finishes: BTreeMap<u64, Vec<String>>,
    /// What stopped it, each time that it is said.
    pub(crate) stops: Vec<Value>,
    /// What annotations quote of the answer's text.
    pub(crate) quotes: Vec<Quote>,
    /// The errors that are told, as JSON.
    pub(crate) errors: Vec<Value>,
    pub(crate) standing: Standing,
    /// Which frame is read.
    at: usize,
}

/// The rules that streams break which are several answers one after the other.
pub(crate) const ONE_MESSAGE: &str = "there is one message_start";
pub(crate) const ONE_RESPONSE: &str = "there is one response";

pub(crate) const CONTENT: &str = "content";
pub(crate) const REASONING: &str = "reasoning";
pub(crate) const REFUSAL: &str = "refusal";
pub(crate) const CALL: &str = "call";

/// What a chunk's text is added to; `None` if it has none that clients put together.
pub(crate) fn lane(kind: ChunkKind) -> Option<&'static str> {
    match kind {
        ChunkKind::ContentDelta => Some(CONTENT),
        ChunkKind::ReasoningDelta => Some(REASONING),
        ChunkKind::RefusalDelta => Some(REFUSAL),
        ChunkKind::ToolCallDelta => Some(CALL),
        _ => None,
    }
}

/// The texts of chunks, as a reading has them.
pub(crate) fn texts_of(protocol: Protocol, chunks: &[Owned]) -> BTreeMap<(u64, &'static str), String> {
    let mut texts = BTreeMap::<_, String>::new();
    for chunk in chunks.iter().filter(|chunk| !chunk.text.is_empty()) {
        let Some(lane) = lane(chunk.kind) else { continue };
        // Arguments that are JSON in the event and not a text: however that is spelt.
        let json = || serde_json::from_str::<Value>(&chunk.text).ok().filter(Value::is_object);
        let spelt =
            if protocol == Protocol::Gemini && lane == CALL { json().map(|json| json.to_string()) } else { None };
        let text = spelt.as_deref().unwrap_or(&chunk.text);
        texts.entry((u64::from(chunk.choice), lane)).or_default().push_str(text);
    }
    texts
}

/// A range of the answer's text that an annotation is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quote {
    /// All of the text.
    pub(crate) text: String,
    /// In bytes.
    pub(crate) range: Range<usize>,
}

impl Quote {
    /// A range in characters.
    fn of_characters(text: &str, annotation: &Value) -> Option<Self> {
        let bound = |name: &str| {
            let count = usize::try_from(annotation[name].as_u64()?).ok()?;
            text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(count)
        };
        Some(Self { text: text.to_owned(), range: bound("start_index")?..bound("end_index")? })
    }

    pub(crate) fn quoted(&self) -> &str {
        self.text.get(self.range.clone()).unwrap_or_default()
    }
}

impl Reading {
    fn broke(&mut self, rule: &'static str, detail: impl std::fmt::Display) {
        let at = self.at;
        self.broken.entry(rule).or_insert_with(|| format!("frame {at}: {detail}"));
    }

    fn require(&mut self, holds: bool, rule: &'static str, detail: impl std::fmt::Display) {
        if !holds {
            self.broke(rule, detail);
        }
    }

    fn text(&mut self, choice: u64, lane: &'static str, text: &str) {
        if !text.is_empty() {
            self.texts.entry((choice, lane)).or_default().push_str(text);
        }
    }

    fn finish(&mut self, choice: u64, reason: &str) {
        self.finishes.entry(choice).or_default().push(reason.to_owned());
    }

    /// Takes note of the sentinel of a stop.
    fn note_stop(&mut self, json: &Value) {
        self.stops.extend(json.pointer("/seam/stop").cloned());
    }

    /// That no rule is broken but those that the stream broke which came in.
    pub(crate) fn breaks_no_more_than(&self, came: &Self) -> Result<(), String> {
        let more: Vec<String> = self
            .broken
            .iter()
            .filter(|(rule, _)| !came.broken.contains_key(*rule))
            .map(|(rule, detail)| format!("{rule} ({detail})"))
            .collect();
        if more.is_empty() { Ok(()) } else { Err(format!("the checker finds: {}", more.join("; "))) }
    }
}

/// A protocol's rules, kept frame by frame.
trait Rules {
    fn frame(&mut self, reading: &mut Reading, frame: &Frame);

    /// What is said of a stream once its last frame was read.
    fn end(&mut self, reading: &mut Reading);
}

/// Reads a whole stream.
pub(crate) fn read(protocol: Protocol, frames: &[Frame]) -> Reading {
    let mut rules: Box<dyn Rules> = match protocol {
        Protocol::OpenAiChat => Box::new(chat::Chat::default()),
        Protocol::OpenAiCompletions => Box::new(completions::Completions::default()),
        Protocol::OpenAiResponses => Box::new(responses::Responses::default()),
        Protocol::AnthropicMessages => Box::new(anthropic::Anthropic::default()),
        Protocol::Gemini => Box::new(gemini::Gemini::default()),
    };
    let mut reading = Reading::default();
    for (at, frame) in frames.iter().enumerate() {
        reading.at = at;
        reading.require(frame.is_whole, "every frame has its end", frame.data.as_deref().unwrap_or_default());
        if frame.data.is_some() {
            reading.require(
                frame.json.is_some() || frame.is_done(),
                "data is JSON",
                frame.data.as_deref().unwrap_or_default(),
            );
            rules.frame(&mut reading, frame);
        }
    }
    rules.end(&mut reading);
    reading
}

/// How a stop must end a stream: with the reason that the protocol has for filtered content, wherever the provider's own,
/// which is one of `finished`, was not told before.
pub(crate) fn check_stopped(protocol: Protocol, reading: &Reading, finished: &[&str]) -> Result<(), String> {
    if reading.stops.len() != 1 {
        return Err(format!("the stop is said {} times", reading.stops.len()));
    }
    // Gemini's streams have no end marker.
    let wanted = if protocol == Protocol::Gemini { Standing::Complete } else { Standing::Over };
    if reading.standing != wanted {
        return Err(format!("the stopped stream is left {:?}; finishes: {:?}", reading.standing, reading.finishes));
    }
    check_reasons(stop_reason(protocol), reading.finishes.values().flatten().map(String::as_str), finished)
}

fn check_reasons<'a>(stopped: &str, told: impl Iterator<Item = &'a str>, finished: &[&str]) -> Result<(), String> {
    let told: Vec<&str> = told.collect();
    let is_right = |reason: &&str| *reason == stopped || finished.contains(reason);
    if !told.is_empty() && told.iter().all(is_right) {
        return Ok(());
    }
    Err(format!("the finishes are {told:?}; only {stopped:?} and of the provider's own {finished:?} can be"))
}

/// How a whole answer that was stopped must say it: each of its choices has a finish, and where that was not the
/// provider's own it is the one for filtered content.
pub(crate) fn body_stopped(protocol: Protocol, json: &Value, finished: &[&str]) -> Result<(), String> {
    let each = |array: &str, name: &str| -> Vec<Value> {
        json[array].as_array().into_iter().flatten().map(|choice| choice[name].clone()).collect()
    };
    let reasons = match protocol {
        Protocol::OpenAiChat | Protocol::OpenAiCompletions => each("choices", "finish_reason"),
        Protocol::Gemini => each("candidates", "finishReason"),
        Protocol::AnthropicMessages => vec![json["stop_reason"].clone()],
        Protocol::OpenAiResponses => vec![json["incomplete_details"]["reason"].clone()],
    };
    let stopped = stop_reason(protocol);
    let stopped = stopped.strip_prefix("incomplete: ").unwrap_or(stopped);
    check_reasons(stopped, reasons.iter().map(|reason| reason.as_str().unwrap_or("none")), finished)
}

/// The reason that a protocol has for filtered content, as a reading has it.
fn stop_reason(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::OpenAiChat | Protocol::OpenAiCompletions => "content_filter",
        Protocol::OpenAiResponses => "incomplete: content_filter",
        Protocol::AnthropicMessages => "refusal",
        Protocol::Gemini => "SAFETY",
    }
}

#[cfg(test)]
mod tests;
