//! What waits at one observer: held chunks, and settled ones behind them.

use std::collections::VecDeque;

use seam_plugin_api::abi::BodyView;
use seam_plugin_api::{Chunk, ChunkKind};

use crate::texts::length_of;

/// How many used-up entries a queue keeps for their buffers, and how big a text may be to be kept.
const SPARES: usize = 32;
const SPARE_TEXT: usize = 16 * 1024;

/// A chunk on its way through the ladder, borrowed from wherever it lies.
#[derive(Clone, Copy)]
pub(crate) struct Passing<'a> {
    pub(crate) chunk: Chunk<'a>,
    /// What kind it came in as.
    pub(crate) original: ChunkKind,
    /// Whether an observer replaced it.
    pub(crate) amended: bool,
    /// Whether its provider signed it, so that it goes out as it came or not at all.
    pub(crate) signed: bool,
    pub(crate) arrival_nanos: u64,
}

/// A chunk that waits.
pub(crate) struct Waiting {
    seq: u64,
    choice: u32,
    original: ChunkKind,
    kind: ChunkKind,
    amended: bool,
    signed: bool,
    held: bool,
    arrival_nanos: u64,
    text: String,
    /// Empty stands for absent, as in a [`Chunk`].
    payload: String,
    /// Of the text, in Unicode scalar values.
    length: u64,
    /// What the entry counts against the bound.
    weight: u64,
}

/// How a chunk enters a queue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    Held,
    Settled,
}

/// One observer's queue. Between pushes its first entry is held, if there is one.
#[derive(Default)]
pub(crate) struct Queue {
    entries: VecDeque<Waiting>,
    held_chunks: u64,
    held_length: u64,
    /// Of every entry.
    weight: u64,
    spares: Vec<Waiting>,
}

impl Waiting {
    const BLANK: Self = Self {
        seq: 0,
        choice: 0,
        original: ChunkKind::Opaque,
        kind: ChunkKind::Opaque,
        amended: false,
        signed: false,
        held: false,
        arrival_nanos: 0,
        text: String::new(),
        payload: String::new(),
        length: 0,
        weight: 0,
    };

    /// The chunk as it goes on.
    pub(crate) fn passing(&self) -> Passing<'_> {
        let payload = (!self.payload.is_empty()).then_some(self.payload.as_str());
        Passing {
            chunk: Chunk::new(self.seq, self.choice, self.kind, &self.text, payload),
            original: self.original,
            amended: self.amended,
            signed: self.signed,
            arrival_nanos: self.arrival_nanos,
        }
    }

    fn fill(&mut self, passing: &Passing<'_>, body: BodyView<'_>) {
        self.seq = passing.chunk.seq();
        self.choice = passing.chunk.choice();
        self.original = passing.original;
        self.amended = passing.amended;
        self.signed = passing.signed;
        self.arrival_nanos = passing.arrival_nanos;
        self.write(body);
    }

    fn write(&mut self, body: BodyView<'_>) {
        self.kind = body.kind;
        self.text.clear();
        self.text.push_str(body.text);
        self.payload.clear();
        self.payload.push_str(body.payload.unwrap_or_default());
        self.length = length_of(body.text);
        self.weight = weight_of(&body);
    }
}

/// The part of a chunk that can be replaced.
pub(crate) fn body_of<'a>(chunk: &Chunk<'a>) -> BodyView<'a> {
    BodyView { kind: chunk.kind(), text: chunk.text(), payload: chunk.payload() }
}

/// Whether the body is the chunk's own.
pub(crate) fn is_same(chunk: &Chunk<'_>, body: &BodyView<'_>) -> bool {
    chunk.kind() == body.kind && chunk.text() == body.text && chunk.payload() == body.payload
}

/// What a chunk counts against the bound on text: its payload takes memory as its text does.
pub(crate) fn weight_of(body: &BodyView<'_>) -> u64 {
    length_of(body.text) + body.payload.map_or(0, length_of)
}

impl Queue {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn chunks(&self) -> u64 {
        self.entries.len() as u64
    }

    /// What everything that waits counts against the bound on text.
    pub(crate) const fn weight(&self) -> u64 {
        self.weight
    }

    #[inline]
    pub(crate) const fn held_chunks(&self) -> u64 {
        self.held_chunks
    }

    #[inline]
    pub(crate) const fn held_length(&self) -> u64 {
        self.held_length
    }

    /// The held chunks' numbers, in order.
    pub(crate) fn held(&self) -> impl Iterator<Item = u64> {
        self.entries.iter().filter(|entry| entry.held).map(|entry| entry.seq)
    }

    /// The first of the held chunks that may not be amended and would be, if they were settled with these bodies in
    /// order.
    pub(crate) fn first_broken<'a>(&self, bodies: impl Iterator<Item = Option<BodyView<'a>>>) -> Option<u64> {
        let mut pairs = self.entries.iter().filter(|entry| entry.held).zip(bodies);
        let breaks = |entry: &Waiting, body: Option<BodyView<'_>>| {
            entry.signed && body.is_some_and(|body| !is_same(&entry.passing().chunk, &body))
        };
        pairs.find(|(entry, body)| breaks(entry, *body)).map(|(entry, _)| entry.seq)
    }

    /// Every waiting chunk's number, in order.
    pub(crate) fn seqs(&self) -> impl Iterator<Item = u64> {
        self.entries.iter().map(|entry| entry.seq)
    }

    /// What would still wait once the first `settled` held chunks were settled: chunks, and their weight.
    pub(crate) fn rest_after(&self, settled: usize) -> (u64, u64) {
        let mut held = 0;
        let goes = |entry: &&Waiting| {
            held += usize::from(entry.held);
            held <= settled
        };
        let (chunks, weight) = self
            .entries
            .iter()
            .take_while(goes)
            .fold((0, 0), |(chunks, weight), entry| (chunks + 1, weight + entry.weight));
        (self.chunks() - chunks, self.weight - weight)
    }

    /// Puts a chunk at the end, with another body if the observer replaced it.
    pub(crate) fn push(&mut self, passing: &Passing<'_>, amended: Option<BodyView<'_>>, entry: Entry) {
        let mut waiting = self.spares.pop().unwrap_or(Waiting::BLANK);
        let amends = amended.is_some();
        waiting.fill(passing, amended.unwrap_or_else(|| body_of(&passing.chunk)));
        waiting.amended |= amends;
        waiting.held = entry == Entry::Held;
        if waiting.held {
            self.held_chunks += 1;
            self.held_length += waiting.length;
        }
        self.weight += waiting.weight;
        self.entries.push_back(waiting);
    }

    /// Settles the first held chunks, one for each item: amended, or as it is.
    pub(crate) fn settle<'a>(&mut self, bodies: impl Iterator<Item = Option<BodyView<'a>>>) {
        for (waiting, body) in self.entries.iter_mut().filter(|entry| entry.held).zip(bodies) {
            waiting.held = false;
            self.held_chunks -= 1;
            self.held_length -= waiting.length;
            if let Some(body) = body {
                self.weight -= waiting.weight;
                waiting.write(body);
                waiting.amended = true;
                self.weight += waiting.weight;
            }
        }
    }

    /// Settles every held chunk as it is.
    pub(crate) fn settle_all(&mut self) {
        self.settle(std::iter::repeat(None));
    }

    /// Takes every held chunk out and says which they were; the settled ones stay.
    pub(crate) fn drop_held(&mut self, mut dropped: impl FnMut(u64)) {
        self.entries.retain(|entry| {
            if entry.held {
                self.weight -= entry.weight;
                dropped(entry.seq);
            }
            !entry.held
        });
        (self.held_chunks, self.held_length) = (0, 0);
    }

    /// Takes the first chunk out if it is settled.
    pub(crate) fn pop_settled(&mut self) -> Option<Waiting> {
        if self.entries.front()?.held {
            return None;
        }
        let waiting = self.entries.pop_front()?;
        self.weight -= waiting.weight;
        Some(waiting)
    }

    /// Keeps an entry's buffers for a later one.
    pub(crate) fn recycle(&mut self, waiting: Waiting) {
        if self.spares.len() < SPARES && waiting.text.capacity() + waiting.payload.capacity() <= SPARE_TEXT {
            self.spares.push(waiting);
        }
    }

    /// Forgets everything that waits.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
