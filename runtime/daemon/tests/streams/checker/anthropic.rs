//! Anthropic Messages: one message, its blocks one after the other, a `message_delta`, a `message_stop`.

use serde_json::Value;

use super::{CALL, CONTENT, ONE_MESSAGE, REASONING, Reading, Rules, Standing};
use crate::frames::Frame;

#[derive(Debug, Default)]
pub(super) struct Anthropic {
    started: bool,
    /// The block that is open.
    open: Option<Block>,
    next_block: u64,
    reason: Option<String>,
    over: bool,
    failed: bool,
}

#[derive(Debug)]
struct Block {
    index: u64,
    kind: String,
    arguments: String,
}

impl Rules for Anthropic {
    fn frame(&mut self, reading: &mut Reading, frame: &Frame) {
        let Some(json) = &frame.json else {
            return reading.broke("there is no end marker but message_stop", frame.data.as_deref().unwrap_or_default());
        };
        let kind = json["type"].as_str().unwrap_or_default();
        if let Some(event) = &frame.event {
            reading.require(event == kind, "an event's name is its type", format!("{event}: {json}"));
        } else {
            reading.broke("an event has a name", json);
        }
        reading.note_stop(json);
        reading.require(!self.over, "nothing comes behind message_stop", json);
        reading.require(!self.failed, "nothing comes behind an error", json);
        match kind {
            "message_start" => self.start(reading, json),
            "ping" => {}
            "error" => {
                let error = &json["error"];
                let is_told = error["type"].is_string() && error["message"].is_string();
                reading.require(is_told, "an error has a type and a message", json);
                reading.errors.push(error.clone());
                self.failed = true;
            }
            _ => {
                reading.require(self.started, "a message begins with message_start", json);
                self.within(reading, kind, json);
            }
        }
    }

    fn end(&mut self, reading: &mut Reading) {
        reading.standing = match (self.failed, self.over, &self.reason) {
            (true, ..) => Standing::Failed,
            (false, true, _) => Standing::Over,
            (false, false, Some(_)) => Standing::Complete,
            (false, false, None) => Standing::Open,
        };
    }
}

impl Anthropic {
    fn start(&mut self, reading: &mut Reading, json: &Value) {
        reading.require(!self.started, ONE_MESSAGE, json);
        let message = &json["message"];
        let named = message["id"].is_string() && message["model"].is_string() && message["role"] == "assistant";
        reading.require(named, "a message has id, model and role", json);
        reading.require(message["content"].is_array(), "a message has content", json);
        reading.require(message["usage"]["output_tokens"].is_u64(), "a message has usage", json);
        (self.started, self.next_block, self.open) = (true, 0, None);
    }

    fn within(&mut self, reading: &mut Reading, kind: &str, json: &Value) {
        let index = json["index"].as_u64();
        match kind {
            "content_block_start" => self.open_block(reading, json),
            "content_block_delta" => self.delta(reading, index, json),
            "content_block_stop" => {
                let is_open = self.open.as_ref().is_some_and(|open| Some(open.index) == index);
                reading.require(is_open, "a block that stops is open", json);
                self.open = None;
            }
            "message_delta" => self.message_delta(reading, json),
            "message_stop" => {
                reading.require(self.open.is_none(), "every block has stopped before the message does", json);
                reading.require(self.reason.is_some(), "a message that stops has a reason", json);
                self.over = true;
            }
            _ => {}
        }
    }

    fn open_block(&mut self, reading: &mut Reading, json: &Value) {
        reading.require(self.open.is_none(), "one block is open at a time", json);
        reading.require(json["index"] == self.next_block, "blocks are numbered without a gap", json);
        reading.require(self.reason.is_none(), "no block comes behind the reason", json);
        let index = json["index"].as_u64().unwrap_or(self.next_block);
        let block = &json["content_block"];
        let kind = block["type"].as_str().unwrap_or_default().to_owned();
        reading.require(!kind.is_empty(), "a block has a type", json);
        if kind.ends_with("tool_use") {
            let is_named = block["id"].is_string() && block["name"].is_string() && block["input"].is_object();
            reading.require(is_named, "a call has id, name and input", json);
            reading.calls.push(block["name"].as_str().unwrap_or_default().to_owned());
            let input = &block["input"];
            if input.as_object().is_some_and(|input| !input.is_empty()) {
                reading.text(index, CALL, &input.to_string());
            }
        }
        reading.text(index, CONTENT, block["text"].as_str().unwrap_or_default());
        reading.text(index, REASONING, block["thinking"].as_str().unwrap_or_default());
        self.next_block = index + 1;
        self.open = Some(Block { index, kind, arguments: String::new() });
    }

    fn delta(&mut self, reading: &mut Reading, index: Option<u64>, json: &Value) {
        let Some(open) = self.open.as_mut().filter(|open| Some(open.index) == index) else {
            return reading.broke("a block that goes on is open", json);
        };
        let (delta, index) = (&json["delta"], open.index);
        let said = |name: &str| delta[name].as_str();
        let (fits, lane, text) = match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => (open.kind == "text", CONTENT, said("text")),
            "thinking_delta" => (open.kind == "thinking", REASONING, said("thinking")),
            "signature_delta" => (open.kind == "thinking", REASONING, Some("")),
            "input_json_delta" => (open.kind.ends_with("tool_use"), CALL, said("partial_json")),
            "citations_delta" => (open.kind == "text", CONTENT, Some("")),
            _ => (true, CONTENT, Some("")),
        };
        let (Some(text), true) = (text, fits) else {
            return reading.broke("a delta fits its block", format!("{}: {json}", open.kind));
        };
        if lane == CALL {
            open.arguments.push_str(text);
        }
        reading.text(index, lane, text);
    }

    fn message_delta(&mut self, reading: &mut Reading, json: &Value) {
        reading.require(self.open.is_none(), "every block has stopped before the reason", json);
        reading.require(json["usage"]["output_tokens"].is_u64(), "a message_delta has usage", json);
        if let Some(reason) = json["delta"]["stop_reason"].as_str() {
            reading.require(json["delta"].get("stop_sequence").is_some(), "a reason has its stop_sequence", json);
            reading.finish(0, reason);
            self.reason = Some(reason.to_owned());
        }
    }
}
