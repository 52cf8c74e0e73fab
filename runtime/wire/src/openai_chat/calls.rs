//! What is remembered of one choice, and the numbers of its tool calls.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::positions::Positions;

/// One choice of the answer.
#[derive(Debug)]
pub(super) struct ChoiceState {
    pub(super) choice: u32,
    /// The client saw it begin.
    pub(super) opened: bool,
    /// The client saw its finish reason.
    pub(super) finished: bool,
    /// Some text of it was delivered other than it came in.
    pub(super) altered: bool,
    /// Where its content went out otherwise.
    pub(super) positions: Positions,
    /// The provider's tool calls so far.
    calls: Vec<Call>,
    /// Tool calls that were put in the place of other chunks.
    pub(super) made: Vec<MadeCall>,
    /// Indices of the provider's calls that a made call had taken, with what they were given instead.
    moved: Vec<(u32, u32)>,
}

/// One tool call of the provider.
#[derive(Debug)]
struct Call {
    /// The number that observers see.
    shown: u32,
    /// The index that the provider sent, if it sent one.
    sent: Option<u32>,
    id: Option<CallId>,
}

/// A call's id, in little memory: a stream may have many calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CallId(u64);

impl CallId {
    /// None if the id says nothing.
    fn of(id: &str) -> Option<Self> {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        (!id.is_empty()).then(|| Self(hasher.finish()))
    }
}

/// A tool call that the provider did not send.
#[derive(Debug)]
pub(super) struct MadeCall {
    /// The index that its chunk asked for.
    asked: u32,
    /// The index that it was written with; no call of the provider has it.
    pub(super) wire: u32,
}

impl ChoiceState {
    pub(super) fn new(choice: u32) -> Self {
        Self {
            choice,
            opened: false,
            finished: false,
            altered: false,
            positions: Positions::default(),
            calls: Vec::new(),
            made: Vec::new(),
            moved: Vec::new(),
        }
    }

    /// The number of the call that a fragment belongs to. Some providers send no index, or one index for several calls:
    /// a known id decides, then an index, and a name with a new id begins another call.
    pub(super) fn number(&mut self, sent: Option<u32>, id: &str, named: bool) -> u32 {
        let id = CallId::of(id);
        if id.is_some()
            && let Some(call) = self.calls.iter().rev().find(|call| call.id == id)
        {
            return call.shown;
        }
        let begins_without_index = sent.is_none() && (named || id.is_some());
        let open = self.calls.iter_mut().rev().find(|call| sent.is_none() || call.sent == sent);
        if let Some(call) = open
            && !begins_without_index
            && (id.is_none() || call.id.is_none() || !named)
        {
            call.id = call.id.or(id);
            return call.shown;
        }
        let taken = |number| self.calls.iter().any(|call| call.shown == number);
        let shown = sent.filter(|sent| !taken(*sent)).unwrap_or_else(|| self.free_call_number());
        self.calls.push(Call { shown, sent, id });
        shown
    }

    fn free_call_number(&self) -> u32 {
        self.calls.iter().map(|call| call.shown.saturating_add(1)).max().unwrap_or(0)
    }

    /// The index for a chunk that became a tool call, and whether it begins one: a name does.
    pub(super) fn make_call(&mut self, asked: u32, named: bool) -> (u32, bool) {
        let open = self.made.iter().rev().find(|call| call.asked == asked);
        if let Some(call) = open.filter(|_| !named) {
            return (call.wire, false);
        }
        let wire = if self.is_free(asked) { asked } else { self.free_index() };
        self.made.push(MadeCall { asked, wire });
        (wire, true)
    }

    /// The index that a call of the provider is written with: its own, unless another call was written with that first.
    pub(super) fn index_on_wire(&mut self, sent: u32) -> u32 {
        if let Some((_, moved)) = self.moved.iter().find(|(from, _)| *from == sent) {
            return *moved;
        }
        let is_taken = self.made.iter().any(|call| call.wire == sent) || self.moved.iter().any(|(_, to)| *to == sent);
        if !is_taken {
            return sent;
        }
        let moved = self.free_index();
        self.moved.push((sent, moved));
        moved
    }

    fn used(&self) -> impl Iterator<Item = u32> {
        let provided = self.calls.iter().flat_map(|call| [Some(call.shown), call.sent]).flatten();
        provided.chain(self.made.iter().map(|call| call.wire)).chain(self.moved.iter().map(|(_, moved)| *moved))
    }

    fn is_free(&self, index: u32) -> bool {
        self.used().all(|used| used != index)
    }

    fn free_index(&self) -> u32 {
        self.used().map(|used| used.saturating_add(1)).max().unwrap_or(0)
    }
}
