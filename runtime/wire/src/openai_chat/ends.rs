//! What the seam says itself: events of its own, and the ends of a stream or body.

use super::calls::ChoiceState;
use super::made::{calls_beside, made_call_json};
use super::render::{annotation_value, error_json, opaque_json, usage_json};
use super::{Endpoint, OpenAiChat};
use crate::answer::{Blame, Event, Failure, Form, Stop};
use crate::chunk::Body;
use crate::json::{self, Kind, Span, is_text};
use crate::splice::{Object, Patches};
use seam_plugin_api::ChunkKind;

const STOPPED: &str = "\"content_filter\"";

impl OpenAiChat {
    /// One event that finishes every choice that the client saw begin and not finish with `content_filter` (choice 0 if
    /// it saw none at all) and carries the sentinel as `seam.stop`, then `[DONE]`.
    pub(super) fn stopped_events(&self, stop: &Stop<'_>) -> Vec<Event> {
        let open: Vec<u32> = if self.choices.values().any(|state| state.opened) {
            self.choices.values().filter(|state| state.opened && !state.finished).map(|state| state.choice).collect()
        } else {
            vec![0]
        };
        let choices: Vec<String> = open
            .iter()
            .map(|index| format!("{{\"index\":{index},{},\"finish_reason\":{STOPPED}}}", self.nothing()))
            .collect();
        let rest = format!("\"choices\":[{}],\"seam\":{{\"stop\":{}}}", choices.join(","), stop.sentinel);
        vec![Event::unnamed(self.envelope(Form::Stream, &rest)), Event::unnamed("[DONE]")]
    }

    /// Each choice of what is left that has no finish reason gets `content_filter`, and the sentinel stands under
    /// `seam.stop`.
    pub(super) fn stopped_body(&self, left: &str, stop: &Stop<'_>) -> String {
        let seam = format!("{{\"stop\":{}}}", stop.sentinel);
        if left.len() > "{}".len() {
            return finish_body(left, json::document_span(left), &seam);
        }
        let inside = match self.endpoint {
            Endpoint::Chat => "\"message\":{\"role\":\"assistant\",\"content\":\"\"}",
            Endpoint::Completions => self.nothing(),
        };
        let choice = format!("{{\"index\":0,{inside},\"finish_reason\":{STOPPED}}}");
        self.envelope(Form::Body, &format!("\"choices\":[{choice}],\"seam\":{seam}"))
    }

    /// The members of a choice of a stream that say nothing.
    fn nothing(&self) -> &'static str {
        match self.endpoint {
            Endpoint::Chat => "\"delta\":{}",
            Endpoint::Completions => "\"text\":\"\",\"logprobs\":null",
        }
    }

    /// An event for the first choice that the client saw begin and not finish, in which it says nothing. Clients whose
    /// timers run from event to event (Codex) hear no comment. Before the answer's first event only a
    /// comment can be sent: what names the answer is not known yet.
    pub(super) fn keepalive_event(&self) -> Option<Event> {
        let open = self.choices.values().find(|state| state.opened && !state.finished)?;
        self.seen.id.as_ref()?;
        let choice = format!("{{\"index\":{},{},\"finish_reason\":null}}", open.choice, self.nothing());
        Some(Event::unnamed(self.envelope(Form::Stream, &format!("\"choices\":[{choice}]"))))
    }

    /// One choice that holds one chunk.
    pub(super) fn choice_json(&mut self, choice: u32, body: &Body<'_>, form: Form) -> String {
        let endpoint = self.endpoint;
        let state = self.state(choice);
        match endpoint {
            Endpoint::Chat => choice_json(state, body, form),
            Endpoint::Completions => flat_choice_json(state, body, form),
        }
    }

    /// An event or body of the seam's own, under the names that the answer has.
    fn envelope(&self, form: Form, rest: &str) -> String {
        let (object, id) = match (self.endpoint, form) {
            (Endpoint::Chat, Form::Stream) => ("chat.completion.chunk", "chatcmpl-seam"),
            (Endpoint::Chat, Form::Body) => ("chat.completion", "chatcmpl-seam"),
            (Endpoint::Completions, _) => ("text_completion", "cmpl-seam"),
        };
        let id = json::string(self.seen.id.as_deref().unwrap_or(id));
        let model = json::string(self.seen.model.as_deref().unwrap_or_default());
        let created = self.seen.created.as_deref().unwrap_or("0");
        format!("{{\"id\":{id},\"object\":\"{object}\",\"created\":{created},\"model\":{model},{rest}}}")
    }

    /// A whole event or body for one chunk that has no place in what came in.
    pub(crate) fn synthesise(&mut self, choice: u32, body: &Body<'_>, form: Form) -> String {
        match body.kind {
            ChunkKind::Opaque => opaque_json(body),
            ChunkKind::Error => format!("{{\"error\":{}}}", error_json(body)),
            ChunkKind::Usage => self.envelope(form, &format!("\"choices\":[],\"usage\":{}", usage_json(body))),
            _ => {
                // The frame that it came in need not have named the choice.
                self.state(choice).opened = true;
                let choice = self.choice_json(choice, body, form);
                self.envelope(form, &format!("\"choices\":[{choice}]"))
            }
        }
    }
}

/// The error object of every wire of OpenAI. Its `type` is a word that the clients know; the status is the answer's own.
pub(crate) fn error_body(_status: u16, failure: &Failure<'_>) -> String {
    let kind = match failure.blame {
        Blame::Client => "invalid_request_error",
        Blame::Provider => "provider_error",
        Blame::Plugin => "plugin_error",
        Blame::Seamd => "server_error",
    };
    let [message, kind, code] = [failure.message, kind, failure.code].map(json::string);
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

/// One choice that holds one chunk, as chat has it.
fn choice_json(state: &mut ChoiceState, body: &Body<'_>, form: Form) -> String {
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

/// One choice that holds one chunk, as Completions has it: with its text in it, and what the protocol has no form for in
/// members that its clients don't look at.
fn flat_choice_json(state: &mut ChoiceState, body: &Body<'_>, form: Form) -> String {
    let finish = if body.kind == ChunkKind::Finish { json::string(body.text) } else { "null".to_owned() };
    let (text, calls) = match body.kind {
        ChunkKind::ContentDelta | ChunkKind::RefusalDelta => (body.text, calls_beside(state, body, form)),
        ChunkKind::ToolCallDelta => ("", vec![made_call_json(state, body, form)]),
        _ => ("", Vec::new()),
    };
    let beside = match body.kind {
        ChunkKind::ReasoningDelta => format!(",\"reasoning\":{}", json::string(body.text)),
        ChunkKind::Annotation => format!(",\"annotations\":{}", annotation_value("annotations", body)),
        _ if calls.is_empty() => String::new(),
        _ => format!(",\"tool_calls\":[{}]", calls.join(",")),
    };
    let (choice, text) = (state.choice, json::string(text));
    format!("{{\"index\":{choice},\"text\":{text}{beside},\"logprobs\":null,\"finish_reason\":{finish}}}")
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
