//! Which observer is being called right now, for whoever watches the ladder from another thread.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of a beat that name the rung; the rest name the chunk.
const RUNG_BITS: u32 = 16;
const RUNG_MASK: u64 = (1 << RUNG_BITS) - 1;

/// The heartbeat of one ladder: a single word, stored before each call and cleared after each push. Reading and storing
/// are relaxed; a watcher sees a call late by no more than the memory system takes.
#[derive(Debug, Default)]
pub struct Pulse(AtomicU64);

/// What a pulse showed at one moment. Two equal beats that are not idle show the same call: a chunk meets each rung once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat(u64);

impl Pulse {
    /// What is going on now.
    #[must_use]
    pub fn beat(&self) -> Beat {
        Beat(self.0.load(Ordering::Relaxed))
    }

    /// The index of the rung whose observer is being called, or `None` between chunks.
    #[must_use]
    pub fn current(&self) -> Option<usize> {
        self.beat().rung()
    }

    /// A call begins. `seq` and `rung` beyond 48 and 16 bits wrap: a watcher would then take one call for another, which
    /// no stream is long enough for.
    #[inline]
    pub(crate) fn call(&self, seq: u64, rung: usize) {
        self.0.store((seq << RUNG_BITS) | ((rung as u64 + 1) & RUNG_MASK), Ordering::Relaxed);
    }

    /// No call is going on.
    #[inline]
    pub(crate) fn rest(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Beat {
    /// The index of the rung that is being called, or `None`.
    #[must_use]
    pub fn rung(self) -> Option<usize> {
        usize::try_from(self.0 & RUNG_MASK).ok()?.checked_sub(1)
    }

    /// The chunk that it is being shown, its lowest 48 bits; all of them set: it is being told the end.
    #[must_use]
    pub const fn seq(self) -> u64 {
        self.0 >> RUNG_BITS
    }

    /// The `seq` of a beat in which an observer is being told how the invocation ended.
    pub const END: u64 = u64::MAX >> RUNG_BITS;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_names_chunk_and_rung() {
        let pulse = Pulse::default();
        assert_eq!(pulse.current(), None);
        pulse.call(7, 0);
        assert_eq!((pulse.beat().rung(), pulse.beat().seq()), (Some(0), 7));
        let earlier = pulse.beat();
        pulse.call(8, 0);
        assert_ne!(pulse.beat(), earlier, "the same rung with another chunk is another call");
        pulse.call(Beat::END, 9);
        assert_eq!((pulse.current(), pulse.beat().seq()), (Some(9), Beat::END));
        pulse.rest();
        assert_eq!(pulse.current(), None);
    }
}
