//! Tool calls that the provider did not send: an observer put them in the place of another chunk, or beside the text of
//! one.

use super::calls::ChoiceState;
use crate::answer::Form;
use crate::chunk::Body;
use crate::json::{self, Kind, Span, is_text};
use seam_plugin_api::ChunkKind;

/// The call of a chunk of another kind that became a `tool_call_delta`.
pub(super) fn made_call_json(state: &mut ChoiceState, body: &Body<'_>, form: Form) -> String {
    let payload = body.payload.unwrap_or("{}");
    call_json(state, payload, json::document_span(payload), &json::string(body.text), form)
}

/// The calls that content carries beside its text. None if `tool_calls` of its payload is anything but an array of
/// calls, each with a name and arguments: half of such a list would say something that nobody meant.
pub(super) fn calls_beside(state: &mut ChoiceState, body: &Body<'_>, form: Form) -> Vec<String> {
    let Some(payload) = body.payload.filter(|_| body.kind == ChunkKind::ContentDelta) else { return Vec::new() };
    let calls = json::member_of(payload, json::document_span(payload), "tool_calls");
    let calls = calls.map(|calls| json::elements_of(payload, calls)).unwrap_or_default();
    let arguments: Option<Vec<&str>> = calls.iter().map(|call| arguments_of(payload, *call)).collect();
    let arguments = arguments.unwrap_or_default();
    calls.iter().zip(arguments).map(|(call, arguments)| call_json(state, payload, *call, arguments, form)).collect()
}

/// The JSON string of a call's arguments, if the call is whole.
fn arguments_of(payload: &str, call: Span) -> Option<&str> {
    json::member_of(payload, call, "name").filter(|name| is_text(payload, *name))?;
    let arguments = json::member_of(payload, call, "arguments")?;
    (json::kind_of(payload, arguments) == Kind::String).then(|| arguments.of_str(payload))
}

/// The protocol's own form of a call whose index, id and name are members of `call`. Only its first fragment carries id,
/// type and name; an id that is not given is made from the choice and the index.
fn call_json(state: &mut ChoiceState, payload: &str, call: Span, arguments: &str, form: Form) -> String {
    let member = |name| json::member_of(payload, call, name);
    let asked = member("index").and_then(|index| index.of_str(payload).parse().ok()).unwrap_or(0);
    let name = member("name").filter(|name| is_text(payload, *name)).map(|name| name.of_str(payload));
    let (wire, begins) = state.make_call(asked, name.is_some());
    let index = if form == Form::Stream { format!("\"index\":{wire},") } else { String::new() };
    if !begins {
        return format!("{{{index}\"function\":{{\"arguments\":{arguments}}}}}");
    }
    let id = member("id").filter(|id| is_text(payload, *id)).map(|id| id.of_str(payload).to_owned());
    let id = id.unwrap_or_else(|| format!("\"call_seam_{}_{wire}\"", state.choice));
    let name = name.unwrap_or("\"\"");
    format!("{{{index}\"id\":{id},\"type\":\"function\",\"function\":{{\"name\":{name},\"arguments\":{arguments}}}}}")
}
