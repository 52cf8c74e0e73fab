//! The places in an item, a part or a whole response where text stands.

use super::names::Lane;
use crate::json::{self, Kind, Span, is_text};

/// One text of an answer: which item, what kind of text, which of those of the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Address {
    pub(super) output: u32,
    pub(super) lane: Lane,
    pub(super) index: u32,
}

/// A text that stands somewhere as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    pub(super) address: Address,
    /// The string, quotes included.
    pub(super) value: Span,
    /// The object that has it.
    pub(super) holder: Span,
}

/// The texts of a response's items, in order. An item's position is its output index.
pub(super) fn of_response(text: &str, response: Span) -> Vec<Whole> {
    let mut found = Vec::new();
    for (output, item) in items_of(text, response) {
        of_item(text, item, output, &mut found);
    }
    found
}

/// The items of a response with their output indexes.
pub(super) fn items_of(text: &str, response: Span) -> Vec<(u32, Span)> {
    let output = json::member_of(text, response, "output");
    let items = output.map(|output| json::elements_of(text, output)).unwrap_or_default();
    (0..).zip(items).collect()
}

/// The texts of one item.
pub(super) fn of_item(text: &str, item: Span, output: u32, found: &mut Vec<Whole>) {
    let kind = json::member_of(text, item, "type").map(|kind| kind.inside_quotes().of_str(text)).unwrap_or_default();
    let mut direct = |lane: Lane, holder: Span, name: &str| {
        let value = json::member_of(text, holder, name).filter(|value| is_text(text, *value));
        found.extend(value.map(|value| Whole { address: Address { output, lane, index: 0 }, value, holder }));
    };
    match kind {
        "function_call" => direct(Lane::Arguments, item, "arguments"),
        "custom_tool_call" => direct(Lane::Input, item, "input"),
        "mcp_call" | "mcp_approval_request" => direct(Lane::McpArguments, item, "arguments"),
        "code_interpreter_call" => direct(Lane::Code, item, "code"),
        "apply_patch_call" => {
            if let Some(operation) = json::member_of(text, item, "operation") {
                direct(Lane::Diff, operation, "diff");
            }
        }
        "shell_call" => commands_of(text, item, output, found),
        _ => {
            for name in ["summary", "content"] {
                let parts =
                    json::member_of(text, item, name).filter(|parts| json::kind_of(text, *parts) == Kind::Array);
                let parts = parts.map(|parts| json::elements_of(text, parts)).unwrap_or_default();
                for (index, part) in (0..).zip(parts) {
                    found.extend(of_part(text, part, output, index));
                }
            }
        }
    }
}

fn commands_of(text: &str, item: Span, output: u32, found: &mut Vec<Whole>) {
    let commands = json::member_of(text, item, "action").and_then(|action| json::member_of(text, action, "commands"));
    let commands = commands.map(|commands| json::elements_of(text, commands)).unwrap_or_default();
    for (index, value) in (0..).zip(commands).filter(|(_, value)| is_text(text, *value)) {
        found.push(Whole { address: Address { output, lane: Lane::Command, index }, value, holder: item });
    }
}

/// The text of one part.
pub(super) fn of_part(text: &str, part: Span, output: u32, index: u32) -> Option<Whole> {
    let kind = json::member_of(text, part, "type").map(|kind| kind.inside_quotes().of_str(text));
    let (lane, name) = match kind? {
        "output_text" | "text" => (Lane::Text, "text"),
        "refusal" => (Lane::Refusal, "refusal"),
        "reasoning_text" => (Lane::Reasoning, "text"),
        "summary_text" => (Lane::Summary, "text"),
        _ => return None,
    };
    let value = json::member_of(text, part, name).filter(|value| is_text(text, *value))?;
    Some(Whole { address: Address { output, lane, index }, value, holder: part })
}
