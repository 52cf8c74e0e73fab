//! Events and items that the provider did not send.

use super::OpenAiResponses;
use super::names::Lane;
use crate::answer::Event;
use crate::chunk::Body;
use crate::json::{self, Kind, is_text};
use seam_plugin_api::ChunkKind;

/// An item that an observer put in.
#[derive(Debug)]
pub(super) struct Made {
    /// Its output index for the client.
    pub(super) output: u32,
    /// The index that the chunk of a call asked for.
    asked: u64,
    /// Of a call: whether more of its arguments may come.
    open: bool,
    /// Its members in the end, but for its status; of a call without the arguments.
    members: String,
    /// Of a call: its arguments so far.
    arguments: Option<String>,
}

impl Made {
    /// The item as JSON.
    pub(super) fn json(&self, status: &str) -> String {
        let arguments = self.arguments.as_deref().map(json::string);
        let arguments = arguments.map(|arguments| format!(",\"arguments\":{arguments}")).unwrap_or_default();
        format!("{{{}{arguments},\"status\":\"{status}\"}}", self.members)
    }
}

/// One call that an observer put in, or a piece of one.
struct Call<'a> {
    asked: u64,
    /// JSON strings.
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments: String,
}

/// The calls that a body stands for: itself, or those beside its content.
fn calls_of<'a>(body: &Body<'a>) -> Vec<Call<'a>> {
    let payload = body.payload.unwrap_or("{}");
    let whole = json::document_span(payload);
    let read = |call, arguments: String| {
        let member = |name| json::member_of(payload, call, name);
        let string = |name| member(name).filter(|value| is_text(payload, *value)).map(|value| value.of_str(payload));
        let asked = member("index").and_then(|index| index.of_str(payload).parse().ok()).unwrap_or(0);
        Call { asked, id: string("id"), name: string("name"), arguments }
    };
    if body.kind == ChunkKind::ToolCallDelta {
        return vec![read(whole, body.text.to_owned())];
    }
    let calls = json::member_of(payload, whole, "tool_calls").filter(|_| body.kind == ChunkKind::ContentDelta);
    let calls = calls.map(|calls| json::elements_of(payload, calls)).unwrap_or_default();
    let arguments = |call| {
        json::member_of(payload, call, "name").filter(|name| is_text(payload, *name))?;
        let value = json::member_of(payload, call, "arguments")?;
        let mut spelt = String::new();
        json::unescape(value.inside_quotes().of_str(payload), &mut spelt);
        (json::kind_of(payload, value) == Kind::String).then_some(spelt)
    };
    // Half of such a list would say something that nobody meant.
    let all: Option<Vec<String>> = calls.iter().map(|call| arguments(*call)).collect();
    calls.iter().zip(all.unwrap_or_default()).map(|(call, arguments)| read(*call, arguments)).collect()
}

impl OpenAiResponses {
    /// Writes an event with the next number. `rest` is the members behind the number, without a leading comma.
    pub(super) fn emit(&mut self, events: &mut Vec<Event>, kind: &'static str, rest: &str) {
        let number = self.client.next_sequence.map(|next| format!(",\"sequence_number\":{next}")).unwrap_or_default();
        let comma = if rest.is_empty() { "" } else { "," };
        let data = format!("{{\"type\":\"{kind}\"{number}{comma}{rest}}}");
        self.offset += 1;
        self.track(&data);
        events.push(Event::named(kind, data));
    }

    /// The index for the next item of our own: behind all that the client knows.
    fn free_output(&self) -> u32 {
        let known = self.client.items.iter().map(|item| item.output.saturating_add(1));
        known.chain(self.made.iter().map(|made| made.output.saturating_add(1))).max().unwrap_or(0)
    }

    /// The client's index for an item of the provider: those that were put in shift the later ones.
    pub(super) fn wire_output(&self, came: u32) -> u32 {
        self.made.iter().fold(came, |wire, made| if made.output <= wire { wire + 1 } else { wire })
    }

    /// Says what has become of a chunk that its event has no place for any more.
    pub(super) fn say_elsewhere(&mut self, body: &Body<'_>, events: &mut Vec<Event>) {
        match body.kind {
            ChunkKind::ToolCallDelta => self.say_calls(body, events),
            ChunkKind::ContentDelta => {
                if !body.text.is_empty() {
                    self.say_text(Lane::Text, body.text, events);
                }
                self.say_calls(body, events);
            }
            ChunkKind::RefusalDelta => self.say_text(Lane::Refusal, body.text, events),
            ChunkKind::ReasoningDelta => self.say_text(Lane::Summary, body.text, events),
            ChunkKind::Error => {
                let message = json::string(body.text);
                self.emit(events, "error", &format!("\"code\":null,\"message\":{message},\"param\":null"));
            }
            ChunkKind::Opaque => {
                let data = body.payload.map_or_else(|| json::string(body.text), str::to_owned);
                events.push(Event::unnamed(data));
            }
            // The protocol has no event for them.
            _ => {}
        }
    }

    /// Says calls: those that the body is or has.
    pub(super) fn say_calls(&mut self, body: &Body<'_>, events: &mut Vec<Event>) {
        for call in calls_of(body) {
            let open = self.made.iter().rposition(|made| made.open && made.asked == call.asked);
            let at = match open.filter(|_| call.name.is_none()) {
                Some(at) => at,
                None => {
                    self.close_made(events);
                    self.begin_call(&call, events)
                }
            };
            self.continue_call(at, &call.arguments, events);
        }
    }

    fn begin_call(&mut self, call: &Call<'_>, events: &mut Vec<Event>) -> usize {
        let output = self.free_output();
        let id = call.id.map_or_else(|| format!("\"call_seam_{output}\""), str::to_owned);
        let name = call.name.unwrap_or("\"\"");
        let members =
            format!("\"id\":\"fc_seam_{output}\",\"type\":\"function_call\",\"call_id\":{id},\"name\":{name}");
        let made = Made { output, asked: call.asked, open: true, members, arguments: Some(String::new()) };
        let item = made.json("in_progress");
        self.made.push(made);
        self.emit(events, "response.output_item.added", &format!("\"output_index\":{output},\"item\":{item}"));
        self.made.len() - 1
    }

    fn continue_call(&mut self, at: usize, arguments: &str, events: &mut Vec<Event>) {
        let Some(made) = self.made.get_mut(at).filter(|_| !arguments.is_empty()) else { return };
        made.arguments.get_or_insert_default().push_str(arguments);
        let output = made.output;
        let rest =
            format!("\"item_id\":\"fc_seam_{output}\",\"output_index\":{output},\"delta\":{}", json::string(arguments));
        self.emit(events, "response.function_call_arguments.delta", &rest);
    }

    /// Ends the calls that were put in and may have gone on until now.
    pub(super) fn close_made(&mut self, events: &mut Vec<Event>) {
        for at in 0..self.made.len() {
            let Some(made) = self.made.get_mut(at).filter(|made| made.open) else { continue };
            made.open = false;
            let (output, item) = (made.output, made.json("completed"));
            let arguments = json::string(made.arguments.as_deref().unwrap_or_default());
            let rest = format!("\"item_id\":\"fc_seam_{output}\",\"output_index\":{output},\"arguments\":{arguments}");
            self.emit(events, "response.function_call_arguments.done", &rest);
            self.emit(events, "response.output_item.done", &format!("\"output_index\":{output},\"item\":{item}"));
        }
    }

    /// Says a text as an item of its own.
    fn say_text(&mut self, lane: Lane, text: &str, events: &mut Vec<Event>) {
        let output = self.free_output();
        let shape = Shape::of(lane, output);
        let spelt = json::string(text);
        let Shape { id, added, part_types: (begin, end), .. } = &shape;
        let (delta, done) = lane.types();
        let place =
            format!("\"item_id\":\"{id}\",\"output_index\":{output},\"{}\":0", lane.index_member().unwrap_or(""));
        let logprobs = if lane == Lane::Text { ",\"logprobs\":[]" } else { "" };
        self.made.push(Made { output, asked: 0, open: false, members: shape.members(&spelt), arguments: None });
        self.emit(events, "response.output_item.added", &format!("\"output_index\":{output},\"item\":{added}"));
        self.emit(events, begin, &format!("{place},\"part\":{}", shape.part("\"\"")));
        self.emit(events, delta, &format!("{place},\"delta\":{spelt}{logprobs}"));
        self.emit(events, done, &format!("{place},\"{}\":{spelt}{logprobs}", lane.member()));
        self.emit(events, end, &format!("{place},\"part\":{}", shape.part(&spelt)));
        let item = format!("{{{},\"status\":\"completed\"}}", shape.members(&spelt));
        self.emit(events, "response.output_item.done", &format!("\"output_index\":{output},\"item\":{item}"));
    }
}

/// What an item that holds one text looks like.
struct Shape {
    lane: Lane,
    id: String,
    /// The item as it begins.
    added: String,
    /// The types of the events that begin and end its part.
    part_types: (&'static str, &'static str),
}

impl Shape {
    fn of(lane: Lane, output: u32) -> Self {
        let id = if lane == Lane::Summary { format!("rs_seam_{output}") } else { format!("msg_seam_{output}") };
        let added = match lane {
            Lane::Summary => format!("{{\"id\":\"{id}\",\"type\":\"reasoning\",\"summary\":[]}}"),
            _ => format!(
                "{{\"id\":\"{id}\",\"type\":\"message\",\"role\":\"assistant\",\"status\":\"in_progress\",\"content\":[]}}"
            ),
        };
        Self { lane, id, added, part_types: part_types(lane) }
    }

    /// The part with a text, which is a JSON string.
    fn part(&self, text: &str) -> String {
        part_json(self.lane, text)
    }

    /// The members of the whole item but for its status.
    fn members(&self, text: &str) -> String {
        let (id, part) = (&self.id, self.part(text));
        match self.lane {
            Lane::Summary => format!("\"id\":\"{id}\",\"type\":\"reasoning\",\"summary\":[{part}]"),
            _ => format!("\"id\":\"{id}\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[{part}]"),
        }
    }
}

/// The types of the events that begin and end a part.
pub(super) const fn part_types(lane: Lane) -> (&'static str, &'static str) {
    match lane {
        Lane::Summary => ("response.reasoning_summary_part.added", "response.reasoning_summary_part.done"),
        _ => ("response.content_part.added", "response.content_part.done"),
    }
}

/// A part with a text, which is a JSON string.
pub(super) fn part_json(lane: Lane, text: &str) -> String {
    match lane {
        Lane::Refusal => format!("{{\"type\":\"refusal\",\"refusal\":{text}}}"),
        Lane::Reasoning => format!("{{\"type\":\"reasoning_text\",\"text\":{text}}}"),
        Lane::Summary => format!("{{\"type\":\"summary_text\",\"text\":{text}}}"),
        _ => format!("{{\"type\":\"output_text\",\"text\":{text},\"annotations\":[],\"logprobs\":[]}}"),
    }
}
