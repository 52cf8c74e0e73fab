//! The shape of llama.cpp's own, which its older servers answer with on this path too.
//!
//! ```text
//!   {"index":0,"content":"Hi","tokens":[1],"stop":false}
//!   {"index":0,"content":"","stop":true,"stop_type":"eos","tokens_evaluated":5,"tokens_predicted":1,"prompt":"…"}
//! ```
//!
//! `content` is the text, `stop` that it is finished; the reason is `stop_type`, or one of the flags of older servers.
//! There is no end marker.

use seam_plugin_api::ChunkKind;

use crate::answer::{Document, Event, Form, Piece, Rendered, Stop};
use crate::chunk::{Body, Decoded, Entry, Piece as Text, Place};
use crate::json::{self, Kind, Span, is_text};
use crate::openai_chat::OpenAiChat;
use crate::splice::{Object, Patches};

/// The event of a document in this shape; chat has none of this number.
const NATIVE: u8 = 2;

/// The places where chunks are found. Chat has none of these numbers.
const CONTENT: u8 = 100;
const PROBABILITIES: u8 = 101;
const FINISH: u8 = 102;
const USAGE: u8 = 103;

/// What is only true of the text that came in.
const DEPENDENT: [&str; 2] = ["tokens", "completion_probabilities"];

/// The flags of older servers, with the `stop_type` that stands for each now.
const FLAGS: [(&str, &str); 3] = [("stopped_eos", "eos"), ("stopped_limit", "limit"), ("stopped_word", "word")];

/// The counts, and their normalised names.
const COUNTS: [(&str, &str); 2] = [("input_tokens", "tokens_evaluated"), ("output_tokens", "tokens_predicted")];

pub(super) const fn is_native(decoded: &Decoded) -> bool {
    decoded.event == NATIVE
}

/// Reads a document, if it is in this shape: an object with a text `content` and a flag `stop`.
pub(super) fn read(text: &str, decoded: &mut Decoded) -> bool {
    let whole = json::document_span(text);
    let member = |name| json::member_of(text, whole, name);
    let of_kind = |name, kind| member(name).filter(|value| json::kind_of(text, *value) == kind);
    let Some(content) = of_kind("content", Kind::String) else { return false };
    let Some(stop) = of_kind("stop", Kind::Bool) else { return false };
    decoded.event = NATIVE;
    let choice = of_kind("index", Kind::Number).and_then(|index| index.of_str(text).parse().ok()).unwrap_or(0);
    decoded.choices.push(choice);
    if is_text(text, content) {
        let piece = decoded.unescaped(text, content);
        push(decoded, (ChunkKind::ContentDelta, CONTENT), choice, content, (piece, Text::Absent));
    }
    if let Some(values) = of_kind("completion_probabilities", Kind::Array) {
        let payload = decoded.write(|out| {
            for piece in ["{\"completion_probabilities\":", values.of_str(text), "}"] {
                out.push_str(piece);
            }
        });
        push(decoded, (ChunkKind::Annotation, PROBABILITIES), choice, values, (Text::Absent, payload));
    }
    if stop.of_str(text) == "true" {
        let kind = of_kind("stop_type", Kind::String).filter(|kind| is_text(text, *kind));
        let piece = match kind {
            Some(kind) => decoded.unescaped(text, kind),
            None => decoded.write(|out| out.push_str(flagged(text, whole))),
        };
        push(decoded, (ChunkKind::Finish, FINISH), choice, kind.unwrap_or(stop), (piece, Text::Absent));
        if COUNTS.iter().any(|(_, name)| of_kind(name, Kind::Number).is_some()) {
            let payload = decoded.write(|out| write_usage(text, whole, out));
            push(decoded, (ChunkKind::Usage, USAGE), 0, whole, (Text::Absent, payload));
        }
    }
    true
}

fn push(decoded: &mut Decoded, (kind, slot): (ChunkKind, u8), choice: u32, value: Span, (text, payload): (Text, Text)) {
    let place = Place { slot, container: 0, value };
    decoded.entries.push(Entry { kind, choice, text, payload, place, signed: false });
}

/// The reason that an older server flags.
fn flagged(text: &str, whole: Span) -> &'static str {
    let is_set = |name| json::member_of(text, whole, name).is_some_and(|flag| flag.of_str(text) == "true");
    FLAGS.iter().find(|(name, _)| is_set(name)).map_or("stop", |(_, reason)| reason)
}

fn write_usage(text: &str, whole: Span, out: &mut String) {
    let counts = COUNTS.iter().filter_map(|(name, own)| {
        let count = json::member_of(text, whole, own).filter(|count| json::kind_of(text, *count) == Kind::Number)?;
        Some((name, own, count.of_str(text)))
    });
    let (mut normalised, mut provided) = (String::new(), Vec::new());
    for (name, own, count) in counts {
        normalised += &format!("\"{name}\":{count},");
        provided.push(format!("\"{own}\":{count}"));
    }
    *out += &format!("{{{normalised}\"provider\":{{{}}}}}", provided.join(","));
}

/// Makes the edits of a document in this shape.
pub(super) fn rewrite(
    shared: &mut OpenAiChat,
    document: &Document<'_>,
    decoded: &Decoded,
    pieces: &[Piece<'_>],
) -> Rendered {
    shared.note_rewritten(decoded, pieces);
    if document.form == Form::Stream && pieces.iter().all(|piece| piece.after.is_none()) {
        return Rendered::default();
    }
    let text = document.text;
    let (mut patches, mut after) = (Patches::default(), Vec::new());
    let mut top = Object::new(text, json::document_span(text));
    let shown = json::member_of(text, json::document_span(text), "content");
    // What a later member hides would go out past the observers.
    top.remove_where(|name, value| name == "content" && Some(value) != shown);
    for piece in pieces.iter().filter(|piece| piece.is_changed()) {
        match (piece.entry.place.slot, piece.same_kind()) {
            (CONTENT, _) => rewrite_content(shared, piece, document.form, &mut top, &mut patches),
            (PROBABILITIES, None) => top.remove("completion_probabilities"),
            (FINISH, Some(body)) if is_text(text, piece.entry.place.value) => {
                patches.replace(piece.entry.place.value, json::string(body.text));
            }
            (FINISH, None) => withhold_finish(&mut top, &mut patches),
            (USAGE, body) => rewrite_usage(body, &mut top, &mut patches),
            // Nothing of these is written otherwise than by leaving it out.
            _ => {}
        }
        if let Some(body) = piece.other_kind().filter(|_| piece.entry.place.slot != CONTENT) {
            after.push(Event::unnamed(shared.synthesise(piece.entry.choice, &body, document.form)));
        }
    }
    top.write(&mut patches);
    Rendered { data: Some(patches.apply(text)), after, ..Rendered::default() }
}

/// Content that is another text now, or has left for a member that these clients pass over.
fn rewrite_content(
    shared: &mut OpenAiChat,
    piece: &Piece<'_>,
    form: Form,
    top: &mut Object<'_>,
    patches: &mut Patches,
) {
    let body = piece.after.unwrap_or(Body { kind: ChunkKind::ContentDelta, text: "", payload: None });
    DEPENDENT.iter().for_each(|name| top.remove(name));
    let text = match body.kind {
        ChunkKind::ContentDelta | ChunkKind::RefusalDelta => body.text,
        _ => "",
    };
    patches.replace(piece.entry.place.value, json::string(text));
    match body.kind {
        ChunkKind::ReasoningDelta => top.set("reasoning", &json::string(body.text), patches),
        ChunkKind::ToolCallDelta => {
            let call = shared.made_call(piece.entry.choice, &body, form);
            top.set("tool_calls", &format!("[{call}]"), patches);
        }
        _ => {}
    }
}

fn withhold_finish(top: &mut Object<'_>, patches: &mut Patches) {
    top.set("stop", "false", patches);
    if top.find("stop_type").is_some() {
        top.set("stop_type", "\"none\"", patches);
    }
    for (name, _) in FLAGS {
        if top.find(name).is_some() {
            top.set(name, "false", patches);
        }
    }
}

/// The counts as an observer left them; none is null.
fn rewrite_usage(body: Option<Body<'_>>, top: &mut Object<'_>, patches: &mut Patches) {
    let payload = body.and_then(|body| body.payload).unwrap_or("{}");
    for (name, own) in COUNTS {
        let count = json::member_of(payload, json::document_span(payload), name);
        if top.find(own).is_some() {
            top.set(own, count.map_or("null", |count| count.of_str(payload)), patches);
        }
    }
}

/// The last event of a stopped stream, with the sentinel as `seam.stop`.
pub(super) fn end_stopped(stop: &Stop<'_>) -> Vec<Event> {
    let sentinel = stop.sentinel;
    vec![Event::unnamed(format!(
        "{{\"index\":0,\"content\":\"\",\"stop\":true,\"stop_type\":\"content_filter\",\"seam\":{{\"stop\":{sentinel}}}}}"
    ))]
}

/// What is left of a whole answer that was stopped, finished.
pub(super) fn stop_body(left: &str, stop: &Stop<'_>) -> String {
    let left = if left.is_empty() { "{\"content\":\"\"}" } else { left };
    let mut patches = Patches::default();
    let mut top = Object::new(left, json::document_span(left));
    top.set("stop", "true", &mut patches);
    top.set("stop_type", "\"content_filter\"", &mut patches);
    top.set("seam", &format!("{{\"stop\":{}}}", stop.sentinel), &mut patches);
    top.write(&mut patches);
    patches.apply(left)
}
