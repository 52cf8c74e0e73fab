//! Cuts what came and what left into events, as a client would. Written apart from the daemon's decoder.

use std::ops::Range;

use seam_wire::Framing;
use serde_json::Value;

/// One event, or a block that says nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    /// Where it stands among the bytes, its terminator included.
    pub(crate) range: Range<usize>,
    pub(crate) event: Option<String>,
    pub(crate) data: Option<String>,
    /// Its data, where that is JSON.
    pub(crate) json: Option<Value>,
    /// It has its terminator.
    pub(crate) is_whole: bool,
}

impl Frame {
    fn new(range: Range<usize>, event: Option<String>, data: Option<String>, is_whole: bool) -> Self {
        let json = data.as_deref().and_then(|data| serde_json::from_str(data).ok());
        Self { range, event, data, json, is_whole }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.data.as_deref().is_some_and(|data| data.trim() == "[DONE]")
    }
}

/// Every frame of a stream; together they are all of its bytes.
pub(crate) fn read(framing: Framing, bytes: &[u8]) -> Vec<Frame> {
    match framing {
        Framing::Sse => sse(bytes),
        Framing::JsonArray => array(bytes),
    }
}

fn sse(bytes: &[u8]) -> Vec<Frame> {
    let (mut frames, mut start, mut at) = (Vec::new(), 0, 0);
    let mut block = Block::default();
    while at < bytes.len() {
        let (line, next) = line_at(bytes, at);
        at = next;
        if line.is_empty() {
            frames.push(block.close(start..at, true));
            (block, start) = (Block::default(), at);
        } else {
            block.line(line);
        }
    }
    if start < bytes.len() {
        frames.push(block.close(start..bytes.len(), false));
    }
    frames
}

/// The line that starts there, without its end, and where the next one starts.
fn line_at(bytes: &[u8], start: usize) -> (&[u8], usize) {
    let rest = &bytes[start..];
    let Some(length) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else { return (rest, bytes.len()) };
    let is_crlf = rest[length] == b'\r' && rest.get(length + 1) == Some(&b'\n');
    (&rest[..length], start + length + if is_crlf { 2 } else { 1 })
}

#[derive(Default)]
struct Block {
    event: Option<String>,
    data: Vec<String>,
}

impl Block {
    fn line(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line).into_owned();
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        match name {
            "data" => self.data.push(value),
            "event" => self.event = Some(value),
            _ => {}
        }
    }

    fn close(&mut self, range: Range<usize>, is_whole: bool) -> Frame {
        let data = (!self.data.is_empty()).then(|| self.data.join("\n"));
        Frame::new(range, self.event.take(), data, is_whole)
    }
}

/// The elements of a JSON array, each with what stands before it, and what comes after the last one.
fn array(bytes: &[u8]) -> Vec<Frame> {
    let (mut frames, mut start) = (Vec::new(), 0);
    while let Some(begin) = begin_of_element(bytes, start) {
        let mut values = serde_json::Deserializer::from_slice(&bytes[begin..]).into_iter::<Value>();
        let Some(Ok(_)) = values.next() else { break };
        let end = begin + values.byte_offset();
        let text = String::from_utf8_lossy(&bytes[begin..end]).into_owned();
        frames.push(Frame::new(start..end, None, Some(text), true));
        start = end;
    }
    if start < bytes.len() {
        let is_whole = bytes[start..].trim_ascii() == b"]";
        frames.push(Frame::new(start..bytes.len(), None, None, is_whole));
    }
    frames
}

fn begin_of_element(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = &bytes[from..];
    let begin = rest.iter().position(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'[' | b','))?;
    (rest[begin] != b']').then_some(from + begin)
}
