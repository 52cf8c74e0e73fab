//! A stream that is one JSON array: reads in, frames out, every byte kept.
//!
//! A frame is one element with the bytes in front of it (the bracket, commas, white space). The bytes up to and with the
//! closing bracket are a frame without data, and what comes after that is one more frame. Bytes that are no array are
//! one frame, whole, when the stream has ended. What an element holds is not checked here, only where it ends.

mod writer;

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use crate::json::Span;
use crate::sse::{Frame, FrameTooLarge};

pub(crate) use writer::JsonArrayWriter;

/// Cuts a stream of reads into frames. Time is linear in the bytes whatever the sizes of the reads: no byte is looked at
/// twice for the end of an element, and a frame that lies inside one read is a slice of it.
#[derive(Debug)]
pub struct JsonArrayDecoder {
    max_frame: usize,
    /// Reads not looked at yet.
    reads: VecDeque<Bytes>,
    /// The read being cut. While `carry` is empty the open frame starts at its first byte.
    read: Bytes,
    /// The open frame's bytes from earlier reads.
    carry: BytesMut,
    /// How much of `read` was scanned: everything before it belongs to the open frame.
    scanned: usize,
    place: Place,
    /// Where the open element starts, from the start of the frame.
    element: Option<usize>,
    overflown: bool,
}

/// Where in the stream the scan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In front of the array.
    Before,
    /// In the array, and in no element.
    Between,
    /// In an element that is an object, an array or a string.
    Nested(Nesting),
    /// In an element that is a number or a word, which ends where something else begins.
    Word,
    /// Behind the array, or in what is none.
    Rest,
}

/// How deep in an element the scan is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Nesting {
    /// Brackets that are open.
    depth: usize,
    in_string: bool,
    /// The byte that comes next is escaped.
    escaped: bool,
}

impl Nesting {
    /// Scans on; the position after the element's last byte if it ends within `bytes`.
    fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.escaped {
                self.escaped = false;
                at += 1;
            } else if self.in_string {
                at += memchr::memchr2(b'"', b'\\', &bytes[at..])?;
                self.escaped = bytes[at] == b'\\';
                self.in_string = self.escaped;
                at += 1;
                if self.depth == 0 && !self.in_string {
                    return Some(at);
                }
            } else {
                at += bytes[at..].iter().position(|byte| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']'))?;
                if self.bracket(bytes[at]) {
                    return Some(at + 1);
                }
                at += 1;
            }
        }
        None
    }

    /// Takes a quote or a bracket; true if it closes the element.
    fn bracket(&mut self, byte: u8) -> bool {
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            _ => self.depth = self.depth.saturating_sub(1),
        }
        self.depth == 0 && !self.in_string
    }
}

impl JsonArrayDecoder {
    /// A decoder for one stream. No frame may be larger than `max_frame` bytes.
    #[must_use]
    pub fn new(max_frame: usize) -> Self {
        Self {
            max_frame,
            reads: VecDeque::new(),
            read: Bytes::new(),
            carry: BytesMut::new(),
            scanned: 0,
            place: Place::Before,
            element: None,
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
            let ended = self.scan();
            self.check_size()?;
            if ended {
                return Ok(Some(self.cut_frame()));
            }
            if !self.next_read() {
                return Ok(None);
            }
        }
    }

    /// What is left when the stream has ended. To be called after [`next_frame`](Self::next_frame) has answered `None`;
    /// answers `None` itself once nothing is left. An element that broke off, or what was to be in front of one, is a
    /// frame that is not terminated.
    pub fn finish(&mut self) -> Option<Frame> {
        if let Some(frame) = self.next_frame().ok()? {
            return Some(frame);
        }
        let raw = self.carry.split().freeze();
        if raw.is_empty() {
            return None;
        }
        let start = self.element.take().unwrap_or(raw.len());
        let rest = raw.get(start..).unwrap_or_default().trim_ascii_end().len();
        let data = (rest > 0).then(|| Span::new(start, start + rest));
        let broke_off = matches!(self.place, Place::Nested(_) | Place::Between);
        self.place = Place::Rest;
        Some(Frame::element(raw, data, !broke_off))
    }

    /// Scans the rest of the read; true if the open frame ends at `scanned`.
    fn scan(&mut self) -> bool {
        while self.scanned < self.read.len() {
            let bytes = &self.read[self.scanned..];
            let ended = match &mut self.place {
                Place::Before | Place::Between => {
                    if self.step() {
                        return true;
                    }
                    continue;
                }
                Place::Nested(nesting) => nesting.scan(bytes),
                Place::Word => bytes.iter().position(|byte| is_space(*byte) || matches!(byte, b',' | b']')),
                Place::Rest => {
                    let text = bytes.iter().position(|byte| !is_space(*byte));
                    if self.element.is_none() {
                        self.element = text.map(|text| self.carry.len() + self.scanned + text);
                    }
                    None
                }
            };
            self.scanned += ended.unwrap_or(bytes.len());
            if ended.is_some() {
                self.place = Place::Between;
                return true;
            }
        }
        false
    }

    /// Takes one byte in front of an element; true for the bracket that closes the array.
    fn step(&mut self) -> bool {
        let byte = self.read[self.scanned];
        let before = self.place == Place::Before;
        match byte {
            _ if is_space(byte) => {}
            b',' if !before => {}
            b'[' if before => self.place = Place::Between,
            b']' if !before => {
                self.scanned += 1;
                self.place = Place::Rest;
                return true;
            }
            _ if before && is_of_byte_order_mark(byte) => {}
            _ => {
                self.element = Some(self.carry.len() + self.scanned);
                self.place = match byte {
                    _ if before => Place::Rest,
                    b'{' | b'[' | b'"' => Place::Nested(Nesting::default()),
                    _ => Place::Word,
                };
                // A byte of an element is scanned with the element; the first of a word may look like its end.
                self.scanned += usize::from(self.place == Place::Word);
                return false;
            }
        }
        self.scanned += 1;
        false
    }

    fn cut_frame(&mut self) -> Frame {
        let taken = self.read.split_to(std::mem::take(&mut self.scanned));
        let raw = if self.carry.is_empty() {
            taken
        } else {
            self.carry.extend_from_slice(&taken);
            self.carry.split().freeze()
        };
        let data = self.element.take().map(|start| Span::new(start, raw.len()));
        Frame::element(raw, data, true)
    }

    /// Moves the read, all of which was scanned, to the carry and takes the next one.
    fn next_read(&mut self) -> bool {
        self.carry.extend_from_slice(&self.read);
        self.scanned = 0;
        self.read = self.reads.pop_front().unwrap_or_default();
        !self.read.is_empty()
    }

    fn check_size(&mut self) -> Result<(), FrameTooLarge> {
        self.overflown |= self.carry.len() + self.scanned > self.max_frame;
        if self.overflown { Err(FrameTooLarge { limit: self.max_frame }) } else { Ok(()) }
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

const fn is_of_byte_order_mark(byte: u8) -> bool {
    matches!(byte, 0xEF | 0xBB | 0xBF)
}

#[cfg(test)]
mod tests;
