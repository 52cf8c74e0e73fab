//! Server-sent events: reads in, frames out, every byte kept.
//!
//! The rules are those of the WHATWG HTML standard, section 9.2.6: lines end with CRLF, LF or CR, mixed at will; one
//! byte-order mark at the start is skipped; a line that starts with a colon is a comment; one space after a field's
//! colon is not part of the value; a line without colon is a field with an empty value; `data` lines are joined by LF.
//! Two things differ, as in the clients that providers ship: an event that the stream leaves unterminated at its end is
//! still an event, and blocks without data are frames too, so that every byte belongs to exactly one frame.

use std::collections::VecDeque;
use std::fmt;

use bytes::{Bytes, BytesMut};

use crate::json::Span;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A frame grew over the bound that the decoder was made with, whatever its shape: one endless line, endless comments
/// or endless data lines. The stream can't be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTooLarge {
    /// The bound, in bytes.
    pub limit: usize,
}

impl fmt::Display for FrameTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one event of the stream is larger than {} bytes", self.limit)
    }
}

impl std::error::Error for FrameTooLarge {}

/// One event as it came off the wire, or a block of comments and blank lines. Cheap to clone while it has one data
/// line.
#[derive(Clone, Debug)]
pub struct Frame {
    raw: Bytes,
    data: Data,
    event: Option<Span>,
    terminated: bool,
}

#[derive(Clone, Debug)]
enum Data {
    Absent,
    /// The value of the only data line, within `raw`.
    Line(Span),
    /// The values of several data lines, joined by LF.
    Joined(Vec<u8>),
}

impl Frame {
    /// The very bytes of the frame, its terminator included.
    #[must_use]
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The event's data, or `None` for a block that dispatches nothing: comments, blank lines, fields without data. A
    /// bare `data:` line is data, and empty.
    #[must_use]
    pub fn data(&self) -> Option<&[u8]> {
        match &self.data {
            Data::Absent => None,
            Data::Line(span) => Some(span.of(&self.raw)),
            Data::Joined(joined) => Some(joined),
        }
    }

    /// The event's name, if it has an `event` field. May be empty; not checked to be UTF-8.
    #[must_use]
    pub fn event(&self) -> Option<&[u8]> {
        self.event.map(|span| span.of(&self.raw))
    }

    /// Whether the frame ended with its blank line. False only for what was left when the stream ended.
    #[must_use]
    pub fn terminated(&self) -> bool {
        self.terminated
    }

    /// What must be written between this frame and anything that follows it: nothing, unless the stream ended inside
    /// the frame.
    #[must_use]
    pub fn missing_terminator(&self) -> &'static [u8] {
        match self.raw.last() {
            _ if self.terminated => b"",
            Some(b'\n' | b'\r') | None => b"\n",
            Some(_) => b"\n\n",
        }
    }

    /// A frame of another framing than this one's: `data` lies within `raw` as it is.
    pub(crate) fn element(raw: Bytes, data: Option<Span>, terminated: bool) -> Self {
        Self { raw, data: data.map_or(Data::Absent, Data::Line), event: None, terminated }
    }

    /// The span of the data within `raw` while it is one line.
    pub(crate) fn data_line(&self) -> Option<Span> {
        match self.data {
            Data::Line(span) => Some(span),
            Data::Absent | Data::Joined(_) => None,
        }
    }
}

/// Cuts a stream of reads into frames. Time is linear in the bytes whatever the sizes of the reads: no byte is looked
/// at twice for a line end, and a frame that lies inside one read is a slice of it.
#[derive(Debug)]
pub struct SseDecoder {
    max_frame: usize,
    /// Reads not looked at yet.
    reads: VecDeque<Bytes>,
    /// The read being cut. While `carry` is empty the open frame starts at its first byte.
    read: Bytes,
    /// The open frame's bytes from earlier reads. Once it is not empty, consumed bytes go here and spans refer to it.
    carry: BytesMut,
    /// How much of `read` was searched for the end of the open line: everything before it belongs to the open frame.
    searched: usize,
    open: OpenFrame,
    /// The last line ended with a CR at the end of a read: a LF that comes next belongs to that line end.
    after_cr: bool,
    /// Nothing has been cut yet, so that the first line may start with a byte-order mark.
    at_start: bool,
    overflown: bool,
}

/// What is known of the frame that is being read.
#[derive(Debug, Default)]
struct OpenFrame {
    /// Where its open line starts, from the start of the frame.
    line: usize,
    data: Option<Span>,
    joined: Vec<u8>,
    data_lines: usize,
    event: Option<Span>,
}

impl SseDecoder {
    /// A decoder for one stream. No frame may be larger than `max_frame` bytes, terminator included.
    #[must_use]
    pub fn new(max_frame: usize) -> Self {
        Self {
            max_frame,
            reads: VecDeque::new(),
            read: Bytes::new(),
            carry: BytesMut::new(),
            searched: 0,
            open: OpenFrame::default(),
            after_cr: false,
            at_start: true,
            overflown: false,
        }
    }

    /// Takes the next read, of any size. Frames are fetched with [`next_frame`](Self::next_frame).
    pub fn feed(&mut self, read: Bytes) {
        if self.read.is_empty() {
            self.read = read;
        } else if !read.is_empty() {
            self.reads.push_back(read);
        }
    }

    /// The next whole frame, or `None` until more is fed.
    ///
    /// # Errors
    ///
    /// The open frame is larger than the bound. Every later call answers the same.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameTooLarge> {
        loop {
            self.check_size(self.searched)?;
            if self.after_cr && !self.read.is_empty() && self.searched == 0 {
                self.take_rest_of_line_end();
            }
            match memchr::memchr2(b'\n', b'\r', &self.read[self.searched..]) {
                Some(offset) => {
                    let end = self.searched + offset;
                    if let Some(frame) = self.end_line(end)? {
                        return Ok(Some(frame));
                    }
                }
                None if !self.next_read()? => return Ok(None),
                None => {}
            }
        }
    }

    /// What is left when the stream has ended: an unterminated event, or mere bytes without data. To be called after
    /// [`next_frame`](Self::next_frame) has answered `None`; answers `None` itself once nothing is left.
    pub fn finish(&mut self) -> Option<Frame> {
        if let Some(frame) = self.next_frame().ok()? {
            return Some(frame);
        }
        if self.carry.is_empty() {
            return None;
        }
        let line = Span::new(self.open.line, self.carry.len());
        if line.start < line.end {
            self.open.line_ended(&self.carry, line, self.at_start);
        }
        let raw = self.carry.split().freeze();
        self.at_start = false;
        Some(std::mem::take(&mut self.open).close(raw, false))
    }

    /// A LF that came as the first byte of a read belongs to the line end before it, and so to no line.
    fn take_rest_of_line_end(&mut self) {
        self.after_cr = false;
        if self.read.first() == Some(&b'\n') {
            self.searched = 1;
            self.open.line += 1;
        }
    }

    /// Ends the open line at `end` within the read; a blank one ends the frame too.
    fn end_line(&mut self, end: usize) -> Result<Option<Frame>, FrameTooLarge> {
        let after = self.after_line_end(end);
        self.check_size(after)?;
        let (line_end, next_line) = if self.carry.is_empty() {
            self.searched = after;
            (end, after)
        } else {
            let line_end = self.carry.len() + end;
            let taken = self.read.split_to(after);
            self.carry.extend_from_slice(&taken);
            self.searched = 0;
            (line_end, self.carry.len())
        };
        let frame = if self.carry.is_empty() { &self.read[..] } else { &self.carry[..] };
        let line = Span::new(self.open.line, line_end);
        let blank = self.open.line_ended(frame, line, self.at_start);
        self.at_start = false;
        self.open.line = next_line;
        Ok(blank.then(|| self.cut_frame()))
    }

    /// The position after the line end at `end`. A CR at the end of a read ends its line at once.
    fn after_line_end(&mut self, end: usize) -> usize {
        if self.read[end] == b'\n' {
            return end + 1;
        }
        match self.read.get(end + 1) {
            Some(b'\n') => end + 2,
            Some(_) => end + 1,
            None => {
                self.after_cr = true;
                end + 1
            }
        }
    }

    fn cut_frame(&mut self) -> Frame {
        let raw = if self.carry.is_empty() {
            self.read.split_to(std::mem::take(&mut self.searched))
        } else {
            self.carry.split().freeze()
        };
        std::mem::take(&mut self.open).close(raw, true)
    }

    /// Moves what is left of the read to the carry and takes the next read.
    fn next_read(&mut self) -> Result<bool, FrameTooLarge> {
        self.check_size(self.read.len())?;
        self.carry.extend_from_slice(&self.read);
        self.searched = 0;
        self.read = self.reads.pop_front().unwrap_or_default();
        Ok(!self.read.is_empty())
    }

    fn check_size(&mut self, of_read: usize) -> Result<(), FrameTooLarge> {
        self.overflown |= self.carry.len() + of_read > self.max_frame;
        if self.overflown { Err(FrameTooLarge { limit: self.max_frame }) } else { Ok(()) }
    }
}

impl OpenFrame {
    /// Takes in one whole line; true for a blank one.
    fn line_ended(&mut self, frame: &[u8], line: Span, first: bool) -> bool {
        let mut line = line;
        if first && line.of(frame).starts_with(BOM) {
            line.start += BOM.len();
        }
        let bytes = line.of(frame);
        if let Some(value) = field_value(bytes, b"data") {
            self.add_data(frame, Span::new(line.start + value, line.end));
        } else if let Some(value) = field_value(bytes, b"event") {
            self.event = Some(Span::new(line.start + value, line.end));
        }
        bytes.is_empty()
    }

    fn add_data(&mut self, frame: &[u8], value: Span) {
        self.data_lines += 1;
        match self.data {
            None => self.data = Some(value),
            Some(first) => {
                if self.data_lines == 2 {
                    self.joined.extend_from_slice(first.of(frame));
                }
                self.joined.push(b'\n');
                self.joined.extend_from_slice(value.of(frame));
            }
        }
    }

    fn close(self, raw: Bytes, terminated: bool) -> Frame {
        let data = match self.data {
            None => Data::Absent,
            Some(line) if self.data_lines == 1 => Data::Line(line),
            Some(_) => Data::Joined(self.joined),
        };
        Frame { raw, data, event: self.event, terminated }
    }
}

/// Where the value starts in a line that is the field of that name.
fn field_value(line: &[u8], name: &[u8]) -> Option<usize> {
    let rest = line.strip_prefix(name)?;
    match rest {
        [] => Some(name.len()),
        [b':', b' ', ..] => Some(name.len() + 2),
        [b':', ..] => Some(name.len() + 1),
        _ => None,
    }
}

/// Writes the frame again with other data: its other fields and its comments stay, the data lines are replaced where
/// the first of them stood. The result always ends with a blank line.
pub(crate) fn write_with_data(frame: &Frame, data: &str, out: &mut Vec<u8>) {
    let raw = frame.raw();
    if let Some(span) = frame.data_line().filter(|_| !data.contains(['\n', '\r'])) {
        out.extend_from_slice(&raw[..span.start]);
        out.extend_from_slice(data.as_bytes());
        out.extend_from_slice(&raw[span.end..]);
        out.extend_from_slice(frame.missing_terminator());
        return;
    }
    let mut written = false;
    for (line, end) in lines(raw) {
        if field_value(line.strip_prefix(BOM).unwrap_or(line), b"data").is_none() {
            out.extend_from_slice(line);
            out.extend_from_slice(end);
        } else if !written {
            written = true;
            write_data_lines(data, if end.is_empty() { b"\n" } else { end }, out);
        }
    }
    if !frame.terminated() {
        let line_open = !out.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r'));
        out.extend_from_slice(if line_open { b"\n\n" } else { b"\n" });
    }
}

/// Writes an event.
pub(crate) fn write_event(name: Option<&str>, data: &str, out: &mut Vec<u8>) {
    if let Some(name) = name {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.push(b'\n');
    }
    write_data_lines(data, b"\n", out);
    out.push(b'\n');
}

fn write_data_lines(data: &str, end: &[u8], out: &mut Vec<u8>) {
    for (line, _) in lines(data.as_bytes()) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.extend_from_slice(end);
    }
}

/// The lines of a text, each with its line end; the last may have none. An empty text is one empty line.
fn lines(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let line = memchr::memchr2(b'\n', b'\r', text).unwrap_or(text.len());
        let end = if text[line..].starts_with(b"\r\n") { 2 } else { usize::from(line < text.len()) };
        let after = line + end;
        rest = (after < text.len()).then(|| &text[after..]);
        Some((&text[..line], &text[line..after]))
    })
}

#[cfg(test)]
mod tests;
