//! A streamed answer on its way to the client: whatever the provider has ready goes through the seam in one go and
//! leaves in one piece.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use seam_host::LoadedObserver;
use seam_plugin_api::Outcome;
use seam_wire::{Blame, Failure};
use tokio::time::Sleep;

use super::invocations::{Ended, InvocationNotes, Record};
use super::phase::{Phase, Phases};
use super::quiet::Quiet;
use crate::seam::Seam;
use crate::upstream::{Source, UpstreamError};

/// How much is gathered before it is handed on although more is ready: enough to make the cost of a write small beside
/// that of its chunks, little enough to bound what waits for a slow client.
const MOST_GATHERED: usize = 32 * 1024;

/// How long a provider may take to end its answer once its protocol's end marker has come. The two nearly always come
/// together, and then the connection is kept; a second allows for a lost packet in between. A provider that never ends it
/// keeps neither the client, which has everything, nor the connection.
const END_GRACE: Duration = Duration::from_secs(1);

/// A streamed answer. Dropping it before its end means that the client is gone: the provider's call ends at once.
pub struct StreamedAnswer {
    /// `None` once nothing more is wanted from the provider.
    source: Option<Source>,
    seam: Seam<LoadedObserver, InvocationNotes>,
    record: Record,
    phases: Phases,
    out: BytesMut,
    /// Runs from the first wait after the end marker.
    grace: Option<Pin<Box<Sleep>>>,
    status: u16,
    /// Says when the client has been sent nothing for too long; `None` if that is not watched.
    quiet: Option<Quiet>,
    /// Whether the end has been written down.
    closed: bool,
}

impl StreamedAnswer {
    /// An answer whose head has come.
    #[must_use]
    pub fn new(
        source: Source,
        seam: Seam<LoadedObserver, InvocationNotes>,
        record: Record,
        phases: Phases,
        status: u16,
        quiet: Option<Quiet>,
    ) -> Self {
        let source = Some(source);
        Self { source, seam, record, phases, out: BytesMut::new(), grace: None, status, quiet, closed: false }
    }

    /// The next bytes for the client, or `None` at the end of the answer.
    pub fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.source.is_some() {
            if self.phases.has_changed() && self.phases.now() == Phase::Cut {
                self.shut_down();
            }
            let now = Instant::now();
            self.gather(cx, now);
            self.break_silence(cx, now);
        }
        if !self.out.is_empty() {
            return Poll::Ready(Some(self.out.split().freeze()));
        }
        match self.source {
            Some(_) => Poll::Pending,
            None => {
                self.close(Outcome::Completed);
                Poll::Ready(None)
            }
        }
    }

    /// Takes what the provider has ready through the seam. One look at the clock stands for all of it: it arrived
    /// together.
    fn gather(&mut self, cx: &mut Context<'_>, now: Instant) {
        let arrival = nanos(now.saturating_duration_since(self.record.began()));
        while self.out.len() < MOST_GATHERED {
            let Some(source) = &mut self.source else { return };
            match source.poll_data(cx, now) {
                Poll::Pending if !self.is_overdue(cx) => return,
                Poll::Pending | Poll::Ready(None) => {
                    self.seam.finish(arrival, &mut self.out);
                    self.source = None;
                }
                Poll::Ready(Some(Ok(read))) => {
                    self.record.first_byte(now);
                    self.seam.feed(read, arrival, &mut self.out);
                }
                Poll::Ready(Some(Err(error))) => self.break_off(&error),
            }
            if self.seam.outcome().is_some() {
                // Ends the provider's call at once, unless it has ended by itself.
                self.source = None;
            }
        }
    }

    /// Sends the client what keeps it from giving up, where it has been sent nothing for too long.
    fn break_silence(&mut self, cx: &mut Context<'_>, now: Instant) {
        let Some(quiet) = &mut self.quiet else { return };
        if !self.out.is_empty() {
            quiet.broken(now);
        } else if self.source.is_some() && quiet.poll(cx, now).is_ready() {
            self.seam.keepalive(&mut self.out);
        }
    }

    /// Whether the provider has said that the answer is over and does not end it.
    fn is_overdue(&mut self, cx: &mut Context<'_>) -> bool {
        self.seam.end_marker_came()
            && self.grace.get_or_insert_with(|| Box::pin(tokio::time::sleep(END_GRACE))).as_mut().poll(cx).is_ready()
    }

    fn break_off(&mut self, error: &UpstreamError) {
        let message = error.to_string();
        let failure = Failure { message: &message, blame: Blame::Provider, code: error.code() };
        self.seam.fail(failure, Outcome::ProviderError, &mut self.out);
    }

    fn shut_down(&mut self) {
        let failure = Failure {
            message: "seamd is shutting down and the time for running streams is over; ask again",
            blame: Blame::Seamd,
            code: "shutdown",
        };
        self.seam.fail(failure, Outcome::Shutdown, &mut self.out);
        self.source = None;
    }

    /// Writes down the end, once.
    fn close(&mut self, otherwise: Outcome) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        end(&mut self.seam, &self.record, otherwise, self.status);
    }
}

/// Tells everyone the end of an invocation whose seam stood: the observers, the log, the metrics.
pub(super) fn end(seam: &mut Seam<LoadedObserver, InvocationNotes>, record: &Record, otherwise: Outcome, status: u16) {
    let outcome = seam.outcome().unwrap_or(otherwise);
    let reports = seam.close(outcome);
    let ladder = seam.ladder();
    let stop = ladder.stop().map(|stop| format!("{} ({}): {}", stop.plugin, stop.observer_id, stop.reason));
    let chunks = (ladder.chunks_in(), ladder.chunks_out());
    record.end(&Ended { outcome, status, reports: &reports, chunks, reason: stop.as_deref().or(seam.failure()) });
}

impl Drop for StreamedAnswer {
    fn drop(&mut self) {
        self.close(Outcome::ClientGone);
    }
}

/// Nanoseconds, up to the 584 years that fit.
pub(super) fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
