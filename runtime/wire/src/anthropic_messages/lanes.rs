//! Which content blocks the client sees. Each block of the provider has a lane: what comes in it goes out in the client's
//! block that is open there, or in another if it became something else.

use super::EventKind;
use crate::chunk::Decoded;
use seam_plugin_api::ChunkKind;

/// Lanes that are open at once: no provider has more than one. Of more, the oldest are forgotten.
const MOST_LANES: usize = 32;

/// Ids of lost calls that are remembered, and the longest of them.
const MOST_LOST: usize = 16;
const LONGEST_ID: usize = 128;

/// What the client has seen of the answer.
#[derive(Debug, Default)]
pub(super) struct Client {
    /// A message has begun.
    pub(super) started: bool,
    /// The beginning of the message was removed.
    pub(super) owes_start: bool,
    lanes: Vec<Lane>,
    /// By how much the index of the client's next block is higher than the provider's.
    shift: i64,
    /// The provider's last block; none before the first.
    last: Option<u32>,
    /// Calls that observers made, of this message and of all.
    made_calls: u32,
    pub(super) all_made_calls: u32,
    /// Blocks of type `tool_use` that went out.
    delivered_calls: u32,
    /// A call of the provider did not go out as one.
    lost_call: bool,
    /// The ids of such calls, which results may still come for.
    lost_ids: Vec<String>,
}

/// A block of the provider that has not ended.
#[derive(Debug)]
pub(super) struct Lane {
    /// Its index as the provider counts.
    pub(super) provider: u32,
    pub(super) home: EventKind,
    /// The block that the client sees open in it.
    pub(super) open: Option<Open>,
    /// Its text went out other than it came in, so that no signature fits.
    pub(super) altered: bool,
    /// Its end was removed.
    ended: bool,
}

/// A block that the client sees open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Open {
    /// Its index as the client counts.
    pub(super) index: u32,
    pub(super) kind: OpenKind,
}

/// What an open block takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenKind {
    /// What the provider sends in it.
    Home,
    /// Text, in a block that the provider did not begin.
    Text,
    /// Thinking, in such a block.
    Thinking,
    /// Arguments of a call that an observer made with that index.
    Call(u32),
}

impl Lane {
    /// The open block if it takes chunks of that kind.
    pub(super) fn taking(&self, kind: ChunkKind) -> Option<Open> {
        self.open.filter(|open| match open.kind {
            OpenKind::Home => self.is_home_of(kind),
            OpenKind::Text => kind == ChunkKind::ContentDelta,
            OpenKind::Thinking => kind == ChunkKind::ReasoningDelta,
            OpenKind::Call(_) => false,
        })
    }

    fn is_home_of(&self, kind: ChunkKind) -> bool {
        match self.home {
            EventKind::TextStart => kind == ChunkKind::ContentDelta,
            EventKind::ThinkingStart => kind == ChunkKind::ReasoningDelta,
            EventKind::CallStart => kind == ChunkKind::ToolCallDelta,
            _ => false,
        }
    }

    /// Whether the open block may be closed for another: what the provider sends can go on in one, or goes nowhere.
    pub(super) fn can_leave_home(&self) -> bool {
        let is_home = self.open.is_some_and(|open| open.kind == OpenKind::Home);
        !is_home || matches!(self.home, EventKind::TextStart | EventKind::ThinkingStart)
    }

    /// Whether the client sees it just as the provider sent it.
    fn is_plain(&self) -> bool {
        let home = Open { index: self.provider, kind: OpenKind::Home };
        self.open == Some(home) && !self.altered && !self.ended
    }
}

impl Client {
    /// Takes note of an event that went out as it came.
    pub(super) fn note_passed(&mut self, kind: EventKind, decoded: &Decoded) {
        let index = decoded.choices.first().copied().unwrap_or(0);
        match kind {
            EventKind::MessageStart => self.begin_message(decoded.choices.len()),
            EventKind::TextStart | EventKind::ThinkingStart | EventKind::CallStart | EventKind::OtherStart => {
                self.begin(index, kind);
            }
            EventKind::BlockStop => self.end_lane(index),
            _ => {}
        }
    }

    /// A message begins that has so many blocks already.
    pub(super) fn begin_message(&mut self, blocks: usize) {
        let last = u32::try_from(blocks).unwrap_or(u32::MAX).checked_sub(1);
        *self = Self { started: true, last, all_made_calls: self.all_made_calls, ..Self::default() };
    }

    /// A block of the provider begins, and the client sees it; its index as the client counts.
    pub(super) fn begin(&mut self, provider: u32, home: EventKind) -> u32 {
        let index = self.shifted(provider);
        self.delivered_calls += u32::from(home == EventKind::CallStart);
        self.push_lane(provider, home, Some(Open { index, kind: OpenKind::Home }));
        index
    }

    /// A block of the provider begins, and the client does not see it.
    pub(super) fn begin_unseen(&mut self, provider: u32, home: EventKind) {
        self.push_lane(provider, home, None);
        self.lost_call |= home == EventKind::CallStart;
        self.shift -= 1;
    }

    fn push_lane(&mut self, provider: u32, home: EventKind, open: Option<Open>) {
        self.end_lane(provider);
        if self.lanes.len() == MOST_LANES {
            self.lanes.remove(0);
        }
        self.last = Some(provider);
        self.lanes.push(Lane { provider, home, open, altered: false, ended: false });
    }

    pub(super) fn end_lane(&mut self, provider: u32) {
        self.lanes.retain(|lane| lane.provider != provider);
    }

    /// The end of a block was removed: the client must see one before anything comes that is not of that block.
    pub(super) fn remove_end(&mut self, provider: u32) {
        if let Some(lane) = self.lane(provider) {
            lane.ended = true;
        }
    }

    pub(super) fn lane(&mut self, provider: u32) -> Option<&mut Lane> {
        self.lanes.iter_mut().find(|lane| lane.provider == provider)
    }

    pub(super) fn find(&self, provider: u32) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.provider == provider)
    }

    /// The provider's block that events beside the blocks are taken to follow.
    pub(super) const fn last(&self) -> Option<u32> {
        self.last
    }

    /// The client's index of a block of the provider that begins now, or of one that was never seen to begin.
    pub(super) fn shifted(&self, provider: u32) -> u32 {
        u32::try_from(i64::from(provider) + self.shift).unwrap_or(0)
    }

    /// The index of a block that the provider did not begin, behind its last one.
    pub(super) fn add_block(&mut self) -> u32 {
        self.shift += 1;
        let last = self.last.map_or(-1, i64::from);
        u32::try_from(last + self.shift).unwrap_or(0)
    }

    /// A message inside `message_start` went out with so many more blocks than it came with.
    pub(super) fn shift_by(&mut self, blocks: i64) {
        self.shift += blocks;
    }

    pub(super) fn note_made_call(&mut self) {
        self.made_calls += 1;
        self.all_made_calls += 1;
        self.delivered_calls += 1;
    }

    /// A call of the provider went out in a whole message.
    pub(super) fn note_delivered_call(&mut self) {
        self.delivered_calls += 1;
    }

    /// A call of the provider went away, or became something else.
    pub(super) fn note_lost_call(&mut self, id: &str) {
        self.lost_call = true;
        if !id.is_empty() && id.len() <= LONGEST_ID && self.lost_ids.len() < MOST_LOST {
            self.lost_ids.push(id.to_owned());
        }
    }

    /// Whether a result is that of a call which the client has not seen: nobody takes one without its call.
    pub(super) fn is_lost(&self, id: &str) -> bool {
        self.lost_ids.iter().any(|lost| lost == id)
    }

    pub(super) fn has_lost_ids(&self) -> bool {
        !self.lost_ids.is_empty()
    }

    /// Takes the open blocks whose ends were removed, other than that of a lane that goes on.
    pub(super) fn take_ended(&mut self) -> Vec<u32> {
        let ended = self.lanes.iter().filter(|lane| lane.ended).filter_map(|lane| lane.open).map(|open| open.index);
        let ended = ended.collect();
        self.lanes.retain(|lane| !lane.ended);
        ended
    }

    /// Takes every open block, the one that began last first.
    pub(super) fn take_open(&mut self) -> Vec<u32> {
        let lanes = std::mem::take(&mut self.lanes);
        lanes.into_iter().rev().filter_map(|lane| lane.open).map(|open| open.index).collect()
    }

    /// The finish reason that goes with what was delivered, if it is another.
    pub(super) fn fitting_reason(&self, reason: &str) -> Option<&'static str> {
        match reason {
            "end_turn" if self.made_calls > 0 => Some("tool_use"),
            "tool_use" if self.lost_call && self.delivered_calls == 0 => Some("end_turn"),
            _ => None,
        }
    }

    /// Whether anything went out other than it came in that later events depend on.
    pub(super) fn is_touched(&self) -> bool {
        self.shift != 0
            || self.owes_start
            || self.made_calls > 0
            || self.lost_call
            || !self.lanes.iter().all(Lane::is_plain)
    }

    /// Whether an event about a block can't go out as it came.
    pub(super) fn is_moved(&self, kind: EventKind, provider: u32) -> bool {
        match (kind, self.find(provider)) {
            (EventKind::Delta | EventKind::Signature | EventKind::BlockStop, Some(lane)) => !lane.is_plain(),
            _ => self.shift != 0,
        }
    }

    pub(super) fn has_ended_lanes(&self) -> bool {
        self.lanes.iter().any(|lane| lane.ended)
    }
}
