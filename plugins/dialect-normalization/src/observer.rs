//! The observer: holds what may be a marker, and lets go what has been decided.

use seam_plugin_api::prelude::*;
use seam_plugin_api::serde_json::{self, Map, Value};

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
    given_up: Counter,
}

impl Tallies {
    pub(crate) fn new(host: Host) -> Self {
        Self { normalized: host.counter("tool_calls_normalized"), given_up: host.counter("holds_given_up") }
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

/// What of content's payload says that there are calls beside its text.
#[derive(Deserialize)]
#[serde(crate = "seam_plugin_api::serde")]
struct CallsBeside {
    tool_calls: Vec<CallIndex>,
}

impl StreamObserver for NormalizationObserver {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Verdict {
        match chunk.kind() {
            ChunkKind::ContentDelta => match calls_beside(chunk).as_slice() {
                [] if self.is_ours(chunk) => return self.take(chunk),
                [] => {}
                calls => self.note_calls_beside(chunk.choice(), calls),
            },
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
        if group.calls() == 0 {
            return self.queue.decide(id, |_| None);
        }
        let loads = lay_closely(&group, self.queue.count(id));
        self.place(at, id, &group, loads);
    }

    /// Gives each chunk of a group its load.
    fn place(&mut self, at: usize, id: GroupId, group: &Group, loads: Vec<Load>) {
        let next_call = &mut self.choices[at].next_call;
        let mut number = || std::mem::replace(next_call, next_call.saturating_add(1));
        self.tallies.normalized.add(group.calls() as u64);
        let mut loads = loads.into_iter();
        let mut rest = group.text();
        self.queue.decide(id, |slot| {
            let (own, behind) = rest.split_at(slot.length);
            rest = behind;
            match loads.next().unwrap_or_else(|| Load::Text(String::new())) {
                Load::Text(text) if text == own => None,
                Load::Text(text) => {
                    Some(NewChunk { kind: ChunkKind::ContentDelta, text, payload: slot.payload.clone() })
                }
                Load::Call(call) => Some(made_call(number(), call)),
                Load::Carrier(text, calls) => {
                    let calls = calls.into_iter().map(|call| call_beside(number(), call)).collect();
                    Some(carrier(text, calls, slot.payload.as_deref()))
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
        self.note_index(chunk.choice(), index);
    }

    /// Takes note of calls that another observer put beside content. That chunk goes on as it is, so what is held of its
    /// choice ends before it.
    fn note_calls_beside(&mut self, number: u32, calls: &[CallIndex]) {
        calls.iter().for_each(|call| self.note_index(number, call.index));
        self.end_choice(number);
    }

    fn note_index(&mut self, number: u32, index: u32) {
        let at = self.choice(number);
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

/// The calls that another observer put beside the text of content.
fn calls_beside(chunk: &Chunk<'_>) -> Vec<CallIndex> {
    let beside = chunk.payload().and_then(|payload| serde_json::from_str(payload).ok());
    beside.map_or_else(Vec::new, |CallsBeside { tool_calls }| tool_calls)
}

/// The chunk of a call, which says whose work it is.
fn made_call(index: u32, call: Call) -> NewChunk {
    let payload = serde_json::json!({ "index": index, "name": call.name, "_amendedBy": OBSERVER_ID });
    NewChunk { kind: ChunkKind::ToolCallDelta, text: call.arguments, payload: Some(payload.to_string()) }
}

/// Text with calls beside it, which says as well whose work it is. What else its payload said stays.
fn carrier(text: String, calls: Vec<Value>, payload: Option<&str>) -> NewChunk {
    let mut members: Map<String, Value> =
        payload.and_then(|payload| serde_json::from_str(payload).ok()).unwrap_or_default();
    members.insert("tool_calls".to_owned(), calls.into());
    members.insert("_amendedBy".to_owned(), OBSERVER_ID.into());
    NewChunk { kind: ChunkKind::ContentDelta, text, payload: Some(Value::Object(members).to_string()) }
}

fn call_beside(index: u32, call: Call) -> Value {
    serde_json::json!({ "index": index, "name": call.name, "arguments": call.arguments })
}
