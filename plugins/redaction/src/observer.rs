//! The observer: chunks in, verdicts out, one for one.
//!
//! A chunk whose text is not settled is held; it is the carrier in which its text will leave. When the text goes on, the
//! held chunks at the front that are settled by it are released, as they came or amended. A label stands in the chunk in
//! which the match begins; chunks that the match covers leave empty. The chunks of an answer without a match leave
//! exactly as they came.

use std::collections::VecDeque;
use std::sync::Arc;

use seam_plugin_api::prelude::*;

use crate::config::FieldName;
use crate::lane::{Field, Lane};
use crate::redactor::Redactor;

/// Bytes of settled text that are worth amending an earlier chunk for: a large chunk does not wait as a whole for its
/// last word, and token-sized ones keep their bytes.
const WORTH_MOVING: u64 = 32;

/// See the module.
pub(crate) struct Redacting {
    redactor: Arc<Redactor>,
    fields: Arc<[FieldName]>,
    lanes: Vec<Lane>,
    /// What was answered [`Verdict::Buffer`] and not released since, in order.
    held: VecDeque<Carrier>,
    /// Chunks seen.
    now: u64,
}

/// A held chunk.
struct Carrier {
    seq: u64,
    /// As it came.
    chunk: NewChunk,
    part: Option<Part>,
    /// Text was moved into it or out of it, so it does not leave as it came.
    has_moved: bool,
}

/// Which bytes of which lane a chunk carries.
#[derive(Clone, Copy)]
struct Part {
    lane: usize,
    range: (u64, u64),
}

impl Redacting {
    /// An observer for one invocation.
    pub(crate) fn new(redactor: Arc<Redactor>, fields: Arc<[FieldName]>) -> Self {
        Self { redactor, fields, lanes: Vec::new(), held: VecDeque::new(), now: 0 }
    }

    /// Tells the lanes what a chunk says; answers which part of them it carries.
    fn read(&mut self, chunk: &Chunk<'_>) -> Option<Part> {
        match chunk.kind() {
            ChunkKind::Finish => self.finish(chunk.choice()),
            ChunkKind::Error => self.lanes.iter_mut().for_each(|lane| lane.let_go(&self.redactor)),
            _ => {}
        }
        let field = self.field_of(chunk)?;
        let lane = self.lane(chunk.choice(), field);
        let range = self.lanes[lane].push(&self.redactor, chunk.text(), self.now);
        self.let_go_of_abandoned(lane);
        Some(Part { lane, range })
    }

    /// The field that a chunk carries text of, if that is to be redacted.
    fn field_of(&self, chunk: &Chunk<'_>) -> Option<Field> {
        let (name, field) = match chunk.kind() {
            ChunkKind::ContentDelta => (FieldName::Content, Field::Content),
            ChunkKind::ReasoningDelta => (FieldName::Reasoning, Field::Reasoning),
            ChunkKind::RefusalDelta => (FieldName::Refusal, Field::Refusal),
            ChunkKind::ToolCallDelta => (FieldName::ToolCalls, Field::ToolCall(0)),
            _ => return None,
        };
        if chunk.text().is_empty() || !self.fields.contains(&name) {
            return None;
        }
        Some(match field {
            Field::ToolCall(_) => Field::ToolCall(call_index(chunk)),
            other => other,
        })
    }

    fn lane(&mut self, choice: u32, field: Field) -> usize {
        let found = self.lanes.iter().position(|lane| lane.choice == choice && lane.field == field);
        found.unwrap_or_else(|| {
            self.lanes.push(Lane::new(choice, field));
            self.lanes.len() - 1
        })
    }

    /// Ends the texts of a choice. Where choices are the blocks of one answer, one after the other, a finish may name any
    /// of them and is the only one: those that did not come interleaved with the choice are let go too.
    fn finish(&mut self, choice: u32) {
        for place in 0..self.lanes.len() {
            let lane = &self.lanes[place];
            if lane.choice == choice {
                self.lanes[place].finish(&self.redactor);
            } else if lane.is_waiting()
                && !self.lanes.iter().any(|other| other.choice == choice && other.overlaps(lane))
            {
                self.lanes[place].let_go(&self.redactor);
            }
        }
    }

    /// Held text of a lane that seems to be over (the reasoning, once the answer flows) must not hold up the others.
    fn let_go_of_abandoned(&mut self, flowing: usize) {
        for place in 0..self.lanes.len() {
            let lane = &self.lanes[place];
            if place != flowing && lane.is_waiting() && lane.is_abandoned_for(&self.lanes[flowing]) {
                self.lanes[place].let_go(&self.redactor);
            }
        }
    }

    fn is_settled(&self, part: Option<Part>) -> bool {
        part.is_none_or(|part| self.lanes[part.lane].settled() >= part.range.1)
    }

    /// What becomes of the text of a settled chunk; `None` if it stays as it is.
    fn amended(&self, part: Option<Part>, text: &str) -> Option<String> {
        let part = part?;
        let lane = &self.lanes[part.lane];
        lane.is_edited(part.range).then(|| {
            let mut out = String::with_capacity(text.len());
            lane.render(&self.redactor, part.range, text, &mut out);
            out
        })
    }

    /// The verdict that lets a settled chunk pass.
    fn pass(&self, part: Option<Part>, chunk: &Chunk<'_>) -> Verdict {
        match self.amended(part, chunk.text()) {
            Some(text) => Verdict::amend_text(chunk, text),
            None => Verdict::Continue,
        }
    }

    fn hold(&mut self, part: Option<Part>, chunk: &Chunk<'_>) {
        self.held.push_back(Carrier {
            seq: chunk.seq(),
            chunk: NewChunk::with_text_of(chunk, chunk.text()),
            part,
            has_moved: false,
        });
    }

    /// Releases the first `count` held chunks.
    fn release(&mut self, count: usize) -> Vec<Released> {
        let mut released = Vec::with_capacity(count);
        for _ in 0..count {
            let Some(mut carrier) = self.held.pop_front() else { break };
            released.push(match self.amended(carrier.part, &carrier.chunk.text) {
                Some(text) => {
                    carrier.chunk.text = text;
                    Released::amended(carrier.seq, carrier.chunk)
                }
                None if carrier.has_moved => Released::amended(carrier.seq, carrier.chunk),
                None => Released::unchanged(carrier.seq),
            });
        }
        released
    }

    /// Puts the settled beginning of the chunk that stays held into the last chunk of its lane that leaves, if that is
    /// worth it: then it need not wait for the rest of the chunk.
    fn move_forward(&mut self, leaving: usize) {
        let Some(Carrier { part: Some(Part { lane, range }), .. }) = self.held.back() else { return };
        let (lane, range) = (*lane, *range);
        let settled = self.lanes[lane].settled().min(range.1);
        let is_of_lane = |carrier: &Carrier| carrier.part.is_some_and(|part| part.lane == lane);
        let is_first_to_stay =
            self.held.iter().skip(leaving).position(is_of_lane) == Some(self.held.len() - 1 - leaving);
        let Some(into) = self.held.iter().take(leaving).rposition(is_of_lane) else { return };
        if settled < range.0 + WORTH_MOVING || !is_first_to_stay {
            return;
        }
        let Some(last) = self.held.back_mut() else { return };
        let rest = last.chunk.text.split_off((settled - range.0) as usize);
        let moved = std::mem::replace(&mut last.chunk.text, rest);
        last.part = Some(Part { lane, range: (settled, range.1) });
        last.has_moved = true;
        if let Some(Carrier { chunk, part: Some(part), has_moved, .. }) = self.held.get_mut(into) {
            chunk.text.push_str(&moved);
            part.range.1 = settled;
            *has_moved = true;
        }
    }

    /// Answers a chunk: lets it pass, holds it, or releases what it settles.
    fn judge(&mut self, part: Option<Part>, chunk: &Chunk<'_>) -> Verdict {
        let settled = self.is_settled(part);
        let leaving = self.held.iter().take_while(|carrier| self.is_settled(carrier.part)).count();
        if leaving == 0 {
            if settled {
                return self.pass(part, chunk);
            }
            self.hold(part, chunk);
            return Verdict::Buffer;
        }
        let everything = settled && leaving == self.held.len();
        self.hold(part, chunk);
        if everything {
            return self.release_all();
        }
        self.move_forward(leaving);
        Verdict::Release(Release { chunks: self.release(leaving), strip_accumulated: None })
    }

    /// Releases every held chunk, the present one included.
    fn release_all(&mut self) -> Verdict {
        let chunks = self.release(self.held.len());
        if chunks.iter().all(|released| released.amended.is_none()) {
            return Verdict::Release(Release::all());
        }
        Verdict::Release(Release { chunks, strip_accumulated: None })
    }

    /// Forgets the edits of texts that have left.
    fn forget(&mut self) {
        for (place, lane) in self.lanes.iter_mut().enumerate() {
            let first_held = self.held.iter().filter_map(|carrier| carrier.part).find(|part| part.lane == place);
            let left = first_held.map_or(lane.settled(), |part| part.range.0);
            lane.forget(left);
        }
    }
}

impl StreamObserver for Redacting {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Verdict {
        self.now += 1;
        let part = self.read(chunk);
        let verdict = self.judge(part, chunk);
        self.forget();
        verdict
    }
}

/// The index of the call that a chunk is a piece of; 0 if it does not say.
fn call_index(chunk: &Chunk<'_>) -> u64 {
    #[derive(serde::Deserialize)]
    struct Call {
        #[serde(default)]
        index: u64,
    }
    chunk.payload().and_then(|payload| serde_json::from_str(payload).ok()).map_or(0, |call: Call| call.index)
}

#[cfg(test)]
mod tests;
