//! Streams recorded from providers, where they are at hand: at every cut, and with every kind of edit.

use std::path::{Path, PathBuf};

use seam_plugin_api::ChunkKind;
use serde_json::Value;

use super::{cut_frames, decode_all, frames, fresh, oracle};
use crate::{Body, Chunk, Decoded, Edit, Frame, Framing, Stop, Wire};

/// The streams recorded from providers, which lie beside the repository on some machines.
pub(super) fn recorded() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/streams/gemini"));
    let Ok(entries) = std::fs::read_dir(folder) else {
        println!("skipped: no recorded streams in {}", folder.display());
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "sse"));
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

pub(super) fn raw(frames: &[Frame]) -> Vec<u8> {
    frames.iter().flat_map(|frame| frame.raw().to_vec()).collect()
}

pub(super) fn json(frame: &Frame) -> Value {
    serde_json::from_slice(frame.data().unwrap()).unwrap()
}

/// The frames written by a wire of that framing, each chunk edited by `edit`.
pub(super) fn edited(framing: Framing, frames: &[Frame], edit: impl Fn(&Chunk<'_>) -> Option<String>) -> Vec<u8> {
    let (mut wire, mut out) = (Wire::new(crate::Protocol::Gemini, framing), Vec::new());
    for frame in frames {
        let mut decoded = Decoded::default();
        wire.decode(frame, &mut decoded);
        let data = frame.data().unwrap_or_default();
        let chunks: Vec<Chunk<'_>> = decoded.chunks(data).collect();
        let texts: Vec<Option<String>> = chunks.iter().map(&edit).collect();
        let edits: Vec<Edit<'_>> = chunks
            .iter()
            .zip(&texts)
            .map(|(chunk, text)| match text {
                Some(text) => Edit::Replace(Body { kind: chunk.kind, text, payload: chunk.payload }),
                None => Edit::Keep,
            })
            .collect();
        wire.render(frame, &decoded, &edits, &mut out);
    }
    out
}

/// The text in upper case, if the chunk is text; of arguments, what stands in the strings of their values.
pub(super) fn upper(chunk: &Chunk<'_>) -> Option<String> {
    match chunk.kind {
        ChunkKind::ToolCallDelta => Some(upper_arguments(chunk.text)),
        ChunkKind::ContentDelta | ChunkKind::ReasoningDelta => Some(chunk.text.to_uppercase()),
        _ => None,
    }
}

/// A fragment of arguments, none of which here has an escape but in a whole value.
fn upper_arguments(text: &str) -> String {
    if let Ok(mut whole) = serde_json::from_str::<Value>(text)
        && whole.is_object()
    {
        oracle::upper_values(&mut whole);
        return whole.to_string();
    }
    match text.split_once("\":") {
        Some((name, value)) => format!("{name}\":{}", value.to_uppercase()),
        None => text.to_uppercase(),
    }
}

#[test]
fn recorded_streams_are_the_same_at_every_cut() {
    for (path, text) in recorded() {
        let whole = frames(&text);
        assert_eq!(raw(&whole), text, "{}", path.display());
        let told = decode_all(&whole);
        let single: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(decode_all(&cut_frames(Framing::Sse, &single)), told, "{}", path.display());
        for cut in (0..text.len()).step_by(1 + text.len() / 64) {
            let (head, tail) = text.split_at(cut);
            assert_eq!(decode_all(&cut_frames(Framing::Sse, &[head, tail])), told, "{} at {cut}", path.display());
        }
    }
}

#[test]
fn recorded_streams_that_nobody_touched_keep_their_bytes() {
    for (path, text) in recorded() {
        let (mut wire, mut decoded) = (fresh(), Decoded::default());
        for frame in frames(&text) {
            wire.decode(&frame, &mut decoded);
            assert!(!wire.needs_render(&frame, &decoded), "{}", path.display());
            wire.passed(&frame, &decoded);
        }
        assert!(wire.arrival().complete, "{}", path.display());
        assert_eq!(edited(Framing::Sse, &frames(&text), |_| None), text, "{}", path.display());
        let same = edited(Framing::Sse, &frames(&text), |chunk| Some(chunk.text.to_owned()));
        assert_eq!(same, text, "{}", path.display());
    }
}

#[test]
fn recorded_streams_in_upper_case_are_so_everywhere_and_nowhere_else() {
    for (path, text) in recorded() {
        let before = frames(&text);
        let after = frames(&edited(Framing::Sse, &before, upper));
        assert_eq!(after.len(), before.len());
        for (after, before) in after.iter().zip(&before).filter(|(_, before)| before.data().is_some()) {
            assert_eq!(oracle::pruned(json(after)), oracle::upper(json(before)), "{}", path.display());
        }
    }
}

/// The frames with one chunk of them left out.
fn without(frames: &[Frame], left_out: usize) -> Vec<u8> {
    let (mut wire, mut out, mut count) = (fresh(), Vec::new(), 0);
    for frame in frames {
        let mut decoded = Decoded::default();
        wire.decode(frame, &mut decoded);
        let edit = |position| if count + position == left_out { Edit::Remove } else { Edit::Keep };
        let edits: Vec<Edit<'_>> = (0..decoded.len()).map(edit).collect();
        wire.render(frame, &decoded, &edits, &mut out);
        count += decoded.len();
    }
    out
}

#[test]
fn any_chunk_can_be_left_out_of_a_recorded_stream() {
    for (path, text) in recorded() {
        let before = frames(&text);
        let told = decode_all(&before);
        for left_out in 0..told.len() {
            let after = frames(&without(&before, left_out));
            let mut expected = told.clone();
            expected.remove(left_out);
            // What quotes a text that was left out is changed with it, and how streamed arguments go on; a frame that says
            // nothing any more is opaque.
            let compared = |chunks: Vec<super::Seen>| -> Vec<(u32, ChunkKind, String)> {
                let others =
                    chunks.into_iter().filter(|chunk| !matches!(chunk.kind, ChunkKind::Annotation | ChunkKind::Opaque));
                let is_call = |chunk: &super::Seen| chunk.kind == ChunkKind::ToolCallDelta;
                others
                    .map(|chunk| (chunk.choice, chunk.kind, if is_call(&chunk) { String::new() } else { chunk.text }))
                    .collect()
            };
            assert_eq!(compared(decode_all(&after)), compared(expected), "{} without {left_out}", path.display());
        }
    }
}

/// The frames up to a chunk, which and all after it are not delivered, and the end of a stopped stream.
pub(super) fn stopped(framing: Framing, frames: &[Frame], stop_at: usize) -> Vec<u8> {
    let (mut wire, mut out, mut count) = (Wire::new(crate::Protocol::Gemini, framing), Vec::new(), 0);
    for frame in frames.iter().filter(|frame| frame.data().is_some()) {
        let mut decoded = Decoded::default();
        wire.decode(frame, &mut decoded);
        let edit = |position| if count + position >= stop_at { Edit::Remove } else { Edit::Keep };
        let edits: Vec<Edit<'_>> = (0..decoded.len()).map(edit).collect();
        wire.render(frame, &decoded, &edits, &mut out);
        count += decoded.len();
    }
    wire.end_stopped(&Stop { sentinel: "{\"reason\":\"r\"}", delivered: &|_| "" }, &mut out);
    out
}

#[test]
fn a_recorded_stream_stops_well_after_each_chunk() {
    for (path, text) in recorded() {
        let before = frames(&text);
        let told = decode_all(&before);
        for stop_at in 0..=told.len() {
            let after = frames(&stopped(Framing::Sse, &before, stop_at));
            let events: Vec<Value> = after.iter().map(json).collect();
            let reasons: Vec<&Value> = events.iter().map(|event| &event["candidates"][0]["finishReason"]).collect();
            let reasons: Vec<&&Value> = reasons.iter().filter(|reason| reason.is_string()).collect();
            assert_eq!(reasons.len(), 1, "{} at {stop_at}", path.display());
            assert_eq!(events.last().unwrap()["seam"]["stop"]["reason"], "r");
            let delivered = decode_all(&after);
            let texts = |chunks: &[super::Seen]| -> String {
                chunks
                    .iter()
                    .filter(|chunk| chunk.kind == ChunkKind::ContentDelta)
                    .map(|chunk| chunk.text.as_str())
                    .collect()
            };
            assert_eq!(texts(&delivered), texts(&told[..stop_at]), "{} at {stop_at}", path.display());
        }
    }
}
