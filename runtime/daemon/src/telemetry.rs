//! The daemon's log: lines on standard error, written by a thread of its own, so that a reader that stalls can slow
//! nothing but the log. What does not fit into its queue is dropped and counted.

use std::io::IsTerminal;

use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Log, LogFormat};

/// Lines that may wait to be written. At a line of 300 bytes that is under 5 MB.
const QUEUED_LINES: usize = 16 * 1024;

/// A log that is written until this is dropped, which writes what still waits.
pub struct Telemetry {
    _writing: WorkerGuard,
    dropped: ErrorCounter,
}

impl Telemetry {
    /// Begins the log of this process. Once: a second one would find the place taken and say nothing.
    #[must_use]
    pub fn begin(log: &Log, colour: bool) -> Self {
        let (writer, writing) = NonBlockingBuilder::default()
            .lossy(true)
            .buffered_lines_limit(QUEUED_LINES)
            .thread_name("log")
            .finish(std::io::stderr());
        let dropped = writer.error_counter();
        let registry = tracing_subscriber::registry().with(log.level.to_env_filter());
        let begun = match log.format {
            LogFormat::Text => registry.with(fmt::layer().with_writer(writer).with_ansi(colour)).try_init(),
            LogFormat::Json => {
                registry.with(fmt::layer().json().flatten_event(true).with_writer(writer)).try_init()
            }
        };
        if let Err(error) = begun {
            tracing::debug!(%error, "the log had begun before");
        }
        Self { _writing: writing, dropped }
    }

    /// What counts the lines that were dropped.
    #[must_use]
    pub fn dropped(&self) -> ErrorCounter {
        self.dropped.clone()
    }
}

/// Whether standard error is to be coloured where nothing else was asked for.
#[must_use]
pub fn stderr_takes_colour() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
