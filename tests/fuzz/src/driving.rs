//! One answer through decoder and renderer as the daemon drives them: frames are decoded as they arrive, and leave in
//! the same order, later, each once.

use std::collections::{BTreeMap, VecDeque};

use seam_plugin_api::ChunkKind;
use seam_wire::{Blame, Decoded, Edit, Failure, Frame, Framing, Protocol, Stop, Wire};

use crate::case::{Case, End, Mode};
use crate::edits::{edit, is_prose};

/// The texts of an answer, by choice and kind.
pub(crate) type Texts = BTreeMap<(u32, u8), String>;

/// What went out, and what it must say.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) out: Vec<u8>,
    pub(crate) texts: Texts,
    /// The data of the frames that went out.
    pub(crate) sent: Vec<Vec<u8>>,
}

pub(crate) struct Driver<'a> {
    case: &'a Case<'a>,
    wire: Wire,
    waiting: VecDeque<(Frame, Decoded, usize)>,
    chunks: usize,
    left: usize,
    ended: bool,
    outcome: Outcome,
}

const FAILURE: Failure<'static> = Failure { message: "it \"failed\"", blame: Blame::Provider, code: "provider_failed" };

impl<'a> Driver<'a> {
    pub(crate) fn new(case: &'a Case<'a>, protocol: Protocol, framing: Framing) -> Self {
        Self {
            case,
            wire: Wire::new(protocol, framing),
            waiting: VecDeque::new(),
            chunks: 0,
            left: 0,
            ended: false,
            outcome: Outcome::default(),
        }
    }

    pub(crate) fn arrive(&mut self, frame: Frame) {
        if self.ended {
            return;
        }
        let mut decoded = Decoded::default();
        self.wire.decode(&frame, &mut decoded);
        let first = self.chunks;
        self.chunks += decoded.len();
        self.waiting.push_back((frame, decoded, first));
        if self.waiting.len() > self.case.lag() {
            self.leave();
        }
    }

    pub(crate) fn finish(mut self) -> Outcome {
        while !self.ended && !self.waiting.is_empty() {
            self.leave();
        }
        self.outcome
    }

    /// The next frame leaves.
    fn leave(&mut self) {
        let Some((frame, decoded, first)) = self.waiting.pop_front() else { return };
        if self.case.keeps_alive(self.left) {
            self.wire.keepalive(&mut self.outcome.out);
        }
        if self.case.end() == End::Error(self.left) {
            self.wire.end_error(&FAILURE, &mut self.outcome.out);
            return self.ended = true;
        }
        self.left += 1;
        let stop = match self.case.end() {
            End::Stop(at) if (first..first + decoded.len()).contains(&at) => Some(at - first),
            _ => None,
        };
        self.send(&frame, &decoded, first, stop);
        if stop.is_some() {
            self.stop();
        }
    }

    fn send(&mut self, frame: &Frame, decoded: &Decoded, first: usize, stop: Option<usize>) {
        let data = frame.data().unwrap_or_default();
        let mut edits = Vec::new();
        for (position, chunk) in decoded.chunks(data).enumerate() {
            let edit = match stop {
                Some(at) if position >= at => Edit::Remove,
                _ => edit(self.case.mode(), self.case.edit(first + position), &chunk),
            };
            let text = match edit {
                Edit::Keep => chunk.text,
                Edit::Replace(body) => body.text,
                Edit::Remove => "",
            };
            if is_prose(chunk.kind) && !text.is_empty() {
                self.outcome.texts.entry((chunk.choice, chunk.kind as u8)).or_default().push_str(text);
            }
            edits.push(edit);
        }
        let kept = edits.iter().all(|edit| *edit == Edit::Keep);
        if kept && !self.wire.needs_render(frame, decoded) {
            self.outcome.out.extend_from_slice(frame.raw());
            self.wire.passed(frame, decoded);
        } else {
            self.wire.render(frame, decoded, &edits, &mut self.outcome.out);
        }
        self.outcome.sent.extend(frame.data().map(<[u8]>::to_vec));
    }

    fn stop(&mut self) {
        let texts = &self.outcome.texts;
        let content = ChunkKind::ContentDelta as u8;
        let delivered = |choice| texts.get(&(choice, content)).map_or("", String::as_str);
        let stop = Stop { sentinel: "{\"reason\":\"stopped\"}", delivered: &delivered };
        self.wire.end_stopped(&stop, &mut self.outcome.out);
        self.ended = true;
    }
}

/// Whether the outcome of a mode is read back.
pub(crate) fn says_texts(mode: Mode) -> bool {
    mode != Mode::Anything
}
