//! Decoding against a naive reader, rendering against its rules, ends, and real streams at every cut.

mod beside;
mod calls;
mod cut;
mod decoding;
mod dialects;
mod ends;
mod lenient;
mod naive;
mod rendering;
mod rules;
mod streams;
mod symptoms;

use bytes::Bytes;
use seam_plugin_api::ChunkKind;
use serde_json::Value;

use crate::{Body, Decoded, Edit, Frame, Framing, Protocol, SseDecoder, Wire};

fn fresh() -> Wire {
    Wire::new(Protocol::OpenAiChat, Framing::Sse)
}

/// One chunk, with its payload read.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    choice: u32,
    kind: ChunkKind,
    text: String,
    payload: Option<Value>,
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.choice, self.kind)?;
        if !self.text.is_empty() {
            write!(f, " {:?}", self.text)?;
        }
        self.payload.as_ref().map_or(Ok(()), |payload| write!(f, " {payload}"))
    }
}

/// The frames of a text, the rest at its end included.
fn frames(text: &[u8]) -> Vec<Frame> {
    let mut decoder = SseDecoder::new(1 << 24);
    decoder.feed(Bytes::copy_from_slice(text));
    let mut frames = Vec::new();
    while let Some(frame) = decoder.next_frame().unwrap() {
        frames.push(frame);
    }
    frames.extend(decoder.finish());
    frames
}

/// One frame with that data.
fn frame(data: &str) -> Frame {
    let mut text = Vec::new();
    crate::sse::write_event(None, data, &mut text);
    frames(&text).remove(0)
}

fn seen(decoded: &Decoded, data: &[u8]) -> Vec<Seen> {
    let read = |chunk: crate::Chunk<'_>| Seen {
        choice: chunk.choice,
        kind: chunk.kind,
        text: chunk.text.to_owned(),
        payload: chunk.payload.map(|payload| serde_json::from_str(payload).unwrap()),
    };
    decoded.chunks(data).map(read).collect()
}

/// The chunks of frames, by one state.
fn decode_all(frames: &[Frame]) -> Vec<Seen> {
    let (mut chat, mut decoded) = (fresh(), Decoded::default());
    let mut all = Vec::new();
    for frame in frames {
        chat.decode(frame, &mut decoded);
        all.extend(seen(&decoded, frame.data().unwrap_or_default()));
    }
    all
}

/// The chunks of one frame with that data, as a person reads them.
fn shown(data: &str) -> Vec<String> {
    decode_all(&[frame(data)]).iter().map(Seen::to_string).collect()
}

/// One frame's data with edits, by a fresh state.
fn rendered(data: &str, edits: &[Edit<'_>]) -> String {
    rendered_by(&mut fresh(), data, edits)
}

fn rendered_by(chat: &mut Wire, data: &str, edits: &[Edit<'_>]) -> String {
    let (frame, mut decoded, mut out) = (frame(data), Decoded::default(), Vec::new());
    chat.decode(&frame, &mut decoded);
    assert_eq!(decoded.len(), edits.len(), "{:?}", shown(data));
    chat.render(&frame, &decoded, edits, &mut out);
    String::from_utf8(out).unwrap()
}

/// A whole answer with edits.
fn rendered_body(body: &str, edits: &[Edit<'_>]) -> String {
    let (mut chat, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
    chat.decode_body(body.as_bytes(), &mut decoded);
    assert_eq!(decoded.len(), edits.len());
    chat.render_body(body.as_bytes(), &decoded, edits, &mut out);
    String::from_utf8(out).unwrap()
}

fn text_edit(kind: ChunkKind, text: &str) -> Edit<'_> {
    Edit::Replace(Body { kind, text, payload: None })
}

fn payload_edit(kind: ChunkKind, payload: &str) -> Edit<'_> {
    Edit::Replace(Body { kind, text: "", payload: Some(payload) })
}

fn content(text: &str) -> Edit<'_> {
    text_edit(ChunkKind::ContentDelta, text)
}

fn tool_call<'a>(arguments: &'a str, payload: &'a str) -> Edit<'a> {
    Edit::Replace(Body { kind: ChunkKind::ToolCallDelta, text: arguments, payload: Some(payload) })
}

/// Content with calls beside it, or with whatever else the payload says.
fn content_with<'a>(text: &'a str, payload: &'a str) -> Edit<'a> {
    Edit::Replace(Body { kind: ChunkKind::ContentDelta, text, payload: Some(payload) })
}
