//! Where a stream is cut into reads.

use std::ops::Range;

use crate::corpus::Source;

/// Streams shorter than this, in bytes, are cut at every position.
const SHORT: usize = 4 * 1024;

/// A few numbers that look random and are the same in each run.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(name: &str) -> Self {
        Self(
            name.bytes()
                .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
                | 1,
        )
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

/// Where one feeding of a stream is cut, with a name for it.
#[derive(Clone, Debug)]
pub(crate) struct Cuts {
    pub(crate) name: String,
    pub(crate) at: Vec<usize>,
}

/// Whole.
fn whole() -> Cuts {
    Cuts { name: "whole".into(), at: Vec::new() }
}

/// One byte at a time.
fn each_byte(source: &Source) -> Cuts {
    Cuts { name: "byte by byte".into(), at: (1..source.bytes.len()).collect() }
}

/// A few times at random places.
fn random(source: &Source, times: usize) -> Vec<Cuts> {
    let mut random = Random::new(&source.name);
    let length = source.bytes.len().max(2);
    let once = |nth: usize| {
        let mut at: Vec<usize> = (0..=random.below(12)).map(|_| 1 + random.below(length - 1)).collect();
        at.sort_unstable();
        at.dedup();
        Cuts { name: format!("cut at random ({nth}) at {at:?}"), at }
    };
    (0..times).map(once).collect()
}

/// Short streams at every position, each frame at one of its own in each turn; none of a long one.
fn every_position(source: &Source) -> Vec<Cuts> {
    if source.bytes.len() >= SHORT {
        return Vec::new();
    }
    let ranges: Vec<_> = source.frames().into_iter().map(|frame| frame.range).collect();
    let longest = ranges.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
    (0..longest).map(|offset| cut_at_offset(&ranges, offset)).collect()
}

fn cut_at_offset(ranges: &[Range<usize>], offset: usize) -> Cuts {
    let at = ranges.iter().filter(|range| offset < range.len()).map(|range| range.start + offset);
    Cuts { name: format!("each frame cut at byte {offset} of it"), at: at.filter(|at| *at > 0).collect() }
}

/// All of these ways.
pub(crate) fn every_way(source: &Source) -> Vec<Cuts> {
    let fixed = [whole(), each_byte(source)];
    fixed.into_iter().chain(random(source, 3)).chain(every_position(source)).collect()
}

/// As [`every_way`], with some of the positions alone: what a frame becomes does not depend on the reads that it came in.
pub(crate) fn some_ways(source: &Source) -> Vec<Cuts> {
    const POSITIONS: usize = 6;
    let positions = every_position(source);
    let picked = sample(&source.name, positions.len(), POSITIONS);
    let picked: Vec<Cuts> = picked.into_iter().map(|at| positions[at].clone()).collect();
    [whole(), each_byte(source)].into_iter().chain(random(source, 3)).chain(picked).collect()
}

/// At most so many of these positions: all if they are few, else the first, the last and some at random.
pub(crate) fn sample(name: &str, count: usize, most: usize) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    let mut random = Random::new(name);
    let mut picked: Vec<usize> =
        (0..most.saturating_sub(2)).map(|_| random.below(count)).chain([0, count - 1]).collect();
    picked.sort_unstable();
    picked.dedup();
    picked
}
