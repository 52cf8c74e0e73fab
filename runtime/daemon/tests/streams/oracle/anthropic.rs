//! Anthropic Messages.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Memory, Text, Visit, elements, member, number};

pub(super) fn visit(memory: &mut Memory, json: &mut Value, visit: &mut Visit<'_>) {
    let index = number(json, "index");
    match json["type"].as_str() {
        Some("content_block_start") => {
            memory.signed.remove(&index);
            let Some(block) = json.get_mut("content_block") else { return };
            if block.get("signature").is_some() {
                memory.signed.insert(index);
            }
            visit_block(block, index, Text::Fragment { call: 0, begins: true }, visit);
        }
        Some("content_block_delta") => {
            let Some(delta) = json.get_mut("delta") else { return };
            let is_signed = memory.signed.contains(&index);
            visit_delta(delta, index, is_signed, visit);
        }
        Some("message") => {
            for (position, block) in elements(json, "content").enumerate() {
                visit_block(block, position as u64, Text::Arguments, visit);
            }
        }
        Some("message_start") => {
            // What a paused turn had said before.
            let Some(message) = json.get_mut("message") else { return };
            member(message, "content", 0, Text::Either, visit);
        }
        _ => {}
    }
}

fn visit_block(block: &mut Value, index: u64, arguments: Text, visit: &mut Visit<'_>) {
    member(block, "text", index, Text::Plain, visit);
    if block.get("signature").is_none() {
        member(block, "thinking", index, Text::Plain, visit);
    }
    member(block, "input", index, arguments, visit);
    // Of a compaction, or what a tool of the provider's gave.
    member(block, "content", index, Text::Either, visit);
}

fn visit_delta(delta: &mut Value, index: u64, is_signed: bool, visit: &mut Visit<'_>) {
    member(delta, "text", index, Text::Plain, visit);
    if !is_signed {
        member(delta, "thinking", index, Text::Plain, visit);
    }
    member(delta, "partial_json", index, Text::Fragment { call: 0, begins: false }, visit);
    member(delta, "content", index, Text::Either, visit);
}

/// Whether an event stays when all text is altered.
pub(super) fn stays(signed: &mut BTreeSet<u64>, json: &Value) -> bool {
    let index = number(json, "index");
    if json["type"] == "content_block_start" {
        signed.remove(&index);
        if json["content_block"].get("signature").is_some() {
            signed.insert(index);
        }
    }
    json["delta"]["type"] != "signature_delta" || signed.contains(&index)
}
