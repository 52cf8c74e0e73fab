//! Gemini: each event is a whole response with a piece of each candidate.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{CALL, CONTENT, Quote, REASONING, Reading, Rules, Standing};
use crate::frames::Frame;

#[derive(Debug, Default)]
pub(super) struct Gemini {
    began: BTreeSet<u64>,
    blocked: bool,
    failed: bool,
}

impl Rules for Gemini {
    fn frame(&mut self, reading: &mut Reading, frame: &Frame) {
        let Some(json) = &frame.json else {
            return reading.broke("there is no end marker", frame.data.as_deref().unwrap_or_default());
        };
        reading.note_stop(json);
        if let Some(error) = json.get("error") {
            let is_told = error["code"].is_u64() && error["message"].is_string() && error["status"].is_string();
            reading.require(is_told, "an error has code, message and status", json);
            reading.errors.push(error.clone());
            self.failed = true;
            return;
        }
        reading.require(!self.failed, "nothing comes behind an error", json);
        reading.require(json.is_object(), "an event is an object", json);
        let is_known = ["candidates", "promptFeedback", "usageMetadata"].iter().any(|name| json.get(name).is_some());
        reading.require(is_known, "an event has candidates, feedback or usage", json);
        if let Some(reason) = json["promptFeedback"]["blockReason"].as_str() {
            self.blocked = true;
            reading.finish(0, reason);
        }
        for candidate in json["candidates"].as_array().into_iter().flatten() {
            self.candidate(reading, candidate);
        }
    }

    fn end(&mut self, reading: &mut Reading) {
        let is_finished = |candidate: &u64| reading.finishes.contains_key(candidate);
        let complete = !reading.finishes.is_empty() && self.began.iter().all(is_finished);
        reading.standing = match (self.failed, complete || self.blocked) {
            (true, _) => Standing::Failed,
            (false, true) => Standing::Complete,
            (false, false) => Standing::Open,
        };
    }
}

impl Gemini {
    fn candidate(&mut self, reading: &mut Reading, candidate: &Value) {
        let index = candidate["index"].as_u64().unwrap_or(0);
        let was_finished = reading.finishes.contains_key(&index);
        self.began.insert(index);
        let parts = &candidate["content"]["parts"];
        reading.require(parts.is_array() || parts.is_null(), "parts are an array", candidate);
        for part in parts.as_array().into_iter().flatten() {
            let said = self.part(reading, index, part);
            reading.require(!(said && was_finished), "no text comes behind a finish", candidate);
        }
        for support in candidate["groundingMetadata"]["groundingSupports"].as_array().into_iter().flatten() {
            grounded(reading, index, &support["segment"]);
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            reading.require(!was_finished, "a candidate finishes once", candidate);
            reading.finish(index, reason);
        }
    }

    /// Whether it says anything.
    fn part(&mut self, reading: &mut Reading, index: u64, part: &Value) -> bool {
        reading.require(part.is_object(), "a part is an object", part);
        let data = ["text", "functionCall", "executableCode", "codeExecutionResult", "inlineData", "toolCall"];
        let count = data.iter().filter(|name| part.get(name).is_some()).count();
        reading.require(count <= 1, "a part is one thing", part);
        let text = part["text"].as_str().unwrap_or_default();
        let lane = if part["thought"] == true { REASONING } else { CONTENT };
        reading.text(index, lane, text);
        reading.text(index, CALL, part["executableCode"]["code"].as_str().unwrap_or_default());
        reading.text(index, CONTENT, part["codeExecutionResult"]["output"].as_str().unwrap_or_default());
        for name in ["functionCall", "toolCall"] {
            if let Some(call) = part.get(name) {
                call_in(reading, index, call);
            }
        }
        count > 0 && part["text"] != ""
    }
}

fn call_in(reading: &mut Reading, index: u64, call: &Value) {
    if let Some(name) = call["name"].as_str() {
        reading.calls.push(name.to_owned());
    }
    let args = &call["args"];
    reading.require(args.is_object() || args.is_null(), "arguments are an object", call);
    if args.is_object() {
        reading.text(index, CALL, &args.to_string());
    }
    for argument in call["partialArgs"].as_array().into_iter().flatten() {
        let value = argument.as_object().into_iter().flatten().find(|(name, _)| name.ends_with("Value"));
        let said = value.map(|(_, value)| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        reading.text(index, CALL, &said.unwrap_or_default());
    }
}

/// A segment says where in the text it is, in bytes, and what it says.
fn grounded(reading: &mut Reading, index: u64, segment: &Value) {
    let text = reading.texts.get(&(index, CONTENT)).cloned().unwrap_or_default();
    let bound = |name: &str| usize::try_from(segment[name].as_u64().unwrap_or(0)).unwrap_or(usize::MAX);
    let quote = Quote { text, range: bound("startIndex")..bound("endIndex") };
    let said = segment["text"].as_str().unwrap_or_default();
    reading.require(said == quote.quoted(), "a segment says what stands there", segment);
    reading.quotes.push(quote);
}
