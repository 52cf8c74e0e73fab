//! The daemon's log: lines on standard error, written by a thread of its own, so that a reader that stalls can slow
//! nothing but the log. What does not fit into its queue is dropped and counted.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Log, LogFormat};

/// Lines that may wait to be written; as many again may be on their way. At a line of 300 bytes that is under 10 MB.
const QUEUED_LINES: usize = 16 * 1024;

/// How long the end of the process waits for lines to be taken: long for a reader that reads, short for a supervisor.
const LAST_LINES: Duration = Duration::from_secs(1);

/// A log that is written until this is dropped, which waits a little for what is still to be written.
pub struct Telemetry {
    queue: Queue,
}

impl Telemetry {
    /// Begins the log of this process. Once: a second one would find the place taken and say nothing.
    ///
    /// # Errors
    /// Where the system gives no thread, or no second handle on standard error.
    pub fn begin(log: &Log, colour: bool) -> io::Result<Self> {
        // A handle of its own: whoever stands in a write to a pipe that is full does so with standard error locked.
        let output = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        let queue = Queue::default();
        let writing = queue.clone();
        std::thread::Builder::new().name("log".to_owned()).spawn(move || writing.write_to(output))?;
        let registry = tracing_subscriber::registry().with(log.level.to_env_filter());
        let layer = fmt::layer().with_writer(queue.clone());
        let begun = match log.format {
            LogFormat::Text => registry.with(layer.with_ansi(colour)).try_init(),
            LogFormat::Json => registry.with(layer.json().flatten_event(true)).try_init(),
        };
        if let Err(error) = begun {
            tracing::debug!(%error, "the log had begun before");
        }
        Ok(Self { queue })
    }

    /// How many lines were dropped, from now on too.
    #[must_use]
    pub fn dropped(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.queue.0.dropped)
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.queue.wait_until_written(LAST_LINES);
    }
}

/// Lines on their way to the thread that writes them. Clones are the same queue.
#[derive(Clone, Default)]
struct Queue(Arc<Shared>);

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    more: Condvar,
    written: Condvar,
    dropped: Arc<AtomicU64>,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<Vec<u8>>,
    /// Whether lines that were taken out are being written.
    writing: bool,
}

impl Queue {
    fn push(&self, line: &[u8]) {
        let mut waiting = self.0.waiting.lock();
        if waiting.lines.len() < QUEUED_LINES {
            waiting.lines.push_back(line.to_vec());
            self.0.more.notify_one();
        } else {
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes what comes, for ever. A line that cannot be written is lost: there is nowhere else to say it.
    fn write_to(&self, mut output: impl Write) {
        loop {
            let mut waiting = self.0.waiting.lock();
            waiting.writing = false;
            while waiting.lines.is_empty() {
                self.0.written.notify_all();
                self.0.more.wait(&mut waiting);
            }
            waiting.writing = true;
            let lines = std::mem::take(&mut waiting.lines);
            drop(waiting);
            for line in lines {
                let _ = output.write_all(&line);
            }
        }
    }

    fn wait_until_written(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut waiting = self.0.waiting.lock();
        while waiting.writing || !waiting.lines.is_empty() {
            if self.0.written.wait_until(&mut waiting, deadline).timed_out() {
                return;
            }
        }
    }
}

/// A line comes in one write.
impl Write for Queue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Whether standard error is to be coloured where nothing else was asked for.
#[must_use]
pub fn stderr_takes_colour() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_in_order_and_the_end_waits_for_them() {
        let (mut reader, writer) = io::pipe().unwrap();
        let queue = Queue::default();
        let writing = queue.clone();
        for number in 0..1000 {
            queue.push(format!("{number}\n").as_bytes());
        }
        std::thread::spawn(move || writing.write_to(writer));
        queue.wait_until_written(Duration::from_secs(20));
        let mut read = vec![0; 3890];
        io::Read::read_exact(&mut reader, &mut read).unwrap();
        let wanted: String = (0..1000).map(|number| format!("{number}\n")).collect();
        assert_eq!(String::from_utf8(read).unwrap(), wanted);
    }

    #[test]
    fn what_nobody_takes_is_dropped_and_counted_and_the_end_does_not_wait_for_ever() {
        let queue = Queue::default();
        for _ in 0..QUEUED_LINES + 7 {
            queue.push(b"a line\n");
        }
        assert_eq!(queue.0.dropped.load(Ordering::Relaxed), 7);
        let began = Instant::now();
        queue.wait_until_written(Duration::from_millis(20));
        assert!(began.elapsed() >= Duration::from_millis(20));
    }
}
