//! Reads what left a seam, as a client would. Written apart from the daemon's decoder.

use serde_json::Value;

/// One event or comment of a stream whose lines end with LF, CRLF or CR.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Comment(String),
    Done,
    Json(Value),
    /// Data that is no JSON.
    Text(String),
}

impl Event {
    pub(crate) fn json(&self) -> Option<&Value> {
        match self {
            Self::Json(value) => Some(value),
            _ => None,
        }
    }

    /// The reason of a finish of this choice.
    pub(crate) fn finishes(&self, choice: u64) -> Option<&str> {
        let choices = self.json()?["choices"].as_array()?;
        choices.iter().find(|own| own["index"] == choice)?["finish_reason"].as_str()
    }

    pub(crate) fn error_code(&self) -> Option<&str> {
        self.json()?["error"]["code"].as_str()
    }

    pub(crate) fn stop(&self) -> Option<&Value> {
        self.json()?.pointer("/seam/stop")
    }
}

/// Every event; the last one must have its empty line.
pub(crate) fn events(stream: &str) -> Vec<Event> {
    let text = stream.replace("\r\n", "\n").replace('\r', "\n");
    assert!(text.is_empty() || text.ends_with("\n\n"), "the last event is not ended: {text:?}");
    text.split("\n\n").filter(|block| !block.is_empty()).map(event).collect()
}

fn event(block: &str) -> Event {
    let data: Vec<&str> = block
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(|value| value.strip_prefix(' ').unwrap_or(value))
        .collect();
    match data.join("\n") {
        _ if data.is_empty() => Event::Comment(block.to_owned()),
        data if data == "[DONE]" => Event::Done,
        data => serde_json::from_str(&data).map_or(Event::Text(data), Event::Json),
    }
}

/// The answer text of a choice.
pub(crate) fn content(events: &[Event], choice: u64) -> String {
    let choices = events.iter().filter_map(|event| event.json()?["choices"].as_array()).flatten();
    choices.filter(|own| own["index"] == choice).filter_map(|own| own["delta"]["content"].as_str()).collect()
}
