//! `[[plugin]]`: what stands in the ladder, and what happens when it fails.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use seam_plugin_api::CallClass;
use serde_json::{Map, Value as Json};

use super::route::call_class;
use super::table::{Table, Value, all};
use super::values::{Unique, choice, count, name, path};

/// More chunks than a sentence has by far, and few enough that a plugin which never releases is found out within one
/// answer.
pub const DEFAULT_HOLD_CHUNKS: usize = 1024;

/// As many characters as a long answer has.
pub const DEFAULT_HOLD_TEXT: usize = 65536;

const HOLD_CHUNKS: RangeInclusive<usize> = 1..=1_000_000;
const HOLD_TEXT: RangeInclusive<usize> = 1..=100_000_000;

const ON_FAULT: [(&str, OnFault); 2] = [("skip", OnFault::Skip), ("stop", OnFault::Stop)];
const ON_END_HELD: [(&str, OnEndHeld); 2] = [("release", OnEndHeld::Release), ("discard", OnEndHeld::Discard)];
const ON_LOAD_ERROR: [(&str, OnLoadError); 2] = [("refuse", OnLoadError::Refuse), ("skip", OnLoadError::Skip)];

/// What stands in the ladder, and what happens when it fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Plugin {
    /// The library, as an absolute path. Whether it is there and what it is shows when it is loaded.
    pub path: PathBuf,
    /// What it is called here: `[a-z0-9][a-z0-9_.-]{0,63}`, unique among those given. Default: `None`, the plugin's own
    /// name.
    pub name: Option<String>,
    /// The call classes that it is narrowed to: not empty, each once. Default: `None`, all that it registered for.
    pub call_class: Option<Vec<CallClass>>,
    /// What a fault does to the stream. Default: [`OnFault::Skip`], so that a plugin which only watches never costs an
    /// answer.
    pub on_fault: OnFault,
    /// What becomes of held chunks at the end of the stream. Default: [`OnEndHeld::Release`], because they are the
    /// answer.
    pub on_end_held: OnEndHeld,
    /// What happens when it cannot be loaded. Default: [`OnLoadError::Refuse`], because a guard that is quietly absent
    /// is worse than a daemon that does not start.
    pub on_load_error: OnLoadError,
    /// How much each of its observers may hold.
    pub hold: Hold,
    /// Its own table, for it to validate. Default: empty.
    pub config: Map<String, Json>,
}

/// What a plugin's fault does to the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFault {
    /// The observer leaves the ladder and what it held goes on unchanged.
    Skip,
    /// The stream ends in front of the chunk at fault.
    Stop,
}

/// What becomes of held chunks at the end of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnEndHeld {
    /// They go on unchanged.
    Release,
    /// They are discarded and counted.
    Discard,
}

/// What happens when a plugin cannot be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoadError {
    /// The generation is refused: start-up fails, a reload changes nothing.
    Refuse,
    /// The generation stands without it.
    Skip,
}

/// How much one observer may hold; more is a fault of the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Chunks, 1 to 1,000,000. Default: [`DEFAULT_HOLD_CHUNKS`].
    pub chunks: usize,
    /// Characters of their text, 1 to 100,000,000. Default: [`DEFAULT_HOLD_TEXT`].
    pub text: usize,
}

pub(super) fn read_all(root: &Table<'_>) -> Option<Vec<Plugin>> {
    let mut names = Unique::default();
    all(root.sections("plugin").into_iter().map(|table| read(table?, &mut names)))
}

fn read(table: Table<'_>, names: &mut Unique) -> Option<Plugin> {
    let path = table.require("path", path);
    let name = table.read("name", |value| {
        let name = name(value)?;
        names.claim(value, &name, "names of plugins");
        Some(name)
    });
    let call_class = table.read("call_class", call_classes);
    let on_fault = table.read("on_fault", |value| choice(value, &ON_FAULT));
    let on_end_held = table.read("on_end_held", |value| choice(value, &ON_END_HELD));
    let on_load_error = table.read("on_load_error", |value| choice(value, &ON_LOAD_ERROR));
    let hold = table.section("hold").map(hold);
    let config = table.read("config", Value::json_table).unwrap_or_default();
    table.finish();
    Some(Plugin {
        path: path?,
        name,
        call_class,
        on_fault: on_fault.unwrap_or(OnFault::Skip),
        on_end_held: on_end_held.unwrap_or(OnEndHeld::Release),
        on_load_error: on_load_error.unwrap_or(OnLoadError::Refuse),
        hold: hold?,
        config,
    })
}

fn hold(table: Table<'_>) -> Hold {
    let bound = |key, allowed, default| table.read(key, |value| count(value, allowed)).unwrap_or(default);
    let hold = Hold {
        chunks: bound("chunks", HOLD_CHUNKS, DEFAULT_HOLD_CHUNKS),
        text: bound("text", HOLD_TEXT, DEFAULT_HOLD_TEXT),
    };
    table.finish();
    hold
}

/// One call class, or a list of them.
fn call_classes(value: &Value<'_>) -> Option<Vec<CallClass>> {
    if !value.is_list() {
        return call_class(value).map(|class| vec![class]);
    }
    let elements = value.list("a list of call classes")?;
    if elements.is_empty() {
        return value.reject("is empty, so that the plugin would never run; leave it out to run for every call class");
    }
    let mut unique = Unique::default();
    all(elements.iter().map(|element| {
        let class = call_class(element)?;
        unique.claim(element, class.as_str(), "call classes of a plugin");
        Some(class)
    }))
}
