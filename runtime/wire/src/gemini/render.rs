//! From edited chunks to data. Everything is a patch of the text that came in; what no patch covers stays.

use super::candidate::{CandidateRewrite, Leaving, is_answer};
use super::{Gemini, Slot, usage};
use crate::answer::{Document, Event, Form, Piece, Rendered};
use crate::chunk::{Body, Decoded, Edit, Shape};
use crate::json::{self, Kind, Span};
use crate::splice::{Object, Patches};
use seam_plugin_api::ChunkKind;

impl Gemini {
    /// Makes the edits and takes note of what is delivered.
    pub(super) fn rewrite_document(
        &mut self,
        document: &Document<'_>,
        decoded: &Decoded,
        pieces: &[Piece<'_>],
    ) -> Rendered {
        let Document { text, form, .. } = *document;
        if form == Form::Stream && pieces.iter().all(|piece| piece.after.is_none()) {
            self.note_dropped(pieces);
            return Rendered::default();
        }
        let rendered = match decoded.shape {
            Shape::Chunks if decoded.hidden.is_empty() => self.rewrite_chunks(text, decoded, pieces, form),
            Shape::Chunks => self.rewrite_plain(text, decoded, pieces, form),
            _ => self.rewrite_opaque(decoded, pieces),
        };
        self.note_delivered(decoded, pieces);
        rendered
    }

    /// The text of frames that do not go out was not delivered.
    fn note_dropped(&mut self, pieces: &[Piece<'_>]) {
        for piece in pieces.iter().filter(|piece| Slot::of(piece) == Slot::Text && is_answer(piece.before.kind)) {
            self.state(piece.entry.choice).delivered.replaced(piece.before.text, "");
        }
    }

    /// Members that a later one of the same name hides are dropped before anything else is changed: no reader sees
    /// them, but what they say would go out past the observers.
    fn rewrite_plain(&mut self, text: &str, decoded: &Decoded, pieces: &[Piece<'_>], form: Form) -> Rendered {
        let mut patches = Patches::default();
        for hidden in &decoded.hidden {
            let after = text[hidden.end..].find(',').map_or(hidden.end, |comma| hidden.end + comma + 1);
            patches.replace(Span::new(hidden.start, after), "");
        }
        let plain = patches.apply(text);
        // By a state of its own: this one has numbered the calls of the frame before.
        let mut again = Decoded::default();
        // A document that was read before, without some members.
        let _ = Self::default().read_document(&plain, &mut again);
        again.shape = Shape::Chunks;
        let edits: Vec<Edit<'_>> = pieces.iter().map(|piece| piece.after.map_or(Edit::Remove, Edit::Replace)).collect();
        let pieces = Piece::all(&again, &edits, plain.as_bytes());
        self.rewrite_chunks(&plain, &again, &pieces, form)
    }

    fn rewrite_opaque(&mut self, decoded: &Decoded, pieces: &[Piece<'_>]) -> Rendered {
        let Some(piece) = pieces.first() else { return Rendered::default() };
        let data = piece.after.map(|body| match (body.kind, body.payload) {
            (ChunkKind::Opaque, Some(payload)) if decoded.shape == Shape::OpaqueText => plain_text(payload),
            _ => self.synthesise(piece.entry.choice, &body),
        });
        Rendered { data, ..Rendered::default() }
    }

    fn rewrite_chunks(&mut self, text: &str, decoded: &Decoded, pieces: &[Piece<'_>], form: Form) -> Rendered {
        let mut patches = Patches::default();
        let mut leaving = Vec::new();
        let whole = json::document_span(text);
        // An error may be wrapped in an array.
        let whole = json::elements_of(text, whole).first().copied().unwrap_or(whole);
        let mut top = Object::new(text, whole);
        let candidates = top.value_of_kind("candidates", Kind::Array);
        let objects = candidates.map(|candidates| json::elements_of(text, candidates)).unwrap_or_default();
        let objects = objects.into_iter().filter(|span| json::kind_of(text, *span) == Kind::Object);
        // The pieces lie in the order of the candidates that hold them, and what is in none comes last.
        let mut ahead = pieces;
        for (container, span) in objects.enumerate() {
            let is_own =
                |piece: &Piece<'_>| Slot::of(piece).in_candidate() && piece.entry.place.container as usize == container;
            let count = ahead.iter().take_while(|piece| is_own(piece)).count();
            let (own, behind) = ahead.split_at(count);
            ahead = behind;
            let Some(choice) = decoded.choices.get(container) else { continue };
            let state = self.state(*choice);
            CandidateRewrite::new(text, span, form, state).write(own, &mut patches, &mut leaving);
        }
        rewrite_rest(text, &mut top, pieces, &mut patches, &mut leaving);
        let nothing_stays =
            pieces.iter().all(|piece| piece.after.is_none() || leaving.iter().any(|left| left.is(piece)));
        let after = self.place_leaving(text, &mut top, &leaving, candidates, form, &mut patches);
        top.write(&mut patches);
        let data = (form == Form::Body || !nothing_stays).then(|| patches.apply(text));
        Rendered { data, after, ..Rendered::default() }
    }

    /// Says the chunks that their frame has no place for: in events of their own, or elsewhere in the body.
    fn place_leaving(
        &mut self,
        text: &str,
        top: &mut Object<'_>,
        leaving: &[Leaving<'_>],
        candidates: Option<Span>,
        form: Form,
        patches: &mut Patches,
    ) -> Vec<Event> {
        if form == Form::Stream {
            return leaving.iter().map(|left| Event::unnamed(self.synthesise(left.choice, &left.body))).collect();
        }
        let mut added = Vec::new();
        for left in leaving {
            match left.body.kind {
                ChunkKind::Usage => top.set("usageMetadata", &usage_json(&left.body), patches),
                ChunkKind::Error => top.set("error", &error_json(&left.body), patches),
                ChunkKind::Opaque => top.set("seam", &format!("{{\"opaque\":{}}}", opaque_json(&left.body)), patches),
                _ => added.push(self.candidate_of(left.choice, &left.body)),
            }
        }
        if let Some(candidates) = candidates.filter(|_| !added.is_empty()) {
            let comma = if json::elements_of(text, candidates).is_empty() { "" } else { "," };
            let end = candidates.end - 1;
            patches.replace(Span::new(end, end), format!("{comma}{}", added.join(",")));
        } else if !added.is_empty() {
            top.set("candidates", &format!("[{}]", added.join(",")), patches);
        }
        Vec::new()
    }

    /// Which candidates the client saw begin and finish by a rewritten frame.
    fn note_delivered(&mut self, decoded: &Decoded, pieces: &[Piece<'_>]) {
        for &choice in &decoded.choices {
            self.state(choice).opened = true;
        }
        for piece in pieces.iter().filter(|piece| piece.after.is_some_and(|after| after.kind == ChunkKind::Finish)) {
            let state = self.state(piece.entry.choice);
            (state.opened, state.finished) = (true, true);
        }
    }
}

/// The text that stood there before it was shown as a JSON string; another payload stands for itself.
fn plain_text(payload: &str) -> String {
    let payload = payload.trim_ascii();
    if !payload.starts_with('"') {
        return payload.to_owned();
    }
    let mut text = String::new();
    json::unescape(Span::new(0, payload.len()).inside_quotes().of_str(payload), &mut text);
    text
}

/// Rewrites what stands beside the candidates.
fn rewrite_rest<'a>(
    text: &str,
    top: &mut Object<'_>,
    pieces: &[Piece<'a>],
    patches: &mut Patches,
    leaving: &mut Vec<Leaving<'a>>,
) {
    for piece in pieces.iter().filter(|piece| !Slot::of(piece).in_candidate() && piece.is_changed()) {
        let value = piece.entry.place.value;
        match (Slot::of(piece), piece.same_kind()) {
            (Slot::Usage, Some(body)) => patches.replace(value, usage_json(&body)),
            (Slot::Usage, None) => top.remove("usageMetadata"),
            (Slot::Blocked, Some(body)) => patches.replace(value, json::string(body.text)),
            (Slot::Blocked, None) => top.remove("promptFeedback"),
            (_, Some(body)) => rewrite_error(text, value, piece, &body, patches),
            (_, None) => top.remove("error"),
        }
        leaving.extend(piece.other_kind().map(|body| Leaving::new(piece, body)));
    }
}

/// Puts another error in the place of one. A text that was changed alone is its message.
fn rewrite_error(text: &str, value: Span, piece: &Piece<'_>, body: &Body<'_>, patches: &mut Patches) {
    if body.payload != piece.before.payload {
        return patches.replace(value, error_json(body));
    }
    match json::kind_of(text, value) {
        Kind::Object => {
            let mut error = Object::new(text, value);
            error.set("message", &json::string(body.text), patches);
            error.write(patches);
        }
        _ => patches.replace(value, json::string(body.text)),
    }
}

/// The error object that a body stands for.
pub(super) fn error_json(body: &Body<'_>) -> String {
    body.payload.map_or_else(
        || format!("{{\"code\":500,\"message\":{},\"status\":\"INTERNAL\"}}", json::string(body.text)),
        str::to_owned,
    )
}

/// The usage object that a body stands for.
pub(super) fn usage_json(body: &Body<'_>) -> String {
    body.payload.map_or_else(|| "{}".to_owned(), usage::provider_json)
}

/// The document that an opaque body stands for.
pub(super) fn opaque_json(body: &Body<'_>) -> String {
    body.payload.map_or_else(|| json::string(body.text), str::to_owned)
}
