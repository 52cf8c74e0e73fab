//! From edited chunks to events. Everything that stays is a patch of the text that came in; what no patch covers stays.

use super::body::patch_piece;
use super::lanes::OpenKind;
use super::made::{block_stop, fragment, id_in, opaque_json, push, text_block, usage_json};
use super::{AnthropicMessages, EventKind, Slot};
use crate::answer::{Document, Form, Piece, Rendered};
use crate::chunk::{Body, Decoded, Edit, Shape};
use crate::json::{self, Span};
use crate::splice::{Object, Patches};
use seam_plugin_api::ChunkKind;

impl AnthropicMessages {
    /// Whether an event none of whose chunks is edited can't go out as it came.
    pub(super) fn no_longer_fits(&self, data: &[u8], decoded: &Decoded) -> bool {
        let kind = EventKind::of(decoded);
        let index = decoded.choices.first().copied().unwrap_or(0);
        match kind {
            EventKind::Other | EventKind::Error | EventKind::Message => false,
            _ if self.client.owes_start => true,
            EventKind::Delta | EventKind::Signature | EventKind::BlockStop => self.client.is_moved(kind, index),
            EventKind::OtherStart if self.client.has_lost_ids() => true,
            EventKind::TextStart | EventKind::ThinkingStart | EventKind::CallStart | EventKind::OtherStart => {
                self.client.has_ended_lanes() || self.client.is_moved(kind, index)
            }
            EventKind::MessageDelta => {
                let mut reasons = decoded.chunks(data).filter(|chunk| chunk.kind == ChunkKind::Finish);
                let is_unfit = reasons.any(|chunk| self.client.fitting_reason(chunk.text).is_some());
                self.client.has_ended_lanes() || is_unfit
            }
            EventKind::MessageStop | EventKind::MessageStart => self.client.has_ended_lanes(),
        }
    }

    /// Makes the edits and takes note of what is delivered.
    pub(super) fn rewrite_document(
        &mut self,
        document: &Document<'_>,
        decoded: &Decoded,
        pieces: &[Piece<'_>],
    ) -> Rendered {
        if decoded.shape == Shape::Chunks && !decoded.hidden.is_empty() {
            return self.rewrite_plain(document, decoded, pieces);
        }
        let text = document.text;
        let mut out = Rendered::default();
        if document.form == Form::Body {
            out.data = Some(self.rewrite_body(text, decoded, pieces));
            return out;
        }
        let kind = EventKind::of(decoded);
        let index = decoded.choices.first().copied().unwrap_or(0);
        self.start_owed(kind, pieces, &mut out);
        match kind {
            EventKind::TextStart | EventKind::ThinkingStart | EventKind::CallStart | EventKind::OtherStart => {
                self.rewrite_start(kind, index, text, pieces, &mut out);
            }
            EventKind::Delta | EventKind::Signature => self.rewrite_delta(kind, index, text, pieces, &mut out),
            EventKind::BlockStop => self.rewrite_stop(index, text, pieces, &mut out),
            EventKind::MessageStart => self.rewrite_message_start(text, decoded, pieces, &mut out),
            EventKind::MessageDelta => self.rewrite_message_delta(text, pieces, &mut out),
            _ => self.rewrite_beside(kind, text, decoded, pieces, &mut out),
        }
        out
    }

    /// Members that a later one of the same name hides are dropped before anything else is changed: no reader sees
    /// them, but what they say would go out past the observers.
    fn rewrite_plain(&mut self, document: &Document<'_>, decoded: &Decoded, pieces: &[Piece<'_>]) -> Rendered {
        let mut patches = Patches::default();
        let text = document.text;
        for hidden in &decoded.hidden {
            let rest = text.get(hidden.end..).unwrap_or_default();
            let after = rest.find(',').map_or(hidden.end, |comma| hidden.end + comma + 1);
            patches.replace(Span::new(hidden.start, after), "");
        }
        let plain = patches.apply(text);
        let document = Document { text: &plain, ..*document };
        let mut again = Decoded::default();
        // By a state of its own, which has not read the event before. It was read, without some members; only what came
        // with earlier events is missing, which no edit depends on.
        let _ = super::decode::Arriving::default().read(&document, &mut again);
        again.shape = Shape::Chunks;
        again.hidden.clear();
        let edits: Vec<Edit<'_>> = pieces.iter().map(|piece| piece.after.map_or(Edit::Remove, Edit::Replace)).collect();
        let pieces = Piece::all(&again, &edits, plain.as_bytes());
        self.rewrite_document(&document, &again, &pieces)
    }

    /// The beginning of a block. The client does not see it if all that it says became something else.
    fn rewrite_start(&mut self, kind: EventKind, own: u32, text: &str, pieces: &[Piece<'_>], out: &mut Rendered) {
        self.close_ended(out);
        if kind == EventKind::OtherStart && self.is_result_of_lost_call(text) {
            return self.client.begin_unseen(own, kind);
        }
        if pieces.iter().any(|piece| piece.same_kind().is_some()) {
            let index = self.client.begin(own, kind);
            let mut arguments = String::new();
            out.data = Some(patched(text, index, pieces, &mut arguments));
            if !arguments.is_empty() {
                out.after.push(fragment(index, &arguments));
            }
        } else {
            self.client.begin_unseen(own, kind);
        }
        self.note_altered(own, pieces);
        self.say_rest(own, pieces, out);
    }

    /// What comes in a block goes on in the client's block that takes it.
    fn rewrite_delta(&mut self, kind: EventKind, own: u32, text: &str, pieces: &[Piece<'_>], out: &mut Rendered) {
        self.note_altered(own, pieces);
        for piece in pieces {
            match piece.after {
                Some(body) if body.kind == piece.before.kind => {
                    if out.data.is_none() {
                        match self.place(kind, own, &body, out) {
                            Some(index) => out.data = Some(patched(text, index, pieces, &mut String::new())),
                            None => self.say_fragment(own, &body, out),
                        }
                    }
                    self.say_calls(Some(own), &body, out);
                }
                Some(body) => self.say(Some(own), &body, out),
                None => {}
            }
        }
    }

    /// The client's block for a delta that stays what it is, begun if need be; none if it has lost its place.
    fn place(&mut self, kind: EventKind, own: u32, body: &Body<'_>, out: &mut Rendered) -> Option<u32> {
        let Some(lane) = self.client.find(own) else { return Some(self.client.shifted(own)) };
        let is_home = lane.open.filter(|open| open.kind == OpenKind::Home);
        if kind == EventKind::Signature {
            // It vouches for no other text than the provider's.
            let is_thinking = lane.open.filter(|open| open.kind == OpenKind::Thinking);
            return is_home.or(is_thinking).filter(|_| !lane.altered).map(|open| open.index);
        }
        let taken_as = if body.kind == ChunkKind::Annotation { ChunkKind::ContentDelta } else { body.kind };
        if let Some(open) = is_home.or_else(|| lane.taking(taken_as)) {
            return Some(open.index);
        }
        let open_kind = match (lane.home, body.kind) {
            _ if body.text.is_empty() => return None,
            (EventKind::TextStart, ChunkKind::ContentDelta) => OpenKind::Text,
            (EventKind::ThinkingStart, ChunkKind::ReasoningDelta) => OpenKind::Thinking,
            _ => return None,
        };
        Some(self.open(Some(own), open_kind, &text_block(body.kind, ""), out).0)
    }

    /// The end of a block ends the client's block that is open there, if any is.
    fn rewrite_stop(&mut self, own: u32, text: &str, pieces: &[Piece<'_>], out: &mut Rendered) {
        if pieces.iter().all(|piece| piece.after.is_none()) {
            return self.client.remove_end(own);
        }
        for body in pieces.iter().filter_map(Piece::other_kind) {
            self.say(Some(own), &body, out);
        }
        let index = match self.client.find(own) {
            Some(lane) => lane.open.map(|open| open.index),
            None => Some(self.client.shifted(own)),
        };
        out.data = index.map(|index| patched(text, index, &[], &mut String::new()));
        self.client.end_lane(own);
    }

    fn rewrite_message_start(&mut self, text: &str, decoded: &Decoded, pieces: &[Piece<'_>], out: &mut Rendered) {
        self.close_ended(out);
        if pieces.iter().all(|piece| piece.after.is_none()) {
            self.client.owes_start = true;
            return;
        }
        let came = decoded.choices.len();
        self.client.begin_message(came);
        let whole = json::document_span(text);
        let data = match (pieces, json::member_of(text, whole, "message")) {
            ([piece], _) if piece.before.kind == ChunkKind::Opaque => opaque_data(text, piece),
            (_, Some(message)) => {
                let (data, blocks) = self.rewrite_message(text, message, pieces);
                self.client.shift_by(blocks - i64::try_from(came).unwrap_or(0));
                Some(data)
            }
            (_, None) => Some(text.to_owned()),
        };
        out.data = data;
        if let ([piece], None) = (pieces, &out.data)
            && let Some(body) = piece.other_kind()
        {
            self.say(None, &body, out);
        }
    }

    fn rewrite_message_delta(&mut self, text: &str, pieces: &[Piece<'_>], out: &mut Rendered) {
        self.close_ended(out);
        // What became text comes before the message's end.
        for body in pieces.iter().filter_map(Piece::other_kind) {
            self.say(self.client.last(), &body, out);
        }
        if pieces.iter().all(|piece| piece.same_kind().is_none()) {
            return;
        }
        let mut patches = Patches::default();
        for piece in pieces {
            self.patch_end(text, piece, &mut patches);
        }
        out.data = Some(patches.apply(text));
    }

    /// What stands beside a message's blocks: how it ended, and its usage.
    pub(super) fn patch_end(&self, text: &str, piece: &Piece<'_>, patches: &mut Patches) {
        let value = piece.entry.place.value;
        match (Slot::of(piece), piece.same_kind()) {
            (Slot::StopReason, Some(body)) => {
                let fitting = self.client.fitting_reason(body.text);
                if fitting.is_some() || piece.is_changed() {
                    patches.replace(value, json::string(fitting.unwrap_or(body.text)));
                }
            }
            (Slot::StopReason, None) => patches.replace(value, "null"),
            (Slot::Usage, same) if piece.is_changed() => {
                patches
                    .replace(value, same.map_or_else(|| "{\"output_tokens\":0}".to_owned(), |body| usage_json(&body)));
            }
            _ => patch_piece(text, piece, patches, &mut String::new()),
        }
    }

    /// Pings, errors, the end of the message, and what is not known.
    fn rewrite_beside(
        &mut self,
        kind: EventKind,
        text: &str,
        decoded: &Decoded,
        pieces: &[Piece<'_>],
        out: &mut Rendered,
    ) {
        if pieces.iter().all(|piece| piece.after.is_none()) {
            return;
        }
        if matches!(kind, EventKind::MessageStop | EventKind::Error) {
            self.close_ended(out);
        }
        for piece in pieces {
            match piece.other_kind() {
                Some(body) => self.say(self.client.last(), &body, out),
                None if decoded.shape == Shape::OpaqueText => {
                    out.data = piece.after.map(|body| plain_text(text, piece, &body));
                }
                None => {
                    let mut patches = Patches::default();
                    patch_piece(text, piece, &mut patches, &mut String::new());
                    out.data = opaque_data(text, piece).or_else(|| Some(patches.apply(text)));
                }
            }
        }
    }

    /// Begins the message whose own beginning was removed, in front of anything of it.
    fn start_owed(&mut self, kind: EventKind, pieces: &[Piece<'_>], out: &mut Rendered) {
        let is_of_message = match kind {
            EventKind::MessageStart => false,
            EventKind::Other | EventKind::Error => pieces.iter().any(|piece| piece.other_kind().is_some()),
            _ => pieces.iter().any(|piece| piece.after.is_some()),
        };
        if self.client.owes_start && is_of_message {
            self.client.owes_start = false;
            self.client.started = true;
            push(out, self.message_start());
        }
    }

    /// Ends the blocks whose own ends were removed, in front of what comes now.
    fn close_ended(&mut self, out: &mut Rendered) {
        for index in self.client.take_ended() {
            push(out, block_stop(index));
        }
    }

    fn note_altered(&mut self, own: u32, pieces: &[Piece<'_>]) {
        let is_altered = |piece: &Piece<'_>| piece.before.kind == ChunkKind::ReasoningDelta && piece.is_changed();
        for piece in pieces.iter().filter(|piece| Slot::of(piece) == Slot::Call && piece.same_kind().is_none()) {
            self.client.note_lost_call(&lost_id(piece));
        }
        if pieces.iter().any(is_altered)
            && let Some(lane) = self.client.lane(own)
        {
            lane.altered = true;
        }
    }

    fn is_result_of_lost_call(&self, text: &str) -> bool {
        let block = json::member_of(text, json::document_span(text), "content_block");
        block.is_some_and(|block| self.client.is_lost(&id_in(text, block, "tool_use_id")))
    }

    /// Says what became something else, and the calls beside what stayed.
    fn say_rest(&mut self, own: u32, pieces: &[Piece<'_>], out: &mut Rendered) {
        for piece in pieces {
            match piece.after {
                Some(body) if body.kind == piece.before.kind => self.say_calls(Some(own), &body, out),
                Some(body) => self.say(Some(own), &body, out),
                None => {}
            }
        }
    }
}

/// The id of a call as it came.
pub(super) fn lost_id(piece: &Piece<'_>) -> String {
    let payload = piece.before.payload.unwrap_or("{}");
    id_in(payload, json::document_span(payload), "id")
}

/// An event about a block with its edits and the client's index. Arguments that can't be said as the input of a call that
/// begins are left over.
fn patched(text: &str, index: u32, pieces: &[Piece<'_>], arguments: &mut String) -> String {
    if let [piece] = pieces
        && let Some(data) = opaque_data(text, piece)
    {
        return reindexed(&data, index);
    }
    let mut patches = Patches::default();
    for piece in pieces {
        patch_piece(text, piece, &mut patches, arguments);
    }
    reindex(text, index, &mut patches);
    patches.apply(text)
}

/// What a changed opaque event says now; none if it is not opaque, or not there.
fn opaque_data(text: &str, piece: &Piece<'_>) -> Option<String> {
    let body = piece.same_kind().filter(|body| body.kind == ChunkKind::Opaque)?;
    Some(if piece.is_changed() { opaque_json(&body) } else { text.to_owned() })
}

fn reindexed(text: &str, index: u32) -> String {
    let mut patches = Patches::default();
    reindex(text, index, &mut patches);
    patches.apply(text)
}

/// Gives an event the client's index of its block, if it has one and that is another.
fn reindex(text: &str, index: u32, patches: &mut Patches) {
    let own = Object::new(text, json::document_span(text)).value("index");
    if let Some(own) = own.filter(|own| own.of_str(text).parse() != Ok(index)) {
        patches.replace(own, index.to_string());
    }
}

/// The text that stood there before it was shown as a JSON string; another payload stands for itself.
fn plain_text(text: &str, piece: &Piece<'_>, body: &Body<'_>) -> String {
    if !piece.is_changed() {
        return text.to_owned();
    }
    let json = opaque_json(body);
    let whole = json::document_span(&json);
    if json.get(whole.start..).is_some_and(|json| json.starts_with('"')) {
        return json::key_name(&json, whole).into_owned();
    }
    json
}
