//! What is done wrong while chunks come.

use std::time::Duration;

use seam_plugin_api::prelude::*;

use crate::config::{Config, Fault};

pub(crate) struct Broken {
    config: Config,
    /// Which chunks are held.
    held: Vec<u64>,
}

/// A payload of a panic that panics when it is dropped, with another one of its kind.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        std::panic::panic_any(Self);
    }
}

impl Broken {
    pub(crate) fn new(config: Config) -> Self {
        Self { config, held: Vec::new() }
    }

    /// Before the place: holds, where there is something to be released wrongly.
    fn before(&mut self, chunk: &Chunk<'_>) -> Verdict {
        match self.config.fault {
            Fault::ReleaseUnknown | Fault::ReleaseTooMany | Fault::ReleaseOutOfOrder => {
                self.held.push(chunk.seq());
                Verdict::Buffer
            }
            _ => Verdict::Continue,
        }
    }

    fn release(&self, more: impl IntoIterator<Item = u64>) -> Verdict {
        let chunks = self.held.iter().copied().chain(more).map(Released::unchanged).collect();
        Verdict::Release(Release { chunks, strip_accumulated: None })
    }

    /// At the place.
    fn at(&self, chunk: &Chunk<'_>, context: &Context<'_>) -> Verdict {
        match self.config.fault {
            Fault::PanicChunk | Fault::PanicChunkAndDrop => self.config.panic(),
            Fault::PanicPayload => std::panic::panic_any(Bomb),
            Fault::NonJsonPayload => Verdict::Amend(NewChunk {
                payload: Some("{not JSON".to_owned()),
                ..NewChunk::with_text_of(chunk, chunk.text())
            }),
            Fault::BadChannel => Verdict::Emit(vec![Event::new("Not A Channel", "noise", "x".into())]),
            Fault::Emit => Verdict::Emit(vec![Event::new("broken", "noise", "x".into())]),
            Fault::ReleaseUnknown => self.release([chunk.seq() + 100]),
            Fault::ReleaseTooMany => self.release([chunk.seq(), chunk.seq() + 1]),
            Fault::ReleaseOutOfOrder => {
                let chunks = std::iter::once(chunk.seq()).chain(self.held.iter().copied()).map(Released::unchanged);
                Verdict::Release(Release { chunks: chunks.collect(), strip_accumulated: None })
            }
            Fault::StripTooMuch => {
                let too_much = context.delivered_length() + 1;
                Verdict::Release(Release { chunks: Vec::new(), strip_accumulated: Some(too_much) })
            }
            Fault::Stop => context.stop("broken"),
            Fault::AmendKind if chunk.kind() == ChunkKind::ContentDelta => Verdict::Amend(NewChunk {
                kind: ChunkKind::ReasoningDelta,
                ..NewChunk::with_text_of(chunk, chunk.text())
            }),
            Fault::Slow => {
                std::thread::sleep(Duration::from_millis(self.config.millis));
                Verdict::Continue
            }
            Fault::EndlessLoop => loop {
                std::thread::yield_now();
            },
            Fault::Exit => std::process::exit(7),
            Fault::Abort => std::process::abort(),
            _ => Verdict::Continue,
        }
    }
}

impl StreamObserver for Broken {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Verdict {
        if self.config.fault == Fault::HoldForever && context.seen() >= self.config.at {
            return Verdict::Buffer;
        }
        match context.seen().cmp(&self.config.at) {
            std::cmp::Ordering::Less => self.before(chunk),
            std::cmp::Ordering::Equal => self.at(chunk, context),
            std::cmp::Ordering::Greater => Verdict::Continue,
        }
    }

    fn on_end_invocation(&mut self, _: &InvocationResult<'_>) {
        if self.config.fault == Fault::PanicEnd {
            self.config.panic();
        }
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        if matches!(self.config.fault, Fault::PanicDrop | Fault::PanicChunkAndDrop) {
            self.config.panic();
        }
    }
}
