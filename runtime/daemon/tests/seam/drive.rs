//! Drives a seam over a stream that is cut in given places.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use seam_ladder::{Envelope, FaultReport, Ladder, Pulse};
use seam_plugin_api::abi::Invocation;
use seam_plugin_api::{CallClass, Outcome};
use seam_wire::{Blame, Failure, Framing, Protocol};
use seamd::seam::{Notes, Seam};

use crate::observer::{Player, Scripted};

/// The bound on one frame that these tests use.
pub(crate) const MAX_FRAME: usize = 64 * 1024;

/// What happened beside the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) envelopes: usize,
    pub(crate) faults: Vec<String>,
}

impl Notes for &mut Noted {
    fn envelope(&mut self, _: &Envelope<'_>) {
        self.envelopes += 1;
    }

    fn fault(&mut self, report: &FaultReport<'_>) {
        self.faults.push(format!("{} at {}: {}", report.observer_id, report.seq, report.action.as_str()));
    }
}

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
    pub(crate) noted: Noted,
}

impl Ran {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap()
    }
}

pub(crate) fn invocation() -> Arc<Invocation> {
    Arc::new(Invocation {
        turn_id: "turn".into(),
        invocation_id: "invocation".into(),
        model: "m".into(),
        provider: "p".into(),
        family: "openai".into(),
        messages: "[]".into(),
        seed: 1,
        ..Invocation::new(CallClass::Converse)
    })
}

pub(crate) fn seam<'a>(observers: &[Scripted], noted: &'a mut Noted) -> Seam<Player, &'a mut Noted> {
    let rungs = observers.iter().enumerate().map(|(nth, observer)| observer.rung(nth)).collect();
    Seam::new(
        Protocol::OpenAiChat,
        Framing::Sse,
        Ladder::new(rungs, invocation(), Arc::new(Pulse::default())),
        noted,
        MAX_FRAME,
    )
}

/// Runs `stream`, cut at these offsets, to this end. A stream that is over early is fed no further, as in the daemon.
pub(crate) fn run_cut(stream: &[u8], cuts: &[usize], observers: &[Scripted], end: End) -> Ran {
    let mut noted = Noted::default();
    let mut seam = seam(observers, &mut noted);
    let (mut out, mut start) = (BytesMut::new(), 0);
    for &cut in cuts.iter().chain([&stream.len()]) {
        seam.feed(Bytes::copy_from_slice(&stream[start..cut]), 7, &mut out);
        start = cut;
        if seam.outcome().is_some() {
            break;
        }
    }
    match end {
        End::Finish => seam.finish(7, &mut out),
        End::Broken => seam.fail(failure("reset"), Outcome::ProviderError, &mut out),
        End::Shutdown => seam.fail(failure("shutdown"), Outcome::Shutdown, &mut out),
    }
    let outcome = seam.outcome();
    drop(seam);
    Ran { bytes: out.freeze(), outcome, noted }
}

/// Runs `stream` in one read to its proper end.
pub(crate) fn run(stream: &[u8], observers: &[Scripted]) -> Ran {
    run_cut(stream, &[], observers, End::Finish)
}

pub(crate) fn failure(code: &str) -> Failure<'_> {
    Failure { message: "as the test says", blame: Blame::Provider, code }
}
