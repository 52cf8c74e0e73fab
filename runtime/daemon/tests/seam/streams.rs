//! Streams that the tests write themselves, and those that were recorded.

use std::path::{Path, PathBuf};

pub(crate) const DONE: &str = "data: [DONE]\n\n";

fn frame(choices: &str) -> String {
    format!(
        "data: {{\"id\":\"c-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"kept\":[1, 2],\"choices\":[{choices}]}}\n\n"
    )
}

/// A frame with one content chunk in choice 0.
pub(crate) fn content(text: &str) -> String {
    content_of(0, text)
}

pub(crate) fn content_of(choice: u32, text: &str) -> String {
    frame(&format!("{{\"index\":{choice},\"delta\":{{\"content\":{text:?}}},\"finish_reason\":null}}"))
}

/// A frame with a finish alone.
pub(crate) fn finish(reason: &str) -> String {
    finish_of(0, reason)
}

pub(crate) fn finish_of(choice: u32, reason: &str) -> String {
    frame(&format!("{{\"index\":{choice},\"delta\":{{}},\"finish_reason\":{reason:?}}}"))
}

/// A frame with three chunks: reasoning, content, finish.
pub(crate) fn three_chunks() -> String {
    frame("{\"index\":0,\"delta\":{\"reasoning_content\":\"hm\",\"content\":\"yes\"},\"finish_reason\":\"stop\"}")
}

/// The streams beside the wire's own tests, with their names.
pub(crate) fn fixtures() -> Vec<(String, Vec<u8>)> {
    let read = read_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/fixtures"));
    assert!(read.len() >= 4, "the fixtures are there");
    read
}

/// What providers really sent; nothing, with a word about it, where the recordings are not at hand.
pub(crate) fn recorded() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/streams/openai-chat");
    if !folder.is_dir() {
        println!("skipped: there are no recorded streams at {}", folder.display());
        return Vec::new();
    }
    read_folder(&folder)
}

fn read_folder(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "sse")).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}
