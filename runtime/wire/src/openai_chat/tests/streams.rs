//! Whole streams, at every cut: the fixtures of this crate, and recorded ones where they are at hand.

use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::{Seen, decode_all, frames, naive, seen};
use crate::{Decoded, OpenAiChat, SseDecoder, SseFrame};

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

fn cut_frames(reads: &[&[u8]]) -> Vec<SseFrame> {
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

fn raw(frames: &[SseFrame]) -> Vec<u8> {
    frames.iter().flat_map(|frame| frame.raw().to_vec()).collect()
}

fn data(frames: &[SseFrame]) -> Vec<Option<&[u8]>> {
    frames.iter().map(SseFrame::data).filter(Option::is_some).collect()
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
            let (head, tail) = frame.raw().split_at(cut);
            let again = cut_frames(&[head, tail]);
            assert_eq!(raw(&again), frame.raw().to_vec(), "{} at {cut}", path.display());
            assert_eq!(
                data(&again),
                frame.data().map(Some).into_iter().collect::<Vec<_>>(),
                "{} at {cut}",
                path.display()
            );
        }
    }
}

/// Each frame by itself, against the naive reader.
fn check_chunks(path: &Path) {
    for frame in frames(&std::fs::read(path).unwrap()) {
        let (mut chat, mut decoded) = (OpenAiChat::new(), Decoded::default());
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
