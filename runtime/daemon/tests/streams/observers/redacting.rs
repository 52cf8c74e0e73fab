//! Replaces one word, however it is spread over chunks: what may be its beginning is held until that is clear.

use std::collections::BTreeMap;

use seam_plugin_api::abi::{Answer, ReleasedView};
use seam_plugin_api::{Chunk, ChunkKind, Context};

use super::{Answering, Owned, is_text};

/// What stands in the word's place: of another length in characters, and again of another in bytes.
pub(crate) const MASK: &str = "▒▒";

#[derive(Debug)]
pub(crate) struct Redacts {
    pub(crate) word: String,
    held: Vec<Held>,
    answered: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    chunk: Owned,
    /// What its text becomes.
    text: String,
    signed: bool,
    /// The word may begin in it.
    is_live: bool,
}

impl Redacts {
    pub(crate) fn new(word: &str) -> Self {
        Self { word: word.to_owned(), held: Vec::new(), answered: Vec::new() }
    }

    /// Replaces the word in the texts of one lane, and marks what may be its beginning.
    fn redact_lane(&mut self, lane: (u32, u8, u64)) {
        let own: Vec<usize> = (0..self.held.len()).filter(|at| self.held[*at].is_of(lane)).collect();
        let joined: String = own.iter().map(|at| self.held[*at].text.as_str()).collect();
        let found: Vec<usize> = joined.match_indices(&self.word).map(|(at, _)| at).collect();
        let live = (1..self.word.len()).rev().find(|length| joined.ends_with(&self.word[..*length])).unwrap_or(0);
        let live_from = joined.len() - live;
        let mut start = 0;
        for at in own {
            let held = &mut self.held[at];
            let end = start + held.text.len();
            held.is_live = live > 0 && end > live_from;
            if !found.is_empty() {
                held.text = redacted(&held.text, start, &found, self.word.len());
            }
            start = end;
        }
    }

    /// Nothing more comes in this choice: what was only a beginning is none.
    fn close(&mut self, choice: u32) {
        for held in self.held.iter_mut().filter(|held| held.chunk.choice == choice) {
            held.is_live = false;
        }
    }
}

impl Held {
    fn is_of(&self, lane: (u32, u8, u64)) -> bool {
        !self.signed && is_text(self.chunk.kind) && self.chunk.lane() == lane
    }
}

/// One text that starts at `start` of the joined ones, without the words that are found there; the mask goes where a word
/// begins.
fn redacted(text: &str, start: usize, found: &[usize], length: usize) -> String {
    let mut out = String::new();
    for (offset, character) in text.char_indices() {
        let at = start + offset;
        match found.iter().find(|word| **word <= at && at < **word + length) {
            Some(word) if *word == at => out.push_str(MASK),
            Some(_) => {}
            None => out.push(character),
        }
    }
    out
}

impl Answering for Redacts {
    fn answer(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Answer<'_> {
        let own = Owned::new(chunk);
        let (lane, text, signed) = (own.lane(), own.text.clone(), context.is_signed());
        self.held.push(Held { chunk: own, text, signed, is_live: false });
        if chunk.kind() == ChunkKind::Finish {
            self.close(chunk.choice());
        } else if is_text(chunk.kind()) && !signed {
            self.redact_lane(lane);
        }
        let count = self.held.iter().take_while(|held| !held.is_live).count();
        if count == 0 {
            return Answer::Buffer;
        }
        self.answered = self.held.drain(..count).collect();
        for held in &mut self.answered {
            std::mem::swap(&mut held.chunk.text, &mut held.text);
        }
        let release = |held: &'_ Held| held.chunk.text != held.text;
        let chunks = self
            .answered
            .iter()
            .map(|held| ReleasedView { seq: held.chunk.seq, amended: release(held).then(|| held.chunk.view()) })
            .collect();
        Answer::Release { chunks, strip_accumulated: None }
    }
}

/// Words of these texts that may be redacted: letters alone, long enough to be rare, those that are spread over texts
/// first.
pub(crate) fn words(chunks: &[Owned]) -> Vec<String> {
    let mut lanes: BTreeMap<(u32, u8, u64), (String, Vec<usize>)> = BTreeMap::new();
    for chunk in chunks.iter().filter(|chunk| is_text(chunk.kind)) {
        let (text, borders) = lanes.entry(chunk.lane()).or_default();
        text.push_str(&chunk.text);
        borders.push(text.len());
    }
    let mut spread = Vec::new();
    let mut whole = Vec::new();
    for (text, borders) in lanes.values() {
        for (start, word) in letters(text).filter(|(_, word)| word.len() >= 5) {
            let crosses = borders.iter().any(|border| start < *border && *border < start + word.len());
            if crosses { &mut spread } else { &mut whole }.push(word.to_owned());
        }
    }
    spread.append(&mut whole);
    spread
}

/// Every run of letters, with where it starts.
fn letters(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let runs = text.split(|character: char| !character.is_ascii_alphabetic());
    runs.map(move |run| (run.as_ptr() as usize - text.as_ptr() as usize, run))
}
