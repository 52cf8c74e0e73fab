//! From edited chunks to data. Everything is a patch of the text that came in; what no patch covers stays.

use super::choice::{ChoiceRewrite, Leaving};
use super::{Form, OpenAiChat, Slot, ends, usage};
use crate::chunk::{Body, Decoded, Edit, Entry, Shape};
use crate::json::{self, Kind, Span};
use crate::splice::{Object, Patches};
use seam_plugin_api::ChunkKind;

/// What a frame or body became.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    /// Its data; none if nothing of it is left.
    pub(super) data: Option<String>,
    /// Data of events that come after it.
    pub(super) events: Vec<String>,
}

impl Rendered {
    pub(super) fn is_empty(&self) -> bool {
        self.data.is_none() && self.events.is_empty()
    }
}

/// One chunk with what goes out in its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) entry: Entry,
    /// As it came in.
    pub(super) before: Body<'a>,
    /// As it goes out; `None` if it does not.
    pub(super) after: Option<Body<'a>>,
}

impl<'a> Piece<'a> {
    fn new(decoded: &'a Decoded, position: usize, edit: Edit<'a>, data: &'a [u8]) -> Option<Self> {
        let chunk = decoded.chunk(position, data)?;
        let before = Body { kind: chunk.kind, text: chunk.text, payload: chunk.payload };
        let after = match edit {
            Edit::Keep => Some(before),
            Edit::Replace(body) => Some(Body { payload: body.payload.filter(|json| json::is_document(json)), ..body }),
            Edit::Remove => None,
        };
        Some(Self { entry: *decoded.entries.get(position)?, before, after })
    }

    pub(super) fn slot(&self) -> Slot {
        Slot::from_code(self.entry.place.slot)
    }

    pub(super) fn is_changed(&self) -> bool {
        self.after != Some(self.before)
    }

    /// What goes out if it is of the kind that came in.
    pub(super) fn same_kind(&self) -> Option<Body<'a>> {
        self.after.filter(|after| after.kind == self.before.kind)
    }

    /// What goes out if it is of another kind.
    pub(super) fn other_kind(&self) -> Option<Body<'a>> {
        self.after.filter(|after| after.kind != self.before.kind)
    }
}

impl OpenAiChat {
    /// Makes the edits and takes note of what is delivered.
    pub(super) fn rewrite(&mut self, data: &[u8], decoded: &Decoded, edits: &[Edit<'_>], form: Form) -> Rendered {
        let edit = |position| edits.get(position).copied().unwrap_or(Edit::Keep);
        let pieces: Vec<Piece<'_>> =
            (0..decoded.len()).filter_map(|position| Piece::new(decoded, position, edit(position), data)).collect();
        self.note_altered(&pieces);
        if form == Form::Stream && pieces.iter().all(|piece| piece.after.is_none()) {
            return Rendered::default();
        }
        let rendered = match decoded.shape {
            Shape::Chunks => {
                // As it was decoded.
                let text = json::text_of(data);
                if decoded.hidden.is_empty() {
                    self.rewrite_chunks(&text, decoded, &pieces, form)
                } else {
                    self.rewrite_plain(&text, decoded, edits, form)
                }
            }
            _ => self.rewrite_opaque(decoded, &pieces, form),
        };
        self.note_delivered(decoded, &pieces);
        rendered
    }

    /// Members that a later one of the same name hides are dropped before anything else is changed: no reader sees
    /// them, but what they say would go out past the observers.
    fn rewrite_plain(&mut self, text: &str, decoded: &Decoded, edits: &[Edit<'_>], form: Form) -> Rendered {
        let mut patches = Patches::default();
        for hidden in &decoded.hidden {
            let after = text[hidden.end..].find(',').map_or(hidden.end, |comma| hidden.end + comma + 1);
            patches.replace(Span::new(hidden.start, after), "");
        }
        let plain = patches.apply(text);
        // By a state of its own: this one has numbered the calls of the frame before.
        let mut again = Decoded::default();
        Self::new().read(plain.as_bytes(), form, &mut again);
        self.rewrite(plain.as_bytes(), &again, edits, form)
    }

    fn rewrite_opaque(&mut self, decoded: &Decoded, pieces: &[Piece<'_>], form: Form) -> Rendered {
        let Some(piece) = pieces.first() else { return Rendered::default() };
        let data = piece.after.map(|body| match (body.kind, body.payload) {
            (ChunkKind::Opaque, Some(payload)) if decoded.shape == Shape::OpaqueText => plain_text(payload),
            (ChunkKind::Opaque, payload) => payload.map_or_else(|| json::string(body.text), str::to_owned),
            _ => self.synthesise(piece.entry.choice, &body, form),
        });
        Rendered { data, events: Vec::new() }
    }

    fn rewrite_chunks(&mut self, text: &str, decoded: &Decoded, pieces: &[Piece<'_>], form: Form) -> Rendered {
        let mut patches = Patches::default();
        let mut leaving = Vec::new();
        let mut top = Object::new(text, json::document_span(text));
        let choices = top.value_of_kind("choices", Kind::Array);
        let objects = choices.map(|choices| json::elements_of(text, choices)).unwrap_or_default();
        let objects = objects.into_iter().filter(|span| json::kind_of(text, *span) == Kind::Object);
        // The pieces lie in the order of the choices that hold them, and what is in none comes last.
        let mut ahead = pieces;
        for (container, span) in objects.enumerate() {
            let is_own =
                |piece: &Piece<'_>| piece.slot().in_choice() && piece.entry.place.container as usize == container;
            let count = ahead.iter().take_while(|piece| is_own(piece)).count();
            let (own, behind) = ahead.split_at(count);
            ahead = behind;
            let Some(choice) = decoded.choices.get(container) else { continue };
            let state = self.state(*choice);
            ChoiceRewrite::new(text, span, form, state, own).write(own, &mut patches, &mut leaving);
        }
        rewrite_rest(text, &mut top, pieces, &mut patches, &mut leaving);
        if pieces.iter().any(|piece| piece.is_changed() && is_text_kind(piece.before.kind)) {
            // Padding that hides the length of the text that came in.
            top.remove("obfuscation");
        }
        let nothing_stays =
            pieces.iter().all(|piece| piece.after.is_none() || leaving.iter().any(|left| left.is(piece)));
        let events = self.place_leaving(text, &mut top, &leaving, choices, form, &mut patches);
        top.write(&mut patches);
        let data = (form == Form::Body || !nothing_stays).then(|| patches.apply(text));
        Rendered { data, events }
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
    ) -> Vec<String> {
        if form == Form::Stream {
            return leaving.iter().map(|left| self.synthesise(left.choice, &left.body, form)).collect();
        }
        let mut added = Vec::new();
        for left in leaving {
            match left.body.kind {
                ChunkKind::Usage => top.set("usage", &usage_json(&left.body), patches),
                ChunkKind::Error => top.set("error", &error_json(&left.body), patches),
                ChunkKind::Opaque => top.set("seam", &format!("{{\"opaque\":{}}}", opaque_json(&left.body)), patches),
                _ => added.push(ends::choice_json(self.state(left.choice), &left.body, form)),
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

    /// Which choices go on with other text than came in.
    fn note_altered(&mut self, pieces: &[Piece<'_>]) {
        for piece in pieces.iter().filter(|piece| piece.is_changed() && is_text_kind(piece.before.kind)) {
            self.state(piece.entry.choice).altered = true;
        }
    }

    /// Which choices the client saw begin and finish by a rewritten frame.
    fn note_delivered(&mut self, decoded: &Decoded, pieces: &[Piece<'_>]) {
        for &choice in &decoded.choices {
            self.state(choice).opened = true;
        }
        for piece in pieces {
            let finished = piece.after.is_some_and(|after| after.kind == ChunkKind::Finish);
            let state = self.state(piece.entry.choice);
            state.opened |= finished;
            state.finished |= finished;
        }
    }
}

fn is_text_kind(kind: ChunkKind) -> bool {
    matches!(
        kind,
        ChunkKind::ContentDelta | ChunkKind::ReasoningDelta | ChunkKind::RefusalDelta | ChunkKind::ToolCallDelta
    )
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
    for piece in pieces.iter().filter(|piece| !piece.slot().in_choice() && piece.is_changed()) {
        let value = piece.entry.place.value;
        let same = piece.same_kind();
        match piece.slot() {
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
