//! A ladder of ten different loaded plugins against a bare loop over ten boxed trait objects that do the same work.

use std::hint::black_box;
use std::io;

use e2e::figures::{Direction, record};
use crate::loaded::{ladder_of, load, measured_plugin};
use seam_host::LoadedObserver;
use seam_ladder::Ladder;
use seam_plugin_api::{Chunk, ChunkKind};

use crate::counting::allocations;
use crate::rounds::compare;
use crate::work::Work;

/// Chunks of one stream: a long answer.
const CHUNKS: u64 = 2_000;

/// A usual chunk's text.
const TEXT: &str = " the quick brown fox is";

trait InProcess {
    fn on_chunk(&mut self, chunk: &Chunk<'_>) -> bool;
}

impl<const N: usize> InProcess for Work<N> {
    fn on_chunk(&mut self, chunk: &Chunk<'_>) -> bool {
        self.look(chunk.seq(), chunk.text())
    }
}

pub(crate) fn measure() -> io::Result<()> {
    let specs: Vec<_> = (0..10).map(|n| measured_plugin(n).map(|path| (path, "{}".to_owned()))).collect::<Result<_, _>>()?;
    let generation = load(&specs)?;
    let (ratio, ladder, bare) = compare(|| push_all(&mut ladder_of(&generation), 0), || call_all(&mut boxes()));
    let each = |nanos: f64| nanos / CHUNKS as f64 / 10.0;
    println!("a call in the ladder {:.2} ns, in the bare loop {:.2} ns", each(ladder), each(bare));
    record("ladder with ten loaded plugins that answer continue, against ten boxed trait objects", ratio, "times", 3.0, Direction::AtMost)?;

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
    record("allocations for a chunk that passes ten observers unchanged", per_chunk, "allocations", 0.0, Direction::AtMost)?;
    Ok(())
}


fn push_all(ladder: &mut Ladder<LoadedObserver>, first: u64) {
    let mut sink = crate::loaded::Nowhere;
    for seq in first..first + CHUNKS {
        let chunk = Chunk::new(seq, 0, ChunkKind::ContentDelta, TEXT, None);
        let _ = ladder.push(black_box(&chunk), seq, &mut sink);
    }
}

fn boxes() -> [Box<dyn InProcess>; 10] {
    [
        Box::new(Work::<0>::new()),
        Box::new(Work::<1>::new()),
        Box::new(Work::<2>::new()),
        Box::new(Work::<3>::new()),
        Box::new(Work::<4>::new()),
        Box::new(Work::<5>::new()),
        Box::new(Work::<6>::new()),
        Box::new(Work::<7>::new()),
        Box::new(Work::<8>::new()),
        Box::new(Work::<9>::new()),
    ]
}

fn call_all(boxes: &mut [Box<dyn InProcess>; 10]) {
    for seq in 0..CHUNKS {
        let chunk = Chunk::new(seq, 0, ChunkKind::ContentDelta, TEXT, None);
        for observer in boxes.iter_mut() {
            black_box(observer.on_chunk(black_box(&chunk)));
        }
    }
}
