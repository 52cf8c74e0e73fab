//! Decoding: the same chunks however the stream was cut, and the bytes that came where nothing is edited.

use bytes::Bytes;
use seam_plugin_api::ChunkKind;
use seam_wire::{Arrival, Decoded, Framing, Protocol, Wire};

use crate::case::Case;
use crate::framing::each_frame;
use crate::memory::Held;

/// A frame's longest length: longer than inputs are.
const LONGEST: usize = 1 << 20;

/// What decoder and renderer may hold for each byte that came: an entry of the chunk list is some twenty times the
/// shortest chunk.
const HELD_PER_BYTE: usize = 64;

/// And in any case: what is kept for an answer of a few bytes.
const HELD_AT_LEAST: usize = 16 << 10;

pub(crate) fn check(protocol: Protocol, input: &[u8]) {
    let case = Case::read(input);
    if case.is_body() {
        return check_body(protocol, case.stream);
    }
    let framing = case.framing(protocol);
    let planned = read(protocol, framing, case.reads());
    assert_eq!(planned, read(protocol, framing, case.whole()), "cut as planned against whole");
    // Of an array, an element that broke off is left out: an error must be able to follow.
    let is_all = planned.out == case.stream;
    let is_beginning = framing == Framing::JsonArray && case.stream.starts_with(&planned.out);
    assert!(is_all || is_beginning, "the bytes that came: {:?}", planned.out);
    bounded(protocol, framing, &case);
}

/// A whole answer: nothing is edited, so nothing changes. Requests take any bytes too.
fn check_body(protocol: Protocol, body: &[u8]) {
    let mut wire = Wire::new(protocol, Framing::Sse);
    let (mut decoded, mut out) = (Decoded::default(), Vec::new());
    wire.decode_body(body, &mut decoded);
    Seen::all(&decoded, body);
    wire.render_body(body, &decoded, &[], &mut out);
    assert_eq!(out, body, "a body that nobody edits");
    let _ = protocol.read_request(body);
}

#[derive(Debug, PartialEq, Eq)]
struct Reading {
    chunks: Vec<Seen>,
    arrival: Arrival,
    out: Vec<u8>,
}

/// One chunk, with everything that it says.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    choice: u32,
    kind: ChunkKind,
    text: String,
    payload: Option<String>,
    signed: bool,
}

impl Seen {
    fn all(decoded: &Decoded, data: &[u8]) -> Vec<Self> {
        let seen: Vec<Self> = decoded
            .chunks(data)
            .map(|chunk| Self {
                choice: chunk.choice,
                kind: chunk.kind,
                text: chunk.text.to_owned(),
                payload: chunk.payload.map(str::to_owned),
                signed: chunk.signed,
            })
            .collect();
        for payload in seen.iter().filter_map(|chunk| chunk.payload.as_deref()) {
            assert!(is_json(payload.as_bytes()), "a payload is a JSON document: {payload}");
        }
        seen
    }
}

/// Whether bytes are one JSON document, or so deep that the judge does not read them.
pub(crate) fn is_json(bytes: &[u8]) -> bool {
    match serde_json::from_slice::<serde_json::Value>(bytes) {
        Ok(_) => true,
        Err(error) => error.to_string().contains("recursion limit") || is_out_of_range(&error),
    }
}

/// Whether a number is too large for the judge, which the grammar allows.
fn is_out_of_range(error: &serde_json::Error) -> bool {
    error.to_string().contains("number out of range")
}

fn read(protocol: Protocol, framing: Framing, reads: Vec<Bytes>) -> Reading {
    let mut wire = Wire::new(protocol, framing);
    let (mut decoded, mut chunks, mut out) = (Decoded::default(), Vec::new(), Vec::new());
    each_frame(framing, LONGEST, reads, |frame| {
        wire.decode(&frame, &mut decoded);
        chunks.extend(Seen::all(&decoded, frame.data().unwrap_or_default()));
        // An element of an array that broke off is left out: an error must be able to follow.
        let broke_off = framing == Framing::JsonArray && !frame.terminated();
        assert!(broke_off || !wire.needs_render(&frame, &decoded), "nothing was edited before {frame:?}");
        // Both say the same: that it left as it came.
        if chunks.len() % 2 == 0 {
            wire.render(&frame, &decoded, &[], &mut out);
        } else {
            out.extend_from_slice(frame.raw());
            wire.passed(&frame, &decoded);
        }
    });
    Reading { chunks, arrival: wire.arrival(), out }
}

fn bounded(protocol: Protocol, framing: Framing, case: &Case<'_>) {
    let reads = case.reads();
    let bound = HELD_AT_LEAST + HELD_PER_BYTE * case.stream.len();
    let held = Held::start();
    let mut wire = Wire::new(protocol, framing);
    let mut decoded = Decoded::default();
    each_frame(framing, LONGEST, reads, |frame| {
        wire.decode(&frame, &mut decoded);
        wire.passed(&frame, &decoded);
        held.at_most(bound, "decoder and renderer");
    });
}
