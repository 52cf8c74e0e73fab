//! OpenAI Responses.

use serde_json::Value;

use super::{Text, Visit, elements, member, number};

pub(super) fn visit(json: &mut Value, visit: &mut Visit<'_>) {
    let output = number(json, "output_index");
    let kind = json["type"].as_str().unwrap_or_default().to_owned();
    if let Some(delta) = kind.strip_suffix(".delta") {
        return member(json, "delta", output, delta_text(delta), visit);
    }
    for name in ["text", "refusal"] {
        member(json, name, output, Text::Plain, visit);
    }
    for name in ["arguments", "input", "code"] {
        member(json, name, output, Text::Arguments, visit);
    }
    for name in ["command", "diff"] {
        member(json, name, output, Text::Either, visit);
    }
    if let Some(part) = json.get_mut("part").filter(|part| part.is_object()) {
        visit_part(part, output, visit);
    }
    if let Some(item) = json.get_mut("item").filter(|item| item.is_object()) {
        visit_item(item, output, visit);
    }
    if let Some(response) = json.get_mut("response").filter(|response| response.is_object()) {
        visit_response(response, visit);
    }
    if json["object"] == "response" {
        visit_response(json, visit);
    }
}

fn delta_text(kind: &str) -> Text {
    match kind.strip_prefix("response.").unwrap_or(kind) {
        "output_text" | "refusal" | "reasoning_text" | "reasoning_summary_text" | "reasoning_summary" => Text::Plain,
        "function_call_arguments" | "custom_tool_call_input" | "mcp_call_arguments" | "code_interpreter_call_code" => {
            Text::Fragment { call: 0, begins: false }
        }
        _ => Text::Either,
    }
}

fn visit_response(response: &mut Value, visit: &mut Visit<'_>) {
    for (output, item) in elements(response, "output").enumerate() {
        visit_item(item, output as u64, visit);
    }
    member(response, "output_text", 0, Text::Plain, visit);
}

fn visit_part(part: &mut Value, output: u64, visit: &mut Visit<'_>) {
    for name in ["text", "refusal"] {
        member(part, name, output, Text::Plain, visit);
    }
}

fn visit_item(item: &mut Value, output: u64, visit: &mut Visit<'_>) {
    match item["type"].as_str().unwrap_or_default() {
        "message" | "reasoning" => {
            for name in ["content", "summary"] {
                elements(item, name).for_each(|part| visit_part(part, output, visit));
            }
        }
        "function_call" => member(item, "arguments", output, Text::Arguments, visit),
        "custom_tool_call" => member(item, "input", output, Text::Arguments, visit),
        "code_interpreter_call" => member(item, "code", output, Text::Arguments, visit),
        "mcp_call" => {
            member(item, "arguments", output, Text::Arguments, visit);
            member(item, "output", output, Text::Either, visit);
        }
        "compaction" => {}
        _ => {
            for name in [
                "arguments",
                "action",
                "operation",
                "code",
                "result",
                "output",
                "outputs",
                "tools",
                "queries",
                "results",
            ] {
                member(item, name, output, Text::Either, visit);
            }
        }
    }
}
