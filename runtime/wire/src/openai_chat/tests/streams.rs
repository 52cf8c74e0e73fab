//! Whole streams, at every cut: the fixtures of this crate, and recorded ones where they are at hand.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use seam_plugin_api::ChunkKind;
use serde_json::Value;

use super::{Seen, decode_all, frames, fresh, naive, seen};
use crate::{Body, Chunk, Decoded, Edit, Frame, SseDecoder};

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "sse"));
    files.sort();
    files
}

fn fixtures() -> Vec<PathBuf> {
    let files = files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures")));
    assert_eq!(files.len(), 4, "the crate's own streams");
    files
}

/// The streams recorded from providers, which lie beside the repository on some machines.
fn recorded() -> Vec<PathBuf> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/streams/openai-chat"));
    let files = files(folder);
    if files.is_empty() {
        println!("skipped: no recorded streams in {}", folder.display());
    }
    files
}

fn cut_frames(reads: &[&[u8]]) -> Vec<Frame> {
    let mut decoder = SseDecoder::new(1 << 24);
    let mut frames = Vec::new();
    for read in reads {
        decoder.feed(Bytes::copy_from_slice(read));
        while let Some(frame) = decoder.next_frame().unwrap() {
            frames.push(frame);
        }
    }
    frames.extend(decoder.finish());
    frames
}

fn raw(frames: &[Frame]) -> Vec<u8> {
    frames.iter().flat_map(|frame| frame.raw().to_vec()).collect()
}

/// One byte a read, and every cut in two. A decoder starts anew at each frame, so that a cut in the stream is a cut in
/// one frame.
fn check_cuts(path: &Path) {
    let text = std::fs::read(path).unwrap();
    let whole = frames(&text);
    assert_eq!(raw(&whole), text, "{}", path.display());
    let bytes: Vec<&[u8]> = text.chunks(1).collect();
    let single = cut_frames(&bytes);
    assert_eq!(raw(&single), text, "{}", path.display());
    assert_eq!(decode_all(&single), decode_all(&whole), "{}", path.display());
    for frame in &whole {
        for cut in 0..=frame.raw().len() {
            check_cut(frame, cut, path);
        }
    }
}

/// One frame in two reads: the same event, and the same bytes.
fn check_cut(frame: &Frame, cut: usize, path: &Path) {
    let mut decoder = SseDecoder::new(1 << 24);
    let (mut length, mut events) = (0, 0);
    for read in [frame.raw().slice(..cut), frame.raw().slice(cut..)] {
        decoder.feed(read);
        let mut next = decoder.next_frame().unwrap();
        while let Some(again) = next {
            assert!(frame.raw()[length..].starts_with(again.raw()), "{} at {cut}", path.display());
            length += again.raw().len();
            if again.data().is_some() {
                events += 1;
                assert_eq!((again.data(), again.event()), (frame.data(), frame.event()), "{} at {cut}", path.display());
            }
            next = decoder.next_frame().unwrap();
        }
    }
    let rest = decoder.finish();
    events += rest.iter().filter(|rest| rest.data().is_some()).count();
    length += rest.map_or(0, |rest| rest.raw().len());
    assert_eq!(
        (length, events),
        (frame.raw().len(), usize::from(frame.data().is_some())),
        "{} at {cut}",
        path.display()
    );
}

/// Each frame with every text changed: only that is changed, and it is changed wherever the frame says it.
fn check_edits(path: &Path) {
    for frame in frames(&std::fs::read(path).unwrap()) {
        let (mut chat, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
        let data = frame.data().unwrap_or_default();
        chat.decode(&frame, &mut decoded);
        let chunks: Vec<Chunk<'_>> = decoded.chunks(data).collect();
        let edits: Vec<Edit<'_>> = chunks.iter().map(changed).collect();
        chat.render(&frame, &decoded, &edits, &mut out);
        let rendered = frames(&out).remove(0);
        let again = decode_all(std::slice::from_ref(&rendered));
        assert_eq!(again.len(), chunks.len(), "{}", path.display());
        for (new, old) in again.iter().zip(&chunks) {
            let text = if is_text(old) { "[R]" } else { old.text };
            assert_eq!((new.choice, new.kind, new.text.as_str()), (old.choice, old.kind, text), "{}", path.display());
        }
        if edits.iter().all(|edit| *edit == Edit::Keep) {
            assert_eq!(out, frame.raw().to_vec(), "{}", path.display());
        } else {
            let original = serde_json::from_slice::<Value>(data).unwrap();
            let value = serde_json::from_slice::<Value>(rendered.data().unwrap()).unwrap();
            assert_eq!(without_texts(value), without_texts(original), "{}", path.display());
        }
    }
}

fn is_text(chunk: &Chunk<'_>) -> bool {
    matches!(chunk.kind, ChunkKind::ContentDelta | ChunkKind::ReasoningDelta | ChunkKind::ToolCallDelta)
}

fn changed<'a>(chunk: &Chunk<'a>) -> Edit<'a> {
    match chunk.kind {
        _ if is_text(chunk) => Edit::Replace(Body { kind: chunk.kind, text: "[R]", payload: chunk.payload }),
        _ => Edit::Keep,
    }
}

/// The document with every string in a `delta` that says something made the same.
fn without_texts(mut value: Value) -> Value {
    fn blank(value: &mut Value, name: &str) {
        match value {
            Value::String(text)
                if matches!(
                    name,
                    "content" | "reasoning" | "reasoning_content" | "text" | "thinking" | "arguments"
                ) =>
            {
                text.clear();
            }
            Value::Array(elements) => elements.iter_mut().for_each(|element| blank(element, name)),
            Value::Object(members) => members.iter_mut().for_each(|(name, member)| blank(member, name)),
            _ => {}
        }
    }
    value.as_object_mut().unwrap().remove("obfuscation");
    for choice in value["choices"].as_array_mut().unwrap() {
        blank(&mut choice["delta"], "delta");
        choice.as_object_mut().unwrap().remove("logprobs");
    }
    value
}

/// Each frame by itself, against the naive reader.
fn check_chunks(path: &Path) {
    for frame in frames(&std::fs::read(path).unwrap()) {
        let (mut chat, mut decoded) = (fresh(), Decoded::default());
        let data = frame.data().unwrap_or_default();
        chat.decode(&frame, &mut decoded);
        assert_eq!(seen(&decoded, data), naive::decode(data), "{}", path.display());
    }
}

#[test]
fn fixtures_are_the_same_at_every_cut() {
    fixtures().iter().for_each(|path| check_cuts(path));
}

#[test]
fn fixtures_are_the_same_for_a_cut_anywhere_in_the_stream() {
    for path in fixtures() {
        let text = std::fs::read(&path).unwrap();
        let whole = decode_all(&frames(&text));
        for cut in 0..=text.len() {
            let (head, tail) = text.split_at(cut);
            assert_eq!(decode_all(&cut_frames(&[head, tail])), whole, "{} at {cut}", path.display());
        }
    }
}

#[test]
fn fixtures_decode_as_the_naive_reader_decodes_them() {
    fixtures().iter().for_each(|path| check_chunks(path));
}

#[test]
fn fixtures_take_an_edit_of_every_text() {
    fixtures().iter().for_each(|path| check_edits(path));
}

#[test]
fn recorded_streams_take_an_edit_of_every_text() {
    recorded().iter().for_each(|path| check_edits(path));
}

#[test]
fn recorded_streams_are_the_same_at_every_cut() {
    recorded().iter().for_each(|path| check_cuts(path));
}

#[test]
fn recorded_streams_decode_as_the_naive_reader_decodes_them() {
    recorded().iter().for_each(|path| check_chunks(path));
}

#[test]
fn fixtures_read_as_a_person_would_tell_them() {
    let mut told = String::new();
    for path in fixtures() {
        told += &format!("# {}\n", path.file_name().unwrap().display());
        for chunk in decode_all(&frames(&std::fs::read(&path).unwrap())) {
            told += &format!("{}\n", brief(&chunk));
        }
    }
    insta::assert_snapshot!(told);
}

/// A chunk in one line; what an opaque one holds is cut short.
fn brief(chunk: &Seen) -> String {
    let line: Vec<char> = chunk.to_string().chars().collect();
    let cut = if line.len() > 150 { "…" } else { "" };
    format!("{}{cut}", line.into_iter().take(150).collect::<String>())
}
