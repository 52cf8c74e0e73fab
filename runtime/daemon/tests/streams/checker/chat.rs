//! OpenAI Chat Completions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{CALL, CONTENT, Quote, REASONING, REFUSAL, Reading, Rules, Standing};
use crate::frames::Frame;

#[derive(Debug, Default)]
pub(super) struct Chat {
    id: Option<Value>,
    done: bool,
    failed: bool,
    began: BTreeSet<u64>,
    /// The calls of each choice that began, with their ids.
    calls: BTreeMap<(u64, u64), String>,
}

impl Rules for Chat {
    fn frame(&mut self, reading: &mut Reading, frame: &Frame) {
        reading.require(!self.done, "nothing comes behind [DONE]", frame.data.as_deref().unwrap_or_default());
        if frame.is_done() {
            self.done = true;
            return;
        }
        let Some(json) = &frame.json else { return };
        reading.note_stop(json);
        if let Some(error) = json.get("error").filter(|error| !error.is_null()) {
            reading.require(error["message"].is_string(), "an error has a message", error);
            reading.errors.push(error.clone());
            self.failed = true;
            return;
        }
        reading.require(!self.failed, "nothing but [DONE] comes behind an error", json);
        reading.require(json["choices"].is_array(), "an event has choices", json);
        reading.require(json["object"] == "chat.completion.chunk", "an event says what it is", json);
        reading.require(json["model"].is_string() && json["created"].is_u64(), "an event has model and created", json);
        self.check_id(reading, &json["id"]);
        for choice in json["choices"].as_array().into_iter().flatten() {
            self.choice(reading, choice);
        }
    }

    fn end(&mut self, reading: &mut Reading) {
        let is_finished = |choice: &u64| reading.finishes.contains_key(choice);
        let complete = !reading.finishes.is_empty() && self.began.iter().all(is_finished);
        reading.standing = match (self.failed, self.done, complete) {
            (true, ..) => Standing::Failed,
            (false, true, true) => Standing::Over,
            (false, true, false) => {
                reading.broke("every choice is finished before [DONE]", format!("{:?}", self.began));
                Standing::Over
            }
            (false, false, true) => Standing::Complete,
            (false, false, false) => Standing::Open,
        };
        if self.failed {
            reading.require(self.done, "an error is followed by [DONE]", "it is not");
        }
    }
}

impl Chat {
    fn check_id(&mut self, reading: &mut Reading, id: &Value) {
        reading.require(id.is_string(), "an event has an id", id);
        if id.as_str().is_some_and(|id| !id.is_empty()) {
            let known = self.id.get_or_insert_with(|| id.clone());
            reading.require(known == id, "the id stays", format!("{known} becomes {id}"));
        }
    }

    fn choice(&mut self, reading: &mut Reading, choice: &Value) {
        let Some(index) = choice["index"].as_u64() else {
            return reading.broke("a choice has an index", choice);
        };
        reading.require(choice["delta"].is_object(), "a choice has a delta", choice);
        let delta = &choice["delta"];
        let said = self.delta(reading, index, delta);
        let was_finished = reading.finishes.contains_key(&index);
        reading.require(!(said && was_finished), "no text comes behind a finish", choice);
        if delta.as_object().is_some_and(|delta| !delta.is_empty()) {
            self.began.insert(index);
        }
        let reason = &choice["finish_reason"];
        if let Some(reason) = reason.as_str().filter(|reason| !reason.is_empty()) {
            reading.require(!was_finished, "a choice finishes once", choice);
            reading.finish(index, reason);
        } else {
            reading.require(reason.is_null(), "a finish reason is null or says something", choice);
        }
    }

    /// Whether it says anything.
    fn delta(&mut self, reading: &mut Reading, index: u64, delta: &Value) -> bool {
        let mut said = false;
        let mut take = |reading: &mut Reading, lane, text: &str| {
            said |= !text.is_empty();
            reading.text(index, lane, text);
        };
        let reasoning = ["reasoning_content", "reasoning"].map(|name| delta[name].as_str().unwrap_or_default());
        take(reading, REASONING, if reasoning[0].is_empty() { reasoning[1] } else { reasoning[0] });
        match &delta["content"] {
            Value::String(text) => take(reading, CONTENT, text),
            Value::Array(parts) => {
                for part in parts {
                    for inner in part["thinking"].as_array().into_iter().flatten() {
                        take(reading, REASONING, inner["text"].as_str().unwrap_or_default());
                    }
                    take(reading, CONTENT, part["text"].as_str().unwrap_or_default());
                }
            }
            Value::Null => {}
            other => reading.broke("content is text", other),
        }
        take(reading, REFUSAL, delta["refusal"].as_str().unwrap_or_default());
        for annotation in delta["annotations"].as_array().into_iter().flatten() {
            let text = reading.texts.get(&(index, CONTENT)).cloned().unwrap_or_default();
            reading.quotes.extend(Quote::of_characters(&text, &annotation["url_citation"]));
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            said = true;
            self.call(reading, index, call);
        }
        said
    }

    fn call(&mut self, reading: &mut Reading, choice: u64, call: &Value) {
        let Some(index) = call["index"].as_u64() else {
            return reading.broke("a tool call has an index", call);
        };
        let id = call["id"].as_str().unwrap_or_default();
        let name = call["function"]["name"].as_str().unwrap_or_default();
        match self.calls.get(&(choice, index)) {
            None => {
                reading.require(!id.is_empty() && !name.is_empty(), "a call begins with id and name", call);
                self.calls.insert((choice, index), id.to_owned());
            }
            Some(known) => {
                let is_same = id.is_empty() || known == id;
                reading.require(is_same, "a call's id stays", call);
            }
        }
        if !name.is_empty() {
            reading.calls.push(name.to_owned());
        }
        reading.text(choice, CALL, call["function"]["arguments"].as_str().unwrap_or_default());
    }
}
