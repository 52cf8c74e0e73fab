//! The lines of a child's pipe, read by a thread of their own so that the child is never held up by them.

use crate::patience::within;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Clones are the same lines.
#[derive(Clone, Debug)]
pub(crate) struct Lines(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    collected: Mutex<Collected>,
    more: Condvar,
    /// The same news as `more`, for waiters inside a runtime.
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Collected {
    lines: Vec<String>,
    ended: bool,
}

impl Lines {
    /// Reads `pipe` to its end. Without a pipe there are no lines.
    pub(crate) fn collect(pipe: Option<impl Read + Send + 'static>) -> io::Result<Self> {
        let lines =
            Self(Arc::new(Shared { collected: Mutex::default(), more: Condvar::new(), count: watch::Sender::new(0) }));
        let Some(pipe) = pipe else {
            lines.end();
            return Ok(lines);
        };
        let reading = lines.clone();
        std::thread::Builder::new().name("lines".to_owned()).spawn(move || {
            for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
                reading.push(String::from_utf8_lossy(&line).into_owned());
            }
            reading.end();
        })?;
        Ok(lines)
    }

    fn push(&self, line: String) {
        self.lock().lines.push(line);
        self.tell();
    }

    fn end(&self) {
        self.lock().ended = true;
        self.tell();
    }

    fn tell(&self) {
        self.0.more.notify_all();
        self.0.count.send_modify(|count| *count += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Collected> {
        self.0.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every line so far.
    pub(crate) fn text(&self) -> String {
        self.lock().lines.join("\n")
    }

    /// Every line up to the end of the pipe, which is given a second to come.
    pub(crate) fn whole_text(&self) -> String {
        let deadline = Instant::now() + Duration::from_secs(1);
        let mut collected = self.lock();
        while !collected.ended && Instant::now() < deadline {
            collected = self.wait(collected, deadline);
        }
        collected.lines.join("\n")
    }

    /// Blocks until `parse` makes something of a line, past or to come. Nothing when the pipe ends first, or it
    /// takes longer than `limit`.
    pub(crate) fn find_blocking<T>(&self, limit: Duration, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + limit;
        let mut looked_at = 0;
        let mut collected = self.lock();
        loop {
            let new = &collected.lines[looked_at..];
            if let Some(found) = new.iter().find_map(|line| parse(line)) {
                return Some(found);
            }
            looked_at = collected.lines.len();
            if collected.ended || Instant::now() >= deadline {
                return None;
            }
            collected = self.wait(collected, deadline);
        }
    }

    fn wait<'a>(&self, collected: MutexGuard<'a, Collected>, deadline: Instant) -> MutexGuard<'a, Collected> {
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self.0.more.wait_timeout(collected, left);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Awaits a line, past or to come, for which `wanted` holds.
    pub(crate) async fn find(&self, wanted: impl Fn(&str) -> bool) -> io::Result<String> {
        let found = within("the line", self.find_or_end(&wanted)).await;
        match found {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err(self.missing("the pipe ended before the line came")),
            Err(error) => Err(self.missing(&error.to_string())),
        }
    }

    async fn find_or_end(&self, wanted: &impl Fn(&str) -> bool) -> Option<String> {
        let mut count = self.0.count.subscribe();
        let mut looked_at = 0;
        loop {
            count.borrow_and_update();
            {
                let collected = self.lock();
                let mut new = collected.lines[looked_at..].iter();
                if let Some(line) = new.find(|line| wanted(line)) {
                    return Some(line.clone());
                }
                looked_at = collected.lines.len();
                if collected.ended {
                    return None;
                }
            }
            count.changed().await.ok()?;
        }
    }

    fn missing(&self, what: &str) -> io::Error {
        io::Error::other(format!("{what}; so far:\n{}", self.text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_line_is_found_whether_it_is_past_or_to_come() {
        let (reader, mut writer) = io::pipe().unwrap();
        let lines = Lines::collect(Some(reader)).unwrap();
        writer.write_all(b"one\ntwo\n").unwrap();
        let number = |line: &str| (line == "two").then_some(2);
        assert_eq!(lines.find_blocking(Duration::from_secs(5), number), Some(2));
        assert_eq!(lines.find_blocking(Duration::from_secs(5), number), Some(2));
        assert_eq!(lines.find_blocking(Duration::ZERO, |_| None::<()>), None);
        drop(writer);
        assert_eq!(lines.whole_text(), "one\ntwo");
    }

    #[tokio::test]
    async fn a_line_that_never_comes_is_an_error_with_what_came_instead() {
        let (reader, mut writer) = io::pipe().unwrap();
        let lines = Lines::collect(Some(reader)).unwrap();
        writer.write_all(b"one\n").unwrap();
        assert_eq!(lines.find(|line| line == "one").await.unwrap(), "one");
        drop(writer);
        let error = lines.find(|line| line == "two").await.unwrap_err();
        assert!(error.to_string().ends_with("so far:\none"), "{error}");
    }
}
