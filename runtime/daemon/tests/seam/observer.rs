//! Observers that play a script: one move for each chunk, in order, and everything through when it is over.

use seam_ladder::{Observer, Policy, Rung};
use seam_plugin_api::abi::{Answer, BodyView, EventView, Fault, FaultKind, ReleasedView};
use seam_plugin_api::{Chunk, ChunkKind, Context, InvocationResult};

/// What an observer does with one chunk.
#[derive(Clone, Debug)]
pub(crate) enum Move {
    Continue,
    /// Another text; kind and payload stay.
    Amend(&'static str),
    /// Another kind, text and payload.
    Turn(ChunkKind, &'static str, Option<&'static str>),
    Emit,
    Buffer,
    /// Every held chunk, this one included.
    ReleaseAll,
    /// So many of the first held chunks, this one included; the first of them with this text.
    Release(usize, Option<&'static str>),
    Stop,
    Fault,
}

/// One observer and what the operator decided for it.
#[derive(Clone, Debug)]
pub(crate) struct Scripted {
    pub(crate) moves: Vec<Move>,
    pub(crate) policy: Policy,
}

impl Scripted {
    pub(crate) fn new(moves: impl IntoIterator<Item = Move>) -> Self {
        Self { moves: moves.into_iter().collect(), policy: Policy::default() }
    }

    pub(crate) fn with(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    pub(crate) fn rung(&self, nth: usize) -> Rung<Player> {
        Rung {
            observer: Player { moves: self.moves.clone().into_iter(), held: Vec::new(), payload: String::new() },
            observer_id: format!("observer-{nth}").into(),
            plugin: "tests".into(),
            policy: self.policy,
        }
    }
}

/// A [`Scripted`] at work.
pub(crate) struct Player {
    moves: std::vec::IntoIter<Move>,
    held: Vec<(u64, ChunkKind, Option<String>)>,
    /// What an answer of a kept payload borrows from.
    payload: String,
}

impl Observer for Player {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Answer<'_> {
        let this = (chunk.seq(), chunk.kind(), chunk.payload().map(str::to_owned));
        match self.moves.next().unwrap_or(Move::Continue) {
            Move::Continue => Answer::Continue,
            Move::Amend(text) => {
                let payload = this.2.is_some();
                self.payload = this.2.unwrap_or_default();
                Answer::Amend(BodyView { kind: this.1, text, payload: payload.then_some(&*self.payload) })
            }
            Move::Turn(kind, text, payload) => Answer::Amend(BodyView { kind, text, payload }),
            Move::Emit => Answer::Emit(vec![EventView { channel: "tests", kind: "seen", payload: "{}" }]),
            Move::Buffer => {
                self.held.push(this);
                Answer::Buffer
            }
            Move::ReleaseAll => {
                self.held.clear();
                Answer::Release { chunks: Vec::new(), strip_accumulated: None }
            }
            Move::Release(count, text) => {
                self.held.push(this);
                self.release(count, text)
            }
            Move::Stop => Answer::Stop {
                reason: "as scripted",
                chunk_index: context.seen(),
                accumulated_content_length: context.delivered_length(),
            },
            Move::Fault => Answer::Fault(Fault::new(FaultKind::Violation, "as scripted")),
        }
    }

    fn on_end_invocation(&mut self, _: &InvocationResult<'_>) -> Result<(), Fault> {
        Ok(())
    }
}

impl Player {
    fn release(&mut self, count: usize, text: Option<&'static str>) -> Answer<'_> {
        let count = count.clamp(1, self.held.len());
        let released: Vec<_> = self.held.drain(..count).collect();
        let has_payload = released[0].2.is_some();
        self.payload = released[0].2.clone().unwrap_or_default();
        let payload = has_payload.then_some(&*self.payload);
        let mut chunks: Vec<_> = released.iter().map(|&(seq, ..)| ReleasedView { seq, amended: None }).collect();
        chunks[0].amended = text.map(|text| BodyView { kind: released[0].1, text, payload });
        Answer::Release { chunks, strip_accumulated: None }
    }
}
