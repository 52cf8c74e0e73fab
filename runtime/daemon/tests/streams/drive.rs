//! Drives a seam over a stream that is cut in given places.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use seam_ladder::{Envelope, FaultReport, Ladder, Pulse, Rung};
use seam_plugin_api::abi::Invocation;
use seam_plugin_api::{CallClass, Outcome};
use seam_wire::{Blame, Failure};
use seamd::seam::{Notes, Seam};

use crate::corpus::Source;
use crate::frames::{self, Frame};
use crate::observers::{Answering, Any, Owned, Records, rung};

/// The bound on one frame: above the longest of the recorded ones.
const MAX_FRAME: usize = 1 << 20;

/// How the provider's side of a stream is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Its body came to an end.
    Finish,
    /// Its connection broke.
    Broken,
    /// The daemon has no more time for it.
    Shutdown,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) bytes: Bytes,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) faults: Vec<String>,
}

impl Ran {
    pub(crate) fn frames(&self, source: &Source) -> Vec<Frame> {
        frames::read(source.framing, &self.bytes)
    }

    /// That no observer was at fault.
    pub(crate) fn faultless(&self) -> Result<(), String> {
        if self.faults.is_empty() {
            Ok(())
        } else {
            Err(format!("the observer was at fault: {}", self.faults.join("; ")))
        }
    }
}

#[derive(Debug, Default)]
struct Noted(Vec<String>);

impl Notes for &mut Noted {
    fn envelope(&mut self, _: &Envelope<'_>) {}

    fn fault(&mut self, report: &FaultReport<'_>) {
        self.0.push(format!("chunk {}: {}", report.seq, report.fault));
    }
}

fn ladder(rungs: Vec<Rung<Any>>) -> Ladder<Any> {
    let invocation = Invocation {
        turn_id: "turn".into(),
        invocation_id: "invocation".into(),
        model: "m".into(),
        provider: "p".into(),
        family: "f".into(),
        messages: "[]".into(),
        seed: 1,
        ..Invocation::new(CallClass::Converse)
    };
    Ladder::new(rungs, Arc::new(invocation), Arc::new(Pulse::default()))
}

/// Runs so many of the first bytes of a stream, cut at these offsets, to this end. A stream that is over early is fed no
/// further, as in the daemon.
pub(crate) fn run_part(source: &Source, length: usize, cuts: &[usize], rungs: Vec<Rung<Any>>, end: End) -> Ran {
    let mut noted = Noted::default();
    let mut seam = Seam::new(source.protocol, source.framing, ladder(rungs), &mut noted, MAX_FRAME);
    let whole = Bytes::copy_from_slice(&source.bytes[..length]);
    let (mut out, mut start) = (BytesMut::new(), 0);
    for &cut in cuts.iter().filter(|cut| **cut < length).chain([&length]) {
        seam.feed(whole.slice(start..cut), 7, &mut out);
        start = cut;
        if seam.outcome().is_some() {
            break;
        }
    }
    match end {
        End::Finish => seam.finish(7, &mut out),
        End::Broken => seam.fail(failure("provider_unreachable"), Outcome::ProviderError, &mut out),
        End::Shutdown => seam.fail(failure("shutdown"), Outcome::Shutdown, &mut out),
    }
    let outcome = seam.outcome();
    drop(seam);
    Ran { bytes: out.freeze(), outcome, faults: noted.0 }
}

/// Runs a whole stream, cut at these offsets, to its own end.
pub(crate) fn run(source: &Source, cuts: &[usize], rungs: Vec<Rung<Any>>) -> Ran {
    run_part(source, source.bytes.len(), cuts, rungs, End::Finish)
}

/// Runs a whole stream in one read with one observer.
pub(crate) fn run_with(source: &Source, observer: impl Answering + 'static) -> Ran {
    run(source, &[], vec![rung(observer)])
}

/// Runs an answer that is not streamed.
pub(crate) fn run_body(source: &Source, rungs: Vec<Rung<Any>>) -> Ran {
    let mut noted = Noted::default();
    let mut seam = Seam::new(source.protocol, source.framing, ladder(rungs), &mut noted, MAX_FRAME);
    let bytes = seam.whole(&Bytes::copy_from_slice(&source.bytes), 7);
    let outcome = seam.outcome();
    drop(seam);
    Ran { bytes, outcome, faults: noted.0 }
}

/// The chunks of a stream as an observer sees them.
pub(crate) fn chunks(source: &Source) -> Vec<Owned> {
    let records = Records::default();
    run_with(source, records.clone());
    records.0.take()
}

/// The chunks of an answer that is not streamed.
pub(crate) fn body_chunks(source: &Source) -> Vec<Owned> {
    let records = Records::default();
    run_body(source, vec![rung(records.clone())]);
    records.0.take()
}

fn failure(code: &str) -> Failure<'_> {
    Failure { message: "as the matrix says", blame: Blame::Provider, code }
}
