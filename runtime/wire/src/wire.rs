//! One answer on its wire: what every protocol shares, around the protocol's own knowledge.

use std::borrow::Cow;

use crate::answer::{Answer, Arrival, Document, Failure, Form, Piece, Rendered, Stop};
use crate::chunk::{Decoded, Edit, Piece as Range, Shape};
use crate::framing::{FrameWriter, Framing};
use crate::json::{self, Kind};
use crate::protocol::Protocol;
use crate::sse::Frame;

/// One answer, from its first frame (or its body) to its end.
///
/// Frames are decoded in arrival order. The caller then reports every frame that leaves, in the same order, by exactly
/// one of [`passed`](Self::passed) (its raw bytes were sent) and [`render`](Self::render) (it was rewritten); a frame that
/// is dropped without either counts as never sent. The ends of a stream are written from that.
#[derive(Debug)]
pub struct Wire {
    answer: Box<dyn Answer>,
    writer: FrameWriter,
    /// The end marker came in.
    over: bool,
    /// The end of the answer was delivered.
    ended: bool,
    /// A stop ended the stream: what leaves from now on came before it.
    stopped: bool,
}

impl Wire {
    /// The state of one answer.
    #[must_use]
    pub fn new(protocol: Protocol, framing: Framing) -> Self {
        Self { answer: protocol.answer(), writer: FrameWriter::new(framing), over: false, ended: false, stopped: false }
    }

    /// Reads the chunks of a frame into `decoded`, which is cleared first. Data that is not JSON is one opaque chunk; a
    /// frame without data has none. What lenient clients read is read as well (`NaN` and the infinities, deep nesting, a
    /// byte order mark, bytes that are no UTF-8); a payload of such data shows `null` where a strict reader would fail.
    pub fn decode(&mut self, frame: &Frame, decoded: &mut Decoded) {
        decoded.clear();
        if let Some(data) = frame.data() {
            self.read(data, frame.event(), Form::Stream, decoded);
        }
    }

    /// Reads the chunks of a whole answer into `decoded`, which is cleared first.
    pub fn decode_body(&mut self, body: &[u8], decoded: &mut Decoded) {
        decoded.clear();
        self.read(body, None, Form::Body, decoded);
    }

    fn read(&mut self, data: &[u8], event: Option<&[u8]>, form: Form, decoded: &mut Decoded) {
        // Bytes that are no UTF-8 stay while the frame is not edited.
        let text = json::text_of(data);
        let span = json::document_span(&text);
        match span.of_str(&text) {
            "" => return,
            "[DONE]" => {
                self.over = true;
                return decoded.shape = Shape::End;
            }
            _ => {}
        }
        let document = Document { text: &text, event, form };
        let Ok(loose) = self.answer.read(&document, decoded) else { return decoded.set_opaque_text(data) };
        if decoded.entries.is_empty() {
            let choice = decoded.choices.first().copied().unwrap_or(0);
            decoded.set_opaque(choice, Shape::OpaqueJson, Range::Data(span));
        } else {
            decoded.shape = Shape::Chunks;
        }
        if loose || matches!(text, Cow::Owned(_)) {
            decoded.detach(&text);
        }
    }

    /// What the provider has sent so far.
    #[must_use]
    pub fn arrival(&self) -> Arrival {
        let arrival = self.answer.arrival();
        let over = self.over || arrival.over;
        Arrival { over, complete: over || arrival.complete, ..arrival }
    }

    /// Takes note that a frame was delivered as the bytes that came in.
    pub fn passed(&mut self, frame: &Frame, decoded: &Decoded) {
        self.note_end(decoded);
        self.writer.passed(frame);
        self.answer.passed(frame.data().unwrap_or_default(), decoded);
    }

    /// Whether a frame none of whose chunks is edited must be rendered nevertheless, because of what was changed before
    /// it: it repeats text that was, its finish reason or a number no longer fits.
    #[must_use]
    pub fn needs_render(&self, frame: &Frame, decoded: &Decoded) -> bool {
        self.writer.is_misplaced(frame) || self.answer.needs_rewrite(frame.data().unwrap_or_default(), decoded)
    }

    /// Writes a frame with its edits and takes note of what is delivered by it. `edits` has one for each chunk of
    /// `decoded`; missing ones are [`Edit::Keep`]. Every byte that no edit concerns stays. A frame all of whose chunks
    /// are removed writes nothing; a chunk that can't be said in its frame is written as an event beside it.
    pub fn render(&mut self, frame: &Frame, decoded: &Decoded, edits: &[Edit<'_>], out: &mut Vec<u8>) {
        let kept = edits.iter().all(|edit| *edit == Edit::Keep);
        let data = frame.data().unwrap_or_default();
        if decoded.is_empty() || (kept && !self.answer.needs_rewrite(data, decoded)) {
            self.writer.raw(frame, out);
            self.note_end(decoded);
            self.answer.passed(data, decoded);
            return;
        }
        self.writer.touch();
        // The end of an answer that was stopped inside it is not its end: another says the stop.
        let nothing = vec![Edit::Remove; decoded.len()];
        let is_cut = self.stopped && decoded.ends && edits.contains(&Edit::Remove);
        let edits = if is_cut { nothing.as_slice() } else { edits };
        let Rendered { before, data, after } = self.rewrite(data, frame.event(), Form::Stream, decoded, edits);
        if data.is_some() {
            self.note_end(decoded);
        }
        for event in before {
            self.writer.event(&event, out);
        }
        if let Some(data) = data {
            self.writer.with_data(frame, &data, out);
        }
        for event in after {
            self.writer.event(&event, out);
        }
    }

    fn note_end(&mut self, decoded: &Decoded) {
        self.ended = decoded.is_end() || (self.ended && !decoded.begins);
    }

    /// Takes note that the stream was stopped: frames that are rendered from now on are what is left of it, and
    /// [`end_stopped`](Self::end_stopped) follows.
    pub fn stopped(&mut self) {
        self.stopped = true;
    }

    /// Writes a whole answer with its edits, as [`render`](Self::render) does for a frame. The result is always a body:
    /// what is removed leaves empty texts and nulls behind.
    pub fn render_body(&mut self, body: &[u8], decoded: &Decoded, edits: &[Edit<'_>], out: &mut Vec<u8>) {
        let kept = edits.iter().all(|edit| *edit == Edit::Keep);
        if decoded.is_empty() || (kept && !self.answer.needs_rewrite(body, decoded)) {
            out.extend_from_slice(body);
            return;
        }
        let rendered = self.rewrite(body, None, Form::Body, decoded, edits);
        out.extend_from_slice(rendered.data.unwrap_or_else(|| "{}".to_owned()).as_bytes());
    }

    fn rewrite(
        &mut self,
        data: &[u8],
        event: Option<&[u8]>,
        form: Form,
        decoded: &Decoded,
        edits: &[Edit<'_>],
    ) -> Rendered {
        // As it was decoded.
        let text = json::text_of(data);
        let document = Document { text: &text, event, form };
        self.answer.rewrite(&document, decoded, &Piece::all(decoded, edits, data))
    }

    /// Ends a stopped stream well: what the client saw begin and not end is ended with the protocol's reason for filtered
    /// content, and the sentinel is told. Writes nothing once the answer's own end was delivered.
    pub fn end_stopped(&mut self, stop: &Stop<'_>, out: &mut Vec<u8>) {
        if !self.ended {
            let events = self.answer.end_stopped(stop);
            self.end(&events, out);
        }
    }

    /// Ends a stream with an error in the protocol's shape. Writes nothing once the answer's own end was delivered.
    pub fn end_error(&mut self, failure: &Failure<'_>, out: &mut Vec<u8>) {
        if !self.ended {
            let events = self.answer.end_error(failure);
            self.end(&events, out);
        }
    }

    fn end(&mut self, events: &[crate::answer::Event], out: &mut Vec<u8>) {
        self.ended = true;
        for event in events {
            self.writer.event(event, out);
        }
        self.writer.end(out);
    }

    /// Writes a whole answer that was stopped: as [`render_body`](Self::render_body), where `edits` removes every chunk
    /// from the stop on; then the finish reason and the sentinel are put in.
    pub fn stop_body(
        &mut self,
        body: &[u8],
        decoded: &Decoded,
        edits: &[Edit<'_>],
        stop: &Stop<'_>,
        out: &mut Vec<u8>,
    ) {
        let mut rendered = Vec::new();
        self.render_body(body, decoded, edits, &mut rendered);
        let text = String::from_utf8_lossy(&rendered);
        let whole = json::document_span(&text);
        let is_object = json::is_readable(&text) && json::kind_of(&text, whole) == Kind::Object;
        let left = if is_object { &*text } else { "" };
        out.extend_from_slice(self.answer.stop_body(left, stop).as_bytes());
    }

    /// Writes what keeps a client from giving up on a stream that is silent. To be called between frames only. Writes
    /// nothing once the answer's end was delivered.
    pub fn keepalive(&mut self, out: &mut Vec<u8>) {
        if self.ended {
            return;
        }
        match self.answer.keepalive() {
            Some(event) => self.writer.event(&event, out),
            None => self.writer.comment(out),
        }
    }
}
