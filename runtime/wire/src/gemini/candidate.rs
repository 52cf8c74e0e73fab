//! One candidate of a frame or body, rewritten.

use super::Slot;
use super::calls::CandidateState;
use super::grounding::{rewrite_citations, rewrite_supports};
use super::made::{call_part, calls_beside, text_part};
use super::names::candidate::ANNOTATION_NAMES;
use super::part::PartRewrite;
use crate::answer::{Form, Piece, is_text_kind};
use crate::chunk::Body;
use crate::json::{self, Kind, Span, is_text};
use crate::splice::{Object, Parts, Patches};
use seam_plugin_api::ChunkKind;

/// The reason of a candidate with a call that can't be read.
const MALFORMED: &str = "\"MALFORMED_FUNCTION_CALL\"";

/// A chunk that the object it came in has no place for any more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving<'a> {
    pub(super) choice: u32,
    pub(super) body: Body<'a>,
    from: Span,
}

impl<'a> Leaving<'a> {
    pub(super) fn new(piece: &Piece<'a>, body: Body<'a>) -> Self {
        Self { choice: piece.entry.choice, body, from: piece.entry.place.value }
    }

    /// Whether this is what became of that chunk.
    pub(super) fn is(&self, piece: &Piece<'_>) -> bool {
        self.from == piece.entry.place.value
    }
}

pub(super) struct CandidateRewrite<'t, 's> {
    text: &'t str,
    form: Form,
    state: &'s mut CandidateState,
    candidate: Object<'t>,
    parts: Option<Parts>,
    part_spans: Vec<Span>,
    /// Parts that come after all others.
    added: Vec<String>,
    /// Its finish reason is taken: another such chunk has no place.
    finished: bool,
}

impl<'t, 's> CandidateRewrite<'t, 's> {
    pub(super) fn new(text: &'t str, span: Span, form: Form, state: &'s mut CandidateState) -> Self {
        let candidate = Object::new(text, span);
        let content = candidate.value_of_kind("content", Kind::Object);
        let parts = content.and_then(|content| json::member_of(text, content, "parts"));
        let parts = parts.filter(|parts| json::kind_of(text, *parts) == Kind::Array);
        Self {
            text,
            form,
            state,
            candidate,
            parts: parts.map(|parts| Parts::of_array(text, parts)),
            part_spans: parts.map(|parts| json::elements_of(text, parts)).unwrap_or_default(),
            added: Vec::new(),
            finished: false,
        }
    }

    /// Makes patches of the edits of this candidate's chunks.
    pub(super) fn write<'a>(mut self, pieces: &[Piece<'a>], patches: &mut Patches, leaving: &mut Vec<Leaving<'a>>) {
        self.finished = pieces.iter().any(|piece| Slot::of(piece) == Slot::Finish && piece.same_kind().is_some());
        self.note_text(pieces);
        self.write_parts(pieces, patches, leaving);
        for piece in pieces.iter().filter(|piece| !Slot::of(piece).in_part()) {
            self.rewrite_piece(piece, patches);
            if let Some(body) = piece.other_kind() {
                self.arrive(piece, body, patches, leaving);
            }
        }
        self.write_added(patches);
        self.candidate.write(patches);
    }

    /// Takes note of the text that is delivered, in the order of the parts.
    fn note_text(&mut self, pieces: &[Piece<'_>]) {
        let texts = pieces.iter().filter(|piece| is_answer(piece.before.kind) && Slot::of(piece) == Slot::Text);
        for piece in texts {
            if self.form == Form::Body {
                let holds = |part: &Span| part.contains(piece.entry.place.value);
                self.state.delivered.starts_part(self.part_spans.iter().position(holds).unwrap_or(0));
            }
            match piece.after.filter(|after| is_answer(after.kind)) {
                Some(after) if after.text == piece.before.text => self.state.delivered.kept(after.text),
                after => self.state.delivered.replaced(piece.before.text, after.map_or("", |after| after.text)),
            }
        }
        for piece in pieces.iter().filter(|piece| Slot::of(piece) != Slot::Text || !is_answer(piece.before.kind)) {
            let arrived = piece.other_kind().filter(|body| is_answer(body.kind));
            arrived.into_iter().for_each(|body| self.state.delivered.replaced("", body.text));
        }
    }

    fn write_parts<'a>(&mut self, pieces: &[Piece<'a>], patches: &mut Patches, leaving: &mut Vec<Leaving<'a>>) {
        let Some(mut parts) = self.parts.take() else { return };
        for (position, span) in self.part_spans.clone().iter().enumerate() {
            let in_part = |piece: &&Piece<'a>| Slot::of(piece).in_part() && span.contains(piece.entry.place.value);
            let own: Vec<Piece<'a>> = pieces.iter().filter(in_part).copied().collect();
            if !own.iter().any(Piece::is_changed) {
                continue;
            }
            let outcome = PartRewrite::new(self.text, *span, self.state).write(&own, patches);
            if outcome.is_gone {
                parts.remove(position);
            }
            outcome.after.into_iter().for_each(|part| parts.add(Some(position), part));
            outcome.leaving.iter().for_each(|(piece, body)| self.arrive(piece, *body, patches, leaving));
        }
        self.parts = Some(parts);
    }

    /// Changes an annotation or the finish reason where it stands.
    fn rewrite_piece(&mut self, piece: &Piece<'_>, patches: &mut Patches) {
        let value = piece.entry.place.value;
        let same = piece.same_kind();
        match (Slot::of(piece), same) {
            (Slot::Finish, same) => self.rewrite_finish(value, piece, same, patches),
            (slot, None) => self.candidate.remove(slot.annotation_name()),
            (slot, Some(body)) if piece.is_changed() => {
                patches.replace(value, annotation_value(slot.annotation_name(), &body));
            }
            (slot, Some(_)) if self.state.delivered.is_altered() => match slot {
                Slot::Grounding => rewrite_supports(self.text, value, &self.state.delivered, patches),
                Slot::Citations => rewrite_citations(self.text, value, &self.state.delivered, patches),
                // They spell the text that came in.
                Slot::Logprobs => self.candidate.remove("logprobsResult"),
                _ => {}
            },
            _ => {}
        }
    }

    fn rewrite_finish(&mut self, value: Span, piece: &Piece<'_>, same: Option<Body<'_>>, patches: &mut Patches) {
        match same {
            Some(body) if body.text == "STOP" && self.state.is_broken() => patches.replace(value, MALFORMED),
            Some(body) if piece.is_changed() => patches.replace(value, json::string(body.text)),
            Some(_) => {}
            None => self.candidate.remove("finishReason"),
        }
    }

    /// Puts an annotation or a finish where its new kind belongs.
    fn arrive<'a>(&mut self, piece: &Piece<'a>, body: Body<'a>, patches: &mut Patches, leaving: &mut Vec<Leaving<'a>>) {
        match body.kind {
            ChunkKind::ToolCallDelta => self.added.extend(call_part(self.state, &body)),
            kind if is_text_kind(kind) => {
                self.added.push(text_part(&body));
                self.added.extend(calls_beside(&body));
            }
            ChunkKind::Finish if !self.finished => {
                self.finished = true;
                self.candidate.set("finishReason", &json::string(body.text), patches);
            }
            _ => leaving.push(Leaving::new(piece, body)),
        }
    }

    /// Writes the parts, the added ones at their end.
    fn write_added(&mut self, patches: &mut Patches) {
        let added = std::mem::take(&mut self.added);
        if let Some(mut parts) = self.parts.take() {
            added.into_iter().for_each(|part| parts.add(None, part));
            return parts.write(patches);
        }
        if added.is_empty() {
            return;
        }
        let parts = format!("[{}]", added.join(","));
        match self.candidate.value_of_kind("content", Kind::Object) {
            Some(content) => {
                let mut content = Object::new(self.text, content);
                content.set("parts", &parts, patches);
                content.write(patches);
            }
            None => self.candidate.set("content", &format!("{{\"parts\":{parts},\"role\":\"model\"}}"), patches),
        }
    }
}

/// Whether a chunk of this kind is text of the answer itself.
pub(super) const fn is_answer(kind: ChunkKind) -> bool {
    matches!(kind, ChunkKind::ContentDelta | ChunkKind::RefusalDelta)
}

/// The value of an annotation that goes into the member of that name.
fn annotation_value(name: &str, body: &Body<'_>) -> String {
    let Some(payload) = body.payload else { return json::string(body.text) };
    let value = json::member_of(payload, json::document_span(payload), name);
    value.map_or(payload, |value| value.of_str(payload)).to_owned()
}

/// A candidate that holds one chunk.
pub(super) fn candidate_json(choice: u32, state: &mut CandidateState, body: &Body<'_>) -> String {
    let inside = match body.kind {
        ChunkKind::Finish => format!("\"finishReason\":{},", json::string(body.text)),
        ChunkKind::Annotation => annotation_members(body),
        ChunkKind::ToolCallDelta => content_json(&call_part(state, body).into_iter().collect::<Vec<_>>()),
        _ => {
            let mut parts = vec![text_part(body)];
            parts.extend(calls_beside(body));
            content_json(&parts)
        }
    };
    format!("{{{inside}\"index\":{choice}}}")
}

fn content_json(parts: &[String]) -> String {
    format!("\"content\":{{\"parts\":[{}],\"role\":\"model\"}},", parts.join(","))
}

/// The members of an annotation that the protocol knows; another stands where no client looks.
fn annotation_members(body: &Body<'_>) -> String {
    let payload = body.payload.map_or_else(|| json::string(body.text), str::to_owned);
    let known = ANNOTATION_NAMES.iter().filter_map(|name| {
        let value = json::member_of(&payload, json::document_span(&payload), name)?;
        Some(format!("\"{name}\":{},", value.of_str(&payload)))
    });
    let known: String = known.collect();
    if known.is_empty() { format!("\"seam\":{{\"annotation\":{payload}}},") } else { known }
}

/// Whether the candidate at a span says why it ended.
pub(super) fn has_finish(text: &str, candidate: Span) -> bool {
    json::member_of(text, candidate, "finishReason").is_some_and(|reason| is_text(text, reason))
}
