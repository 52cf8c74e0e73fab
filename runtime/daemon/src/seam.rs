//! The seam loop: bytes in, frames, chunks, ladder, bytes out. Pure: no I/O, no clock, nothing waits.
//!
//! ```text
//!   feed(read) ─► SseDecoder ─► frame ─► wire.decode ─► chunks ─► ladder.push ─┐
//!                                 │                                            │ fate of each chunk
//!                                 ▼                                            ▼
//!                        frames in arrival order: one leaves when every chunk of it has a fate
//!                                 │            as the bytes that came, or rendered with its edits
//!                                 ▼
//!                                out
//! ```

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use seam_ladder::{Amended, Envelope, FaultReport, Flow, Hold, Ladder, Observer, RungReport, Sink, Strip};
use seam_plugin_api::{Chunk, ChunkKind, Outcome};
use seam_wire::{Blame, Body, Decoded, Edit, Failure, Frame, FrameDecoder, Framing, Protocol, Wire};

/// How many bytes may at least wait behind held chunks, beside one frame of the longest length. What an observer may hold is
/// bounded in chunks and text; comments and fields that nobody knows are neither. Several times what comes with as many
/// chunks as observers hold by default.
const LEAST_WAITING: usize = 16 << 20;

/// What the frame of one chunk has beside its text, in bytes: several times what providers send.
const AROUND_A_CHUNK: u64 = 1024;

/// What one character takes at most in JSON, in bytes: two escapes of six.
const LONGEST_CHARACTER: u64 = 12;

/// How many bytes may wait behind held chunks: as many as what the observers may hold came in.
fn most_waiting(hold: Hold, max_frame: usize) -> usize {
    let (around, text) = (hold.chunks.saturating_mul(AROUND_A_CHUNK), hold.text.saturating_mul(LONGEST_CHARACTER));
    let held = usize::try_from(around.saturating_add(text)).unwrap_or(usize::MAX);
    max_frame.saturating_add(held.max(LEAST_WAITING))
}

/// Takes what comes out of a ladder beside the stream: never in its way.
pub trait Notes {
    /// An observer emitted an event.
    fn envelope(&mut self, envelope: &Envelope<'_>);
    /// An observer was at fault.
    fn fault(&mut self, report: &FaultReport<'_>);
}

/// One provider answer on its way through the ladder.
pub struct Seam<O: Observer, N: Notes> {
    frames: FrameDecoder,
    wire: Wire,
    ladder: Ladder<O>,
    notes: N,
    /// The chunks of the frame at hand, and what became of them.
    decoded: Decoded,
    at_hand: Fates,
    /// Frames that cannot leave yet, in arrival order: the first has a chunk that is held, or stands before one that is.
    waiting: VecDeque<Waiting>,
    /// How many bytes they have, and may have.
    waiting_bytes: usize,
    most_waiting: usize,
    /// The number of the next chunk.
    next_seq: u64,
    /// Where edited frames are rendered.
    rendered: Vec<u8>,
    /// How the answer ended, once it has.
    outcome: Option<Outcome>,
    /// What kept it from being finished, where it was no observer.
    failure: Option<String>,
}

const fn provider_failure<'a>(message: &'a str, code: &'a str) -> Failure<'a> {
    Failure { message, blame: Blame::Provider, code }
}

/// Whether bytes without a `data` field are a document of another kind, JSON or markup, rather than comments.
fn is_document(raw: &[u8]) -> bool {
    raw.split(|byte| matches!(byte, b'\n' | b'\r')).any(|line| {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii_start();
        matches!(line.first(), Some(b'{' | b'[' | b'<'))
    })
}

/// What a waiting frame counts for: its bytes and what is kept beside them, so that a flood of empty ones is bounded too.
fn weight(frame: &Frame) -> usize {
    frame.raw().len() + size_of::<Waiting>()
}

/// A frame that waits for the fate of a chunk, of its own or of an earlier frame.
struct Waiting {
    frame: Frame,
    decoded: Decoded,
    fates: Fates,
}

/// What became of the chunks of one frame.
#[derive(Default)]
struct Fates {
    first_seq: u64,
    fates: Vec<Fate>,
    /// How many chunks have none yet.
    unsettled: usize,
    /// Whether any is not to leave as it came.
    edited: bool,
}

#[derive(Clone)]
enum Fate {
    Unsettled,
    Kept,
    Replaced(Replacement),
    Removed,
}

#[derive(Clone)]
struct Replacement {
    kind: ChunkKind,
    text: String,
    payload: Option<String>,
}

impl Fates {
    fn begin(&mut self, first_seq: u64, chunks: usize) {
        self.first_seq = first_seq;
        self.fates.clear();
        self.fates.resize(chunks, Fate::Unsettled);
        self.unsettled = chunks;
        self.edited = false;
    }

    fn settle(&mut self, seq: u64, fate: Fate) {
        let Some(slot) = usize::try_from(seq - self.first_seq).ok().and_then(|at| self.fates.get_mut(at)) else {
            return;
        };
        self.unsettled -= usize::from(matches!(slot, Fate::Unsettled));
        self.edited |= !matches!(fate, Fate::Kept);
        *slot = fate;
    }

    /// Nothing of what has no fate yet will leave.
    fn remove_the_rest(&mut self) {
        for slot in &mut self.fates {
            if matches!(slot, Fate::Unsettled) {
                *slot = Fate::Removed;
                self.edited = true;
            }
        }
        self.unsettled = 0;
    }

    fn edits(&self) -> Vec<Edit<'_>> {
        self.fates
            .iter()
            .map(|fate| match fate {
                Fate::Unsettled | Fate::Kept => Edit::Keep,
                Fate::Removed => Edit::Remove,
                Fate::Replaced(new) => {
                    Edit::Replace(Body { kind: new.kind, text: &new.text, payload: new.payload.as_deref() })
                }
            })
            .collect()
    }
}

/// The ladder's sink: gives each chunk that comes out, or never will, its fate.
struct Settling<'a, N> {
    at_hand: &'a mut Fates,
    waiting: &'a mut VecDeque<Waiting>,
    notes: &'a mut N,
}

impl<N> Settling<'_, N> {
    fn settle(&mut self, seq: u64, fate: Fate) {
        if seq >= self.at_hand.first_seq {
            return self.at_hand.settle(seq, fate);
        }
        let after = self.waiting.partition_point(|waiting| waiting.fates.first_seq <= seq);
        // Frames without chunks share the number of the next chunk: the one meant is the last that begins at or before it.
        if let Some(waiting) = after.checked_sub(1).and_then(|at| self.waiting.get_mut(at)) {
            waiting.fates.settle(seq, fate);
        }
    }
}

impl<N: Notes> Sink for Settling<'_, N> {
    #[inline]
    fn pass(&mut self, chunk: &Chunk<'_>) {
        self.settle(chunk.seq(), Fate::Kept);
    }

    fn amended(&mut self, amended: &Amended<'_>) {
        let body = &amended.body;
        let replacement =
            Replacement { kind: body.kind, text: body.text.to_owned(), payload: body.payload.map(str::to_owned) };
        self.settle(amended.seq, Fate::Replaced(replacement));
    }

    fn discard(&mut self, seq: u64) {
        self.settle(seq, Fate::Removed);
    }

    fn envelope(&mut self, envelope: &Envelope<'_>) {
        self.notes.envelope(envelope);
    }

    fn strip(&mut self, _: &Strip<'_>) {
        // What was sent cannot be called back on a provider's own wire; the envelope on channel `seam` says it.
    }

    fn fault(&mut self, report: &FaultReport<'_>) {
        self.notes.fault(report);
    }
}

impl<O: Observer, N: Notes> Seam<O, N> {
    /// A seam for one answer. `max_frame` bounds one frame, in bytes.
    #[must_use]
    pub fn new(protocol: Protocol, framing: Framing, ladder: Ladder<O>, notes: N, max_frame: usize) -> Self {
        Self {
            frames: FrameDecoder::new(framing, max_frame),
            wire: Wire::new(protocol, framing),
            most_waiting: most_waiting(ladder.hold(), max_frame),
            ladder,
            notes,
            decoded: Decoded::default(),
            at_hand: Fates::default(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            next_seq: 0,
            rendered: Vec::new(),
            outcome: None,
            failure: None,
        }
    }

    /// How the answer ended, once it has: nothing more is to be fed.
    #[must_use]
    pub const fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// What kept the answer from being finished, where it was no observer.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Takes the next bytes of a stream, which arrived at `arrival` nanoseconds since the start of the invocation.
    pub fn feed(&mut self, read: Bytes, arrival: u64, out: &mut BytesMut) {
        self.frames.feed(read);
        while self.outcome.is_none() {
            match self.frames.next_frame() {
                Ok(Some(frame)) => self.take(frame, arrival, out),
                Ok(None) => return,
                Err(error) => {
                    let message = format!("the provider sent a frame that is too long: {error}");
                    let failure = provider_failure(&message, "provider_frame_too_long");
                    self.fail(failure, Outcome::ProviderError, out);
                }
            }
        }
    }

    /// Whether the provider has said in its protocol that the answer is over: what comes after it adds nothing.
    #[must_use]
    pub fn end_marker_came(&self) -> bool {
        self.wire.arrival().over
    }

    /// The provider's stream has come to its end.
    pub fn finish(&mut self, arrival: u64, out: &mut BytesMut) {
        if self.outcome.is_none()
            && let Some(frame) = self.frames.finish()
        {
            self.take(frame, arrival, out);
        }
        let message = "the provider's stream broke off before the answer was finished";
        let failure = provider_failure(message, "provider_broke_off");
        let arrival = self.wire.arrival();
        let broke_off = !arrival.failed && !arrival.complete;
        self.end(broke_off.then_some((failure, Outcome::ProviderError)), out);
    }

    /// The stream cannot go on: what is held goes its way, then the client is told in its own protocol; unless the
    /// provider's end marker came before, after which nothing is missing.
    pub fn fail(&mut self, failure: Failure<'_>, outcome: Outcome, out: &mut BytesMut) {
        self.end((!self.wire.arrival().over).then_some((failure, outcome)), out);
    }

    /// The end, once: what is held goes its way, then the client is told of what kept the answer from being finished.
    fn end(&mut self, failed: Option<(Failure<'_>, Outcome)>, out: &mut BytesMut) {
        if self.outcome.is_some() {
            return;
        }
        self.settle_all(out);
        if self.outcome.is_some() {
            return;
        }
        match failed {
            Some((failure, outcome)) => self.end_with_error(failure, outcome, out),
            None => self.outcome = Some(self.arrived()),
        }
    }

    /// Takes a whole answer that is not streamed, and gives back what the client is sent.
    pub fn whole(&mut self, body: &Bytes, arrival: u64) -> Bytes {
        self.wire.decode_body(body, &mut self.decoded);
        let flow = match self.push_chunks(body, arrival) {
            Flow::Open => self.end_ladder(),
            Flow::Stopped => Flow::Stopped,
        };
        self.at_hand.remove_the_rest();
        let edits = self.at_hand.edits();
        self.rendered.clear();
        if let (Flow::Stopped, Some(stop)) = (flow, self.ladder.stop()) {
            self.outcome = Some(stop.outcome());
            let sentinel = stop.to_json().to_string();
            let ladder = &self.ladder;
            let stop = seam_wire::Stop { sentinel: &sentinel, delivered: &|choice| ladder.delivered(choice) };
            self.wire.stop_body(body, &self.decoded, &edits, &stop, &mut self.rendered);
        } else {
            self.outcome = Some(self.arrived());
            if !self.at_hand.edited {
                return body.clone();
            }
            self.wire.render_body(body, &self.decoded, &edits, &mut self.rendered);
        }
        Bytes::copy_from_slice(&self.rendered)
    }

    /// Writes what keeps a client from giving up on a stream that is silent: whole frames left before.
    pub fn keepalive(&mut self, out: &mut BytesMut) {
        if self.outcome.is_none() {
            self.rendered.clear();
            self.wire.keepalive(&mut self.rendered);
            out.extend_from_slice(&self.rendered);
        }
    }

    /// Whether all that came is an error.
    #[must_use]
    pub fn is_mere_error(&self) -> bool {
        let arrival = self.wire.arrival();
        arrival.failed && !arrival.complete
    }

    /// Tells every observer that the invocation is over. Once: a second call reports nothing.
    pub fn close(&mut self, outcome: Outcome) -> Vec<RungReport> {
        self.outcome.get_or_insert(outcome);
        self.ladder.close(outcome)
    }

    /// How an answer ended of which nothing is missing.
    fn arrived(&self) -> Outcome {
        if self.wire.arrival().failed { Outcome::ProviderError } else { Outcome::Completed }
    }

    /// The ladder, for what there is to say about it at the end.
    #[must_use]
    pub const fn ladder(&self) -> &Ladder<O> {
        &self.ladder
    }

    fn take(&mut self, frame: Frame, arrival: u64, out: &mut BytesMut) {
        if frame.data().is_none() && is_document(frame.raw()) {
            let message = "the provider announced a stream of events and sent something else, which cannot be observed";
            let failure = provider_failure(message, "provider_not_a_stream");
            return self.fail(failure, Outcome::ProviderError, out);
        }
        self.wire.decode(&frame, &mut self.decoded);
        let flow = self.push_chunks(frame.data().unwrap_or_default(), arrival);
        if matches!(flow, Flow::Stopped) {
            self.at_hand.remove_the_rest();
        } else if self.waiting.is_empty() && self.at_hand.unsettled == 0 {
            leave(&mut self.wire, &frame, &self.decoded, &self.at_hand, &mut self.rendered, out);
            return;
        }
        let decoded = std::mem::take(&mut self.decoded);
        self.waiting_bytes += weight(&frame);
        self.waiting.push_back(Waiting { frame, decoded, fates: std::mem::take(&mut self.at_hand) });
        self.at_hand.begin(self.next_seq, 0);
        self.let_go(out);
        if matches!(flow, Flow::Stopped) {
            self.end_stopped(out);
        } else if self.waiting_bytes > self.most_waiting {
            let message = format!("more than {} bytes of the stream wait behind a held chunk", self.most_waiting);
            let failure = provider_failure(&message, "too_much_waiting");
            self.fail(failure, Outcome::ProviderError, out);
        }
    }

    /// Shows the chunks at hand to the ladder, until it stops the stream.
    fn push_chunks(&mut self, data: &[u8], arrival: u64) -> Flow {
        self.at_hand.begin(self.next_seq, self.decoded.len());
        let mut sink = Settling { at_hand: &mut self.at_hand, waiting: &mut self.waiting, notes: &mut self.notes };
        for chunk in self.decoded.chunks(data) {
            let view = Chunk::new(self.next_seq, chunk.choice, chunk.kind, chunk.text, chunk.payload);
            self.next_seq += 1;
            let flow = if chunk.signed {
                self.ladder.push_signed(&view, arrival, &mut sink)
            } else {
                self.ladder.push(&view, arrival, &mut sink)
            };
            if matches!(flow, Flow::Stopped) {
                return Flow::Stopped;
            }
        }
        Flow::Open
    }

    fn end_ladder(&mut self) -> Flow {
        let mut sink = Settling { at_hand: &mut self.at_hand, waiting: &mut self.waiting, notes: &mut self.notes };
        self.ladder.end(&mut sink);
        if self.ladder.stop().is_some() { Flow::Stopped } else { Flow::Open }
    }

    /// Nothing more comes: what is held goes its way.
    fn settle_all(&mut self, out: &mut BytesMut) {
        self.at_hand.begin(self.next_seq, 0);
        let flow = self.end_ladder();
        self.let_go(out);
        if matches!(flow, Flow::Stopped) {
            self.end_stopped(out);
        }
    }

    /// Lets the frames leave that have nothing to wait for.
    fn let_go(&mut self, out: &mut BytesMut) {
        let stopped_at = self.ladder.stop().map(|stop| stop.seq);
        if stopped_at.is_some() {
            self.wire.stopped();
        }
        while self.waiting.front().is_some_and(|first| first.fates.unsettled == 0) {
            let Some(Waiting { frame, decoded, fates }) = self.waiting.pop_front() else { return };
            self.waiting_bytes -= weight(&frame);
            // A frame without chunks does not outlive the stop of the stream before it. The end marker never does: a stop
            // writes its own, behind the reason.
            let cut_off = |seq| fates.fates.is_empty() && (fates.first_seq > seq || decoded.is_end_marker());
            if !stopped_at.is_some_and(cut_off) {
                leave(&mut self.wire, &frame, &decoded, &fates, &mut self.rendered, out);
            }
        }
    }

    fn end_stopped(&mut self, out: &mut BytesMut) {
        let Some(stop) = self.ladder.stop() else { return };
        self.outcome = Some(stop.outcome());
        self.rendered.clear();
        let sentinel = stop.to_json().to_string();
        let ladder = &self.ladder;
        let stop = seam_wire::Stop { sentinel: &sentinel, delivered: &|choice| ladder.delivered(choice) };
        self.wire.end_stopped(&stop, &mut self.rendered);
        out.extend_from_slice(&self.rendered);
    }

    fn end_with_error(&mut self, failure: Failure<'_>, outcome: Outcome, out: &mut BytesMut) {
        self.outcome = Some(outcome);
        self.failure = Some(failure.message.to_owned());
        self.rendered.clear();
        self.wire.end_error(&failure, &mut self.rendered);
        out.extend_from_slice(&self.rendered);
    }
}

/// One frame leaves: as the bytes that came, or with its edits.
fn leave(wire: &mut Wire, frame: &Frame, decoded: &Decoded, fates: &Fates, rendered: &mut Vec<u8>, out: &mut BytesMut) {
    if !fates.edited && !wire.needs_render(frame, decoded) {
        wire.passed(frame, decoded);
        out.extend_from_slice(frame.raw());
        return;
    }
    rendered.clear();
    wire.render(frame, decoded, &fates.edits(), rendered);
    out.extend_from_slice(rendered);
}
