//! The observers of the matrix. None of them knows any protocol.

mod amending;
mod holding;
mod redacting;

use std::cell::RefCell;
use std::rc::Rc;

use seam_ladder::{Hold, Observer, OnEndHeld, Policy, Rung};
use seam_plugin_api::abi::{Answer, BodyView, Fault};
use seam_plugin_api::{Chunk, ChunkKind, Context, InvocationResult};

pub(crate) use amending::{Itself, MADE_NAME, TurnsToCall, UpperCases};
pub(crate) use holding::{HoldsAll, StopsAt};
pub(crate) use redacting::{MASK, Redacts, words};

/// A chunk that outlives its frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) seq: u64,
    pub(crate) choice: u32,
    pub(crate) kind: ChunkKind,
    pub(crate) text: String,
    pub(crate) payload: Option<String>,
}

impl Owned {
    pub(crate) fn new(chunk: &Chunk<'_>) -> Self {
        Self {
            seq: chunk.seq(),
            choice: chunk.choice(),
            kind: chunk.kind(),
            text: chunk.text().to_owned(),
            payload: chunk.payload().map(str::to_owned),
        }
    }

    pub(crate) fn view(&self) -> BodyView<'_> {
        BodyView { kind: self.kind, text: &self.text, payload: self.payload.as_deref() }
    }

    /// What its text belongs to: the choice, the kind and, of a tool call, its number.
    pub(crate) fn lane(&self) -> (u32, u8, u64) {
        let is_call = self.kind == ChunkKind::ToolCallDelta;
        (self.choice, self.kind.code(), if is_call { self.call_number() } else { 0 })
    }

    fn call_number(&self) -> u64 {
        self.payload_json().and_then(|payload| payload["index"].as_u64()).unwrap_or(0)
    }

    /// Whether its payload has a member of that name.
    fn names(&self, name: &str) -> bool {
        self.payload_json().is_some_and(|payload| payload.get(name).is_some())
    }

    fn payload_json(&self) -> Option<serde_json::Value> {
        self.payload.as_deref().and_then(|payload| serde_json::from_str(payload).ok())
    }
}

/// Whether chunks of this kind carry text.
pub(crate) fn is_text(kind: ChunkKind) -> bool {
    matches!(
        kind,
        ChunkKind::ContentDelta | ChunkKind::ReasoningDelta | ChunkKind::RefusalDelta | ChunkKind::ToolCallDelta
    )
}

/// Answers chunks; nothing else is asked of an observer of the matrix.
pub(crate) trait Answering {
    fn answer(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Answer<'_>;
}

/// Any of them, as a ladder takes it.
pub(crate) struct Any(Box<dyn Answering>);

impl Observer for Any {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Answer<'_> {
        self.0.answer(chunk, context)
    }

    fn on_end_invocation(&mut self, _: &InvocationResult<'_>) -> Result<(), Fault> {
        Ok(())
    }
}

/// A rung that may hold as much as there is.
pub(crate) fn rung(observer: impl Answering + 'static) -> Rung<Any> {
    Rung {
        observer: Any(Box::new(observer)),
        observer_id: "matrix".into(),
        plugin: "tests".into(),
        policy: Policy {
            on_end_held: OnEndHeld::Release,
            hold: Hold { chunks: 1 << 20, text: 1 << 30 },
            ..Policy::default()
        },
    }
}

/// Only watches, and keeps what it saw.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records(pub(crate) Rc<RefCell<Vec<Owned>>>);

impl Answering for Records {
    fn answer(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Answer<'_> {
        self.0.borrow_mut().push(Owned::new(chunk));
        Answer::Continue
    }
}
