//! How long the harness waits for anything.

use std::future::Future;
use std::io;
use std::time::Duration;

/// The longest that any wait of the harness lasts. It is only ever reached by a test that fails: long enough for a
/// machine that builds something else meanwhile.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Awaits `future`, at most [`PATIENCE`].
///
/// # Errors
/// Of kind [`io::ErrorKind::TimedOut`] when it took longer; the error names `what`.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> io::Result<T> {
    within_time(PATIENCE, what, future).await
}

/// As [`within`], for a wait whose limit is what the test is about.
///
/// # Errors
/// Of kind [`io::ErrorKind::TimedOut`] when it took longer than `limit`; the error names `what`.
pub async fn within_time<T>(limit: Duration, what: &str, future: impl Future<Output = T>) -> io::Result<T> {
    tokio::time::timeout(limit, future)
        .await
        .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, format!("{what}: not within {limit:?}")))
}

/// The pauses between two looks at something that can only be polled: short at first, never longer than 50 ms.
#[derive(Debug)]
pub struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(Duration::from_millis(1))
    }
}

impl Backoff {
    /// The next pause.
    pub fn pause(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(Duration::from_millis(50));
        pause
    }
}
