//! From edited chunks to events. Everything is a patch of the text that came in; what no patch covers stays.

use super::decode::Read;
use super::names::{About, Lane, event};
use super::texts::{self, Address, Whole};
use super::{OpenAiResponses, Slot};
use crate::answer::{Document, Event, Form, Piece, Rendered};
use crate::chunk::{Body, Decoded};
use crate::json::{self, Kind, Span, is_text};
use crate::splice::{Object, Patches};
use crate::usage;
use seam_plugin_api::ChunkKind;

impl OpenAiResponses {
    pub(super) fn rewrite_document(
        &mut self,
        document: &Document<'_>,
        decoded: &Decoded,
        pieces: &[Piece<'_>],
    ) -> Rendered {
        self.note_edits(pieces);
        let is_stream = document.form == Form::Stream;
        if is_stream && pieces.iter().all(|piece| piece.after.is_none()) {
            self.leave_out();
            return Rendered::default();
        }
        let Ok((Some(read), _)) = Read::of(document, &mut Decoded::default()) else {
            return rewrite_opaque(pieces);
        };
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let is_last = is_stream && matches!(read.about, About::Over);
        if is_last {
            // Nothing may come behind the response's end.
            self.say_the_rest(pieces, &mut before);
            self.close_made(&mut before);
        }
        let data = self.rewrite_data(document, &read, decoded, pieces);
        match &data {
            Some(data) if is_stream => self.track(data),
            Some(_) => {}
            None => self.leave_out(),
        }
        if is_stream && !is_last {
            self.say_the_rest(pieces, &mut after);
        }
        Rendered { before, data, after }
    }

    /// An event of the provider does not go out.
    fn leave_out(&mut self) {
        if self.client.next_sequence.is_some() {
            self.offset -= 1;
        }
    }

    /// Takes note of what goes out of each text.
    fn note_edits(&mut self, pieces: &[Piece<'_>]) {
        for piece in pieces {
            let slot = Slot::of(piece.entry.place);
            let Some(lane) = slot.lane() else { continue };
            let address = Address { output: piece.entry.choice, lane, index: piece.entry.place.container };
            let new = piece.same_kind().map_or("", |body| body.text);
            let text = self.text(slot, address);
            if new == piece.before.text {
                text.kept(new);
            } else {
                text.replaced(piece.before.text, new);
                self.altered = true;
            }
        }
    }

    /// Chunks that went elsewhere, and calls beside content.
    fn say_the_rest(&mut self, pieces: &[Piece<'_>], events: &mut Vec<Event>) {
        for piece in pieces {
            if let Some(body) = piece.other_kind() {
                self.say_elsewhere(&body, events);
            } else if let Some(body) = piece.same_kind().filter(|body| body.kind == ChunkKind::ContentDelta) {
                self.say_calls(&body, events);
            }
        }
    }

    /// The event's own data; none if nothing of it is left.
    fn rewrite_data(
        &mut self,
        document: &Document<'_>,
        read: &Read,
        decoded: &Decoded,
        pieces: &[Piece<'_>],
    ) -> Option<String> {
        let text = document.text;
        if let [piece] = pieces
            && Slot::of(piece.entry.place) == Slot::Event
            && piece.is_changed()
        {
            // Another document stands in its place.
            return piece.same_kind().map(|body| body.payload.map_or_else(|| json::string(body.text), str::to_owned));
        }
        let leaves =
            |piece: &Piece<'_>| matches!(Slot::of(piece.entry.place), Slot::Delta(_)) && piece.same_kind().is_none();
        if document.form == Form::Stream && matches!(read.about, About::Delta(_)) && pieces.iter().all(leaves) {
            return None;
        }
        let mut patches = Patches::default();
        for hidden in &decoded.hidden {
            let after = text[hidden.end..].find(',').map_or(hidden.end, |comma| hidden.end + comma + 1);
            patches.replace(Span::new(hidden.start, after), "");
        }
        let mut top = Object::new(text, read.whole);
        for piece in pieces.iter().filter(|piece| piece.is_changed()) {
            rewrite_piece(text, piece, &mut top, &mut patches);
        }
        self.rewrite_logprobs(text, read, &mut patches);
        self.rewrite_repeats(text, read, &mut patches);
        if document.form == Form::Stream {
            self.renumber(text, read, &mut patches);
        } else {
            // What went elsewhere is an item more of the body.
            let mut unsent = Vec::new();
            self.say_the_rest(pieces, &mut unsent);
        }
        self.put_items_in(text, read, &mut patches);
        top.write(&mut patches);
        Some(patches.apply(text))
    }

    /// Gives the event the number and the output index that the client expects.
    fn renumber(&self, text: &str, read: &Read, patches: &mut Patches) {
        let number = |slot| {
            read.fields.value(slot).and_then(|value: Span| Some((value, value.of_str(text).parse::<i64>().ok()?)))
        };
        if let Some((value, came)) = number(event::SEQUENCE)
            && self.offset != 0
        {
            patches.replace(value, (came + self.offset).to_string());
        }
        if let Some((value, came)) = number(event::OUTPUT) {
            let came = u32::try_from(came).unwrap_or(0);
            let wire = self.wire_output(came);
            if wire != came {
                patches.replace(value, wire.to_string());
            }
        }
    }

    /// Log-probabilities of a text that was altered go: they spell what came in.
    fn rewrite_logprobs(&self, text: &str, read: &Read, patches: &mut Patches) {
        let About::Delta(lane) = read.about else { return };
        let edits = self.texts.get(&read.address(lane, text)).filter(|edits| edits.is_altered());
        if let Some(logprobs) = edits.and_then(|_| read.fields.of_kind(event::LOGPROBS, text, Kind::Array)) {
            patches.replace(logprobs, "[]");
        }
    }

    /// Whatever repeats a text says what went out of it.
    fn rewrite_repeats(&self, text: &str, read: &Read, patches: &mut Patches) {
        for Whole { address, value, holder } in read.wholes(text) {
            let Some(edits) = self.texts.get(&address).filter(|edits| edits.is_altered()) else { continue };
            let mut spelt = String::new();
            json::unescape(value.inside_quotes().of_str(text), &mut spelt);
            patches.replace(value, json::string(&edits.apply(&spelt)));
            let member =
                |name| json::member_of(text, holder, name).filter(|list| json::kind_of(text, *list) == Kind::Array);
            if let Some(logprobs) = member("logprobs") {
                patches.replace(logprobs, "[]");
            }
            for annotation in member("annotations").map(|list| json::elements_of(text, list)).unwrap_or_default() {
                self.move_annotation(text, annotation, address, patches);
            }
        }
        if let (About::Annotation, Some(annotation)) = (read.about, read.fields.value(event::ANNOTATION)) {
            self.move_annotation(text, annotation, read.address(Lane::Text, text), patches);
        }
        if let Some(response) = read.response.filter(|_| self.altered)
            && let Some(joined) = json::member_of(text, response, "output_text").filter(|joined| is_text(text, *joined))
        {
            patches.replace(joined, json::string(&self.joined(text, response)));
        }
    }

    /// The positions of a citation, in characters of the text that went out.
    fn move_annotation(&self, text: &str, annotation: Span, address: Address, patches: &mut Patches) {
        let Some(edits) = self.texts.get(&address).filter(|edits| edits.is_altered()) else { return };
        for name in ["start_index", "end_index", "index"] {
            let value = json::member_of(text, annotation, name);
            let position = value.and_then(|value| Some((value, value.of_str(text).parse().ok()?)));
            if let Some((value, position)) = position {
                patches.replace(value, edits.map_characters(position).to_string());
            }
        }
    }

    /// All answer text of a response as it went out.
    fn joined(&self, text: &str, response: Span) -> String {
        let wholes = texts::of_response(text, response).into_iter().filter(|whole| whole.address.lane == Lane::Text);
        wholes.fold(String::new(), |mut joined, whole| {
            let mut spelt = String::new();
            json::unescape(whole.value.inside_quotes().of_str(text), &mut spelt);
            let edits = self.texts.get(&whole.address);
            joined.push_str(&edits.map_or_else(|| spelt.as_str().into(), |edits| edits.apply(&spelt)));
            joined
        })
    }

    /// The items of our own, where the response lists its items.
    fn put_items_in(&self, text: &str, read: &Read, patches: &mut Patches) {
        let Some(response) = read.response.filter(|_| matches!(read.about, About::Over)) else { return };
        let output = json::member_of(text, response, "output").filter(|list| json::kind_of(text, *list) == Kind::Array);
        let Some(output) = output.filter(|_| !self.made.is_empty()) else { return };
        let theirs = json::elements_of(text, output);
        // What is inserted goes in front of the provider's next item; its own bytes stay where they are.
        let mut ahead = 0;
        for made in &self.made {
            let position = made.output as usize - ahead;
            ahead += 1;
            let json = made.json("completed");
            match theirs.get(position) {
                Some(next) => patches.replace(Span::new(next.start, next.start), format!("{json},")),
                None => {
                    let comma = if theirs.is_empty() && ahead == 1 { "" } else { "," };
                    patches.replace(Span::new(output.end - 1, output.end - 1), format!("{comma}{json}"));
                }
            }
        }
    }
}

fn rewrite_opaque(pieces: &[Piece<'_>]) -> Rendered {
    let after = pieces.first().and_then(|piece| piece.after);
    let data = after.map(|body| match (body.kind, body.payload) {
        (ChunkKind::Opaque, Some(payload)) => plain(payload),
        _ => json::string(body.text),
    });
    Rendered { data, ..Rendered::default() }
}

/// The text that stood there before it was shown as a JSON string; another payload stands for itself.
fn plain(payload: &str) -> String {
    let payload = payload.trim_ascii();
    if !payload.starts_with('"') {
        return payload.to_owned();
    }
    let mut text = String::new();
    json::unescape(Span::new(0, payload.len()).inside_quotes().of_str(payload), &mut text);
    text
}

/// Changes a chunk where it stands, or empties its place.
fn rewrite_piece(text: &str, piece: &Piece<'_>, top: &mut Object<'_>, patches: &mut Patches) {
    let value = piece.entry.place.value;
    let same = piece.same_kind();
    match Slot::of(piece.entry.place) {
        Slot::Delta(_) => {
            patches.replace(value, json::string(same.map_or("", |body| body.text)));
            // Padding that hides the length of the text that came in.
            top.remove("obfuscation");
        }
        Slot::Finish => {
            if let Some(body) = same {
                patches.replace(value, json::string(body.text));
            }
        }
        Slot::Call => {
            if let Some(body) = same {
                rename_call(text, value, &body, patches);
            }
        }
        Slot::Annotation => {
            let new = same.map(|body| annotation_value("annotation", &body));
            patches.replace(value, new.unwrap_or_else(|| "null".to_owned()));
        }
        Slot::Logprobs => {
            let new = same.map(|body| annotation_value("logprobs", &body));
            patches.replace(value, new.unwrap_or_else(|| "[]".to_owned()));
        }
        Slot::Usage => {
            let new = same.and_then(|body| body.payload.map(usage::provider_json));
            patches.replace(value, new.unwrap_or_else(|| "null".to_owned()));
        }
        Slot::Error => rewrite_error(text, value, piece, patches),
        // A whole text is written by what repeats it, and an end of a text says nothing.
        Slot::Whole(_) | Slot::Rest(_) | Slot::TextEnd | Slot::Event => {}
    }
}

/// The name and the id of a call, where the new payload brings others.
fn rename_call(text: &str, item: Span, body: &Body<'_>, patches: &mut Patches) {
    let Some(payload) = body.payload else { return };
    let whole = json::document_span(payload);
    for (theirs, ours) in [("name", "name"), ("id", "call_id")] {
        let new = json::member_of(payload, whole, theirs).filter(|value| is_text(payload, *value));
        let old = json::member_of(text, item, ours).filter(|value| is_text(text, *value));
        if let (Some(new), Some(old)) = (new, old) {
            patches.replace(old, new.of_str(payload));
        }
    }
}

fn rewrite_error(text: &str, value: Span, piece: &Piece<'_>, patches: &mut Patches) {
    let Some(body) = piece.same_kind() else { return patches.replace(value, "null") };
    if body.payload != piece.before.payload {
        return patches.replace(value, body.payload.unwrap_or("null"));
    }
    if let Some(message) = json::member_of(text, value, "message") {
        patches.replace(message, json::string(body.text));
    }
}

/// The value of an annotation that goes into the member of that name.
fn annotation_value(name: &str, body: &Body<'_>) -> String {
    let Some(payload) = body.payload else { return json::string(body.text) };
    let value = json::member_of(payload, json::document_span(payload), name);
    value.map_or(payload, |value| value.of_str(payload)).to_owned()
}
