//! An input, taken apart: a plan of fixed length, then the stream.

use bytes::Bytes;
use seam_wire::{Framing, Protocol};

/// How long the plan is. What an input lacks of it is zero.
pub(crate) const PLAN: usize = 24;

/// The bytes of the plan that say how the stream is cut into reads, in turn.
const CUTS: std::ops::Range<usize> = 0..6;

/// Those that say what becomes of the chunks, in turn.
const EDITS: std::ops::Range<usize> = 12..PLAN;

/// One input.
#[derive(Clone, Debug)]
pub(crate) struct Case<'a> {
    plan: [u8; PLAN],
    pub(crate) stream: &'a [u8],
}

/// What is done with the chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Each is replaced by itself: what comes out is equal as JSON.
    Itself,
    /// Texts are replaced and removed: what comes out says the new texts.
    Texts,
    /// Anything may become anything: what comes out is well-formed.
    Anything,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As the provider ends it.
    Provider,
    /// An observer stops it before the chunk of this number.
    Stop(usize),
    /// It fails before the frame of this number leaves.
    Error(usize),
}

impl<'a> Case<'a> {
    pub(crate) fn read(input: &'a [u8]) -> Self {
        let (head, stream) = input.split_at(input.len().min(PLAN));
        let mut plan = [0; PLAN];
        plan.iter_mut().zip(head).for_each(|(place, byte)| *place = *byte);
        Self { plan, stream }
    }

    /// The framing; only Gemini has two.
    pub(crate) fn framing(&self, protocol: Protocol) -> Framing {
        match protocol {
            Protocol::Gemini if self.plan[6] & 1 == 1 => Framing::JsonArray,
            _ => Framing::Sse,
        }
    }

    pub(crate) fn is_body(&self) -> bool {
        self.plan[6] & 2 != 0
    }

    pub(crate) fn mode(&self) -> Mode {
        match self.plan[7] % 4 {
            0 => Mode::Itself,
            1 => Mode::Texts,
            _ => Mode::Anything,
        }
    }

    pub(crate) fn end(&self) -> End {
        let at = usize::from(self.plan[9]);
        match self.plan[8] % 4 {
            0 => End::Stop(at),
            1 => End::Error(at),
            _ => End::Provider,
        }
    }

    /// How many frames wait before the first of them leaves.
    pub(crate) fn lag(&self) -> usize {
        usize::from(self.plan[10] % 8)
    }

    /// Whether a keep-alive goes before the frame of this number.
    pub(crate) fn keeps_alive(&self, frame: usize) -> bool {
        self.plan[11] != 0 && frame.is_multiple_of(usize::from(self.plan[11]))
    }

    /// The byte that says what becomes of the chunk of this number.
    pub(crate) fn edit(&self, chunk: usize) -> u8 {
        self.plan[EDITS][chunk % EDITS.len()]
    }

    /// The stream as the plan cuts it.
    pub(crate) fn reads(&self) -> Vec<Bytes> {
        let sizes: Vec<usize> = self.plan[CUTS].iter().map(|size| usize::from(*size)).collect();
        cut(self.stream, &sizes)
    }

    /// The stream in one read.
    pub(crate) fn whole(&self) -> Vec<Bytes> {
        vec![Bytes::copy_from_slice(self.stream)]
    }

    /// The stream byte by byte.
    pub(crate) fn bytes(&self) -> Vec<Bytes> {
        cut(self.stream, &[1])
    }
}

/// Cuts bytes into reads of the sizes in turn. A size of nothing is one empty read, unless all are.
fn cut(mut bytes: &[u8], sizes: &[usize]) -> Vec<Bytes> {
    if sizes.iter().all(|size| *size == 0) {
        return vec![Bytes::copy_from_slice(bytes)];
    }
    let mut reads = Vec::new();
    for size in sizes.iter().cycle() {
        if bytes.is_empty() {
            break;
        }
        let (read, rest) = bytes.split_at(bytes.len().min(*size));
        reads.push(Bytes::copy_from_slice(read));
        bytes = rest;
    }
    reads
}
