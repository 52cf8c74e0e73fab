//! What the seam says itself: events of its own, and the ends of a stream or body.

use super::calls::ChoiceState;
use super::made::{calls_beside, made_call_json};
use super::render::{annotation_value, error_json, opaque_json, usage_json};
use super::{Form, OpenAiChat, is_text};
use crate::chunk::{Body, Decoded, Edit};
use crate::json::{self, Kind, Span};
use crate::splice::{Object, Patches};
use crate::sse;
use seam_plugin_api::ChunkKind;

const STOPPED: &str = "\"content_filter\"";

impl OpenAiChat {
    /// Ends a stopped stream: one event that finishes every choice that the client saw begin and not finish with
    /// `content_filter` (choice 0 if it saw none at all) and carries the sentinel as `seam.stop`, then `[DONE]`.
    /// `sentinel_json` must be one JSON document. Writes nothing once the provider's own `[DONE]` was delivered.
    pub fn end_stopped(&self, sentinel_json: &str, out: &mut Vec<u8>) {
        if self.ended {
            return;
        }
        let open: Vec<u32> = if self.choices.values().any(|state| state.opened) {
            self.choices.values().filter(|state| state.opened && !state.finished).map(|state| state.choice).collect()
        } else {
            vec![0]
        };
        let choices: Vec<String> = open
            .iter()
            .map(|index| format!("{{\"index\":{index},\"delta\":{{}},\"finish_reason\":{STOPPED}}}"))
            .collect();
        let rest = format!("\"choices\":[{}],\"seam\":{{\"stop\":{sentinel_json}}}", choices.join(","));
        out.extend_from_slice(self.owed);
        sse::write_event(&self.envelope(Form::Stream, &rest), out);
        sse::write_event("[DONE]", out);
    }

    /// Ends a stream with an error in the protocol's shape, then `[DONE]`. Writes nothing once the provider's own
    /// `[DONE]` was delivered.
    pub fn end_error(&self, message: &str, kind: &str, code: &str, out: &mut Vec<u8>) {
        if self.ended {
            return;
        }
        out.extend_from_slice(self.owed);
        sse::write_event(&error_body(message, kind, code), out);
        sse::write_event("[DONE]", out);
    }

    /// Writes a whole answer that was stopped: as [`render_body`](Self::render_body), where `edits` removes every chunk
    /// from the stop on; then each choice that has no finish reason left gets `content_filter`, and the sentinel stands
    /// under `seam.stop`. `sentinel_json` must be one JSON document.
    pub fn stop_body(
        &mut self,
        body: &[u8],
        decoded: &Decoded,
        edits: &[Edit<'_>],
        sentinel_json: &str,
        out: &mut Vec<u8>,
    ) {
        let mut rendered = Vec::new();
        self.render_body(body, decoded, edits, &mut rendered);
        let text = String::from_utf8_lossy(&rendered);
        let seam = format!("{{\"stop\":{sentinel_json}}}");
        let whole = json::document_span(&text);
        if json::is_readable(&text) && json::kind_of(&text, whole) == Kind::Object && text.len() > "{}".len() {
            out.extend_from_slice(finish_body(&text, whole, &seam).as_bytes());
            return;
        }
        let message = "{\"role\":\"assistant\",\"content\":\"\"}";
        let choice = format!("{{\"index\":0,\"message\":{message},\"finish_reason\":{STOPPED}}}");
        let rest = format!("\"choices\":[{choice}],\"seam\":{seam}");
        out.extend_from_slice(self.envelope(Form::Body, &rest).as_bytes());
    }

    /// An event or body of the seam's own, under the names that the answer has.
    fn envelope(&self, form: Form, rest: &str) -> String {
        let object = match form {
            Form::Stream => "chat.completion.chunk",
            Form::Body => "chat.completion",
        };
        let id = json::string(self.seen.id.as_deref().unwrap_or("chatcmpl-seam"));
        let model = json::string(self.seen.model.as_deref().unwrap_or_default());
        let created = self.seen.created.as_deref().unwrap_or("0");
        format!("{{\"id\":{id},\"object\":\"{object}\",\"created\":{created},\"model\":{model},{rest}}}")
    }

    /// A whole event or body for one chunk that has no place in what came in.
    pub(super) fn synthesise(&mut self, choice: u32, body: &Body<'_>, form: Form) -> String {
        match body.kind {
            ChunkKind::Opaque => opaque_json(body),
            ChunkKind::Error => format!("{{\"error\":{}}}", error_json(body)),
            ChunkKind::Usage => self.envelope(form, &format!("\"choices\":[],\"usage\":{}", usage_json(body))),
            _ => {
                let state = self.state(choice);
                // The frame that it came in need not have named the choice.
                state.opened = true;
                let choice = choice_json(state, body, form);
                self.envelope(form, &format!("\"choices\":[{choice}]"))
            }
        }
    }
}

/// The body of an error answer: what the protocol's clients read a message, type and code from.
#[must_use]
pub fn error_body(message: &str, kind: &str, code: &str) -> String {
    let [message, kind, code] = [message, kind, code].map(json::string);
    format!("{{\"error\":{{\"message\":{message},\"type\":{kind},\"param\":null,\"code\":{code}}}}}")
}

fn finish_body(text: &str, whole: Span, seam: &str) -> String {
    let mut patches = Patches::default();
    let mut top = Object::new(text, whole);
    let choices = top.value_of_kind("choices", Kind::Array);
    for span in choices.map(|choices| json::elements_of(text, choices)).unwrap_or_default() {
        if json::kind_of(text, span) != Kind::Object {
            continue;
        }
        let mut choice = Object::new(text, span);
        if !choice.value("finish_reason").is_some_and(|reason| is_text(text, reason)) {
            choice.set("finish_reason", STOPPED, &mut patches);
        }
        choice.write(&mut patches);
    }
    top.set("seam", seam, &mut patches);
    top.write(&mut patches);
    patches.apply(text)
}

/// One choice that holds one chunk.
pub(super) fn choice_json(state: &mut ChoiceState, body: &Body<'_>, form: Form) -> String {
    let holder = match form {
        Form::Stream => "delta",
        Form::Body => "message",
    };
    let finish = if body.kind == ChunkKind::Finish { json::string(body.text) } else { "null".to_owned() };
    let inside = match body.kind {
        ChunkKind::ReasoningDelta => format!("\"reasoning_content\":{}", json::string(body.text)),
        ChunkKind::RefusalDelta => format!("\"refusal\":{}", json::string(body.text)),
        ChunkKind::ToolCallDelta => format!("\"tool_calls\":[{}]", made_call_json(state, body, form)),
        ChunkKind::Annotation => format!("\"annotations\":{}", annotation_value("annotations", body)),
        ChunkKind::Finish => String::new(),
        _ => content_json(state, body, form),
    };
    let choice = state.choice;
    format!("{{\"index\":{choice},\"{holder}\":{{{inside}}},\"finish_reason\":{finish}}}")
}

/// The members of content and of the calls beside it.
fn content_json(state: &mut ChoiceState, body: &Body<'_>, form: Form) -> String {
    let calls = calls_beside(state, body, form);
    if calls.is_empty() {
        return format!("\"content\":{}", json::string(body.text));
    }
    let is_null = form == Form::Body && body.text.is_empty();
    let content = if is_null { "null".to_owned() } else { json::string(body.text) };
    format!("\"content\":{content},\"tool_calls\":[{}]", calls.join(","))
}
