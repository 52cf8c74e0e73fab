//! A ladder of ten different loaded plugins against a bare loop over ten boxed trait objects that do the same work.

use std::hint::black_box;
use std::io;

use crate::loaded::{invocation, ladder_of, load, measured_plugin};
use e2e::figures::{Direction, record};
use seam_host::LoadedObserver;
use seam_ladder::Ladder;
use seam_plugin_api::abi::ValueSource;
use seam_plugin_api::{Chunk, ChunkKind, Context, Progress, StreamObserver, Verdict};

use crate::counting::allocations;
use crate::rounds::compare;
use crate::work::Work;

/// Chunks of one stream: a long answer.
const CHUNKS: u64 = 2_000;

/// A usual chunk's text.
const TEXT: &str = " the quick brown fox is";

/// The measured observer without a library around it.
struct InProcess<const N: usize>(Work<N>);

impl<const N: usize> StreamObserver for InProcess<N> {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Verdict {
        if self.0.look(chunk.seq(), chunk.text()) { context.stop("never") } else { Verdict::Continue }
    }
}

pub(crate) fn measure() -> io::Result<()> {
    let specs: Vec<_> =
        (0..10).map(|n| measured_plugin(n).map(|path| (path, "{}".to_owned()))).collect::<Result<_, _>>()?;
    let generation = load(&specs)?;
    let (ratio, ladder, bare) = compare(|| push_all(&mut ladder_of(&generation), 0), || call_all(&mut boxes()));
    let each = |nanos: f64| nanos / CHUNKS as f64 / 10.0;
    println!("a call in the ladder {:.2} ns, in the bare loop {:.2} ns", each(ladder), each(bare));
    record(
        "ladder with ten loaded plugins that answer continue, against ten boxed trait objects",
        ratio,
        "times",
        3.0,
        Direction::AtMost,
    )?;

    let mut ladder = ladder_of(&generation);
    push_all(&mut ladder, 0);
    let made = allocations(|| {
        let mut sink = crate::loaded::Nowhere;
        // The text that is delivered grows as long as the answer does; what is counted is a chunk that adds none.
        for seq in CHUNKS..2 * CHUNKS {
            let chunk = Chunk::new(seq, 0, ChunkKind::ReasoningDelta, TEXT, None);
            let _ = ladder.push(black_box(&chunk), seq, &mut sink);
        }
    });
    let per_chunk = made as f64 / CHUNKS as f64;
    record(
        "allocations for a chunk that passes ten observers unchanged",
        per_chunk,
        "allocations",
        0.0,
        Direction::AtMost,
    )?;
    Ok(())
}

fn push_all(ladder: &mut Ladder<LoadedObserver>, first: u64) {
    let mut sink = crate::loaded::Nowhere;
    for seq in first..first + CHUNKS {
        let chunk = Chunk::new(seq, 0, ChunkKind::ContentDelta, TEXT, None);
        let _ = ladder.push(black_box(&chunk), seq, &mut sink);
    }
}

fn boxes() -> [Box<dyn StreamObserver>; 10] {
    [
        Box::new(InProcess::<0>(Work::new())),
        Box::new(InProcess::<1>(Work::new())),
        Box::new(InProcess::<2>(Work::new())),
        Box::new(InProcess::<3>(Work::new())),
        Box::new(InProcess::<4>(Work::new())),
        Box::new(InProcess::<5>(Work::new())),
        Box::new(InProcess::<6>(Work::new())),
        Box::new(InProcess::<7>(Work::new())),
        Box::new(InProcess::<8>(Work::new())),
        Box::new(InProcess::<9>(Work::new())),
    ]
}

/// The bare loop: the same trait, chunks and contexts, and nothing of what a ladder does.
fn call_all(boxes: &mut [Box<dyn StreamObserver>; 10]) {
    let invocation = invocation();
    for seq in 0..CHUNKS {
        let chunk = Chunk::new(seq, 0, ChunkKind::ContentDelta, TEXT, None);
        let context = Context::new(Progress::default(), ValueSource::of(&invocation));
        for observer in boxes.iter_mut() {
            if black_box(observer.on_chunk(black_box(&chunk), black_box(&context))) != Verdict::Continue {
                return;
            }
        }
    }
}
