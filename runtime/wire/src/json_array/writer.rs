//! The frames of an array written again.

use super::is_space;
use crate::sse::Frame;

/// Writes the frames of one array, so that it stays one: whatever elements are left out or put in, there is one bracket
/// in front and one comma between two elements.
#[derive(Debug, Default)]
pub(crate) struct JsonArrayWriter {
    /// The opening bracket was written.
    opened: bool,
    /// An element was written.
    filled: bool,
    /// Elements were changed, left out or put in: until then what came is passed on, whatever it is.
    touched: bool,
    /// The closing bracket was written, or something that is no array: nothing can follow.
    closed: bool,
}

/// The bytes in front of an element, or in front of and with the closing bracket.
#[derive(Clone, Copy)]
struct Prefix<'a> {
    bytes: &'a [u8],
    opens: bool,
    separates: bool,
}

impl<'a> Prefix<'a> {
    fn of(frame: &'a Frame) -> Self {
        let end = frame.data_line().map_or(frame.raw().len(), |data| data.start);
        let bytes = frame.raw().get(..end).unwrap_or_default();
        Self { bytes, opens: bytes.contains(&b'['), separates: bytes.contains(&b',') }
    }

    fn closes(&self) -> bool {
        self.bytes.contains(&b']')
    }
}

impl JsonArrayWriter {
    /// Whether the frame's own bytes would break the array, after what was written before it.
    pub(crate) fn is_misplaced(&self, frame: &Frame) -> bool {
        let prefix = Prefix::of(frame);
        if self.closed || self.is_no_array(frame, &prefix) {
            return false;
        }
        if !frame.terminated() {
            return true;
        }
        if !self.touched {
            return false;
        }
        prefix.opens == self.opened || frame.data().is_some() && !prefix.separates && self.filled
    }

    /// Takes note that the array is no longer as it came.
    pub(crate) fn touch(&mut self) {
        self.touched = true;
    }

    /// Whether the frame is the whole of a stream that is no array.
    fn is_no_array(&self, frame: &Frame, prefix: &Prefix<'_>) -> bool {
        !self.opened && !prefix.opens && !prefix.separates && !prefix.closes() && frame.terminated()
    }

    /// Takes note that the frame's own bytes were written.
    pub(crate) fn passed(&mut self, frame: &Frame) {
        let prefix = Prefix::of(frame);
        self.closed |= prefix.closes() || self.is_no_array(frame, &prefix) && frame.data().is_some();
        self.opened |= prefix.opens;
        self.filled |= frame.data().is_some();
    }

    /// Writes the frame as it came, but for what would break the array. An element that broke off is left out: nothing
    /// could follow it.
    pub(crate) fn raw(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        if !self.is_misplaced(frame) {
            out.extend_from_slice(frame.raw());
            return self.passed(frame);
        }
        match frame.data_line().filter(|_| frame.terminated()) {
            Some(data) => self.element(frame, data.of(frame.raw()), out),
            None if frame.terminated() => self.close(frame, out),
            None => {}
        }
    }

    /// Writes the frame with another element.
    pub(crate) fn with_data(&mut self, frame: &Frame, data: &str, out: &mut Vec<u8>) {
        if frame.terminated() {
            self.element(frame, data.as_bytes(), out);
        }
    }

    fn element(&mut self, frame: &Frame, data: &[u8], out: &mut Vec<u8>) {
        let prefix = Prefix::of(frame);
        if self.is_misplaced(frame) {
            self.separate(out);
            out.extend(prefix.bytes.iter().filter(|byte| is_space(**byte)));
            self.filled = true;
        } else {
            out.extend_from_slice(prefix.bytes);
            self.passed(frame);
        }
        out.extend_from_slice(data);
    }

    /// Writes the closing bracket of an array whose opening one was left out, or was written before.
    fn close(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        let prefix = Prefix::of(frame);
        self.open(out);
        out.extend(prefix.bytes.iter().filter(|byte| is_space(**byte) || **byte == b']'));
        self.closed = prefix.closes();
    }

    /// Writes an element that did not come in.
    pub(crate) fn event(&mut self, data: &str, out: &mut Vec<u8>) {
        self.touched = true;
        if !self.closed {
            self.separate(out);
            out.extend_from_slice(data.as_bytes());
            self.filled = true;
        }
    }

    /// Ends the array.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        if !self.closed {
            self.open(out);
            out.extend_from_slice(b"]\n");
            self.closed = true;
        }
    }

    fn open(&mut self, out: &mut Vec<u8>) {
        if !self.opened {
            out.push(b'[');
        }
        self.opened = true;
    }

    /// What stands in front of the next element.
    fn separate(&mut self, out: &mut Vec<u8>) {
        self.open(out);
        if self.filled {
            out.extend_from_slice(b",\n");
        }
    }
}
