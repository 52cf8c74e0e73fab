//! The observer: chunks in, verdicts out, one for one.
//!
//! A chunk whose text is not settled is held; it is the carrier in which its text will leave. When the text goes on, the
//! held chunks at the front that are settled by it are released, as they came or amended. A label stands in the chunk in
//! which the match begins; chunks that the match covers leave empty. The chunks of an answer without a match leave
//! exactly as they came.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use seam_plugin_api::prelude::*;

use crate::config::{FieldName, Signed};
use crate::lane::{Field, Lane, redact_document};
use crate::redactor::Redactor;

/// Bytes of settled text that are worth amending an earlier chunk for: a large chunk does not wait as a whole for its
/// last word, and token-sized ones keep their bytes.
const WORTH_MOVING: u64 = 32;

/// Why a stream is stopped in front of a match that can't be taken out.
const IN_SIGNED_TEXT: &str = "redaction_in_signed_text";

/// See the module.
pub(crate) struct Redacting {
    redactor: Arc<Redactor>,
    fields: Arc<[FieldName]>,
    signed: Signed,
    lanes: Vec<Lane>,
    /// Where the lane of a choice's field is: a frame may have tens of thousands of choices.
    places: BTreeMap<(u32, Field), usize>,
    /// The lane of the newest chunk that carried text.
    newest: usize,
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
    /// Its provider signed it: it leaves as it came, or not at all.
    is_signed: bool,
    /// It was changed already (text moved into it or out of it, its payload redacted), so it does not leave as it came.
    is_changed: bool,
}

/// Which bytes of which lane a chunk carries.
#[derive(Clone, Copy)]
struct Part {
    lane: usize,
    range: (u64, u64),
}

impl Redacting {
    /// An observer for one invocation.
    pub(crate) fn new(redactor: Arc<Redactor>, fields: Arc<[FieldName]>, signed: Signed) -> Self {
        let (lanes, places) = (Vec::new(), BTreeMap::new());
        Self { redactor, fields, signed, lanes, places, newest: 0, held: VecDeque::new(), now: 0 }
    }

    /// Tells the lanes what a chunk says; answers which part of them it carries.
    fn read(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Option<Part> {
        match chunk.kind() {
            ChunkKind::Finish => self.finish(chunk.choice()),
            ChunkKind::Error => self.let_go_where(|_, _| true),
            _ => {}
        }
        let field = self.field_of(chunk)?;
        if self.signed == Signed::Pass && context.is_signed() {
            return None;
        }
        let lane = self.lane(chunk.choice(), field);
        let range = self.lanes[lane].push(&self.redactor, chunk.text(), self.now);
        // Held text of a lane that seems to be over (the reasoning, once the answer flows) must not hold up the others.
        self.let_go_where(|waiting, lanes| waiting.is_abandoned_for(&lanes[lane]));
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
        if !self.lanes.get(self.newest).is_some_and(|lane| lane.choice == choice && lane.field == field) {
            self.newest = *self.places.entry((choice, field)).or_insert_with(|| {
                self.lanes.push(Lane::new(choice, field));
                self.lanes.len() - 1
            });
        }
        self.newest
    }

    /// Ends the texts of a choice. Where choices are the blocks of one answer, one after the other, the only finish may
    /// name the first of them: what began when all of its texts were over is let go too.
    fn finish(&mut self, choice: u32) {
        let mut last = None;
        for (_, &place) in self.places.range((choice, Field::Content)..=(choice, Field::ToolCall(u64::MAX))) {
            let lane = &mut self.lanes[place];
            lane.finish(&self.redactor);
            last = last.max(Some(lane.last()));
        }
        self.let_go_where(|waiting, _| waiting.choice != choice && last.is_some_and(|last| last < waiting.first()));
    }

    /// Lets those lanes go that wait and are chosen. A lane that waits has a held chunk.
    fn let_go_where(&mut self, is_chosen: impl Fn(&Lane, &[Lane]) -> bool) {
        for part in self.held.iter().filter_map(|carrier| carrier.part) {
            let lane = &self.lanes[part.lane];
            if lane.is_waiting() && is_chosen(lane, &self.lanes) {
                self.lanes[part.lane].let_go(&self.redactor);
            }
        }
    }

    /// What becomes of a chunk that the daemon did not recognise, complete as it is; `None` if it stays as it came.
    fn redacted(&self, chunk: &Chunk<'_>) -> Option<NewChunk> {
        if chunk.kind() != ChunkKind::Opaque || !self.fields.contains(&FieldName::Opaque) {
            return None;
        }
        let payload = redact_document(&self.redactor, chunk.payload()?)?;
        Some(NewChunk { kind: ChunkKind::Opaque, text: chunk.text().to_owned(), payload: Some(payload) })
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
    fn pass(&self, part: Option<Part>, chunk: &Chunk<'_>, context: &Context<'_>) -> Verdict {
        if let Some(redacted) = self.redacted(chunk) {
            return Verdict::Amend(redacted);
        }
        match self.amended(part, chunk.text()) {
            Some(_) if context.is_signed() => context.stop(IN_SIGNED_TEXT),
            Some(text) => Verdict::amend_text(chunk, text),
            None => Verdict::Continue,
        }
    }

    fn hold(&mut self, part: Option<Part>, chunk: &Chunk<'_>, is_signed: bool) {
        let redacted = self.redacted(chunk);
        let is_changed = redacted.is_some();
        let body = redacted.unwrap_or_else(|| NewChunk::with_text_of(chunk, chunk.text()));
        self.held.push_back(Carrier { seq: chunk.seq(), chunk: body, part, is_signed, is_changed });
    }

    /// Releases the first `count` held chunks; `None` if one of them is signed and would be changed.
    fn release(&mut self, count: usize) -> Option<Vec<Released>> {
        let mut released = Vec::with_capacity(count);
        for _ in 0..count {
            let Some(mut carrier) = self.held.pop_front() else { break };
            released.push(match self.amended(carrier.part, &carrier.chunk.text) {
                Some(_) if carrier.is_signed => return None,
                Some(text) => {
                    carrier.chunk.text = text;
                    Released::amended(carrier.seq, carrier.chunk)
                }
                None if carrier.is_changed => Released::amended(carrier.seq, carrier.chunk),
                None => Released::unchanged(carrier.seq),
            });
        }
        Some(released)
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
        if settled < range.0 + WORTH_MOVING || !is_first_to_stay || self.held[into].is_signed {
            return;
        }
        let Some(last) = self.held.back_mut().filter(|last| !last.is_signed) else { return };
        let rest = last.chunk.text.split_off((settled - range.0) as usize);
        let moved = std::mem::replace(&mut last.chunk.text, rest);
        last.part = Some(Part { lane, range: (settled, range.1) });
        last.is_changed = true;
        if let Some(Carrier { chunk, part: Some(part), is_changed, .. }) = self.held.get_mut(into) {
            chunk.text.push_str(&moved);
            part.range.1 = settled;
            *is_changed = true;
        }
    }

    /// Answers a chunk: lets it pass, holds it, or releases what it settles.
    fn judge(&mut self, part: Option<Part>, chunk: &Chunk<'_>, context: &Context<'_>) -> Verdict {
        let settled = self.is_settled(part);
        let leaving = self.held.iter().take_while(|carrier| self.is_settled(carrier.part)).count();
        if leaving == 0 {
            if settled {
                return self.pass(part, chunk, context);
            }
            self.hold(part, chunk, context.is_signed());
            return Verdict::Buffer;
        }
        let everything = settled && leaving == self.held.len();
        self.hold(part, chunk, context.is_signed());
        let leaving = if everything {
            self.held.len()
        } else {
            self.move_forward(leaving);
            leaving
        };
        let Some(chunks) = self.release(leaving) else { return context.stop(IN_SIGNED_TEXT) };
        if everything && chunks.iter().all(|released| released.amended.is_none()) {
            return Verdict::Release(Release::all());
        }
        Verdict::Release(Release { chunks, strip_accumulated: None })
    }

    /// Forgets the edits of the text that has left of a lane.
    fn forget(&mut self, lane: usize) {
        let first_held = self.held.iter().filter_map(|carrier| carrier.part).find(|part| part.lane == lane);
        let lane = &mut self.lanes[lane];
        let left = first_held.map_or_else(|| lane.settled(), |part| part.range.0);
        lane.forget(left);
    }
}

impl StreamObserver for Redacting {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Verdict {
        self.now += 1;
        let part = self.read(chunk, context);
        let verdict = self.judge(part, chunk, context);
        if let Some(part) = part {
            self.forget(part.lane);
        }
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
