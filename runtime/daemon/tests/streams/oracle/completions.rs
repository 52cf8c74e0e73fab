//! OpenAI Completions.

use serde_json::Value;

use super::{Text, Visit, elements, member};

pub(super) fn visit(json: &mut Value, visit: &mut Visit<'_>) {
    for (position, choice) in elements(json, "choices").enumerate() {
        let index = choice["index"].as_u64().unwrap_or(position as u64);
        for name in ["text", "reasoning", "reasoning_content"] {
            member(choice, name, index, Text::Plain, visit);
        }
    }
}
