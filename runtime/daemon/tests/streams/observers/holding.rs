//! Observers that keep a stream back.

use seam_plugin_api::abi::Answer;
use seam_plugin_api::{Chunk, ChunkKind, Context};

use super::Answering;

/// Holds everything, and lets it go unchanged at each finish or only at the end of the stream.
#[derive(Debug)]
pub(crate) struct HoldsAll {
    pub(crate) until_finish: bool,
}

impl Answering for HoldsAll {
    fn answer(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Answer<'_> {
        if self.until_finish && chunk.kind() == ChunkKind::Finish {
            return Answer::Release { chunks: Vec::new(), strip_accumulated: None };
        }
        Answer::Buffer
    }
}

/// Stops in front of one chunk, counted from 0.
#[derive(Debug)]
pub(crate) struct StopsAt(pub(crate) u64);

impl Answering for StopsAt {
    fn answer(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Answer<'_> {
        if chunk.seq() < self.0 {
            return Answer::Continue;
        }
        Answer::Stop {
            reason: "as the matrix says",
            chunk_index: context.seen(),
            accumulated_content_length: context.delivered_length(),
        }
    }
}
