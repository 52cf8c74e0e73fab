//! OpenAI Chat Completions and its dialects.

use serde_json::Value;

use super::{Memory, Place, Text, Visit, elements, member, number};

pub(super) fn visit(memory: &mut Memory, json: &mut Value, visit: &mut Visit<'_>) {
    for (position, choice) in elements(json, "choices").enumerate() {
        let index = choice["index"].as_u64().unwrap_or(position as u64);
        for name in ["delta", "message"] {
            if let Some(holder) = choice.get_mut(name).filter(|holder| holder.is_object()) {
                visit_holder(memory, holder, index, visit);
            }
        }
    }
}

fn visit_holder(memory: &mut Memory, holder: &mut Value, choice: u64, visit: &mut Visit<'_>) {
    let signed = elements(holder, "reasoning_details").any(|detail| is_signed(detail));
    let reasoning = if signed { Text::Either } else { Text::Plain };
    for name in ["reasoning_content", "reasoning"] {
        member(holder, name, choice, reasoning, visit);
    }
    for detail in elements(holder, "reasoning_details") {
        for name in ["text", "summary"] {
            member(detail, name, choice, reasoning, visit);
        }
    }
    match holder.get_mut("content") {
        Some(content @ Value::String(_)) => visit(Place { choice, text: Text::Plain, value: content }),
        Some(Value::Array(parts)) => parts.iter_mut().for_each(|part| visit_part(part, choice, visit)),
        _ => {}
    }
    member(holder, "refusal", choice, Text::Plain, visit);
    for call in elements(holder, "tool_calls") {
        visit_call(memory, call, choice, visit);
    }
    if let Some(call) = holder.get_mut("function_call").filter(|call| call.is_object()) {
        member(call, "arguments", choice, Text::Fragment { call: u64::MAX, begins: false }, visit);
    }
}

fn is_signed(detail: &Value) -> bool {
    let is_said = |name: &str| detail[name].as_str().is_some_and(|text| !text.is_empty());
    detail.get("signature").is_some() && is_said("signature")
        || detail["format"].as_str().is_some_and(|format| format.starts_with("anthropic"))
}

fn visit_part(part: &mut Value, choice: u64, visit: &mut Visit<'_>) {
    if part.is_string() {
        return visit(Place { choice, text: Text::Plain, value: part });
    }
    for name in ["text", "refusal"] {
        member(part, name, choice, Text::Plain, visit);
    }
    match part.get_mut("thinking") {
        Some(Value::Array(inner)) => inner.iter_mut().for_each(|part| visit_part(part, choice, visit)),
        Some(text @ Value::String(_)) => visit(Place { choice, text: Text::Plain, value: text }),
        _ => {}
    }
}

fn visit_call(memory: &mut Memory, call: &mut Value, choice: u64, visit: &mut Visit<'_>) {
    let index = number(call, "index");
    let id = call["id"].as_str().map(str::to_owned);
    let text = Text::Fragment { call: index, begins: memory.begins(choice, index, id.as_deref()) };
    for (holder, name) in [("function", "arguments"), ("custom", "input")] {
        if let Some(function) = call.get_mut(holder).filter(|function| function.is_object()) {
            member(function, name, choice, text, visit);
        }
    }
}
