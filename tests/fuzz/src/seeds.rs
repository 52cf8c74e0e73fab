//! Where the search starts: the wire's own fixtures, each under a few plans.

use std::io;
use std::path::{Path, PathBuf};

use crate::case::PLAN;

/// One input to start from.
#[derive(Clone, Debug)]
pub struct Seed {
    /// What it is made of.
    pub name: String,
    /// The plan and the stream.
    pub input: Vec<u8>,
}

/// Plans worth starting from: cuts, framing and form, mode, end, lag, keep-alive, edits.
const PLANS: [[u8; PLAN]; 6] = [
    // Replaced by itself.
    [0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    // Every text replaced, cut in small reads.
    [7, 1, 0, 90, 3, 2, 0, 1, 2, 0, 1, 0, 2, 6, 10, 14, 2, 6, 10, 14, 2, 6, 10, 14],
    // Texts kept, removed and replaced, some frames held.
    [0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 5, 0, 0, 1, 2, 0, 1, 3, 0, 6, 1, 0, 10, 14],
    // Anything, kept alive.
    [40, 40, 0, 40, 40, 0, 0, 2, 2, 0, 2, 3, 0, 8, 9, 11, 12, 5, 4, 7, 13, 10, 14, 15],
    // Stopped before the third chunk.
    [0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    // Failed before the fourth frame.
    [0, 0, 0, 0, 0, 0, 0, 2, 1, 4, 0, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0],
];

/// The framing of the corpora: every fixture is one for these.
const FRAMINGS: [(&str, &str); 2] = [("sse", "sse"), ("json-array", "array")];

/// The inputs of a corpus that come from the fixtures below `wire`'s folder.
///
/// # Errors
/// When a fixture cannot be read.
pub fn seeds(corpus: &str) -> io::Result<Vec<Seed>> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime/wire/fixtures");
    let mut paths = files_below(&fixtures)?;
    match FRAMINGS.iter().find(|(name, _)| *name == corpus) {
        Some((_, extension)) => paths.retain(|path| has_extension(path, extension)),
        None => paths.retain(|path| belongs_to(path, corpus)),
    }
    let mut seeds = Vec::new();
    for path in paths {
        let stream = std::fs::read(&path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (nth, plan) in PLANS.iter().enumerate() {
            let mut input = plan.to_vec();
            input[6] = form_of(&path);
            input.extend_from_slice(&stream);
            seeds.push(Seed { name: format!("{name}.{nth}"), input });
        }
    }
    Ok(seeds)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|known| known == extension)
}

/// Whether a fixture is of a protocol; those of Chat Completions may lie beside the folders.
fn belongs_to(path: &Path, corpus: &str) -> bool {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
    folder == corpus || (corpus == "openai-chat" && folder == "fixtures")
}

/// The plan's byte for framing and form.
fn form_of(path: &Path) -> u8 {
    match path.extension() {
        Some(extension) if extension == "array" => 1,
        Some(extension) if extension == "json" => 2,
        _ => 0,
    }
}

fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
