//! The held chunks of an invocation, over all choices, and which of them may go on.
//!
//! A release settles the first held chunks, whatever choice they are of. What was decided for one choice therefore
//! waits where an undecided chunk of another stands before it. Chunks that were decided together go on together: were
//! the stream to end between them, the rest would go on unchanged and say again what the first ones said.

use std::collections::VecDeque;

use seam_plugin_api::{Chunk, NewChunk, Released};

/// Names chunks that are decided together.
pub(crate) type GroupId = u64;

/// What this observer holds.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    held: VecDeque<Held>,
    waiting: Load,
}

#[derive(Debug)]
struct Held {
    seq: u64,
    group: GroupId,
    /// The chunk's own, which what takes its place keeps.
    payload: Option<String>,
    /// Bytes of its text.
    length: usize,
    outcome: Outcome,
    /// This chunk, and those behind it that were let go and wait for it.
    load: Load,
}

#[derive(Debug)]
enum Outcome {
    Undecided,
    Unchanged,
    Amended(NewChunk),
}

/// How much waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) chunks: u64,
    /// Unicode scalar values of texts and payloads: the daemon's bound is one on both.
    pub(crate) characters: u64,
}

impl Load {
    fn of(chunk: &Chunk<'_>) -> Self {
        let payload = chunk.payload().unwrap_or_default();
        Self { chunks: 1, characters: (chunk.text().chars().count() + payload.chars().count()) as u64 }
    }

    fn add(&mut self, other: Self) {
        self.chunks += other.chunks;
        self.characters += other.characters;
    }
}

/// A held chunk, for whoever decides about it.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    /// Bytes of its text.
    pub(crate) length: usize,
    /// Its own payload.
    pub(crate) payload: &'a Option<String>,
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Everything that waits in the daemon's queue for this observer, what was let go behind held chunks included.
    pub(crate) const fn waiting(&self) -> Load {
        self.waiting
    }

    /// Holds a chunk of a group until the group is decided.
    pub(crate) fn hold(&mut self, chunk: &Chunk<'_>, group: GroupId) {
        self.push(chunk, group, Outcome::Undecided);
    }

    /// Holds a chunk that is decided and has to wait for those before it.
    pub(crate) fn hold_unchanged(&mut self, chunk: &Chunk<'_>, group: GroupId) {
        self.push(chunk, group, Outcome::Unchanged);
    }

    fn push(&mut self, chunk: &Chunk<'_>, group: GroupId, outcome: Outcome) {
        let load = Load::of(chunk);
        self.waiting.add(load);
        let payload = chunk.payload().map(str::to_owned);
        self.held.push_back(Held { seq: chunk.seq(), group, payload, length: chunk.text().len(), outcome, load });
    }

    /// Counts a chunk that is let go behind the held ones.
    pub(crate) fn let_wait(&mut self, chunk: &Chunk<'_>) {
        let load = Load::of(chunk);
        if let Some(last) = self.held.back_mut() {
            last.load.add(load);
            self.waiting.add(load);
        }
    }

    /// How many chunks of a group are held.
    pub(crate) fn count(&self, group: GroupId) -> usize {
        self.held.iter().filter(|held| held.group == group).count()
    }

    /// Decides a group: `decide` is asked once for each of its chunks, in order; `None` leaves a chunk as it is.
    pub(crate) fn decide(&mut self, group: GroupId, mut decide: impl FnMut(Slot<'_>) -> Option<NewChunk>) {
        for held in self.held.iter_mut().filter(|held| held.group == group) {
            let slot = Slot { length: held.length, payload: &held.payload };
            held.outcome = decide(slot).map_or(Outcome::Unchanged, Outcome::Amended);
        }
    }

    /// Takes out the longest front in which everything is decided and no group is cut in two.
    pub(crate) fn take_front(&mut self) -> Vec<Released> {
        let length = self.whole_front();
        let front = self.held.drain(..length).map(|held| {
            self.waiting.chunks -= held.load.chunks;
            self.waiting.characters -= held.load.characters;
            let amended = if let Outcome::Amended(chunk) = held.outcome { Some(chunk) } else { None };
            Released { seq: held.seq, amended }
        });
        front.collect()
    }

    fn whole_front(&self) -> usize {
        let is_undecided = |held: &Held| matches!(held.outcome, Outcome::Undecided);
        let mut length = self.held.iter().position(is_undecided).unwrap_or(self.held.len());
        let goes_on_behind = |group, length| self.held.iter().skip(length).any(|held| held.group == group);
        while let Some(cut) = self.held.iter().take(length).position(|held| goes_on_behind(held.group, length)) {
            length = cut;
        }
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seam_plugin_api::ChunkKind;

    fn chunk(seq: u64) -> Chunk<'static> {
        Chunk::new(seq, 0, ChunkKind::ContentDelta, "four", None)
    }

    fn queue(groups: &[GroupId]) -> Queue {
        let mut queue = Queue::default();
        for (seq, group) in (0..).zip(groups) {
            queue.hold(&chunk(seq), *group);
        }
        queue
    }

    fn take(queue: &mut Queue) -> Vec<u64> {
        queue.take_front().into_iter().map(|released| released.seq).collect()
    }

    #[test]
    fn what_is_decided_goes_on_up_to_what_is_not() {
        let mut queue = queue(&[1, 2, 3, 2]);
        queue.decide(1, |_| None);
        assert_eq!(take(&mut queue), [0]);
        queue.decide(3, |_| None);
        assert!(take(&mut queue).is_empty());
        queue.decide(2, |_| Some(NewChunk::content("x")));
        assert_eq!(take(&mut queue), [1, 2, 3]);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_group_is_not_cut_in_two() {
        let mut queue = queue(&[1, 2, 1, 3, 2]);
        queue.decide(1, |_| None);
        queue.decide(2, |_| None);
        // 3 stands between the chunks of 2, of which one stands between those of 1.
        assert!(take(&mut queue).is_empty());
        queue.decide(3, |_| None);
        assert_eq!(take(&mut queue), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn what_waits_behind_a_held_chunk_counts_until_that_goes_on() {
        let mut queue = queue(&[1, 2]);
        queue.let_wait(&chunk(2));
        queue.decide(1, |_| None);
        assert_eq!(queue.waiting(), Load { chunks: 3, characters: 12 });
        assert_eq!(take(&mut queue), [0]);
        assert_eq!(queue.waiting(), Load { chunks: 2, characters: 8 });
        queue.decide(2, |_| None);
        assert_eq!(take(&mut queue), [1]);
        assert_eq!(queue.waiting(), Load::default());
    }
}
