//! What follows from the edits of a choice's chunks elsewhere in it: what repeats their texts, tells where in them
//! something is, or was only true of what came in.

use super::{CONTENT, ChoiceRewrite};
use crate::answer::Piece;
use crate::chunk::Decoded;
use crate::json::{self, Kind, Span, is_text};
use crate::openai_chat::Slot;
use crate::openai_chat::names::choice;
use crate::openai_chat::places::read_details;
use crate::openai_chat::says::has_text;
use crate::splice::Patches;

impl ChoiceRewrite<'_, '_> {
    /// Citations tell which characters of the content they are for.
    pub(super) fn move_citations(&self, annotations: Span, patches: &mut Patches) {
        let text = self.text;
        if !self.state.positions.moved() {
            return;
        }
        for annotation in json::elements_of(text, annotations) {
            let members = json::members_of(text, annotation);
            let inner = members.iter().flat_map(|member| json::members_of(text, member.value));
            for member in members.iter().copied().chain(inner) {
                let is_end = json::is_key(text, member.key, "end_index");
                if !is_end && !json::is_key(text, member.key, "start_index") {
                    continue;
                }
                if let Ok(position) = member.value.of_str(text).parse() {
                    patches.replace(member.value, self.state.positions.now(position, is_end).to_string());
                }
            }
        }
    }

    /// `reasoning_details` that repeat the reasoning: the first takes the text, the others nothing.
    pub(super) fn write_details(&self, text: &str, patches: &mut Patches) {
        let Some(details) = self.holder().value_of_kind("reasoning_details", Kind::Array) else { return };
        let texts = read_details(self.text, details, &mut Decoded::default());
        for (position, detail) in texts.into_iter().enumerate() {
            patches.replace(detail.text, json::string(if position == 0 { text } else { "" }));
        }
    }

    /// `text` of the choice, where it repeats the content of the delta.
    pub(super) fn write_beside(&self, text: &str, pieces: &[Piece<'_>], patches: &mut Patches) {
        let is_own = self.is_flat() || pieces.iter().any(|piece| Slot::of(piece) == Slot::Text);
        if let Some(value) = self.choice.value("text").filter(|value| !is_own && is_text(self.text, *value)) {
            patches.replace(value, json::string(text));
        }
    }

    /// Takes away whatever may say something of a choice without that a chunk shows it: what is cut must not go on there.
    pub(super) fn drop_unseen(&mut self, pieces: &[Piece<'_>], patches: &mut Patches) {
        let text = self.text;
        let is_shown = |value: Span| pieces.iter().any(|piece| value.contains(piece.entry.place.value));
        let shows_reasoning = pieces.iter().any(|piece| Slot::of(piece) == Slot::Reasoning && piece.after.is_some());
        // What gets a chunk of another kind is written anew; of a list each element is looked at.
        let gets = |lane: usize| !self.lanes[lane].text.is_empty();
        let [gets_reasoning, gets_content, gets_refusal] = [gets(0), gets(CONTENT), gets(2)];
        let (has_parts, has_calls) = (self.parts.is_some(), self.calls.is_some() || !self.made.is_empty());
        let is_unseen = |name: &str, value: Span| match name {
            "role" | "index" | "delta" | "message" | "finish_reason" | "text" => false,
            "reasoning_details" if shows_reasoning => false,
            "reasoning" | "reasoning_content" if gets_reasoning => false,
            "refusal" if gets_refusal => false,
            "content" if gets_content || has_parts => false,
            "tool_calls" if has_calls => false,
            _ => !is_shown(value) && has_text(text, value),
        };
        self.choice.remove_where(is_unseen);
        let unseen_content = self.holder().value("content").filter(|value| is_unseen("content", *value));
        if let Some(holder) = &mut self.holder {
            holder.remove_where(|name, value| name != "content" && is_unseen(name, value));
        }
        if let Some(value) = unseen_content {
            patches.replace(value, "null");
        }
        for (parts, spans) in [(&mut self.parts, &self.part_spans), (&mut self.calls, &self.call_spans)] {
            let Some(parts) = parts else { continue };
            for (position, _) in spans.iter().enumerate().filter(|(_, span)| is_unseen("", **span)) {
                parts.remove(position);
            }
        }
    }

    /// What follows from the edits: the finish reason, and what is only true of the text that came in.
    pub(super) fn write_consequences(&mut self, pieces: &[Piece<'_>], patches: &mut Patches) {
        for piece in pieces.iter().filter(|piece| Slot::of(piece) == Slot::Finish) {
            let reason = match piece.same_kind() {
                Some(body) if body.text == "stop" && !self.is_flat() && !self.state.made.is_empty() => {
                    "\"tool_calls\"".to_owned()
                }
                Some(body) if piece.is_changed() => json::string(body.text),
                Some(_) => continue,
                None => "null".to_owned(),
            };
            patches.replace(piece.entry.place.value, reason);
        }
        if self.state.altered
            && self.logprobs_kept
            && let Some(value) = self.choice.value("logprobs")
        {
            patches.replace(value, "null");
        }
        if self.state.altered {
            choice::DEPENDENT.iter().for_each(|name| self.choice.remove(name));
            self.holder_mut().remove("token_id");
        }
        if let Some(name) = self.repeat_name.filter(|_| self.state.altered) {
            // Some dialects repeat the whole text so far beside each piece of it.
            self.choice.remove(name);
        }
    }
}
