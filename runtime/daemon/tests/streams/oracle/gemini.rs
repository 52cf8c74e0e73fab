//! Gemini.

use serde_json::Value;

use super::{Text, Visit, elements, member};

pub(super) fn visit(json: &mut Value, visit: &mut Visit<'_>) {
    for candidate in elements(json, "candidates") {
        let index = candidate["index"].as_u64().unwrap_or(0);
        if let Some(content) = candidate.get_mut("content").filter(|content| content.is_object()) {
            for part in elements(content, "parts") {
                visit_part(part, index, visit);
            }
        }
        if let Some(grounding) = candidate.get_mut("groundingMetadata").filter(|grounding| grounding.is_object()) {
            for support in elements(grounding, "groundingSupports") {
                if let Some(segment) = support.get_mut("segment").filter(|segment| segment.is_object()) {
                    member(segment, "text", index, Text::Plain, visit);
                }
            }
        }
    }
}

fn visit_part(part: &mut Value, index: u64, visit: &mut Visit<'_>) {
    member(part, "text", index, Text::Plain, visit);
    if let Some(call) = part.get_mut("functionCall").filter(|call| call.is_object()) {
        member(call, "args", index, Text::Arguments, visit);
        for argument in elements(call, "partialArgs") {
            member(argument, "stringValue", index, Text::Plain, visit);
        }
    }
    for (holder, name) in [("executableCode", "code"), ("codeExecutionResult", "output")] {
        if let Some(code) = part.get_mut(holder).filter(|code| code.is_object()) {
            member(code, name, index, Text::Either, visit);
        }
    }
}
