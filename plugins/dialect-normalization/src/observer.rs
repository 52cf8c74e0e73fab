//! The observer: holds what may be a marker, and lets go what has been decided.

use seam_plugin_api::prelude::*;
use seam_plugin_api::serde_json;

use crate::OBSERVER_ID;
use crate::config::Settings;
use crate::group::{Group, concerns};
use crate::layout::{Load, lay, lay_closely};
use crate::marker::{Call, Rules};
use crate::queue::{GroupId, Queue};

/// What the plugin counts in the daemon's metrics.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tallies {
    normalized: Counter,
    unplaced: Counter,
    given_up: Counter,
}

impl Tallies {
    pub(crate) fn new(host: Host) -> Self {
        Self {
            normalized: host.counter("tool_calls_normalized"),
            unplaced: host.counter("tool_calls_without_room"),
            given_up: host.counter("holds_given_up"),
        }
    }
}

/// Normalises the answer of one invocation.
pub struct NormalizationObserver {
    rules: Rules,
    hold_chunks: u64,
    hold_text: u64,
    choices: Vec<Choice>,
    queue: Queue,
    /// The last id that was given to a group.
    last_group: GroupId,
    tallies: Tallies,
    host: Host,
}

/// A choice in which a marker or a call was seen.
struct Choice {
    number: u32,
    /// What is held of it.
    open: Option<(GroupId, Group)>,
    /// The first index that no call of the choice has.
    next_call: u32,
}

/// What of a tool call's payload says which one it is.
#[derive(Deserialize)]
#[serde(crate = "seam_plugin_api::serde")]
struct CallIndex {
    #[serde(default)]
    index: u32,
}

impl StreamObserver for NormalizationObserver {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Verdict {
        match chunk.kind() {
            ChunkKind::ContentDelta if self.is_ours(chunk) => return self.take(chunk),
            ChunkKind::ToolCallDelta => self.note_call(chunk),
            ChunkKind::Finish => self.end_choice(chunk.choice()),
            ChunkKind::Error => self.end_choices(),
            _ => {}
        }
        self.pass(chunk)
    }
}

impl NormalizationObserver {
    pub(crate) fn new(settings: &Settings, tallies: Tallies, context: &FactoryContext<'_>) -> Self {
        let offered: Vec<String> = context.tool_names().map(str::to_owned).collect();
        let names = (settings.offered_only && !offered.is_empty()).then_some(offered);
        Self {
            rules: Rules { dialects: settings.dialects.clone(), names, max_marker: settings.max_marker },
            hold_chunks: settings.hold_chunks,
            hold_text: settings.hold_text,
            choices: Vec::new(),
            queue: Queue::default(),
            last_group: 0,
            tallies,
            host: context.host(),
        }
    }

    /// Whether a chunk of content goes on with what is held of its choice, or may begin a marker.
    fn is_ours(&self, chunk: &Chunk<'_>) -> bool {
        let is_open = |choice: &Choice| choice.number == chunk.choice() && choice.open.is_some();
        self.choices.iter().any(is_open) || concerns(chunk.text(), &self.rules)
    }

    /// Takes a chunk of content into its choice's group.
    fn take(&mut self, chunk: &Chunk<'_>) -> Verdict {
        let at = self.choice(chunk.choice());
        let (id, mut group) = self.choices[at].open.take().unwrap_or_else(|| (self.new_group(), Group::default()));
        group.push(chunk.text(), &self.rules);
        self.queue.hold(chunk, id);
        self.settle_or_keep(at, id, group);
        self.give_up_over_bound();
        self.answer(chunk)
    }

    /// Decides a group if it can be decided now. What has more pieces than chunks waits for the chunks to come.
    fn settle_or_keep(&mut self, at: usize, id: GroupId, group: Group) {
        if group.is_undecided() {
            self.choices[at].open = Some((id, group));
        } else if group.calls() == 0 {
            self.queue.decide(id, |_| None);
        } else if let Some(loads) = lay(&group, self.queue.count(id)) {
            self.place(at, id, &group, loads);
        } else {
            self.choices[at].open = Some((id, group));
        }
    }

    /// Decides what is held of a choice: nothing more of it comes.
    fn end_choice(&mut self, number: u32) {
        if let Some(at) = self.choices.iter().position(|choice| choice.number == number) {
            self.end(at);
        }
    }

    fn end_choices(&mut self) {
        (0..self.choices.len()).for_each(|at| self.end(at));
    }

    fn end(&mut self, at: usize) {
        let Some((id, mut group)) = self.choices[at].open.take() else { return };
        group.end();
        let calls = group.calls();
        let loads = if calls == 0 { None } else { lay_closely(&group, self.queue.count(id)) };
        if let Some(loads) = loads {
            return self.place(at, id, &group, loads);
        }
        self.queue.decide(id, |_| None);
        if calls > 0 {
            self.tallies.unplaced.add(calls as u64);
            let number = self.choices[at].number;
            let message = format!("choice {number}: no chunk is left for {calls} of its tool calls, they stay text");
            self.host.log(Level::Warn, &message);
        }
    }

    /// Gives each chunk of a group its load.
    fn place(&mut self, at: usize, id: GroupId, group: &Group, loads: Vec<Load>) {
        let next_call = &mut self.choices[at].next_call;
        self.tallies.normalized.add(group.calls() as u64);
        let mut loads = loads.into_iter();
        let mut rest = group.text();
        self.queue.decide(id, |slot| {
            let (own, behind) = rest.split_at(slot.length);
            rest = behind;
            match loads.next() {
                Some(Load::Text(text)) if text == own => None,
                Some(Load::Call(call)) => {
                    let index = *next_call;
                    *next_call = index.saturating_add(1);
                    Some(made_call(index, call))
                }
                load => {
                    let text = if let Some(Load::Text(text)) = load { text } else { String::new() };
                    Some(NewChunk { kind: ChunkKind::ContentDelta, text, payload: slot.payload.clone() })
                }
            }
        });
    }

    /// Keeps what waits below what the daemon allows: over the bound everything goes on as it can.
    fn give_up_over_bound(&mut self) {
        let waiting = self.queue.waiting();
        let is_waiting = self.choices.iter().any(|choice| choice.open.is_some());
        if is_waiting && (waiting.chunks > self.hold_chunks || waiting.characters > self.hold_text) {
            self.tallies.given_up.add(1);
            self.end_choices();
        }
    }

    /// Answers a chunk that was taken into a group.
    fn answer(&mut self, chunk: &Chunk<'_>) -> Verdict {
        let mut released = self.queue.take_front();
        match released.as_mut_slice() {
            [] => Verdict::Buffer,
            [only] if only.seq == chunk.seq() => only.amended.take().map_or(Verdict::Continue, Verdict::Amend),
            _ => Verdict::Release(Release { chunks: released, strip_accumulated: None }),
        }
    }

    /// Answers a chunk that is in no group.
    fn pass(&mut self, chunk: &Chunk<'_>) -> Verdict {
        if self.queue.is_empty() {
            return Verdict::Continue;
        }
        let mut released = self.queue.take_front();
        if released.is_empty() {
            self.queue.let_wait(chunk);
            self.give_up_over_bound();
            released = self.queue.take_front();
        }
        if released.is_empty() {
            return Verdict::Continue;
        }
        // A chunk that is answered with a release counts as held, last in the queue.
        if self.queue.is_empty() {
            released.push(Released::unchanged(chunk.seq()));
        } else {
            let alone = self.new_group();
            self.queue.hold_unchanged(chunk, alone);
        }
        Verdict::Release(Release { chunks: released, strip_accumulated: None })
    }

    /// Takes note of a call that the provider made itself.
    fn note_call(&mut self, chunk: &Chunk<'_>) {
        let payload = chunk.payload().unwrap_or_default();
        let Ok(CallIndex { index }) = serde_json::from_str(payload) else { return };
        let at = self.choice(chunk.choice());
        let choice = &mut self.choices[at];
        choice.next_call = choice.next_call.max(index.saturating_add(1));
    }

    /// Where a choice is kept.
    fn choice(&mut self, number: u32) -> usize {
        let known = self.choices.iter().position(|choice| choice.number == number);
        known.unwrap_or_else(|| {
            self.choices.push(Choice { number, open: None, next_call: 0 });
            self.choices.len() - 1
        })
    }

    const fn new_group(&mut self) -> GroupId {
        self.last_group += 1;
        self.last_group
    }
}

/// The chunk of a call, which says whose work it is.
fn made_call(index: u32, call: Call) -> NewChunk {
    let payload = serde_json::json!({ "index": index, "name": call.name, "_amendedBy": OBSERVER_ID });
    NewChunk { kind: ChunkKind::ToolCallDelta, text: call.arguments, payload: Some(payload.to_string()) }
}
