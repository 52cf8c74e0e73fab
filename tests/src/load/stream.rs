//! The stream that the source sends and the client reads: a chat completion, each chunk of which says when it left.

use std::io::Write;

/// The length of a chunk's text: a number of six digits, a time of fifteen, and what parts them.
pub const RECORD: usize = 23;

/// The frames of one answer, encoded as HTTP chunks.
#[derive(Debug)]
pub struct Encoder {
    id: String,
    model: String,
    /// One content frame as an HTTP chunk; number and time are written over in each copy.
    template: Vec<u8>,
    /// Where in it the text starts.
    text: usize,
}

impl Encoder {
    /// An encoder for the answer of this number.
    #[must_use]
    pub fn new(number: u64, model: &str) -> Self {
        let id = format!("chatcmpl-{number:012x}");
        let mut encoder = Self { id, model: model.to_owned(), template: Vec::new(), text: 0 };
        let record = "000000:000000000000000 ";
        let delta = format!("{{\"content\":\"{record}\"}}");
        let mut template = Vec::new();
        encoder.delta(&delta, "null", &mut template);
        encoder.text = memchr::memmem::find(&template, record.as_bytes()).unwrap_or(0);
        encoder.template = template;
        encoder
    }

    /// Appends the frame that opens the answer.
    pub fn role(&self, out: &mut Vec<u8>) {
        self.delta("{\"role\":\"assistant\",\"content\":\"\"}", "null", out);
    }

    /// Appends the content frame `sequence` that leaves at `nanos` on the monotonic clock.
    pub fn content(&self, sequence: u64, nanos: u64, out: &mut Vec<u8>) {
        let start = out.len() + self.text;
        out.extend_from_slice(&self.template);
        digits(&mut out[start..start + 6], sequence);
        digits(&mut out[start + 7..start + 22], nanos);
    }

    /// Appends the frames behind the content and the end of the body: finish, usage, `[DONE]`.
    pub fn end(&self, chunks: u64, out: &mut Vec<u8>) {
        self.delta("{}", "\"stop\"", out);
        let usage = usage(chunks);
        frame(&format!("{},\"choices\":[],\"usage\":{usage}}}", self.prefix()), out);
        frame("[DONE]", out);
        out.extend_from_slice(b"0\r\n\r\n");
    }

    /// The same answer to one who did not ask for a stream.
    #[must_use]
    pub fn whole(&self) -> String {
        format!(
            "{{\"id\":\"{}\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"{}\",\"choices\":[{{\"index\":0,\
             \"message\":{{\"role\":\"assistant\",\"content\":\"hello\"}},\"finish_reason\":\"stop\"}}],\"usage\":{}}}",
            self.id,
            self.model,
            usage(1)
        )
    }

    fn prefix(&self) -> String {
        format!(
            "{{\"id\":\"{}\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"{}\"",
            self.id, self.model
        )
    }

    fn delta(&self, delta: &str, finish: &str, out: &mut Vec<u8>) {
        let prefix = self.prefix();
        frame(
            &format!(
                "{prefix},\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{finish}}}]}}"
            ),
            out,
        );
    }
}

fn usage(chunks: u64) -> String {
    format!("{{\"prompt_tokens\":10,\"completion_tokens\":{chunks},\"total_tokens\":{}}}", chunks + 10)
}

/// Appends one event as one HTTP chunk.
fn frame(data: &str, out: &mut Vec<u8>) {
    let length = "data: ".len() + data.len() + "\n\n".len();
    // Writing to a vector does not fail.
    let _ = write!(out, "{length:x}\r\ndata: {data}\n\n\r\n");
}

fn digits(place: &mut [u8], mut number: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// What one line of a stream says to the client.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Text: one record, or several where somebody joined frames; each is `(number, nanos)` by [`records`].
    Text(&'a [u8]),
    /// The usage frame.
    Usage,
    /// `[DONE]`.
    Done,
    /// A sentinel or an error object: the answer was not let through.
    Error,
    /// Anything else.
    Other,
}

impl<'a> Line<'a> {
    /// Reads one line of an event stream, without its line ending.
    #[must_use]
    pub fn parse(line: &'a [u8]) -> Self {
        let Some(data) = line.strip_prefix(b"data:") else {
            return Self::Other;
        };
        if let Some(text) = text(data) {
            return Self::Text(text);
        }
        if data.ends_with(b"[DONE]") {
            Self::Done
        } else if memchr::memmem::find(data, b"\"completion_tokens\":").is_some() {
            Self::Usage
        } else if memchr::memmem::find(data, b"\"error\":").is_some() {
            Self::Error
        } else {
            Self::Other
        }
    }
}

/// The text of a content frame; nothing where there is none.
fn text(data: &[u8]) -> Option<&[u8]> {
    const KEY: &[u8] = b"\"content\":";
    let start = memchr::memmem::find(data, KEY)? + KEY.len();
    let rest = data[start..].trim_ascii_start().strip_prefix(b"\"")?;
    let end = memchr::memchr(b'"', rest)?;
    (end > 0).then_some(&rest[..end])
}

/// Number and time of each record in `text`, up to the first that is none.
pub fn records(text: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    text.chunks_exact(RECORD).map_while(|record| Some((number(&record[..6])?, number(&record[7..22])?)))
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http1::{Dechunker, Framing, Part};
    use bytes::BytesMut;

    #[test]
    fn what_is_encoded_is_read_back() {
        let encoder = Encoder::new(1, "fake");
        let mut out = Vec::new();
        encoder.role(&mut out);
        encoder.content(0, 17, &mut out);
        encoder.content(499_999, 123_456_789_012_345, &mut out);
        encoder.end(2, &mut out);
        let mut framing = Framing::Chunked(Dechunker::default());
        let mut buffer = BytesMut::from(&out[..]);
        let mut frames = Vec::new();
        while let Part::Data(frame) = framing.next(&mut buffer).unwrap() {
            frames.push(frame);
        }
        let lines: Vec<_> = frames.iter().map(|frame| Line::parse(frame.trim_ascii_end())).collect();
        assert_eq!(
            lines,
            [
                Line::Other,
                Line::Text(b"000000:000000000000017 "),
                Line::Text(b"499999:123456789012345 "),
                Line::Other,
                Line::Usage,
                Line::Done,
            ]
        );
        assert_eq!(records(b"499999:123456789012345 ").next(), Some((499_999, 123_456_789_012_345)));
        assert!((200..250).contains(&frames[1].len()), "{}", frames[1].len());
    }

    #[test]
    fn joined_records_are_read_one_by_one() {
        let text = b"000001:000000000000005 000002:000000000000006 ";
        assert_eq!(records(text).collect::<Vec<_>>(), [(1, 5), (2, 6)]);
        assert_eq!(records(b"[redacted] and some more text").count(), 0);
    }
}
