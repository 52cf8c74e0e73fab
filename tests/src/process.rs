//! A child process that never outlives whoever started it.

use crate::os::{Signal, signal};
use crate::patience::{Backoff, PATIENCE};
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// A child that is ended, by its id, when this is dropped: asked first, killed when it does not follow.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// How long it has, when it is dropped, to follow SIGTERM. Zero: it is killed at once.
    grace: Duration,
}

impl Process {
    /// Starts `command`.
    ///
    /// # Errors
    /// When it cannot be started; the error names the program.
    pub fn start(command: &mut Command, grace: Duration) -> io::Result<Self> {
        let child = command.spawn().map_err(|error| {
            let program = command.get_program().display().to_string();
            io::Error::new(error.kind(), format!("{program}: {error}"))
        })?;
        Ok(Self { child, grace })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The child itself, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Sends it a signal, unless it has ended.
    ///
    /// # Errors
    /// When it has ended.
    pub fn signal(&mut self, what: Signal) -> io::Result<()> {
        match self.child.try_wait()? {
            // Its id is not its own any more.
            Some(status) => Err(io::Error::other(format!("it has ended: {status}"))),
            None => signal(self.child.id(), what),
        }
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// When the operating system does not say.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// How it ended, if it has or is just about to: a child's pipes are closed a moment before it can be waited for.
    ///
    /// # Errors
    /// When the operating system does not say.
    pub fn ended_soon(&mut self) -> io::Result<Option<ExitStatus>> {
        let mut backoff = Backoff::default();
        for _ in 0..8 {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            std::thread::sleep(backoff.pause());
        }
        Ok(None)
    }

    /// Waits for it to end, without blocking the runtime.
    ///
    /// # Errors
    /// When it does not within the harness's patience.
    pub async fn exit(&mut self) -> io::Result<ExitStatus> {
        let deadline = Instant::now() + PATIENCE;
        let mut backoff = Backoff::default();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                let what = format!("process {} to end: not within {PATIENCE:?}", self.id());
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            tokio::time::sleep(backoff.pause()).await;
        }
    }

    fn end(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + self.grace;
        let mut backoff = Backoff::default();
        if !self.grace.is_zero() {
            self.signal(Signal::Terminate)?;
        }
        while self.child.try_wait()?.is_none() {
            if Instant::now() >= deadline {
                self.child.kill()?;
                self.child.wait()?;
                return Ok(());
            }
            std::thread::sleep(backoff.pause());
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error here means that it has ended already.
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_process_has_ended() {
        let process = Process::start(Command::new("sleep").arg("600"), Duration::from_secs(5)).unwrap();
        let id = process.id();
        assert!(signal(id, Signal::Hangup).is_ok() || cfg!(not(unix)));
        drop(process);
        assert!(signal(id, Signal::Hangup).is_err());
    }

    #[test]
    fn a_process_that_does_not_follow_is_killed() {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' TERM; read line"]).stdin(std::process::Stdio::piped());
        let process = Process::start(&mut command, Duration::from_millis(20)).unwrap();
        let id = process.id();
        drop(process);
        assert!(signal(id, Signal::Hangup).is_err());
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Process::start(&mut Command::new("/no/such/program"), Duration::ZERO).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/program: "), "{error}");
    }
}
