//! Decoding, rendering against a strict client, ends, and real streams with every kind of edit.

mod bodies;
mod client;
mod decoding;
mod ends;
mod kinds;
mod random;
mod rendering;
mod streams;

use bytes::Bytes;
use seam_plugin_api::ChunkKind;
use serde_json::Value;

use crate::{Body, Chunk, Decoded, Edit, Frame, Framing, Protocol, SseDecoder, Wire};

fn fresh() -> Wire {
    Wire::new(Protocol::AnthropicMessages, Framing::Sse)
}

/// One chunk, with its payload read.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    choice: u32,
    kind: ChunkKind,
    text: String,
    payload: Option<Value>,
    signed: bool,
}

impl Seen {
    fn of(chunk: Chunk<'_>) -> Self {
        Self {
            choice: chunk.choice,
            kind: chunk.kind,
            text: chunk.text.to_owned(),
            payload: chunk.payload.map(|payload| serde_json::from_str(payload).unwrap()),
            signed: chunk.signed,
        }
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}{}", self.choice, self.kind, if self.signed { " signed" } else { "" })?;
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

/// The events as the provider frames them: each is named after its type.
fn stream(events: &[&str]) -> Vec<u8> {
    let mut text = String::new();
    for event in events {
        let value: Value = serde_json::from_str(event).unwrap();
        text += &format!("event: {}\ndata: {event}\n\n", value["type"].as_str().unwrap());
    }
    text.into_bytes()
}

/// The events of a stream, as JSON.
fn events(text: &[u8]) -> Vec<Value> {
    frames(text).iter().filter_map(Frame::data).map(|data| serde_json::from_slice(data).unwrap()).collect()
}

/// The chunks of frames, by one state.
fn decode_all(frames: &[Frame]) -> Vec<Seen> {
    let (mut wire, mut decoded) = (fresh(), Decoded::default());
    let mut all = Vec::new();
    for frame in frames {
        wire.decode(frame, &mut decoded);
        all.extend(decoded.chunks(frame.data().unwrap_or_default()).map(Seen::of));
    }
    all
}

/// The chunks of these events, as a person reads them.
fn shown(events: &[&str]) -> Vec<String> {
    decode_all(&frames(&stream(events))).iter().map(Seen::to_string).collect()
}

/// A whole stream through one state; `edit` is asked for each chunk, with its position in the stream. Frames leave as the
/// daemon lets them leave.
fn run<'a>(wire: &mut Wire, text: &[u8], mut edit: impl FnMut(usize, &Seen) -> Edit<'a>) -> Vec<u8> {
    let (mut decoded, mut out, mut count) = (Decoded::default(), Vec::new(), 0);
    for frame in frames(text) {
        wire.decode(&frame, &mut decoded);
        let chunks: Vec<Seen> = decoded.chunks(frame.data().unwrap_or_default()).map(Seen::of).collect();
        let edits: Vec<Edit<'_>> = chunks.iter().enumerate().map(|(at, chunk)| edit(count + at, chunk)).collect();
        count += chunks.len();
        leave(wire, &frame, &decoded, &edits, &mut out);
    }
    out
}

fn leave(wire: &mut Wire, frame: &Frame, decoded: &Decoded, edits: &[Edit<'_>], out: &mut Vec<u8>) {
    if edits.iter().all(|edit| *edit == Edit::Keep) && !wire.needs_render(frame, decoded) {
        wire.passed(frame, decoded);
        return out.extend_from_slice(frame.raw());
    }
    wire.render(frame, decoded, edits, out);
}

/// The events of a stream with edits by the position of the chunk; others are kept.
fn edited(events_in: &[&str], edits: &[(usize, Edit<'_>)]) -> Vec<u8> {
    run(&mut fresh(), &stream(events_in), |position, _| {
        edits.iter().find(|(at, _)| *at == position).map_or(Edit::Keep, |(_, edit)| *edit)
    })
}

fn text_edit(kind: ChunkKind, text: &str) -> Edit<'_> {
    Edit::Replace(Body { kind, text, payload: None })
}

fn content(text: &str) -> Edit<'_> {
    text_edit(ChunkKind::ContentDelta, text)
}

fn tool_call<'a>(arguments: &'a str, payload: &'a str) -> Edit<'a> {
    Edit::Replace(Body { kind: ChunkKind::ToolCallDelta, text: arguments, payload: Some(payload) })
}

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":1}}}"#;
const TEXT: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const STOP_0: &str = r#"{"type":"content_block_stop","index":0}"#;
const STOP_1: &str = r#"{"type":"content_block_stop","index":1}"#;
const END_TURN: &str =
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;
const PING: &str = r#"{"type":"ping"}"#;

fn text_delta(index: u32, text: &str) -> String {
    serde_json::json!({"type":"content_block_delta","index":index,"delta":{"type":"text_delta","text":text}})
        .to_string()
}
