//! The rule: what is counted of chunks with text, and what follows from the counts.

use seam_plugin_api::{ChunkKind, serde_json};
use serde_json::{Value, json};

/// The upper bounds of the buckets for times between chunks, in seconds; one more bucket has none. They are those that
/// OpenTelemetry advises for the time per output chunk of a generative model.
pub const BOUNDS: [f64; 14] = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// The bounds in nanoseconds, to compare without rounding.
const BOUNDS_NANOS: [u64; 14] = {
    let mut bounds = [10_000_000; 14];
    let mut at = 1;
    while at < bounds.len() {
        bounds[at] = bounds[at - 1] * 2;
        at += 1;
    }
    bounds
};

/// What kind of text a chunk carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// The answer.
    Content,
    /// The model's reasoning.
    Reasoning,
    /// A provider-side refusal.
    Refusal,
    /// The arguments of a tool call.
    ToolArguments,
}

impl TextKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Content, Self::Reasoning, Self::Refusal, Self::ToolArguments];

    /// The kind of a chunk's text; `None` for chunks that carry none of the model's.
    #[must_use]
    pub const fn of(kind: ChunkKind) -> Option<Self> {
        match kind {
            ChunkKind::ContentDelta => Some(Self::Content),
            ChunkKind::ReasoningDelta => Some(Self::Reasoning),
            ChunkKind::RefusalDelta => Some(Self::Refusal),
            ChunkKind::ToolCallDelta => Some(Self::ToolArguments),
            _ => None,
        }
    }
}

/// The counts of a sequence of chunks. Its size is fixed: nothing is allocated however many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    chunks: u64,
    characters: [u64; TextKind::ALL.len()],
    /// When the first chunk came, in nanoseconds since the start of the invocation; meaningless without chunks.
    first_nanos: u64,
    last_nanos: u64,
    gaps: Gaps,
}

/// The times between neighbouring chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    count: u64,
    longest_nanos: u64,
    buckets: [u64; BOUNDS.len() + 1],
}

impl Tally {
    /// Counts a chunk. An arrival before the last one counts as the same.
    pub fn add(&mut self, kind: TextKind, characters: u64, arrival_nanos: u64) {
        if self.chunks == 0 {
            self.first_nanos = arrival_nanos;
        } else {
            self.gaps.add(arrival_nanos.saturating_sub(self.last_nanos));
        }
        self.chunks += 1;
        self.characters[kind as usize] += characters;
        self.last_nanos = self.last_nanos.max(arrival_nanos);
    }

    /// How many chunks there were.
    #[must_use]
    pub const fn chunks(&self) -> u64 {
        self.chunks
    }

    /// How many characters there were of a kind of text.
    #[must_use]
    pub const fn characters(&self, kind: TextKind) -> u64 {
        self.characters[kind as usize]
    }

    /// How many characters there were of every kind.
    #[must_use]
    pub fn all_characters(&self) -> u64 {
        self.characters.iter().sum()
    }

    /// From the start of the invocation to the first chunk, in seconds.
    #[must_use]
    pub fn time_to_first_chunk(&self) -> Option<f64> {
        (self.chunks > 0).then(|| seconds(self.first_nanos))
    }

    /// Characters of every kind by the time from the first chunk to the last; `None` where no time passed.
    #[must_use]
    pub fn characters_per_second(&self) -> Option<f64> {
        let passed = self.last_nanos.saturating_sub(self.first_nanos);
        (self.chunks > 0 && passed > 0).then(|| self.all_characters() as f64 / seconds(passed))
    }

    /// The mean time between neighbouring chunks, in seconds.
    #[must_use]
    pub fn mean_gap(&self) -> Option<f64> {
        let passed = self.last_nanos.saturating_sub(self.first_nanos);
        (self.gaps.count > 0).then(|| seconds(passed) / self.gaps.count as f64)
    }

    /// The longest time between neighbouring chunks, in seconds.
    #[must_use]
    pub fn longest_gap(&self) -> Option<f64> {
        (self.gaps.count > 0).then(|| seconds(self.gaps.longest_nanos))
    }

    /// The counts alone.
    #[must_use]
    pub fn counts(&self) -> Value {
        json!({
            "chunks": self.chunks,
            "characters": {
                "content": self.characters(TextKind::Content),
                "reasoning": self.characters(TextKind::Reasoning),
                "refusal": self.characters(TextKind::Refusal),
                "tool_arguments": self.characters(TextKind::ToolArguments),
            },
        })
    }

    /// The counts and everything that follows from them.
    #[must_use]
    pub fn summary(&self) -> Value {
        let mut summary = self.counts();
        summary["time_to_first_chunk_seconds"] = json!(self.time_to_first_chunk());
        summary["characters_per_second"] = json!(self.characters_per_second());
        summary["between_chunks"] = json!({
            "mean_seconds": self.mean_gap(),
            "max_seconds": self.longest_gap(),
            "bounds_seconds": BOUNDS,
            "counts": self.gaps.buckets,
        });
        summary
    }
}

impl Gaps {
    fn add(&mut self, nanos: u64) {
        self.count += 1;
        self.longest_nanos = self.longest_nanos.max(nanos);
        self.buckets[BOUNDS_NANOS.partition_point(|bound| *bound < nanos)] += 1;
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MILLISECOND: u64 = 1_000_000;

    fn tally(chunks: &[(TextKind, u64, u64)]) -> Tally {
        let mut tally = Tally::default();
        for (kind, characters, milliseconds) in chunks {
            tally.add(*kind, *characters, milliseconds * MILLISECOND);
        }
        tally
    }

    #[test]
    fn a_summary_says_what_came_and_when() {
        let tally = tally(&[
            (TextKind::Reasoning, 5, 250),
            (TextKind::Content, 10, 260),
            (TextKind::Content, 10, 271),
            (TextKind::ToolArguments, 25, 2250),
            (TextKind::Refusal, 50, 90_250),
        ]);
        let mut counts = [0; 15];
        (counts[0], counts[1], counts[8], counts[14]) = (1, 1, 1, 1);
        let expected = json!({
            "chunks": 5,
            "characters": { "content": 20, "reasoning": 5, "refusal": 50, "tool_arguments": 25 },
            "time_to_first_chunk_seconds": 0.25,
            "characters_per_second": 100.0 / 90.0,
            "between_chunks": {
                "mean_seconds": 22.5,
                "max_seconds": 88.0,
                "bounds_seconds": BOUNDS,
                "counts": counts,
            },
        });
        assert_eq!(tally.summary(), expected);
    }

    #[test]
    fn what_cannot_be_known_is_null() {
        let nothing = Tally::default().summary();
        assert_eq!(nothing["time_to_first_chunk_seconds"], Value::Null);
        let single = tally(&[(TextKind::Content, 10, 250)]).summary();
        assert_eq!(single["time_to_first_chunk_seconds"], 0.25);
        assert_eq!(single["characters_per_second"], Value::Null);
        assert_eq!(single["between_chunks"]["mean_seconds"], Value::Null);
        assert_eq!(single["between_chunks"]["max_seconds"], Value::Null);
    }

    #[test]
    fn a_gap_of_just_a_bound_is_within_it() {
        let tally = tally(&[(TextKind::Content, 1, 0), (TextKind::Content, 1, 10), (TextKind::Content, 1, 30)]);
        assert_eq!(tally.gaps.buckets[..3], [1, 1, 0]);
    }

    #[test]
    fn the_bounds_are_the_same_in_both_units() {
        for (bound, nanos) in BOUNDS.iter().zip(BOUNDS_NANOS) {
            assert!((bound - seconds(nanos)).abs() < 1e-9);
        }
    }

    proptest! {
        #[test]
        fn the_parts_agree_with_the_whole(
            chunks in prop::collection::vec((0..4_usize, 0..1000_u64, 0..100_000_u64), 1..50)
        ) {
            let chunks: Vec<_> = chunks.into_iter().map(|(kind, n, at)| (TextKind::ALL[kind], n, at)).collect();
            let tally = tally(&chunks);
            prop_assert_eq!(tally.chunks(), chunks.len() as u64);
            prop_assert_eq!(tally.all_characters(), chunks.iter().map(|chunk| chunk.1).sum::<u64>());
            prop_assert_eq!(tally.gaps.buckets.iter().sum::<u64>(), tally.chunks() - 1);
            if let (Some(mean), Some(longest)) = (tally.mean_gap(), tally.longest_gap()) {
                prop_assert!(mean <= longest + 1e-9);
                // Neighbours whose times go backwards share the later one, so the gaps add up to the whole.
                let whole = seconds(tally.last_nanos - tally.first_nanos);
                prop_assert!((mean * (tally.chunks() - 1) as f64 - whole).abs() < 1e-6);
            }
        }
    }
}
