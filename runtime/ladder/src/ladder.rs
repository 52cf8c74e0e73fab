//! The ladder itself: a chunk's way from rung to rung, the end of a stream, and the end of an invocation.

use std::sync::Arc;

use seam_plugin_api::abi::{Answer, FaultKind, Invocation, ValueSource, Values};
use seam_plugin_api::{Chunk, ChunkKind, Context, Ending, InvocationResult, Outcome, Progress, Value};

use crate::judge::{Place, Ruling};
use crate::observer::{Observer, Rung};
use crate::outflow::Outflow;
use crate::policy::Hold;
use crate::pulse::{Beat, Pulse};
use crate::queue::Passing;
use crate::report::RungReport;
use crate::sink::Sink;
use crate::stop::Stop;

/// The observers of one invocation and everything that their verdicts have done so far.
///
/// A ladder that is dropped without [`close`](Self::close) closes itself with [`Outcome::ClientGone`]: whoever drove it
/// was cancelled, and each observer is still told the end once.
pub struct Ladder<O: Observer> {
    steps: Vec<Step<O>>,
    outflow: Outflow,
    chunks_in: u64,
    /// Empty stands for none.
    usage: String,
    stop: Option<Stop>,
    /// Whether the stream has ended, by a stop, by [`Self::end`] or by [`Self::close`]: nothing more is taken.
    ended: bool,
    invocation: Arc<Invocation>,
    pulse: Arc<Pulse>,
}

struct Step<O> {
    observer: O,
    place: Place,
}

/// Whether the stream goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    /// The ladder takes further chunks.
    Open,
    /// The stream has ended: the upstream call is to be cancelled, and nothing more is taken.
    Stopped,
}

/// What can be looked up by name with a chunk.
struct ChunkValues<'a> {
    invocation: &'a Invocation,
    signed: bool,
}

impl Values for ChunkValues<'_> {
    fn value(&self, name: &str) -> Option<Value<'_>> {
        match name {
            "signed" => Some(Value::Number(self.signed.into())),
            _ => self.invocation.value(name),
        }
    }
}

/// How far a chunk came.
enum Went {
    Out,
    /// It lies in the queue of this rung, whose front may be settled now.
    Waits(usize),
    /// The observer of this rung ended the stream in front of it.
    Stopped(usize),
}

impl<O: Observer> Ladder<O> {
    /// A ladder for one invocation; `rungs` in the order in which they see each chunk. `invocation` answers look-ups by
    /// name, `pulse` shows which observer is being called.
    #[must_use]
    pub fn new(rungs: Vec<Rung<O>>, invocation: Arc<Invocation>, pulse: Arc<Pulse>) -> Self {
        let step = |rung| {
            let (observer, place) = Place::of(rung);
            Step { observer, place }
        };
        Self {
            steps: rungs.into_iter().map(step).collect(),
            outflow: Outflow::default(),
            chunks_in: 0,
            usage: String::new(),
            stop: None,
            ended: false,
            invocation,
            pulse,
        }
    }

    /// Takes one chunk in. `arrival_nanos` counts from the start of the invocation and is what observers are told;
    /// `seq` must be above that of the chunk before. After the stream has ended the chunk is ignored.
    #[inline]
    pub fn push<S: Sink>(&mut self, chunk: &Chunk<'_>, arrival_nanos: u64, sink: &mut S) -> Flow {
        self.take(chunk, arrival_nanos, false, sink)
    }

    /// As [`push`](Self::push), for a chunk that its provider signed: to amend it to anything but itself is a contract
    /// violation, because the provider would refuse it in the next turn. Observers learn it by the value `signed`.
    pub fn push_signed<S: Sink>(&mut self, chunk: &Chunk<'_>, arrival_nanos: u64, sink: &mut S) -> Flow {
        self.take(chunk, arrival_nanos, true, sink)
    }

    #[inline]
    fn take<S: Sink>(&mut self, chunk: &Chunk<'_>, arrival_nanos: u64, signed: bool, sink: &mut S) -> Flow {
        if self.ended {
            return Flow::Stopped;
        }
        self.chunks_in += 1;
        if chunk.kind() == ChunkKind::Usage {
            self.note_usage(chunk);
        }
        let passing = Passing { chunk: *chunk, original: chunk.kind(), amended: false, signed, arrival_nanos };
        let stopped = match self.carry(0, &passing, sink) {
            Went::Out => None,
            Went::Waits(at) => self.drain(at, sink),
            Went::Stopped(at) => Some(at),
        };
        if let Some(at) = stopped {
            self.finish(at + 1, sink);
        }
        self.pulse.rest();
        if self.ended { Flow::Stopped } else { Flow::Open }
    }

    /// The stream has ended: what is still held goes on through the rest of the ladder, or is discarded where the
    /// policy says so. A chunk that goes on may still make a later observer stop the stream. Afterwards every chunk that
    /// was pushed has come out or was discarded. Nothing happens when it is called again, or after a stop.
    pub fn end<S: Sink>(&mut self, sink: &mut S) {
        if !self.ended {
            self.finish(0, sink);
            self.pulse.rest();
        }
    }

    /// The invocation is over: tells every observer once, except one that panicked, drops all of them and reports on
    /// each. What waits in queues because [`Self::end`] was not called before is forgotten. A second call does nothing
    /// and reports nothing.
    pub fn close(&mut self, outcome: Outcome) -> Vec<RungReport> {
        self.ended = true;
        let steps = std::mem::take(&mut self.steps);
        let ending = Ending {
            outcome,
            chunks_in: self.chunks_in,
            chunks_out: self.chunks_out(),
            delivered_length: self.delivered_length(),
            usage: self.usage(),
            stop: self.stop.as_ref().map(Stop::view),
        };
        let result = InvocationResult::new(ending, ValueSource::of(&*self.invocation));
        let report = |(rung, step): (usize, Step<O>)| {
            self.pulse.call(Beat::END, rung);
            step.close(&result)
        };
        let reports = steps.into_iter().enumerate().map(report).collect();
        self.pulse.rest();
        reports
    }

    /// How much all observers together may hold.
    #[must_use]
    pub fn hold(&self) -> Hold {
        self.steps.iter().fold(Hold { chunks: 0, text: 0 }, |all, step| {
            let own = step.place.policy.hold;
            Hold { chunks: all.chunks.saturating_add(own.chunks), text: all.text.saturating_add(own.text) }
        })
    }

    /// The stop that ended the stream, if one did.
    #[must_use]
    pub const fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// The answer text delivered in a choice: content that came out, less what was stripped.
    #[must_use]
    pub fn delivered(&self, choice: u32) -> &str {
        self.outflow.texts.of(choice).0
    }

    /// The length of the delivered text over all choices, in Unicode scalar values.
    #[must_use]
    pub const fn delivered_length(&self) -> u64 {
        self.outflow.texts.total()
    }

    /// Chunks that were taken in.
    #[must_use]
    pub const fn chunks_in(&self) -> u64 {
        self.chunks_in
    }

    /// Chunks that went out. After the end, [`Self::chunks_in`] less this is [`Self::discarded`].
    #[must_use]
    pub const fn chunks_out(&self) -> u64 {
        self.outflow.chunks_out()
    }

    /// Chunks that were discarded.
    #[must_use]
    pub const fn discarded(&self) -> u64 {
        self.outflow.discarded()
    }

    /// The payload of the last usage chunk that came in.
    #[must_use]
    pub fn usage(&self) -> Option<&str> {
        (!self.usage.is_empty()).then_some(self.usage.as_str())
    }

    fn note_usage(&mut self, chunk: &Chunk<'_>) {
        if let Some(payload) = chunk.payload() {
            self.usage.clear();
            self.usage.push_str(payload);
        }
    }

    /// Shows a chunk to the observers from a rung on, as far as it goes without waiting.
    #[inline]
    fn carry<S: Sink>(&mut self, from: usize, passing: &Passing<'_>, sink: &mut S) -> Went {
        let chunk = &passing.chunk;
        let (delivered, delivered_length) = self.outflow.texts.of(chunk.choice());
        let arrival_nanos = passing.arrival_nanos;
        let progress = Progress { delivered, delivered_length, arrival_nanos, ..Progress::default() };
        let values = ChunkValues { invocation: &self.invocation, signed: passing.signed };
        let mut context = Context::new(progress, ValueSource::of(&values));
        for (rung, step) in self.steps.iter_mut().enumerate().skip(from) {
            let Step { observer, place } = step;
            if place.out {
                continue;
            }
            place.seen += 1;
            context.turn_to(place.seen, place.queue.held_chunks(), place.queue.held_length());
            self.pulse.call(chunk.seq(), rung);
            let answer = observer.on_chunk(chunk, &context);
            sink.verdict(rung, chunk, &answer);
            if matches!(answer, Answer::Continue) && place.queue.is_empty() {
                // It owns nothing; forgetting it spares most calls the drop of an enum whose other variants do.
                std::mem::forget(answer);
                continue;
            }
            return match place.judge(passing, answer, &mut self.outflow, sink) {
                Ruling::Waits => Went::Waits(rung),
                Ruling::Stops(stop) => {
                    self.stop = Some(stop);
                    Went::Stopped(rung)
                }
            };
        }
        self.outflow.let_out(passing, sink);
        Went::Out
    }

    /// Lets the settled chunks in front of a rung's queue go on, each as far as it gets, and with it what it settles
    /// further on, before the next one. Answers the rung whose observer stopped the stream, if one did.
    fn drain<S: Sink>(&mut self, from: usize, sink: &mut S) -> Option<usize> {
        let mut at = from;
        loop {
            let Some(waiting) = self.steps.get_mut(at)?.place.queue.pop_settled() else {
                if at == from {
                    return None;
                }
                at -= 1;
                continue;
            };
            let went = self.carry(at + 1, &waiting.passing(), sink);
            if let Some(step) = self.steps.get_mut(at) {
                step.place.queue.recycle(waiting);
            }
            match went {
                Went::Out => {}
                Went::Waits(further) => at = further,
                Went::Stopped(rung) => return Some(rung),
            }
        }
    }

    /// Ends the stream for the rungs from `live` on, in order. Those before it were cut off by a stop or have nothing
    /// waiting; a stop further on cuts off more. What then still waits is discarded.
    fn finish<S: Sink>(&mut self, mut live: usize, sink: &mut S) {
        while let Some(step) = self.steps.get_mut(live) {
            step.place.settle_at_end(&mut self.outflow);
            live = self.drain(live, sink).unwrap_or(live) + 1;
        }
        for step in &mut self.steps {
            for seq in step.place.queue.seqs() {
                self.outflow.drop_chunk(seq);
            }
            step.place.queue.clear();
        }
        self.outflow.tell_dropped(None, sink);
        self.ended = true;
        if let Some(stop) = &mut self.stop {
            stop.delivered_length = self.outflow.texts.total();
            stop.discarded = self.outflow.discarded();
        }
    }
}

impl<O: Observer> Step<O> {
    fn close(mut self, result: &InvocationResult<'_>) -> RungReport {
        let place = self.place;
        let panicked = place.fault.as_ref().is_some_and(|fault| fault.kind == FaultKind::Panic);
        let told = if panicked { Ok(()) } else { self.observer.on_end_invocation(result) };
        let end_fault = told.and(self.observer.close()).err();
        RungReport { end_fault, ..place.report() }
    }
}

impl<O: Observer> Drop for Ladder<O> {
    fn drop(&mut self) {
        let _ = self.close(Outcome::ClientGone);
    }
}

impl<O: Observer> std::fmt::Debug for Ladder<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ladder")
            .field("rungs", &self.steps.len())
            .field("chunks_in", &self.chunks_in)
            .field("chunks_out", &self.chunks_out())
            .field("stop", &self.stop)
            .finish_non_exhaustive()
    }
}
