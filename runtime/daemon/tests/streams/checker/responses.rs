//! OpenAI Responses: numbered events; items in order, their parts inside them, and at the end all of it again.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{CALL, CONTENT, ONE_RESPONSE, Quote, REASONING, REFUSAL, Reading, Rules, Standing};
use crate::frames::Frame;

#[derive(Debug, Default)]
pub(super) struct Responses {
    next_number: Option<u64>,
    id: Option<Value>,
    items: BTreeMap<u64, Item>,
    standing: Standing,
}

#[derive(Debug, Default)]
struct Item {
    id: Value,
    kind: String,
    done: bool,
    /// Parts of content and of a summary.
    parts: BTreeMap<(&'static str, u64), Part>,
    /// Arguments, input or code.
    call: Part,
}

#[derive(Debug, Default)]
struct Part {
    text: String,
    open: bool,
    /// Its text was told in full.
    told: bool,
}

impl Rules for Responses {
    fn frame(&mut self, reading: &mut Reading, frame: &Frame) {
        let Some(json) = &frame.json else {
            return reading.broke("there is no end marker", frame.data.as_deref().unwrap_or_default());
        };
        let kind = json["type"].as_str().unwrap_or_default();
        reading.require(!kind.is_empty(), "an event has a type", json);
        match &frame.event {
            Some(event) => reading.require(event == kind, "an event's name is its type", format!("{event}: {json}")),
            None => reading.broke("an event has a name", kind),
        }
        if kind == "response.created" && self.standing != Standing::Open {
            // Several answers one after the other: the rules hold for each.
            reading.broke(ONE_RESPONSE, json);
            *self = Self::default();
        }
        reading.require(self.standing == Standing::Open, "nothing comes behind the end", json);
        self.check_number(reading, json);
        reading.note_stop(json);
        match kind.strip_prefix("response.") {
            Some("created" | "queued" | "in_progress") => self.whole(reading, json),
            Some("completed" | "incomplete" | "failed" | "cancelled") => self.close(reading, kind, json),
            Some(kind) => {
                reading.require(self.id.is_some(), "an answer begins with response.created", json);
                self.within(reading, kind, json);
            }
            None if kind == "error" => {
                let message = json["message"].as_str().or(json["error"]["message"].as_str());
                reading.require(message.is_some(), "an error has a message", json);
                reading.errors.push(json.clone());
                self.standing = Standing::Failed;
            }
            None => {}
        }
    }

    fn end(&mut self, reading: &mut Reading) {
        reading.standing = self.standing;
    }
}

impl Responses {
    fn check_number(&mut self, reading: &mut Reading, json: &Value) {
        let Some(number) = json["sequence_number"].as_u64() else {
            return reading.broke("an event has a number", json);
        };
        let expected = self.next_number.unwrap_or(number);
        reading.require(number == expected, "numbers have no gap", format!("{number} in place of {expected}"));
        self.next_number = Some(number + 1);
    }

    fn whole(&mut self, reading: &mut Reading, json: &Value) {
        let response = &json["response"];
        let is_whole = response["id"].is_string() && response["output"].is_array() && response["status"].is_string();
        reading.require(is_whole, "a response has id, output and status", json);
        reading.require(response["object"] == "response", "a response says what it is", json);
        let known = self.id.get_or_insert_with(|| response["id"].clone());
        reading.require(*known == response["id"], "the id stays", &response["id"]);
    }

    fn close(&mut self, reading: &mut Reading, kind: &str, json: &Value) {
        self.whole(reading, json);
        let response = &json["response"];
        let status = response["status"].as_str().unwrap_or_default();
        reading.require(kind.strip_prefix("response.") == Some(status), "the end's name is its status", json);
        if kind == "response.failed" {
            reading.require(response["error"]["message"].is_string(), "a failed response has an error", json);
            reading.errors.push(response["error"].clone());
            self.standing = Standing::Failed;
            return;
        }
        let reason = response["incomplete_details"]["reason"].as_str();
        reading.finish(0, &reason.map_or_else(|| status.to_owned(), |reason| format!("{status}: {reason}")));
        let open: Vec<&u64> = self.items.iter().filter(|(_, item)| !item.done).map(|(index, _)| index).collect();
        reading.require(open.is_empty(), "every item is done at the end", format!("{open:?}"));
        self.check_output(reading, &response["output"]);
        self.standing = Standing::Over;
    }

    fn check_output(&self, reading: &mut Reading, output: &Value) {
        let output = output.as_array().map(Vec::as_slice).unwrap_or_default();
        let same = output.len() == self.items.len();
        reading.require(same, "the end has every item", format!("{} of {}", output.len(), self.items.len()));
        for (item, told) in self.items.values().zip(output) {
            reading.require(item.id == told["id"], "the end has the items in order", &told["id"]);
            item.check(reading, told, true);
        }
    }

    fn within(&mut self, reading: &mut Reading, kind: &str, json: &Value) {
        let Some(output) = json["output_index"].as_u64() else { return };
        if kind == "output_item.added" {
            return self.add(reading, output, &json["item"]);
        }
        let Some(item) = self.items.get_mut(&output).filter(|item| !item.done) else {
            return reading.broke("an item that goes on is open", json);
        };
        let is_own = json.get("item_id").is_none_or(|id| *id == item.id);
        reading.require(is_own, "an event names its item", json);
        match kind {
            "output_item.done" => {
                let told = &json["item"];
                reading.require(told["id"] == item.id, "an event names its item", json);
                let open = item.parts.values().any(|part| part.open);
                reading.require(!open, "every part is done before its item", json);
                item.check(reading, told, false);
                item.done = true;
            }
            _ => item.event(reading, output, kind, json),
        }
    }

    fn add(&mut self, reading: &mut Reading, output: u64, told: &Value) {
        let next = self.items.last_key_value().map_or(0, |(index, _)| index + 1);
        reading.require(output == next, "items are numbered without a gap", told);
        reading.require(told["id"].is_string() && told["type"].is_string(), "an item has id and type", told);
        let kind = told["type"].as_str().unwrap_or_default().to_owned();
        if kind == "function_call" {
            let is_named = told["name"].is_string() && told["call_id"].is_string() && told["arguments"].is_string();
            reading.require(is_named, "a call has name, call_id and arguments", told);
            reading.calls.push(told["name"].as_str().unwrap_or_default().to_owned());
        }
        self.items.insert(output, Item { id: told["id"].clone(), kind, ..Item::default() });
    }
}

/// The part that an event is about, among those of the item.
fn part_key(json: &Value) -> (&'static str, u64) {
    match json["summary_index"].as_u64() {
        Some(index) => ("summary", index),
        None => ("content", json["content_index"].as_u64().unwrap_or(0)),
    }
}

/// What a client puts the deltas of that event to.
fn lane(event: &str) -> Option<&'static str> {
    match event {
        "output_text" => Some(CONTENT),
        "refusal" => Some(REFUSAL),
        "reasoning_text" | "reasoning_summary_text" | "reasoning_summary" => Some(REASONING),
        "function_call_arguments" | "custom_tool_call_input" | "mcp_call_arguments" | "code_interpreter_call_code" => {
            Some(CALL)
        }
        _ => None,
    }
}

/// The whole text that an event or a part tells.
fn told_text(json: &Value) -> Option<&str> {
    ["text", "refusal", "arguments", "input", "code"].iter().find_map(|name| json[*name].as_str())
}

impl Item {
    fn event(&mut self, reading: &mut Reading, output: u64, kind: &str, json: &Value) {
        let Some((event, step)) = kind.rsplit_once('.') else { return };
        if matches!(event, "content_part" | "reasoning_summary_part") {
            return self.part(reading, step, json);
        }
        let Some(lane) = lane(event) else { return };
        let part = if lane == CALL {
            &mut self.call
        } else {
            let part = self.parts.entry(part_key(json)).or_default();
            reading.require(part.open, "a part that goes on is open", json);
            part
        };
        match step {
            "delta" => {
                let delta = json["delta"].as_str().unwrap_or_default();
                reading.require(!part.told, "no text comes behind the end of it", json);
                part.text.push_str(delta);
                reading.text(output, lane, delta);
            }
            "done" => {
                let same = told_text(json) == Some(&part.text);
                reading.require(
                    same,
                    "a text that is done says what its deltas said",
                    format!("{:?}: {json}", part.text),
                );
                part.told = true;
            }
            _ => {}
        }
    }

    fn part(&mut self, reading: &mut Reading, step: &str, json: &Value) {
        let key = part_key(json);
        let count = self.parts.keys().filter(|(of, _)| *of == key.0).count() as u64;
        if step == "added" {
            reading.require(key.1 == count, "parts are numbered without a gap", json);
            self.parts.insert(key, Part { open: true, ..Part::default() });
            return;
        }
        let Some(part) = self.parts.get_mut(&key).filter(|part| part.open) else {
            return reading.broke("a part that is done is open", json);
        };
        let same = told_text(&json["part"]) == Some(&part.text);
        reading.require(same, "a part that is done says what its deltas said", format!("{:?}: {json}", part.text));
        part.open = false;
    }

    /// That an item that is told in full says what its events said. What no client shows may be left out of the end of a
    /// stream that was cut.
    fn check(&self, reading: &mut Reading, told: &Value, at_end: bool) {
        let may_be_empty = at_end || told["status"] == "incomplete";
        let says = |told: &str, said: &str| told == said || (may_be_empty && told.is_empty());
        let kind = &self.kind;
        reading.require(told["type"] == **kind, "an item stays what it is", told);
        if let Some(text) = ["arguments", "input", "code"].iter().find_map(|name| told[*name].as_str()) {
            let same = says(text, &self.call.text);
            reading.require(
                same,
                "an item that is told says what its deltas said",
                format!("{:?}: {told}", self.call.text),
            );
        }
        for name in ["content", "summary"] {
            let parts = told[name].as_array().map(Vec::as_slice).unwrap_or_default();
            for (index, part) in parts.iter().enumerate() {
                let said = self.parts.get(&(name, index as u64)).map_or("", |part| part.text.as_str());
                let text = told_text(part).unwrap_or_default();
                if at_end {
                    let annotations = part["annotations"].as_array().into_iter().flatten();
                    reading.quotes.extend(annotations.filter_map(|annotation| Quote::of_characters(text, annotation)));
                }
                let same = text == said || (kind != "message" && says(text, said));
                reading.require(same, "an item that is told says what its deltas said", format!("{said:?}: {told}"));
            }
            let known = self.parts.keys().filter(|(of, _)| *of == name).count();
            let every = parts.len() == known || (kind != "message" && may_be_empty && parts.is_empty());
            reading.require(every, "an item that is told has every part", told);
        }
    }
}
