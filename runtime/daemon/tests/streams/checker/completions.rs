//! OpenAI Completions.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{CONTENT, Reading, Rules, Standing};
use crate::frames::Frame;

#[derive(Debug, Default)]
pub(super) struct Completions {
    done: bool,
    failed: bool,
    began: BTreeSet<u64>,
}

impl Rules for Completions {
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
        reading.require(json["object"] == "text_completion", "an event says what it is", json);
        reading.require(json["id"].is_string(), "an event has an id", json);
        for choice in json["choices"].as_array().into_iter().flatten() {
            self.choice(reading, choice);
        }
    }

    fn end(&mut self, reading: &mut Reading) {
        let is_finished = |choice: &u64| reading.finishes.contains_key(choice);
        let complete = !reading.finishes.is_empty() && self.began.iter().all(is_finished);
        reading.standing = match (self.failed, self.done, complete) {
            (true, ..) => Standing::Failed,
            (false, true, _) => Standing::Over,
            (false, false, true) => Standing::Complete,
            (false, false, false) => Standing::Open,
        };
        let finished = complete || !self.done || self.failed;
        reading.require(finished, "every choice is finished before [DONE]", format!("{:?}", self.began));
        reading.require(self.done || !self.failed, "an error is followed by [DONE]", "it is not");
    }
}

impl Completions {
    fn choice(&mut self, reading: &mut Reading, choice: &Value) {
        let Some(index) = choice["index"].as_u64() else {
            return reading.broke("a choice has an index", choice);
        };
        let text = choice["text"].as_str();
        reading.require(text.is_some(), "a choice has text", choice);
        let text = text.unwrap_or_default();
        let was_finished = reading.finishes.contains_key(&index);
        reading.require(text.is_empty() || !was_finished, "no text comes behind a finish", choice);
        reading.text(index, CONTENT, text);
        self.began.insert(index);
        if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
            reading.require(!was_finished, "a choice finishes once", choice);
            reading.finish(index, reason);
        }
    }
}
