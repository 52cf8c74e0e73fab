//! Parts that the provider did not send: an observer put a chunk of one kind in the place of another, or calls beside
//! the text of one.

use super::calls::{CandidateState, MadeCall};
use crate::chunk::Body;
use crate::json::{self, Kind, Span, is_text};
use seam_plugin_api::ChunkKind;

/// The longest arguments that observers may put in piece by piece, in bytes: the protocol has only whole ones.
const MOST_MADE_ARGUMENTS: usize = 256 * 1024;

/// What stands for the signature of a call that no model made. Gemini 3 refuses a conversation in which a call has none,
/// and its documentation names this one for calls that are put in.
const UNSIGNED: &str = "\"skip_thought_signature_validator\"";

/// A text part for a chunk of any kind of text.
pub(super) fn text_part(body: &Body<'_>) -> String {
    let thought = if body.kind == ChunkKind::ReasoningDelta { ",\"thought\":true" } else { "" };
    format!("{{\"text\":{}{thought}}}", json::string(body.text))
}

/// The call that a chunk of another kind became, once its arguments are whole.
pub(super) fn call_part(state: &mut CandidateState, body: &Body<'_>) -> Option<String> {
    let payload = body.payload.unwrap_or("{}");
    let whole = json::document_span(payload);
    let asked = json::member_of(payload, whole, "index").and_then(|index| index.of_str(payload).parse().ok());
    let asked = asked.unwrap_or(0);
    let name = string_in(payload, whole, "name");
    let continues = state.made.as_ref().is_some_and(|made| made.asked == asked) && name.is_none();
    if !continues {
        state.malformed |= state.made.is_some();
        let id = string_in(payload, whole, "id").map(str::to_owned);
        let name = name.unwrap_or("\"\"").to_owned();
        state.made = Some(MadeCall { asked, name, id, arguments: String::new() });
    }
    let made = state.made.as_mut()?;
    if made.arguments.len() + body.text.len() <= MOST_MADE_ARGUMENTS {
        made.arguments.push_str(body.text);
    } else {
        state.malformed = true;
    }
    let part = arguments_of(&made.arguments).map(|arguments| call_json(&made.name, made.id.as_deref(), arguments))?;
    state.made = None;
    Some(part)
}

/// The calls that content carries beside its text. None if `tool_calls` of its payload is anything but an array of
/// calls, each with a name and whole arguments: half of such a list would say something that nobody meant.
pub(super) fn calls_beside(body: &Body<'_>) -> Vec<String> {
    let Some(payload) = body.payload.filter(|_| body.kind == ChunkKind::ContentDelta) else { return Vec::new() };
    let calls = json::member_of(payload, json::document_span(payload), "tool_calls");
    let calls = calls.map(|calls| json::elements_of(payload, calls)).unwrap_or_default();
    let parts: Option<Vec<String>> = calls.into_iter().map(|call| part_beside(payload, call)).collect();
    parts.unwrap_or_default()
}

fn part_beside(payload: &str, call: Span) -> Option<String> {
    let name = string_in(payload, call, "name")?;
    let value =
        json::member_of(payload, call, "arguments").filter(|value| json::kind_of(payload, *value) == Kind::String)?;
    let mut arguments = String::new();
    json::unescape(value.inside_quotes().of_str(payload), &mut arguments);
    arguments_of(&arguments).map(|arguments| call_json(name, string_in(payload, call, "id"), arguments))
}

/// The arguments as the protocol takes them: an object, which is empty if nothing is said. `None` if they are anything
/// else.
pub(super) fn arguments_of(text: &str) -> Option<&str> {
    match text.trim_ascii() {
        "" => Some("{}"),
        text if text.starts_with('{') && json::is_document(text) => Some(text),
        _ => None,
    }
}

fn call_json(name: &str, id: Option<&str>, arguments: &str) -> String {
    let id = id.map(|id| format!("\"id\":{id},")).unwrap_or_default();
    format!("{{\"functionCall\":{{{id}\"name\":{name},\"args\":{arguments}}},\"thoughtSignature\":{UNSIGNED}}}")
}

/// The JSON of a member that is a string and says something.
fn string_in<'a>(payload: &'a str, object: Span, name: &str) -> Option<&'a str> {
    json::member_of(payload, object, name).filter(|value| is_text(payload, *value)).map(|value| value.of_str(payload))
}
