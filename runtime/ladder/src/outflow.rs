//! The far end of the ladder: what goes out, in order, and what is counted of it.

use std::collections::BTreeSet;

use seam_plugin_api::ChunkKind;

use crate::queue::{Passing, body_of};
use crate::sink::{Amended, Sink};
use crate::texts::Texts;

#[derive(Default)]
pub(crate) struct Outflow {
    pub(crate) texts: Texts,
    chunks_out: u64,
    envelopes: u64,
    discarded: u64,
    /// Discarded chunks that earlier ones must still come out before.
    dropped: BTreeSet<u64>,
}

impl Outflow {
    /// A chunk has come through every rung.
    #[inline]
    pub(crate) fn let_out<S: Sink>(&mut self, passing: &Passing<'_>, sink: &mut S) {
        let chunk = &passing.chunk;
        if !self.dropped.is_empty() {
            self.tell_dropped(Some(chunk.seq()), sink);
        }
        self.chunks_out += 1;
        if chunk.kind() == ChunkKind::ContentDelta {
            self.texts.append(chunk.choice(), chunk.text());
        }
        if passing.amended {
            sink.amended(&Amended {
                seq: chunk.seq(),
                choice: chunk.choice(),
                original: passing.original,
                body: body_of(chunk),
            });
        } else {
            sink.pass(chunk);
        }
    }

    /// A chunk will never come out. The sink learns it in its turn.
    pub(crate) fn drop_chunk(&mut self, seq: u64) {
        self.dropped.insert(seq);
        self.discarded += 1;
    }

    /// Tells the sink of discarded chunks: those before `until`, or all.
    pub(crate) fn tell_dropped<S: Sink>(&mut self, until: Option<u64>, sink: &mut S) {
        while let Some(seq) = self.dropped.first().copied().filter(|seq| until.is_none_or(|until| *seq < until)) {
            self.dropped.remove(&seq);
            sink.discard(seq);
        }
    }

    /// The number of the next envelope.
    pub(crate) const fn next_ordinal(&mut self) -> u64 {
        let ordinal = self.envelopes;
        self.envelopes += 1;
        ordinal
    }

    pub(crate) const fn chunks_out(&self) -> u64 {
        self.chunks_out
    }

    pub(crate) const fn discarded(&self) -> u64 {
        self.discarded
    }
}
