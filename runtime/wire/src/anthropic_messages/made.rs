//! Blocks and events that the provider did not send.

use std::borrow::Cow;

use super::AnthropicMessages;
use super::lanes::{Open, OpenKind};
use crate::answer::{Event, Rendered};
use crate::chunk::Body;
use crate::json::{self, Kind, Span, is_text};
use crate::usage;
use seam_plugin_api::ChunkKind;

/// A call that an observer made.
#[derive(Debug)]
pub(super) struct MadeCall<'a> {
    /// The number by which its fragments belong together.
    asked: u32,
    /// Its id and name as JSON strings, where it brings them.
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments: Cow<'a, str>,
}

impl<'a> MadeCall<'a> {
    /// The call of a chunk that is one.
    pub(super) fn of_chunk(body: &Body<'a>) -> Self {
        let payload = body.payload.unwrap_or("{}");
        Self::new(payload, json::document_span(payload), Cow::Borrowed(body.text))
    }

    /// The calls that content carries beside its text. None if `tool_calls` of its payload is anything but an array of
    /// calls, each with a name and arguments: half of such a list would say something that nobody meant.
    pub(super) fn beside(body: &Body<'a>) -> Vec<Self> {
        let Some(payload) = body.payload.filter(|_| body.kind == ChunkKind::ContentDelta) else { return Vec::new() };
        let calls = json::member_of(payload, json::document_span(payload), "tool_calls");
        let calls = calls.map(|calls| json::elements_of(payload, calls)).unwrap_or_default();
        let whole = |call: &Span| {
            json::member_of(payload, *call, "name").filter(|name| is_text(payload, *name))?;
            let arguments = json::member_of(payload, *call, "arguments")?;
            let is_string = json::kind_of(payload, arguments) == Kind::String;
            is_string.then(|| Self::new(payload, *call, json::key_name(payload, arguments)))
        };
        calls.iter().map(whole).collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    fn new(payload: &'a str, call: Span, arguments: Cow<'a, str>) -> Self {
        let member = |name| json::member_of(payload, call, name);
        let spelt = |name| member(name).filter(|value| is_text(payload, *value)).map(|value| value.of_str(payload));
        let asked = member("index").and_then(|index| index.of_str(payload).parse().ok()).unwrap_or(0);
        Self { asked, id: spelt("id"), name: spelt("name"), arguments }
    }
}

/// The id of a call in the member of that name; empty if there is none.
pub(super) fn id_in(text: &str, object: Span, name: &str) -> String {
    let id = json::member_of(text, object, name).filter(|id| is_text(text, *id));
    id.map(|id| json::key_name(text, id).into_owned()).unwrap_or_default()
}

/// The input of a call whose arguments are this text.
pub(super) fn input_json(arguments: &str) -> Option<&str> {
    let is_object = json::is_document(arguments) && arguments.trim_ascii_start().starts_with('{');
    is_object.then_some(arguments)
}

pub(super) fn block_start(index: u32, block: &str) -> Event {
    let data = format!("{{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{block}}}");
    Event::named("content_block_start", data)
}

pub(super) fn block_delta(index: u32, delta: &str) -> Event {
    let data = format!("{{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":{delta}}}");
    Event::named("content_block_delta", data)
}

pub(super) fn block_stop(index: u32) -> Event {
    Event::named("content_block_stop", format!("{{\"type\":\"content_block_stop\",\"index\":{index}}}"))
}

/// A fragment of a call's arguments.
pub(super) fn fragment(index: u32, arguments: &str) -> Event {
    let delta = format!("{{\"type\":\"input_json_delta\",\"partial_json\":{}}}", json::string(arguments));
    block_delta(index, &delta)
}

/// A block of a text, or of thinking, which nobody signed.
pub(super) fn text_block(kind: ChunkKind, text: &str) -> String {
    let text = json::string(text);
    match kind {
        ChunkKind::ReasoningDelta => format!("{{\"type\":\"thinking\",\"thinking\":{text},\"signature\":\"\"}}"),
        _ => format!("{{\"type\":\"text\",\"text\":{text}}}"),
    }
}

fn text_delta(index: u32, kind: ChunkKind, text: &str) -> Event {
    let text = json::string(text);
    block_delta(
        index,
        &match kind {
            ChunkKind::ReasoningDelta => format!("{{\"type\":\"thinking_delta\",\"thinking\":{text}}}"),
            _ => format!("{{\"type\":\"text_delta\",\"text\":{text}}}"),
        },
    )
}

/// Puts an event behind those that are there.
pub(super) fn push(out: &mut Rendered, event: Event) {
    if out.data.is_some() { out.after.push(event) } else { out.before.push(event) }
}

impl AnthropicMessages {
    /// Says a chunk that has no place in the event that it came in: in the lane of that block, or beside the blocks.
    pub(super) fn say(&mut self, lane: Option<u32>, body: &Body<'_>, out: &mut Rendered) {
        match body.kind {
            ChunkKind::ContentDelta | ChunkKind::RefusalDelta | ChunkKind::ReasoningDelta => {
                self.say_text(lane, body, out);
                self.say_calls(lane, body, out);
            }
            ChunkKind::ToolCallDelta => self.say_call(lane, &MadeCall::of_chunk(body), true, out),
            ChunkKind::Annotation => self.say_citation(lane, body, out),
            ChunkKind::Finish if body.text.is_empty() => {}
            ChunkKind::Finish => push(out, self.message_delta(&json::string(body.text), None)),
            ChunkKind::Usage => push(out, self.message_delta("null", Some(&usage_json(body)))),
            ChunkKind::Error => {
                push(out, Event::named("error", format!("{{\"type\":\"error\",\"error\":{}}}", error_json(body))));
            }
            _ => push(out, opaque_event(body)),
        }
    }

    fn say_text(&mut self, lane: Option<u32>, body: &Body<'_>, out: &mut Rendered) {
        if body.text.is_empty() {
            return;
        }
        let (kind, open_kind) = match body.kind {
            ChunkKind::ReasoningDelta => (ChunkKind::ReasoningDelta, OpenKind::Thinking),
            _ => (ChunkKind::ContentDelta, OpenKind::Text),
        };
        let taking = lane.and_then(|lane| self.client.find(lane)).and_then(|lane| lane.taking(kind));
        if let Some(open) = taking {
            return push(out, text_delta(open.index, kind, body.text));
        }
        let (index, stays) = self.open(lane, open_kind, &text_block(kind, ""), out);
        push(out, text_delta(index, kind, body.text));
        if !stays {
            push(out, block_stop(index));
        }
    }

    /// Says the calls that content carries beside its text.
    pub(super) fn say_calls(&mut self, lane: Option<u32>, body: &Body<'_>, out: &mut Rendered) {
        for call in MadeCall::beside(body) {
            self.say_call(lane, &call, false, out);
        }
    }

    /// Says a fragment whose own call went away, if it belongs to one that was made instead, or makes one.
    pub(super) fn say_fragment(&mut self, own: u32, body: &Body<'_>, out: &mut Rendered) {
        if body.kind != ChunkKind::ToolCallDelta {
            return;
        }
        let call = MadeCall::of_chunk(body);
        let open = self.client.find(own).and_then(|lane| lane.open);
        if call.name.is_some() || open.is_some_and(|open| open.kind == OpenKind::Call(call.asked)) {
            self.say_call(Some(own), &call, true, out);
        }
    }

    /// Says a call, or a fragment of one. More fragments of it may come if it goes on.
    fn say_call(&mut self, lane: Option<u32>, call: &MadeCall<'_>, goes_on: bool, out: &mut Rendered) {
        let open = lane.and_then(|lane| self.client.find(lane)).and_then(|lane| lane.open);
        if let Some(open) = open.filter(|open| open.kind == OpenKind::Call(call.asked) && call.name.is_none()) {
            return push(out, fragment(open.index, &call.arguments));
        }
        let block = self.call_block(call, "{}");
        let (index, stays) = self.open(lane, OpenKind::Call(call.asked), &block, out);
        if !call.arguments.is_empty() {
            push(out, fragment(index, &call.arguments));
        }
        if !stays || !goes_on {
            push(out, block_stop(index));
            self.forget_open(lane, index);
        }
    }

    /// The block of a call that an observer made. An id that is not given is one that no other answer has.
    pub(super) fn call_block(&mut self, call: &MadeCall<'_>, input: &str) -> String {
        let number = self.client.all_made_calls;
        self.client.note_made_call();
        let id = call.id.map_or_else(|| format!("\"toolu_seam_{}{number}\"", self.id_part()), str::to_owned);
        let name = call.name.unwrap_or("\"\"");
        format!("{{\"type\":\"tool_use\",\"id\":{id},\"name\":{name},\"input\":{input}}}")
    }

    /// The whole block of a call in a message that is not streamed.
    pub(super) fn whole_call_block(&mut self, call: &MadeCall<'_>) -> String {
        let input = input_json(&call.arguments).map_or_else(|| json::string(&call.arguments), str::to_owned);
        let input = if call.arguments.is_empty() { "{}".to_owned() } else { input };
        self.call_block(call, &input)
    }

    /// What tells the ids of this message from those of others in the same conversation.
    fn id_part(&self) -> String {
        let id = self.arriving.id.as_deref().unwrap_or_default().trim_matches('"');
        let id = id.strip_prefix("msg_").unwrap_or(id);
        let mut part: String = id.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
        if !part.is_empty() {
            part.push('_');
        }
        part
    }

    fn say_citation(&mut self, lane: Option<u32>, body: &Body<'_>, out: &mut Rendered) {
        let lane = lane.and_then(|lane| self.client.find(lane));
        // Without a text there is nothing to cite for.
        if let Some(open) = lane.and_then(|lane| lane.taking(ChunkKind::ContentDelta)) {
            let citation = annotation_value("citation", body);
            let delta = format!("{{\"type\":\"citations_delta\",\"citation\":{citation}}}");
            push(out, block_delta(open.index, &delta));
        }
    }

    /// Begins a block behind the last one, and whether it stays open. It does in a lane whose own block can go on in
    /// another; else what belongs to the own one would be lost.
    pub(super) fn open(&mut self, lane: Option<u32>, kind: OpenKind, block: &str, out: &mut Rendered) -> (u32, bool) {
        let Some(own) = lane.and_then(|lane| self.client.lane(lane)).filter(|lane| lane.can_leave_home()) else {
            let index = self.client.add_block();
            push(out, block_start(index, block));
            return (index, false);
        };
        if let Some(open) = own.open.take() {
            push(out, block_stop(open.index));
        }
        let index = self.client.add_block();
        push(out, block_start(index, block));
        if let Some(own) = lane.and_then(|lane| self.client.lane(lane)) {
            own.open = Some(Open { index, kind });
        }
        (index, true)
    }

    fn forget_open(&mut self, lane: Option<u32>, index: u32) {
        if let Some(lane) = lane.and_then(|lane| self.client.lane(lane))
            && lane.open.is_some_and(|open| open.index == index)
        {
            lane.open = None;
        }
    }

    /// A `message_delta` of the seam's own; its usage is what the provider counted last.
    pub(super) fn message_delta(&self, stop_reason: &str, usage: Option<&str>) -> Event {
        let counted = format!("{{\"output_tokens\":{}}}", self.arriving.output_tokens);
        let usage = usage.unwrap_or(&counted);
        let delta = format!("{{\"stop_reason\":{stop_reason},\"stop_sequence\":null}}");
        Event::named("message_delta", format!("{{\"type\":\"message_delta\",\"delta\":{delta},\"usage\":{usage}}}"))
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
    let own = || format!("{{\"type\":\"api_error\",\"message\":{}}}", json::string(body.text));
    body.payload.map_or_else(own, str::to_owned)
}

/// The usage object that a body stands for. Clients read a count from it that is always there.
pub(super) fn usage_json(body: &Body<'_>) -> String {
    body.payload.map_or_else(|| "{\"output_tokens\":0}".to_owned(), usage::provider_json)
}

/// The document that an opaque body stands for.
pub(super) fn opaque_json(body: &Body<'_>) -> String {
    body.payload.map_or_else(|| json::string(body.text), str::to_owned)
}

/// An opaque body as an event: one of the protocol's if it says so.
fn opaque_event(body: &Body<'_>) -> Event {
    const NAMES: [&str; 8] = [
        "ping",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "error",
    ];
    let data = opaque_json(body);
    let named = json::member_of(&data, json::document_span(&data), "type");
    let named = named.filter(|name| is_text(&data, *name)).map(|name| json::key_name(&data, name));
    let name = NAMES.into_iter().find(|name| named.as_deref() == Some(*name));
    Event { name, data }
}
