//! Server-sent events as a test looks at them. Written apart from the daemon's own decoder, so that one mistake
//! cannot hide in both.

use bytes::{Bytes, BytesMut};

/// One event, or one comment block, with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The value of the last `event` field.
    pub name: Option<String>,
    /// The values of the `data` fields, joined by line feeds; nothing when there was none.
    pub data: Option<String>,
    /// To the byte, the empty line included.
    pub raw: Bytes,
}

impl Event {
    fn parse(raw: Bytes) -> Self {
        let text = String::from_utf8_lossy(&raw).replace("\r\n", "\n").replace('\r', "\n");
        let mut name = None;
        let mut data: Option<String> = None;
        for line in text.lines() {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match (field, &mut data) {
                ("event", _) => name = Some(value.to_owned()),
                ("data", None) => data = Some(value.to_owned()),
                ("data", Some(data)) => *data += &format!("\n{value}"),
                _ => {}
            }
        }
        Self { name, data, raw }
    }

    /// The data as JSON; null when it is none.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let data = self.data.as_deref().unwrap_or_default();
        serde_json::from_str(data).unwrap_or_default()
    }

    /// Whether this is the `[DONE]` with which some protocols end.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.data.as_deref() == Some("[DONE]")
    }

    /// Whether the empty line came that ends an event.
    #[must_use]
    pub fn whole(&self) -> bool {
        end_of_event(&self.raw).is_some()
    }
}

/// The text of a chat completion: what its events' `choices[0].delta.content` say, one after the other.
#[must_use]
pub fn chat_text(events: &[Event]) -> String {
    let content = |event: &Event| {
        let json = event.json();
        let text = json.pointer("/choices/0/delta/content")?.as_str()?;
        Some(text.to_owned())
    };
    events.iter().filter_map(content).collect()
}

/// Cuts a stream of bytes into events.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    buffer: BytesMut,
}

impl Splitter {
    /// The events that these bytes completed.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.buffer.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = end_of_event(&self.buffer) {
            events.push(Event::parse(self.buffer.split_to(end).freeze()));
        }
        events
    }

    /// What is left at the end of the body.
    pub(crate) fn rest(&mut self) -> Option<Event> {
        let rest = self.buffer.split().freeze();
        (!rest.is_empty()).then(|| Event::parse(rest))
    }
}

/// Where the first event in `bytes` ends: behind an empty line, whichever of the three line endings it has.
fn end_of_event(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut line = 0;
    while at < bytes.len() {
        let ending = match &bytes[at..] {
            [b'\r', b'\n', ..] => 2,
            // The second half of this line ending may still come.
            [b'\r'] => return None,
            [b'\r' | b'\n', ..] => 1,
            _ => 0,
        };
        let empty = ending > 0 && at == line;
        at += ending.max(1);
        if empty {
            return Some(at);
        }
        if ending > 0 {
            line = at;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_keep_their_bytes_whatever_their_line_endings() {
        let stream = b": ping\n\ndata: a\r\ndata:b\r\n\r\nevent: x\ndata: {\"y\":1}\n\ndata: cut";
        for cut in 0..stream.len() {
            let mut splitter = Splitter::default();
            let mut events = splitter.push(&stream[..cut]);
            events.extend(splitter.push(&stream[cut..]));
            events.extend(splitter.rest());
            let raw: Vec<u8> = events.iter().flat_map(|event| event.raw.to_vec()).collect();
            assert_eq!(raw, stream, "cut at {cut}");
            assert_eq!(events.len(), 4, "cut at {cut}");
            assert_eq!(events[0].data, None);
            assert_eq!(events[1].data.as_deref(), Some("a\nb"));
            assert_eq!(events[2].name.as_deref(), Some("x"));
            assert_eq!(events[2].json()["y"], 1);
            assert!(events[2].whole() && !events[3].whole());
        }
    }

    #[test]
    fn chat_text_joins_the_deltas() {
        let mut splitter = Splitter::default();
        let events = splitter.push(
            b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[]}\n\n\
              data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\ndata: [DONE]\n\n",
        );
        assert_eq!(chat_text(&events), "ab");
        assert!(events[3].is_done());
    }
}
