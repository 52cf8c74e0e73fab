//! A client that is stricter than the official ones: blocks begin in the order of their indexes, one after the other ends,
//! and nothing is said of a block that is not open.

use serde_json::Value;

/// A message as the client has it at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Message {
    pub(super) blocks: Vec<Block>,
    pub(super) stop_reason: Option<String>,
    pub(super) output_tokens: u64,
    pub(super) error: Option<Value>,
    pub(super) sentinel: Option<Value>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Block {
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) text: String,
    pub(super) signature: String,
    pub(super) citations: usize,
    open: bool,
}

impl Message {
    /// What a strict client makes of a stream, or what it takes offence at.
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let mut message = Self::default();
        let (mut started, mut stopped) = (false, false);
        for frame in super::frames(text) {
            let Some(data) = frame.data() else { continue };
            let event: Value = serde_json::from_slice(data).map_err(|error| error.to_string())?;
            let kind = event["type"].as_str().unwrap_or_default();
            if frame.event() != Some(kind.as_bytes()) {
                return Err(format!("{:?} names {event}", frame.event().map(String::from_utf8_lossy)));
            }
            match kind {
                // What is not known says nothing, wherever it comes.
                "ping" | "novel_event" => continue,
                _ if stopped || message.error.is_some() => return Err(format!("{event} after the end")),
                "error" => message.error = Some(event["error"].clone()),
                "message_start" if !started => started = true,
                _ if !started => return Err(format!("{event} before the message has begun")),
                "message_start" => return Err("a second message_start".to_owned()),
                "message_stop" => stopped = true,
                _ => message.take(kind, &event)?,
            }
        }
        if message.error.is_none() && !stopped {
            return Err("no message_stop".to_owned());
        }
        if let Some(block) = message.blocks.iter().find(|block| block.open && message.error.is_none()) {
            return Err(format!("{block:?} is open at the end"));
        }
        Ok(message)
    }

    fn take(&mut self, kind: &str, event: &Value) -> Result<(), String> {
        let fault = || format!("{event} has no place");
        let index = usize::try_from(event["index"].as_u64().unwrap_or(0)).unwrap();
        match kind {
            "content_block_start" if index == self.blocks.len() => {
                let block = &event["content_block"];
                let string = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
                let empty = block["input"].as_object().is_none_or(serde_json::Map::is_empty);
                let input = if empty { String::new() } else { block["input"].to_string() };
                self.blocks.push(Block {
                    kind: string("type"),
                    id: string("id"),
                    name: string("name"),
                    text: format!("{}{}{}{input}", string("text"), string("thinking"), string("content")),
                    signature: string("signature"),
                    citations: block["citations"].as_array().map_or(0, Vec::len),
                    open: true,
                });
            }
            "content_block_delta" => {
                let block = self.blocks.get_mut(index).filter(|block| block.open).ok_or_else(fault)?;
                block.take(&event["delta"]).ok_or_else(fault)?;
            }
            "content_block_stop" => {
                self.blocks.get_mut(index).filter(|block| block.open).ok_or_else(fault)?.open = false;
            }
            "message_delta" if self.blocks.iter().all(|block| !block.open) => {
                self.stop_reason = event["delta"]["stop_reason"].as_str().map(str::to_owned);
                self.output_tokens = event["usage"]["output_tokens"].as_u64().ok_or_else(fault)?;
                self.sentinel = event["seam"].get("stop").cloned();
            }
            _ => return Err(fault()),
        }
        Ok(())
    }

    /// The texts of every block of that type.
    pub(super) fn texts(&self, kind: &str) -> Vec<&str> {
        self.blocks.iter().filter(|block| block.kind == kind).map(|block| block.text.as_str()).collect()
    }

    /// The blocks in a line each.
    pub(super) fn told(&self) -> Vec<String> {
        self.blocks.iter().map(|block| format!("{} {}{:?}", block.kind, block.name, block.text)).collect()
    }
}

impl Block {
    fn take(&mut self, delta: &Value) -> Option<()> {
        let is_tool = self.kind.ends_with("tool_use");
        match delta["type"].as_str()? {
            "text_delta" if self.kind == "text" => self.text += delta["text"].as_str()?,
            "thinking_delta" if self.kind == "thinking" => self.text += delta["thinking"].as_str()?,
            "signature_delta" if self.kind == "thinking" => self.signature = delta["signature"].as_str()?.to_owned(),
            "input_json_delta" if is_tool => self.text += delta["partial_json"].as_str()?,
            "compaction_delta" if self.kind == "compaction" => self.text += delta["content"].as_str()?,
            "citations_delta" if self.kind == "text" => self.citations += 1,
            "novel_delta" => {}
            _ => return None,
        }
        Some(())
    }
}
