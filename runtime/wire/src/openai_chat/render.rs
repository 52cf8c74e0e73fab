//! From edited chunks to data. Everything is a patch of the text that came in; what no patch covers stays.

use super::choice::{ChoiceRewrite, Leaving};
use super::{OpenAiChat, Slot, decode, usage};
use crate::answer::{Document, Event, Form, Piece, Rendered, is_text_kind};
use crate::chunk::{Body, Decoded, Edit, Shape};
use crate::json::{self, Kind, Span};
use crate::splice::{Object, Patches};
use seam_plugin_api::ChunkKind;

impl OpenAiChat {
    /// Makes the edits and takes note of what is delivered.
    pub(super) fn rewrite_document(
        &mut self,
        document: &Document<'_>,
        decoded: &Decoded,
        pieces: &[Piece<'_>],
    ) -> Rendered {
        let Document { text, form, .. } = *document;
        self.note_altered(pieces);
        if form == Form::Stream && pieces.iter().all(|piece| piece.after.is_none()) {
            return Rendered::default();
        }
        let rendered = match decoded.shape {
            Shape::Chunks if self.changes_in_place(decoded, pieces) => rewrite_in_place(text, pieces),
            Shape::Chunks if decoded.hidden.is_empty() => self.rewrite_chunks(text, decoded, pieces, form),
            Shape::Chunks => self.rewrite_plain(text, decoded, pieces, form),
            // No chunk shows what is to change: offsets into a text that was altered.
            Shape::OpaqueJson if pieces.iter().all(|piece| !piece.is_changed()) => {
                self.rewrite_chunks(text, decoded, &[], form)
            }
            _ => self.rewrite_opaque(decoded, pieces, form),
        };
        self.note_delivered(decoded, pieces);
        rendered
    }

    /// Whether every edit is another text in the string that a chunk was read from, and nothing else changes with it: what
    /// nearly all edits are.
    fn changes_in_place(&self, decoded: &Decoded, pieces: &[Piece<'_>]) -> bool {
        let is_plain = decoded.event != decode::MARKED && !decoded.repeats && decoded.hidden.is_empty();
        let made_calls = |choice: &u32| self.find(*choice).is_some_and(|state| !state.made.is_empty());
        is_plain && !decoded.choices.iter().any(made_calls) && pieces.iter().all(stays_in_place)
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
        let _ = Self { endpoint: self.endpoint, ..Self::new() }.read_document(&plain, form, &mut again);
        again.shape = Shape::Chunks;
        let edits: Vec<Edit<'_>> = pieces.iter().map(|piece| piece.after.map_or(Edit::Remove, Edit::Replace)).collect();
        let pieces = Piece::all(&again, &edits, plain.as_bytes());
        self.rewrite_chunks(&plain, &again, &pieces, form)
    }

    fn rewrite_opaque(&mut self, decoded: &Decoded, pieces: &[Piece<'_>], form: Form) -> Rendered {
        let Some(piece) = pieces.first() else { return Rendered::default() };
        let data = piece.after.map(|body| match (body.kind, body.payload) {
            (ChunkKind::Opaque, Some(payload)) if decoded.shape == Shape::OpaqueText => plain_text(payload),
            (ChunkKind::Opaque, payload) => payload.map_or_else(|| json::string(body.text), str::to_owned),
            _ => self.synthesise(piece.entry.choice, &body, form),
        });
        Rendered { data, ..Rendered::default() }
    }

    fn rewrite_chunks(&mut self, text: &str, decoded: &Decoded, pieces: &[Piece<'_>], form: Form) -> Rendered {
        let mut patches = Patches::default();
        let mut leaving = Vec::new();
        let mut top = Object::new(text, json::document_span(text));
        let choices = top.value_of_kind("choices", Kind::Array);
        let objects = choices.map(|choices| json::elements_of(text, choices)).unwrap_or_default();
        let objects = objects.into_iter().filter(|span| json::kind_of(text, *span) == Kind::Object);
        let endpoint = self.endpoint;
        // What lies behind the first chunk that is not delivered is cut as well.
        let mut is_cut = false;
        // The pieces lie in the order of the choices that hold them, and what is in none comes last.
        let mut ahead = pieces;
        for (container, span) in objects.enumerate() {
            let is_own =
                |piece: &Piece<'_>| Slot::of(piece).in_choice() && piece.entry.place.container as usize == container;
            let count = ahead.iter().take_while(|piece| is_own(piece)).count();
            let (own, behind) = ahead.split_at(count);
            ahead = behind;
            let Some(choice) = decoded.choices.get(container) else { continue };
            let state = self.state(*choice);
            is_cut |= own.iter().any(|piece| piece.after.is_none());
            let rewrite = ChoiceRewrite::new((text, span), form, endpoint, state, own, is_cut);
            rewrite.write(own, &mut patches, &mut leaving);
        }
        rewrite_rest(text, &mut top, pieces, &mut patches, &mut leaving);
        if pieces.iter().any(|piece| piece.is_changed() && is_text_kind(piece.before.kind)) {
            // Padding that hides the length of the text that came in.
            top.remove("obfuscation");
        }
        let nothing_stays = !pieces.is_empty()
            && pieces.iter().all(|piece| piece.after.is_none() || leaving.iter().any(|left| left.is(piece)));
        let after = self.place_leaving(text, &mut top, &leaving, choices, form, &mut patches);
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
        choices: Option<Span>,
        form: Form,
        patches: &mut Patches,
    ) -> Vec<Event> {
        if form == Form::Stream {
            let events = leaving.iter().map(|left| self.synthesise(left.choice, &left.body, form));
            return events.map(Event::unnamed).collect();
        }
        let mut added = Vec::new();
        for left in leaving {
            match left.body.kind {
                ChunkKind::Usage => top.set("usage", &usage_json(&left.body), patches),
                ChunkKind::Error => top.set("error", &error_json(&left.body), patches),
                ChunkKind::Opaque => top.set("seam", &format!("{{\"opaque\":{}}}", opaque_json(&left.body)), patches),
                _ => added.push(self.choice_json(left.choice, &left.body, form)),
            }
        }
        if let Some(choices) = choices.filter(|_| !added.is_empty()) {
            let comma = if json::elements_of(text, choices).is_empty() { "" } else { "," };
            let end = choices.end - 1;
            patches.replace(Span::new(end, end), format!("{comma}{}", added.join(",")));
        } else if !added.is_empty() {
            top.set("choices", &format!("[{}]", added.join(",")), patches);
        }
        Vec::new()
    }

    /// Which choices go on with other text than came in, and where.
    pub(super) fn note_altered(&mut self, pieces: &[Piece<'_>]) {
        for piece in pieces.iter().filter(|piece| piece.is_changed() && is_text_kind(piece.before.kind)) {
            self.state(piece.entry.choice).altered = true;
        }
        for piece in pieces {
            let content = |body: &Body<'_>| body.kind == ChunkKind::ContentDelta;
            let [before, after] = [Some(piece.before), piece.after].map(|body| body.filter(content));
            match (before.map(|body| body.text), after.map(|body| body.text)) {
                (None, None) => {}
                (Some(before), Some(after)) if before == after => self.state(piece.entry.choice).positions.kept(before),
                (before, after) => {
                    let positions = &mut self.state(piece.entry.choice).positions;
                    positions.changed(before.unwrap_or_default(), after.unwrap_or_default());
                }
            }
        }
    }

    /// Which choices the client saw begin and finish by a rewritten frame.
    pub(super) fn note_delivered(&mut self, decoded: &Decoded, pieces: &[Piece<'_>]) {
        for &choice in &decoded.choices {
            self.state(choice).opened = true;
        }
        let mut left: Vec<_> =
            pieces.iter().filter_map(|piece| Some((piece.entry.choice, piece.after?.kind))).collect();
        // In one frame the reason is said last, wherever its chunk was.
        left.sort_by_key(|(_, kind)| *kind == ChunkKind::Finish);
        for (choice, kind) in left {
            self.state(choice).opened |= kind == ChunkKind::Finish;
            self.note_kind(choice, kind);
        }
    }
}

/// Whether a chunk stays as it is, or is a string with another text.
fn stays_in_place(piece: &Piece<'_>) -> bool {
    let slot = Slot::of(piece);
    // They go with the text, whether it is this frame's or an earlier one's.
    if matches!(slot, Slot::Logprobs | Slot::Annotations) {
        return false;
    }
    if !piece.is_changed() {
        return true;
    }
    let is_string = matches!(
        slot,
        Slot::Reasoning
            | Slot::OtherReasoning
            | Slot::ReasoningDetail
            | Slot::Content
            | Slot::Text
            | Slot::Part
            | Slot::Refusal
    );
    is_string && piece.same_kind().is_some_and(|body| body.payload.is_none())
}

/// Writes the texts of chunks where they stand.
fn rewrite_in_place(text: &str, pieces: &[Piece<'_>]) -> Rendered {
    let mut changed: Vec<(Span, &str)> = Vec::with_capacity(pieces.len());
    for piece in pieces.iter().filter(|piece| piece.is_changed()) {
        changed.extend(piece.after.map(|body| (piece.entry.place.value, body.text)));
    }
    // The chunks of a choice lie in the contract's order, which need not be that of its members.
    changed.sort_unstable_by_key(|(span, _)| span.start);
    let longer: usize = changed.iter().map(|(_, new)| new.len()).sum();
    let mut out = String::with_capacity(text.len() + longer);
    let mut at = 0;
    for (span, new) in changed {
        out.push_str(Span::new(at, span.start).of_str(text));
        json::write_string(new, &mut out);
        at = span.end;
    }
    out.push_str(Span::new(at, text.len()).of_str(text));
    Rendered { data: Some(out), ..Rendered::default() }
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

/// Rewrites what stands beside the choices.
fn rewrite_rest<'a>(
    text: &str,
    top: &mut Object<'_>,
    pieces: &[Piece<'a>],
    patches: &mut Patches,
    leaving: &mut Vec<Leaving<'a>>,
) {
    for piece in pieces.iter().filter(|piece| !Slot::of(piece).in_choice() && piece.is_changed()) {
        let value = piece.entry.place.value;
        let same = piece.same_kind();
        match Slot::of(piece) {
            Slot::Usage => {
                let new = same.map_or_else(|| "null".to_owned(), |body| usage_json(&body));
                for place in usage_places(text, top) {
                    patches.replace(place, new.as_str());
                }
            }
            Slot::Citations => match same {
                Some(body) => patches.replace(value, annotation_value("citations", &body)),
                None => top.remove("citations"),
            },
            _ => match same {
                Some(body) => rewrite_error(text, value, piece, &body, patches),
                None => top.remove("error"),
            },
        }
        leaving.extend(piece.other_kind().map(|body| Leaving::new(piece, body)));
    }
}

/// Every usage object that the chunk stands for: beside the choices and in them.
fn usage_places(text: &str, top: &Object<'_>) -> Vec<Span> {
    let mut places: Vec<Span> = top.value_of_kind("usage", Kind::Object).into_iter().collect();
    let choices = top.value_of_kind("choices", Kind::Array);
    for choice in choices.map(|choices| json::elements_of(text, choices)).unwrap_or_default() {
        let usage = json::member_of(text, choice, "usage");
        places.extend(usage.filter(|usage| json::kind_of(text, *usage) == Kind::Object));
    }
    places
}

/// Puts another error in the place of one. A text that was changed alone is its message.
pub(super) fn rewrite_error(text: &str, value: Span, piece: &Piece<'_>, body: &Body<'_>, patches: &mut Patches) {
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

/// The value of an annotation that goes into the member of that name.
pub(super) fn annotation_value(name: &str, body: &Body<'_>) -> String {
    let Some(payload) = body.payload else { return json::string(body.text) };
    let value = json::member_of(payload, json::document_span(payload), name);
    value.map_or(payload, |value| value.of_str(payload)).to_owned()
}

/// The error object that a body stands for.
pub(super) fn error_json(body: &Body<'_>) -> String {
    body.payload.map_or_else(|| format!("{{\"message\":{}}}", json::string(body.text)), str::to_owned)
}

/// The usage object that a body stands for.
pub(super) fn usage_json(body: &Body<'_>) -> String {
    body.payload.map_or_else(|| "null".to_owned(), usage::provider_json)
}

/// The document that an opaque body stands for.
pub(super) fn opaque_json(body: &Body<'_>) -> String {
    body.payload.map_or_else(|| json::string(body.text), str::to_owned)
}
