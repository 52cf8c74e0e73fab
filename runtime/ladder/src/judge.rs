//! What an answer does at its rung: it settles the chunk, holds it, releases held ones, or ends the stream. An answer
//! that breaks the contract does nothing of what it says and is a fault.

use std::sync::Arc;

use seam_plugin_api::abi::{Answer, BodyView, EventView, Fault, FaultKind, ReleasedView};
use seam_plugin_api::is_name;

use crate::observer::Rung;
use crate::outflow::Outflow;
use crate::policy::{OnEndHeld, OnFault, Policy};
use crate::queue::{Entry, Passing, Queue, body_of, is_same, weight_of};
use crate::report::{RungReport, VerdictCounts};
use crate::sink::{Envelope, FaultReport, SEAM_CHANNEL, Sink, Strip};
use crate::stop::{OBSERVER_FAULT, Stop};

/// A rung without its observer: what the observer's answers are judged against, and what they leave behind.
pub(crate) struct Place {
    pub(crate) plugin: Arc<str>,
    pub(crate) observer_id: Arc<str>,
    pub(crate) policy: Policy,
    /// Chunks that the observer was shown, the present one included.
    pub(crate) seen: u64,
    /// Whether a fault took the observer out of the ladder.
    pub(crate) out: bool,
    pub(crate) queue: Queue,
    pub(crate) verdicts: VerdictCounts,
    pub(crate) discarded_at_end: u64,
    pub(crate) fault: Option<Fault>,
}

/// What became of the chunk that was answered. It lies in the place's queue in either case.
pub(crate) enum Ruling {
    /// It waits, held or settled; what is settled at the front of the queue goes on now.
    Waits,
    /// The stream ends in front of it.
    Stops(Stop),
}

impl Place {
    pub(crate) fn of<O>(rung: Rung<O>) -> (O, Self) {
        let place = Self {
            plugin: rung.plugin,
            observer_id: rung.observer_id,
            policy: rung.policy,
            seen: 0,
            out: false,
            queue: Queue::default(),
            verdicts: VerdictCounts::default(),
            discarded_at_end: 0,
            fault: None,
        };
        (rung.observer, place)
    }

    /// Applies an answer.
    #[cold]
    pub(crate) fn judge<S: Sink>(
        &mut self,
        passing: &Passing<'_>,
        answer: Answer<'_>,
        outflow: &mut Outflow,
        sink: &mut S,
    ) -> Ruling {
        let applied = match answer {
            Answer::Continue => self.settle(passing, None),
            Answer::Amend(body) => check_signed(passing, Some(&body))
                .and_then(|()| self.settle(passing, Some(body)))
                .map(|()| self.verdicts.amended += 1),
            Answer::Emit(events) => self.emit(passing, &events, outflow, sink),
            Answer::Buffer => self.buffer(passing),
            Answer::Release { chunks, strip_accumulated } => {
                self.release(passing, &chunks, strip_accumulated.unwrap_or(0), outflow, sink)
            }
            Answer::Stop { reason, chunk_index, accumulated_content_length } => {
                self.verdicts.stopped += 1;
                return self.stop(passing, reason, (chunk_index, accumulated_content_length), false);
            }
            Answer::Fault(fault) => Err(fault),
        };
        match applied {
            Ok(()) => Ruling::Waits,
            Err(fault) => self.fail(passing, fault, outflow, sink),
        }
    }

    /// Settles the chunk: it goes on at once if nothing is held, and waits behind what is.
    fn settle(&mut self, passing: &Passing<'_>, amended: Option<BodyView<'_>>) -> Result<(), Fault> {
        if !self.queue.is_empty() {
            let body = amended.unwrap_or_else(|| body_of(&passing.chunk));
            self.check_room((self.queue.chunks(), self.queue.weight()), &body)?;
        }
        self.queue.push(passing, amended, Entry::Settled);
        Ok(())
    }

    fn buffer(&mut self, passing: &Passing<'_>) -> Result<(), Fault> {
        self.check_room((self.queue.chunks(), self.queue.weight()), &body_of(&passing.chunk))?;
        self.queue.push(passing, None, Entry::Held);
        self.verdicts.buffered += 1;
        Ok(())
    }

    /// Whether one more chunk may wait beside those that do. One alone may have any length: it is in memory anyway, and
    /// an answer that is not streamed is one chunk.
    fn check_room(&self, (chunks, weight): (u64, u64), body: &BodyView<'_>) -> Result<(), Fault> {
        let hold = self.policy.hold;
        let (chunks, text) = (chunks + 1, weight + weight_of(body));
        if chunks > hold.chunks {
            let message = format!("{chunks} chunks would wait, {} may", hold.chunks);
            return Err(Fault::new(FaultKind::HoldOverBound, message));
        }
        if chunks > 1 && text > hold.text {
            let message = format!("{text} characters would wait, {} may", hold.text);
            return Err(Fault::new(FaultKind::HoldOverBound, message));
        }
        Ok(())
    }

    fn emit<S: Sink>(
        &mut self,
        passing: &Passing<'_>,
        events: &[EventView<'_>],
        outflow: &mut Outflow,
        sink: &mut S,
    ) -> Result<(), Fault> {
        for event in events {
            check_channel(event.channel)?;
        }
        self.settle(passing, None)?;
        self.verdicts.emitted += 1;
        for event in events {
            self.publish(passing, *event, outflow, sink);
        }
        Ok(())
    }

    fn publish<S: Sink>(&self, passing: &Passing<'_>, event: EventView<'_>, outflow: &mut Outflow, sink: &mut S) {
        sink.envelope(&Envelope {
            channel: event.channel,
            kind: event.kind,
            payload: event.payload,
            observer_id: &self.observer_id,
            plugin: &self.plugin,
            seq: passing.chunk.seq(),
            ordinal: outflow.next_ordinal(),
        });
    }

    fn release<S: Sink>(
        &mut self,
        passing: &Passing<'_>,
        named: &[ReleasedView<'_>],
        strip: u64,
        outflow: &mut Outflow,
        sink: &mut S,
    ) -> Result<(), Fault> {
        let names_current = self.check_names(passing.chunk.seq(), named)?;
        self.check_strip(passing, strip, outflow)?;
        if let Some(seq) = self.queue.first_broken(named.iter().map(|released| released.amended)) {
            return Err(breaks_signature(seq));
        }
        check_signed(passing, named.last().filter(|_| names_current).and_then(|last| last.amended.as_ref()))?;
        if !names_current {
            self.check_room(self.queue.rest_after(named.len()), &body_of(&passing.chunk))?;
        }
        self.verdicts.released += 1;
        if strip > 0 {
            self.strip(passing, strip, outflow, sink);
        }
        match named.split_last() {
            None => {
                self.queue.settle_all();
                self.queue.push(passing, None, Entry::Settled);
            }
            Some((current, before)) if names_current => {
                self.queue.settle(before.iter().map(|released| released.amended));
                self.queue.push(passing, current.amended, Entry::Settled);
            }
            Some(_) => {
                self.queue.settle(named.iter().map(|released| released.amended));
                self.queue.push(passing, None, Entry::Held);
            }
        }
        Ok(())
    }

    /// Whether a release settles the current chunk as well, which is held last.
    fn check_names(&self, current: u64, named: &[ReleasedView<'_>]) -> Result<bool, Fault> {
        let mut held = self.queue.held().chain([current]);
        for released in named {
            let seq = released.seq;
            match held.next() {
                Some(next) if next == seq => {}
                Some(next) => {
                    return Err(violation(format!("release names chunk {seq}, the next held one is {next}")));
                }
                None => return Err(violation(format!("release names chunk {seq} after every held one"))),
            }
        }
        Ok(named.is_empty() || held.next().is_none())
    }

    fn check_strip(&self, passing: &Passing<'_>, strip: u64, outflow: &Outflow) -> Result<(), Fault> {
        let choice = passing.chunk.choice();
        let (_, delivered) = outflow.texts.of(choice);
        if strip <= delivered {
            return Ok(());
        }
        Err(violation(format!("strip takes {strip} characters back, {delivered} were delivered in choice {choice}")))
    }

    fn strip<S: Sink>(&self, passing: &Passing<'_>, cleared: u64, outflow: &mut Outflow, sink: &mut S) {
        let choice = passing.chunk.choice();
        outflow.texts.strip(choice, cleared);
        sink.strip(&Strip {
            choice,
            cleared,
            observer_id: &self.observer_id,
            plugin: &self.plugin,
            seq: passing.chunk.seq(),
        });
        let payload = format!(r#"{{"choice":{choice},"clearedDeltaLength":{cleared}}}"#);
        let event = EventView { channel: SEAM_CHANNEL, kind: "content.reset", payload: &payload };
        self.publish(passing, event, outflow, sink);
    }

    fn fail<S: Sink>(&mut self, passing: &Passing<'_>, fault: Fault, outflow: &Outflow, sink: &mut S) -> Ruling {
        let action = self.policy.on_fault;
        let seq = passing.chunk.seq();
        sink.fault(&FaultReport { plugin: &self.plugin, observer_id: &self.observer_id, seq, fault: &fault, action });
        self.out = true;
        self.fault = Some(fault);
        match action {
            OnFault::Skip => {
                self.queue.settle_all();
                self.queue.push(passing, None, Entry::Settled);
                Ruling::Waits
            }
            OnFault::Stop => {
                let (_, delivered) = outflow.texts.of(passing.chunk.choice());
                self.stop(passing, OBSERVER_FAULT, (self.seen, delivered), true)
            }
        }
    }

    /// The stream ends in front of the chunk, which stays in the queue with everything else that is discarded.
    fn stop(&mut self, passing: &Passing<'_>, reason: &str, numbers: (u64, u64), by_fault: bool) -> Ruling {
        self.queue.push(passing, None, Entry::Held);
        Ruling::Stops(Stop {
            reason: reason.to_owned(),
            observer_id: Arc::clone(&self.observer_id),
            plugin: Arc::clone(&self.plugin),
            chunk_index: numbers.0,
            accumulated_content_length: numbers.1,
            seq: passing.chunk.seq(),
            // Both are known when everything behind this rung has settled.
            delivered_length: 0,
            discarded: 0,
            by_fault,
        })
    }

    /// What is said of the rung when the invocation is over, but for its end.
    pub(crate) fn report(self) -> RungReport {
        let VerdictCounts { amended, emitted, stopped, buffered, released, .. } = self.verdicts;
        let others = amended + emitted + stopped + buffered + released + u64::from(self.fault.is_some());
        // Not counted on the way, where it would cost every chunk.
        let continued = self.seen - others;
        RungReport {
            plugin: self.plugin,
            observer_id: self.observer_id,
            chunks_seen: self.seen,
            verdicts: VerdictCounts { continued, ..self.verdicts },
            discarded_at_end: self.discarded_at_end,
            fault: self.fault,
            end_fault: None,
        }
    }

    /// The stream has ended for this rung: what it holds goes on or is dropped, as the operator decided.
    pub(crate) fn settle_at_end(&mut self, outflow: &mut Outflow) {
        match self.policy.on_end_held {
            OnEndHeld::Release => self.queue.settle_all(),
            OnEndHeld::Discard => {
                self.discarded_at_end += self.queue.held_chunks();
                self.queue.drop_held(|seq| outflow.drop_chunk(seq));
            }
        }
    }
}

fn violation(message: String) -> Fault {
    Fault::new(FaultKind::Violation, message)
}

/// A signed chunk may be amended to itself alone.
fn check_signed(passing: &Passing<'_>, body: Option<&BodyView<'_>>) -> Result<(), Fault> {
    if passing.signed && body.is_some_and(|body| !is_same(&passing.chunk, body)) {
        return Err(breaks_signature(passing.chunk.seq()));
    }
    Ok(())
}

fn breaks_signature(seq: u64) -> Fault {
    violation(format!(
        "amends chunk {seq}, which its provider signed and would refuse in the next turn; signed text can be stopped, not \
         changed"
    ))
}

fn check_channel(channel: &str) -> Result<(), Fault> {
    if channel == SEAM_CHANNEL {
        return Err(violation(format!("channel {channel:?} is the seam's own")));
    }
    if !is_name(channel) {
        return Err(violation(format!("{channel:?} is not the name of a channel")));
    }
    Ok(())
}
