//! Frames: how a stream of bytes is cut into them, and how they are written again.

use bytes::Bytes;

use crate::answer::Event;
use crate::json_array::{JsonArrayDecoder, JsonArrayWriter};
use crate::sse::{self, Frame, FrameTooLarge, SseDecoder};

/// How a stream's frames are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// The elements of one JSON array.
    JsonArray,
}

/// Cuts the reads of one stream into frames that keep their bytes; every byte belongs to exactly one frame.
#[derive(Debug)]
pub enum FrameDecoder {
    /// Of server-sent events.
    Sse(SseDecoder),
    /// Of the elements of one JSON array.
    JsonArray(JsonArrayDecoder),
}

impl FrameDecoder {
    /// A decoder for one stream. No frame may be larger than `max_frame` bytes.
    #[must_use]
    pub fn new(framing: Framing, max_frame: usize) -> Self {
        match framing {
            Framing::Sse => Self::Sse(SseDecoder::new(max_frame)),
            Framing::JsonArray => Self::JsonArray(JsonArrayDecoder::new(max_frame)),
        }
    }

    /// Takes the next read, of any size. Frames are fetched with [`next_frame`](Self::next_frame).
    pub fn feed(&mut self, read: Bytes) {
        match self {
            Self::Sse(decoder) => decoder.feed(read),
            Self::JsonArray(decoder) => decoder.feed(read),
        }
    }

    /// The next whole frame, or `None` until more is fed.
    ///
    /// # Errors
    ///
    /// The open frame is larger than the bound. Every later call answers the same.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameTooLarge> {
        match self {
            Self::Sse(decoder) => decoder.next_frame(),
            Self::JsonArray(decoder) => decoder.next_frame(),
        }
    }

    /// What is left when the stream has ended. To be called after [`next_frame`](Self::next_frame) has answered `None`;
    /// answers `None` itself once nothing is left.
    pub fn finish(&mut self) -> Option<Frame> {
        match self {
            Self::Sse(decoder) => decoder.finish(),
            Self::JsonArray(decoder) => decoder.finish(),
        }
    }
}

/// Writes the frames of one stream, so that what comes out is framed as what came in.
#[derive(Debug)]
pub(crate) enum FrameWriter {
    Sse {
        /// What must be written before anything else: the last frame was left unterminated by its sender.
        owed: &'static [u8],
    },
    JsonArray(JsonArrayWriter),
}

impl FrameWriter {
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Sse => Self::Sse { owed: b"" },
            Framing::JsonArray => Self::JsonArray(JsonArrayWriter::default()),
        }
    }

    /// Whether the frame's own bytes would break the framing, because of what was left out or put in before it.
    pub(crate) fn is_misplaced(&self, frame: &Frame) -> bool {
        match self {
            Self::Sse { .. } => false,
            Self::JsonArray(writer) => writer.is_misplaced(frame),
        }
    }

    /// A frame goes out changed, or not at all.
    pub(crate) fn touch(&mut self) {
        if let Self::JsonArray(writer) = self {
            writer.touch();
        }
    }

    /// The caller wrote the frame's own bytes.
    pub(crate) fn passed(&mut self, frame: &Frame) {
        match self {
            Self::Sse { owed } => *owed = frame.missing_terminator(),
            Self::JsonArray(writer) => writer.passed(frame),
        }
    }

    /// Writes a frame as the bytes that came.
    pub(crate) fn raw(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        match self {
            Self::Sse { .. } => {
                self.start(out);
                out.extend_from_slice(frame.raw());
                self.passed(frame);
            }
            Self::JsonArray(writer) => writer.raw(frame, out),
        }
    }

    /// Writes a frame with other data.
    pub(crate) fn with_data(&mut self, frame: &Frame, data: &str, out: &mut Vec<u8>) {
        self.start(out);
        match self {
            Self::Sse { .. } => sse::write_with_data(frame, data, out),
            Self::JsonArray(writer) => writer.with_data(frame, data, out),
        }
    }

    /// Writes an event that did not come in. One without name and data is an empty line, which says nothing to any
    /// client.
    pub(crate) fn event(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.start(out);
        match self {
            _ if *event == Event::default() => out.push(b'\n'),
            Self::Sse { .. } => sse::write_event(event.name, &event.data, out),
            Self::JsonArray(writer) => writer.event(&event.data, out),
        }
    }

    /// Writes what says nothing to any client.
    pub(crate) fn comment(&mut self, out: &mut Vec<u8>) {
        self.start(out);
        match self {
            Self::Sse { .. } => out.extend_from_slice(b": keepalive\n\n"),
            Self::JsonArray(_) => out.push(b'\n'),
        }
    }

    /// Ends the stream that the caller ends itself, after the last event.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        match self {
            // It ends with its bytes.
            Self::Sse { .. } => {}
            Self::JsonArray(writer) => writer.end(out),
        }
    }

    /// Ends the frame that its sender left unterminated, before another is written.
    fn start(&mut self, out: &mut Vec<u8>) {
        if let Self::Sse { owed } = self {
            out.extend_from_slice(std::mem::take(owed));
        }
    }
}
