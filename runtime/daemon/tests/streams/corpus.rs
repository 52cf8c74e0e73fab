//! The streams and bodies that everything is tried on: the project's own fixtures and what providers really sent.

use std::path::{Path, PathBuf};

use seam_wire::{Framing, Protocol};

use crate::frames::{self, Frame};

/// One answer as a provider sent it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) protocol: Protocol,
    pub(crate) framing: Framing,
    pub(crate) bytes: Vec<u8>,
}

impl Source {
    pub(crate) fn frames(&self) -> Vec<Frame> {
        frames::read(self.framing, &self.bytes)
    }
}

/// The folder of a protocol, among the recordings and among the fixtures.
fn folder(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::OpenAiChat => "openai-chat",
        Protocol::OpenAiCompletions => "openai-completions",
        Protocol::OpenAiResponses => "openai-responses",
        Protocol::AnthropicMessages => "anthropic-messages",
        Protocol::Gemini => "gemini",
    }
}

/// Every stream of a protocol.
pub(crate) fn streams(protocol: Protocol) -> Vec<Source> {
    let mut found = fixtures(protocol, ".sse", Framing::Sse);
    assert!(!found.is_empty(), "there are fixtures of {protocol:?}");
    found.extend(fixtures(protocol, ".array", Framing::JsonArray));
    found.extend(recorded(protocol));
    found
}

/// Every answer of a protocol that is not streamed.
pub(crate) fn bodies(protocol: Protocol) -> Vec<Source> {
    let found = fixtures(protocol, ".json", Framing::Sse);
    assert!(!found.is_empty(), "there are whole answers of {protocol:?}");
    found
}

fn fixtures(protocol: Protocol, ending: &str, framing: Framing) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/fixtures");
    let mut found = read_folder(&root.join(folder(protocol)), ending, protocol, framing);
    if protocol == Protocol::OpenAiChat {
        found.extend(read_folder(&root, ending, protocol, framing));
    }
    found
}

/// What providers really sent; nothing, with a word about it, where the recordings are not at hand.
fn recorded(protocol: Protocol) -> Vec<Source> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/streams");
    if !all.is_dir() {
        println!("skipped: there are no recorded streams at {}", all.display());
        return Vec::new();
    }
    read_folder(&all.join(folder(protocol)), ".sse", protocol, Framing::Sse)
}

fn read_folder(folder: &Path, ending: &str, protocol: Protocol, framing: Framing) -> Vec<Source> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(ending) && path.is_file());
    paths.sort();
    paths.iter().map(|path| source(path, protocol, framing)).collect()
}

fn source(path: &Path, protocol: Protocol, framing: Framing) -> Source {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    Source { name, protocol, framing, bytes: std::fs::read(path).unwrap() }
}
