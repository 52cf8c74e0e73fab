//! `[reload]`: when a change of files is taken up.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::table::{Table, Value};
use super::values::duration;

/// Files that are built or copied are written in bursts with gaps well under this; a person does not notice it.
pub const DEFAULT_SETTLE: Duration = Duration::from_millis(250);

const SETTLES: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_mins(1);

/// When a change of files is taken up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reload {
    /// Whether files are watched. Default: yes, so that a plugin that was built again runs without a further step; a
    /// reload can be asked for either way.
    pub watch: bool,
    /// How long the files must be quiet before a change is taken up, 10 ms to 1 min. Default: [`DEFAULT_SETTLE`].
    pub settle: Duration,
}

pub(super) fn read(root: &Table<'_>) -> Option<Reload> {
    let table = root.section("reload")?;
    let reload = Reload {
        watch: table.read("watch", Value::boolean).unwrap_or(true),
        settle: table.read("settle", |value| duration(value, SETTLES)).unwrap_or(DEFAULT_SETTLE),
    };
    table.finish();
    Some(reload)
}
