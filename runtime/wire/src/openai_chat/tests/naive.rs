//! The chunks of a frame, read the slow and plain way: out of a `serde_json::Value`. Tool call numbers are those of a
//! single frame by a fresh state.

use seam_plugin_api::ChunkKind;
use serde_json::{Value, json};

use super::Seen;

pub(super) fn decode(data: &[u8]) -> Vec<Seen> {
    let trimmed = data.trim_ascii();
    if trimmed.is_empty() || trimmed == b"[DONE]" {
        return Vec::new();
    }
    let Ok(value) = serde_json::from_slice::<Value>(data) else {
        let text = String::from_utf8_lossy(data).into_owned();
        return vec![Seen {
            choice: 0,
            kind: ChunkKind::Opaque,
            text: String::new(),
            payload: Some(Value::from(text)),
        }];
    };
    let mut chunks = Vec::new();
    let choices = value["choices"].as_array().cloned().unwrap_or_default();
    let index_of =
        |position: usize| choices[position]["index"].as_u64().map_or(position, |index| index as usize) as u32;
    let mut choice_usage = None;
    for position in (0..choices.len()).filter(|position| choices[*position].is_object()) {
        let choice = &choices[position];
        read_choice(choice, index_of(position), &mut chunks);
        if choice["usage"].as_object().is_some_and(|usage| !usage.is_empty()) {
            choice_usage = Some(choice["usage"].clone());
        }
    }
    read_rest(&value, choice_usage, &mut chunks);
    if chunks.is_empty() {
        let choice = (0..choices.len()).find(|position| choices[*position].is_object()).map_or(0, index_of);
        return vec![Seen { choice, kind: ChunkKind::Opaque, text: String::new(), payload: Some(value) }];
    }
    chunks
}

fn read_rest(value: &Value, choice_usage: Option<Value>, chunks: &mut Vec<Seen>) {
    let mut push = |kind, text: &str, payload| {
        chunks.push(Seen { choice: 0, kind, text: text.to_owned(), payload: Some(payload) });
    };
    if says(&value["citations"]) {
        push(ChunkKind::Annotation, "", json!({ "citations": value["citations"] }));
    }
    let top_usage = value["usage"].as_object().filter(|usage| !usage.is_empty()).map(|_| value["usage"].clone());
    if let Some(raw) = top_usage.or(choice_usage) {
        push(ChunkKind::Usage, "", usage(&raw));
    }
    if says(&value["error"]) {
        push(ChunkKind::Error, message(&value["error"]), value["error"].clone());
    }
}

fn usage(raw: &Value) -> Value {
    let mut payload = json!({ "provider": raw });
    let mut count = |name: &str, places: &[&Value]| {
        if let Some(number) = places.iter().find(|place| place.is_number()) {
            payload[name] = (*number).clone();
        }
    };
    count("input_tokens", &[&raw["prompt_tokens"], &raw["input_tokens"]]);
    count("output_tokens", &[&raw["completion_tokens"], &raw["output_tokens"]]);
    count("total_tokens", &[&raw["total_tokens"]]);
    let (output, input) = (&raw["completion_tokens_details"], &raw["prompt_tokens_details"]);
    let (output_2, input_2) = (&raw["output_tokens_details"], &raw["input_tokens_details"]);
    count("reasoning_tokens", &[&output["reasoning_tokens"], &output_2["reasoning_tokens"], &raw["reasoning_tokens"]]);
    count("cached_tokens", &[&input["cached_tokens"], &input_2["cached_tokens"], &raw["prompt_cache_hit_tokens"]]);
    payload
}

fn message(error: &Value) -> &str {
    error.as_str().or(error["message"].as_str()).unwrap_or_default()
}

fn says(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(elements) => !elements.is_empty(),
        Value::Object(members) => members.values().any(says),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn read_choice(choice: &Value, index: u32, chunks: &mut Vec<Seen>) {
    let mut push =
        |kind, text: &str, payload| chunks.push(Seen { choice: index, kind, text: text.to_owned(), payload });
    let holder = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
    let parts = parts(&holder["content"]);
    for text in reasoning(holder) {
        push(ChunkKind::ReasoningDelta, &text, None);
    }
    let lanes = [
        (ChunkKind::ReasoningDelta, None),
        (ChunkKind::ContentDelta, text(&holder["content"])),
        (ChunkKind::RefusalDelta, text(&holder["refusal"])),
    ];
    for (kind, whole) in lanes {
        whole.into_iter().for_each(|text| push(kind, text, None));
        parts.iter().filter(|(of, _)| *of == kind).for_each(|(_, text)| push(kind, text, None));
        if kind == ChunkKind::ContentDelta {
            let beside = text(&choice["text"]).filter(|beside| text(&holder["content"]) != Some(beside));
            beside.into_iter().for_each(|text| push(kind, text, None));
        }
    }
    for (arguments, payload) in calls(holder) {
        push(ChunkKind::ToolCallDelta, &arguments, Some(payload));
    }
    if says(&holder["annotations"]) {
        push(ChunkKind::Annotation, "", Some(json!({ "annotations": holder["annotations"] })));
    }
    if says(&choice["logprobs"]) {
        push(ChunkKind::Annotation, "", Some(json!({ "logprobs": choice["logprobs"] })));
    }
    if let Some(reason) = text(&choice["finish_reason"]) {
        push(ChunkKind::Finish, reason, None);
    }
    if says(&choice["error"]) {
        push(ChunkKind::Error, message(&choice["error"]), Some(choice["error"].clone()));
    }
}

fn reasoning(holder: &Value) -> Vec<String> {
    let texts = [text(&holder["reasoning_content"]), text(&holder["reasoning"])];
    let shown = texts[0].or(texts[1]);
    let other = texts[1].filter(|other| shown != Some(other)).map(str::to_owned);
    let details: Vec<String> = holder["reasoning_details"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|detail| [text(&detail["text"]), text(&detail["summary"])])
        .flatten()
        .map(str::to_owned)
        .collect();
    match shown {
        Some(shown) if details.concat() == shown => std::iter::once(shown.to_owned()).chain(other).collect(),
        shown => shown.map(str::to_owned).into_iter().chain(other).chain(details).collect(),
    }
}

fn parts(content: &Value) -> Vec<(ChunkKind, String)> {
    let mut found = Vec::new();
    for part in content.as_array().into_iter().flatten() {
        let thinks = matches!(part["type"].as_str(), Some("thinking" | "reasoning"));
        let mut push = |kind, value: &Value| found.extend(text(value).map(|text| (kind, text.to_owned())));
        push(ChunkKind::ContentDelta, part);
        push(ChunkKind::ReasoningDelta, &part["thinking"]);
        for inner in part["thinking"].as_array().into_iter().flatten() {
            push(ChunkKind::ReasoningDelta, if inner.is_string() { inner } else { &inner["text"] });
        }
        push(if thinks { ChunkKind::ReasoningDelta } else { ChunkKind::ContentDelta }, &part["text"]);
        push(ChunkKind::RefusalDelta, &part["refusal"]);
    }
    found
}

/// The calls of one frame: the index that was sent where it is new, or else the next free number.
fn calls(holder: &Value) -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    let mut known: Vec<(u64, Option<u64>, String)> = Vec::new();
    for call in holder["tool_calls"].as_array().into_iter().flatten().filter(|call| call.is_object()) {
        let function = ["function", "custom"].into_iter().map(|name| &call[name]).find(|function| function.is_object());
        let function = function.unwrap_or(call);
        let (id, name) = (text(&call["id"]), text(&function["name"]));
        let arguments = ["arguments", "input"].into_iter().map(|name| &function[name]).find(|value| says(value));
        if id.is_none() && name.is_none() && arguments.is_none() {
            continue;
        }
        let sent = call["index"].as_u64();
        let same_id = known.iter().rposition(|(_, _, known)| id == Some(known.as_str()));
        let same_index = known.iter().rposition(|(_, known, _)| sent.is_none() || *known == sent);
        let continues = same_index.filter(|position| {
            let begins = sent.is_none() && (name.is_some() || id.is_some());
            !begins && (id.is_none() || known[*position].2.is_empty() || name.is_none())
        });
        let position = same_id.or(continues).unwrap_or_else(|| {
            let free = known.iter().map(|(number, ..)| number + 1).max().unwrap_or(0);
            let number = sent.filter(|sent| known.iter().all(|(number, ..)| number != sent)).unwrap_or(free);
            known.push((number, sent, String::new()));
            known.len() - 1
        });
        if known[position].2.is_empty() {
            known[position].2 = id.unwrap_or_default().to_owned();
        }
        let number = known[position].0;
        calls.push(call_chunk(number, id, name, arguments));
    }
    if holder["function_call"].is_object() {
        let call = &holder["function_call"];
        let (name, arguments) = (text(&call["name"]), Some(&call["arguments"]).filter(|value| says(value)));
        if name.is_some() || arguments.is_some() {
            calls.push(call_chunk(0, None, name, arguments));
        }
    }
    calls
}

fn call_chunk(number: u64, id: Option<&str>, name: Option<&str>, arguments: Option<&Value>) -> (String, Value) {
    let mut payload = json!({ "index": number });
    for (key, value) in [("id", id), ("name", name)] {
        if let Some(value) = value {
            payload[key] = Value::from(value);
        }
    }
    let spelt = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    (arguments.map(spelt).unwrap_or_default(), payload)
}
