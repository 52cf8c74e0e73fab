//! A whole message, rewritten: an answer that is not streamed, or the message inside `message_start`.

use super::made::{self, MadeCall, annotation_value, error_json, id_in, opaque_json, text_block, usage_json};
use super::render::lost_id;
use super::{AnthropicMessages, EventKind, Slot};
use crate::answer::Piece;
use crate::chunk::{Body, Decoded, Shape};
use crate::json::{self, Kind, Span, is_text};
use crate::splice::{Object, Parts, Patches};
use seam_plugin_api::ChunkKind;

impl AnthropicMessages {
    /// A whole answer with its edits.
    pub(super) fn rewrite_body(&mut self, text: &str, decoded: &Decoded, pieces: &[Piece<'_>]) -> String {
        match (EventKind::of(decoded), decoded.shape, pieces) {
            (_, Shape::OpaqueText | Shape::OpaqueJson, [piece]) => self.rewrite_opaque(text, piece),
            (EventKind::Error, _, [piece]) if piece.other_kind().is_none() => {
                let mut patches = Patches::default();
                patch_piece(text, piece, &mut patches, &mut String::new());
                patches.apply(text)
            }
            _ => self.rewrite_message(text, json::document_span(text), pieces).0,
        }
    }

    fn rewrite_opaque(&mut self, text: &str, piece: &Piece<'_>) -> String {
        match piece.after {
            None => "{}".to_owned(),
            Some(_) if !piece.is_changed() => text.to_owned(),
            Some(body) if body.kind == ChunkKind::Opaque => opaque_json(&body),
            Some(body) => format!("{{\"content\":[{}]}}", self.blocks_of(&body).join(",")),
        }
    }

    /// The message at that span with its edits, and how many blocks it has then. A block none of whose chunks stays goes
    /// away, and so does a text that became empty: the provider takes no empty one back.
    pub(super) fn rewrite_message(&mut self, text: &str, message: Span, pieces: &[Piece<'_>]) -> (String, i64) {
        let mut patches = Patches::default();
        let mut top = Object::new(text, message);
        let content = top.value_of_kind("content", Kind::Array);
        let mut blocks = content.map(|content| Parts::of_array(text, content));
        let mut added = Vec::new();
        let is_of_block = |piece: &Piece<'_>| Slot::of(piece).in_block() && piece.before.kind != ChunkKind::Opaque;
        let (in_blocks, beside): (Vec<Piece<'_>>, Vec<Piece<'_>>) = pieces.iter().partition(|piece| is_of_block(piece));
        for own in in_blocks.chunk_by(|one, other| one.entry.place.container == other.entry.place.container) {
            if let Some(blocks) = &mut blocks {
                self.rewrite_block(text, own, blocks, &mut patches);
            }
        }
        if let (Some(blocks), Some(content)) = (&mut blocks, content) {
            self.remove_lost_results(text, content, blocks);
        }
        for body in beside.iter().filter_map(Piece::other_kind) {
            self.place_beside(&body, &mut top, &mut added, &mut patches);
        }
        for piece in beside.iter().filter(|piece| piece.is_changed() || Slot::of(piece) == Slot::StopReason) {
            self.patch_end(text, piece, &mut patches);
        }
        let count = self.write_blocks(blocks, added, &mut top, &mut patches);
        top.write(&mut patches);
        (patches.apply(text), count)
    }

    fn write_blocks(
        &mut self,
        blocks: Option<Parts>,
        added: Vec<String>,
        top: &mut Object<'_>,
        patches: &mut Patches,
    ) -> i64 {
        let Some(mut blocks) = blocks else {
            if !added.is_empty() {
                top.set("content", &format!("[{}]", added.join(",")), patches);
            }
            return i64::try_from(added.len()).unwrap_or(0);
        };
        added.into_iter().for_each(|block| blocks.add(None, block));
        let count = blocks.remaining();
        blocks.write(patches);
        i64::try_from(count).unwrap_or(0)
    }

    fn remove_lost_results(&self, text: &str, content: Span, blocks: &mut Parts) {
        if !self.client.has_lost_ids() {
            return;
        }
        for (position, block) in json::elements_of(text, content).into_iter().enumerate() {
            if self.client.is_lost(&id_in(text, block, "tool_use_id")) {
                blocks.remove(position);
            }
        }
    }

    /// The chunks of one block.
    fn rewrite_block(&mut self, text: &str, pieces: &[Piece<'_>], blocks: &mut Parts, patches: &mut Patches) {
        let Some(position) = pieces.first().map(|piece| piece.entry.place.container as usize) else { return };
        let is_emptied = |piece: &Piece<'_>| {
            Slot::of(piece) == Slot::Text
                && piece.is_changed()
                && piece.same_kind().is_none_or(|body| body.text.is_empty())
        };
        let stays = pieces.iter().any(|piece| piece.same_kind().is_some()) && !pieces.iter().any(is_emptied);
        for piece in pieces {
            if Slot::of(piece) == Slot::Call {
                match piece.same_kind() {
                    Some(_) => self.client.note_delivered_call(),
                    None => self.client.note_lost_call(&lost_id(piece)),
                }
            }
            for block in piece.other_kind().map(|body| self.blocks_of(&body)).unwrap_or_default() {
                blocks.add(Some(position), block);
            }
            for call in piece.same_kind().map(|body| MadeCall::beside(&body)).unwrap_or_default() {
                blocks.add(Some(position), self.whole_call_block(&call));
            }
        }
        if stays {
            pieces.iter().for_each(|piece| patch_whole_piece(text, piece, patches));
        } else {
            blocks.remove(position);
        }
    }

    /// The blocks that say a chunk.
    fn blocks_of(&mut self, body: &Body<'_>) -> Vec<String> {
        match body.kind {
            ChunkKind::ToolCallDelta => vec![self.whole_call_block(&MadeCall::of_chunk(body))],
            ChunkKind::ContentDelta | ChunkKind::RefusalDelta | ChunkKind::ReasoningDelta => {
                let own = (!body.text.is_empty()).then(|| text_block(body.kind, body.text));
                let calls = MadeCall::beside(body);
                own.into_iter().chain(calls.iter().map(|call| self.whole_call_block(call))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A chunk that was none of a block and became something else.
    fn place_beside(&mut self, body: &Body<'_>, top: &mut Object<'_>, added: &mut Vec<String>, patches: &mut Patches) {
        match body.kind {
            ChunkKind::Usage => top.set("usage", &usage_json(body), patches),
            ChunkKind::Error => top.set("error", &error_json(body), patches),
            ChunkKind::Finish => top.set("stop_reason", &json::string(body.text), patches),
            ChunkKind::Opaque => top.set("seam", &format!("{{\"opaque\":{}}}", opaque_json(body)), patches),
            _ => added.extend(self.blocks_of(body)),
        }
    }
}

/// Makes the edit of a chunk of a whole block, where a call's input is all that there is of its arguments.
fn patch_whole_piece(text: &str, piece: &Piece<'_>, patches: &mut Patches) {
    let mut arguments = String::new();
    patch_piece(text, piece, patches, &mut arguments);
    if !arguments.is_empty()
        && let Some(input) = json::member_of(text, piece.entry.place.value, "input")
    {
        patches.replace(input, json::string(&arguments));
    }
}

/// Makes the edit of a chunk where it stands. What went away or became something else leaves nothing behind.
pub(super) fn patch_piece(text: &str, piece: &Piece<'_>, patches: &mut Patches, arguments: &mut String) {
    if !piece.is_changed() {
        return;
    }
    let value = piece.entry.place.value;
    match (Slot::of(piece), piece.same_kind()) {
        (Slot::Call, Some(body)) => patch_call(text, piece, &body, patches, arguments),
        (Slot::Call | Slot::Signed | Slot::BlockStop, _) => {}
        (Slot::Text | Slot::Thinking | Slot::Fragment | Slot::Explanation, same) => {
            patches.replace(value, json::string(same.map_or("", |body| body.text)));
        }
        (Slot::Compaction, same) => {
            patches.replace(value, same.map_or_else(|| "null".to_owned(), |body| json::string(body.text)));
        }
        (Slot::Citations, same) => {
            patches.replace(value, same.map_or_else(|| "[]".to_owned(), |body| annotation_value("citations", &body)));
        }
        (Slot::Citation, same) => {
            patches.replace(value, same.map_or_else(|| "null".to_owned(), |body| annotation_value("citation", &body)));
        }
        (Slot::Error, Some(body)) => patch_error(text, piece, &body, patches),
        (Slot::Error | Slot::StopReason | Slot::Usage, _) => {}
    }
}

/// A call's name, id and input. Arguments that are no object can't be its input and are left over.
fn patch_call(text: &str, piece: &Piece<'_>, body: &Body<'_>, patches: &mut Patches, arguments: &mut String) {
    let mut call = Object::new(text, piece.entry.place.value);
    for name in ["id", "name"] {
        if let Some(value) = changed_member(name, piece, body) {
            call.set(name, value, patches);
        }
    }
    if body.text != piece.before.text {
        let input = made::input_json(body.text);
        if input.is_none() {
            arguments.push_str(body.text);
        }
        call.set("input", input.unwrap_or("{}"), patches);
    }
    call.write(patches);
}

/// The JSON of a payload's member if it says something and is not as it was before.
fn changed_member<'a>(name: &str, piece: &Piece<'_>, body: &Body<'a>) -> Option<&'a str> {
    let payload = body.payload?;
    let new = json::member_of(payload, json::document_span(payload), name).filter(|value| is_text(payload, *value))?;
    let new = new.of_str(payload);
    let old = piece.before.payload.and_then(|payload| {
        json::member_of(payload, json::document_span(payload), name).map(|value| value.of_str(payload))
    });
    (old != Some(new)).then_some(new)
}

/// Puts another error in the place of one. A text that was changed alone is its message.
fn patch_error(text: &str, piece: &Piece<'_>, body: &Body<'_>, patches: &mut Patches) {
    let value = piece.entry.place.value;
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
