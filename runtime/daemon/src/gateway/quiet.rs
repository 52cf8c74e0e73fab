//! Streams that are silent: when the client is to be sent something that keeps it from giving up.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::Sleep;

/// Watches how long a client was sent nothing. The timer is set once per period, not once per chunk: it may ring before
/// the period is over, never after.
pub struct Quiet {
    timer: Pin<Box<Sleep>>,
    /// When something was sent last, as far as that was read off a clock.
    last: Instant,
    period: Duration,
}

impl Quiet {
    /// A watch that begins now; none for a period of zero.
    pub(super) fn new(period: Duration) -> Option<Self> {
        let last = Instant::now();
        let timer = || Box::pin(tokio::time::sleep_until((last + period).into()));
        (!period.is_zero()).then(|| Self { timer: timer(), last, period })
    }

    /// Something was sent.
    pub(super) fn broken(&mut self, now: Instant) {
        self.last = now;
    }

    /// Ready when nothing was sent for the whole period, which then begins again.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, now: Instant) -> Poll<()> {
        while self.timer.as_mut().poll(cx).is_ready() {
            let is_over = now.saturating_duration_since(self.last) >= self.period;
            if is_over {
                self.last = now;
            }
            self.timer.as_mut().reset((self.last + self.period).into());
            if is_over {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }
}
