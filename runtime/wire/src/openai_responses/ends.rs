//! What the seam says itself at the end of a stream or body that is cut.

use super::OpenAiResponses;
use super::client::{Item, Part};
use super::made::{part_json, part_types};
use super::names::Lane;
use crate::answer::{Event, Failure, Stop};
use crate::json::{self, Span};
use crate::splice::{Object, Patches};

const STOPPED: &str = "{\"reason\":\"content_filter\"}";

impl OpenAiResponses {
    /// Ends what is open, part by part and item by item, then the response: incomplete because of its content. The
    /// sentinel stands beside the response, under `seam.stop`.
    pub(super) fn stopped_events(&mut self, stop: &Stop<'_>) -> Vec<Event> {
        let mut events = Vec::new();
        self.begin_if_nothing_was(&mut events);
        self.close_made(&mut events);
        for at in 0..self.client.items.len() {
            self.end_item(at, stop, &mut events);
        }
        let output: Vec<String> =
            self.client.items.iter().map(|item| item_json(item, &self.texts_of(item, stop), "incomplete")).collect();
        let response = self.response("incomplete", STOPPED, "null", &output.join(","));
        let rest = format!("\"response\":{response},\"seam\":{{\"stop\":{}}}", stop.sentinel);
        self.emit(&mut events, "response.incomplete", &rest);
        events
    }

    /// Ends the response with an error; a response that has not begun is none, and the error stands alone.
    pub(super) fn error_events(&mut self, failure: &Failure<'_>) -> Vec<Event> {
        let mut events = Vec::new();
        let [code, message] = [failure.code, failure.message].map(json::string);
        if self.client.response.is_none() {
            let rest = format!("\"code\":{code},\"message\":{message},\"param\":null");
            self.client.next_sequence.get_or_insert(0);
            self.emit(&mut events, "error", &rest);
            return events;
        }
        let error = format!("{{\"code\":{code},\"message\":{message}}}");
        let response = self.response("failed", "null", &error, "");
        self.emit(&mut events, "response.failed", &format!("\"response\":{response}"));
        events
    }

    /// A client that saw nothing yet is told of a response first.
    fn begin_if_nothing_was(&mut self, events: &mut Vec<Event>) {
        if self.client.response.is_some() {
            return;
        }
        self.client.next_sequence.get_or_insert(0);
        let response = "{\"id\":\"resp_seam\",\"object\":\"response\",\"created_at\":0,\"model\":\"\",\"status\":\
                        \"in_progress\",\"error\":null,\"incomplete_details\":null,\"output\":[],\
                        \"parallel_tool_calls\":true,\"tool_choice\":\"auto\",\"tools\":[],\"usage\":null}";
        self.emit(events, "response.created", &format!("\"response\":{response}"));
    }

    /// The response as the client knows it, with this end.
    fn response(&self, status: &str, details: &str, error: &str, output: &str) -> String {
        let known = format!("{{{}}}", self.client.response.as_deref().unwrap_or_default());
        let mut patches = Patches::default();
        let mut object = Object::new(&known, Span::new(0, known.len()));
        object.set("status", &format!("\"{status}\""), &mut patches);
        object.set("incomplete_details", details, &mut patches);
        object.set("error", error, &mut patches);
        object.set("output", &format!("[{output}]"), &mut patches);
        object.write(&mut patches);
        patches.apply(&known)
    }

    /// Ends an item that is open, and what is open of it before.
    fn end_item(&mut self, at: usize, stop: &Stop<'_>, events: &mut Vec<Event>) {
        let Some(item) = self.client.items.get(at).filter(|item| !item.done) else { return };
        let texts = self.texts_of(item, stop);
        let (output, id) = (item.output, item.id.clone());
        let mut ends = Vec::new();
        for (part, text) in item.parts.iter().zip(&texts) {
            ends.extend(end_part(part, text.as_deref(), &id, output));
        }
        let json = item_json(item, &texts, "incomplete");
        for (kind, rest) in ends {
            self.emit(events, kind, &rest);
        }
        self.emit(events, "response.output_item.done", &format!("\"output_index\":{output},\"item\":{json}"));
    }

    /// What was delivered of each part of an item, as far as that is known.
    fn texts_of(&self, item: &Item, stop: &Stop<'_>) -> Vec<Option<String>> {
        let came = self.came_output(item.output);
        let delivered = came.map(|came| (stop.delivered)(came)).unwrap_or_default();
        let mut rest = delivered.chars();
        let text = |part: &Part| match part.lane {
            Lane::Text => Some(rest.by_ref().take(part.characters).collect()),
            _ => part.kept.clone(),
        };
        item.parts.iter().map(text).collect()
    }

    /// The provider's own index of an item; none of one that it did not send.
    fn came_output(&self, wire: u32) -> Option<u32> {
        let before = self.made.iter().filter(|made| made.output < wire).count();
        let is_made = self.made.iter().any(|made| made.output == wire);
        (!is_made).then(|| wire.saturating_sub(u32::try_from(before).unwrap_or(u32::MAX)))
    }
}

/// The events that end a text and its part. A text of which too much was delivered to know it has no event of its own.
fn end_part(part: &Part, text: Option<&str>, id: &str, output: u32) -> Vec<(&'static str, String)> {
    let mut events = Vec::new();
    let index = part.lane.index_member().map(|name| format!(",\"{name}\":{}", part.index)).unwrap_or_default();
    let place = format!("\"item_id\":{id},\"output_index\":{output}{index}");
    let spelt = json::string(text.unwrap_or_default());
    if part.text_open && text.is_some() {
        let logprobs = if part.lane == Lane::Text { ",\"logprobs\":[]" } else { "" };
        events.push((part.lane.types().1, format!("{place},\"{}\":{spelt}{logprobs}", part.lane.member())));
    }
    if part.part_open && part.has_part {
        events.push((part_types(part.lane).1, format!("{place},\"part\":{}", part_json(part.lane, &spelt))));
    }
    events
}

/// An item as it was delivered, with the texts of its parts. One that ended before is as it ended, where that was kept.
fn item_json(item: &Item, texts: &[Option<String>], status: &str) -> String {
    let mut patches = Patches::default();
    let whole = Span::new(0, item.json.len());
    let mut object = Object::new(&item.json, whole);
    if !item.done {
        if object.find("status").is_some() {
            object.set("status", &format!("\"{status}\""), &mut patches);
        }
        fill(&mut object, item, texts, &mut patches);
    } else if item.parts.iter().any(|part| part.lane == Lane::Text) {
        // What was long was not kept, the answer's text alone is.
        fill(&mut object, item, texts, &mut patches);
    }
    object.write(&mut patches);
    patches.apply(&item.json)
}

/// Puts the texts of the parts into an item.
fn fill(object: &mut Object<'_>, item: &Item, texts: &[Option<String>], patches: &mut Patches) {
    let parts = |is_of: fn(Lane) -> bool| {
        let parts = item.parts.iter().zip(texts).filter(|(part, _)| is_of(part.lane));
        let parts = parts.map(|(part, text)| part_json(part.lane, &json::string(text.as_deref().unwrap_or_default())));
        parts.collect::<Vec<_>>()
    };
    let content = parts(|lane| matches!(lane, Lane::Text | Lane::Refusal | Lane::Reasoning));
    if !content.is_empty() {
        object.set("content", &format!("[{}]", content.join(",")), patches);
    }
    let summary = parts(|lane| lane == Lane::Summary);
    if !summary.is_empty() {
        object.set("summary", &format!("[{}]", summary.join(",")), patches);
    }
    let direct = item.parts.iter().zip(texts).find(|(part, _)| matches!(part.lane, Lane::Arguments | Lane::Input));
    if let Some((part, Some(text))) = direct {
        object.set(part.lane.member(), &json::string(text), patches);
    }
}

/// Each item of what is left of a body that had not come to its end, and the response itself, are incomplete; the
/// sentinel stands under `seam.stop`.
pub(super) fn stopped_body(left: &str, stop: &Stop<'_>) -> String {
    let known = if left.is_empty() {
        "{\"id\":\"resp_seam\",\"object\":\"response\",\"created_at\":0,\"model\":\"\",\"error\":null,\"output\":[]}"
    } else {
        left
    };
    let mut patches = Patches::default();
    let mut object = Object::new(known, json::document_span(known));
    object.set("status", "\"incomplete\"", &mut patches);
    object.set("incomplete_details", STOPPED, &mut patches);
    object.set("seam", &format!("{{\"stop\":{}}}", stop.sentinel), &mut patches);
    object.write(&mut patches);
    patches.apply(known)
}
