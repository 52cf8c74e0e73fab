//! `[log]`: what seamd says of itself on standard error.

use tracing_subscriber::EnvFilter;

use super::table::{Table, Value, shown};
use super::values::{choice, listed, meant};

/// One line per event of the daemon's own life and per fault; a stream that goes well says nothing.
pub const DEFAULT_LEVEL: &str = "info";

const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// What seamd says of itself on standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// What is said. Default: [`DEFAULT_LEVEL`].
    pub level: LogFilter,
    /// How it is said. Default: [`LogFormat::Text`], because the first reader is a person at a terminal.
    pub format: LogFormat,
}

/// Which events are logged: a level, or directives per target. Always one that [`EnvFilter`] takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter(String);

impl LogFilter {
    /// The filter as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The filter for a subscriber.
    #[must_use]
    pub fn to_env_filter(&self) -> EnvFilter {
        EnvFilter::builder().parse_lossy(&self.0)
    }
}

/// How a log line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

pub(super) fn read(root: &Table<'_>) -> Option<Log> {
    let table = root.section("log")?;
    let log = Log {
        level: table.read("level", level).unwrap_or_else(|| LogFilter(DEFAULT_LEVEL.to_owned())),
        format: table
            .read("format", |value| choice(value, &[("text", LogFormat::Text), ("json", LogFormat::Json)]))
            .unwrap_or(LogFormat::Text),
    };
    table.finish();
    Some(log)
}

/// A level or directives. A lone word that is no level would silently be taken for a target, so it is refused.
fn level(value: &Value<'_>) -> Option<LogFilter> {
    let text = value.text("a level such as \"info\"")?;
    let bare = |part: &&str| !part.contains(['=', '[']) && !LEVELS.contains(part);
    if let Some(part) = text.split(',').map(str::trim).find(bare) {
        let verb = if part == text { "is" } else { "has" };
        return value.reject(format!(
            "{verb} {}, which is not a level; write {}, or directives such as \"info,seamd=debug\"{}",
            shown(part),
            listed(&LEVELS),
            meant(part, &LEVELS)
        ));
    }
    match EnvFilter::builder().parse(text) {
        Ok(_) => Some(LogFilter(text.to_owned())),
        Err(error) => value.reject(format!("is {}, which is not a filter: {error}", shown(text))),
    }
}
