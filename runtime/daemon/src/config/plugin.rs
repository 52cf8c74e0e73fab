//! `[[plugin]]`: what stands in the ladder, and what happens when it fails.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use seam_host::OnLoadError;
use seam_ladder::{Hold, OnEndHeld, OnFault, Policy};
use seam_plugin_api::CallClass;
use serde_json::{Map, Value as Json};

use super::route::call_class;
use super::table::{Table, Value, all};
use super::values::{Unique, choice, count, name, path};

const HOLD_CHUNKS: RangeInclusive<usize> = 1..=1_000_000;
const HOLD_TEXT: RangeInclusive<usize> = 1..=100_000_000;

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
    /// What a fault, the end of the stream and chunks that wait mean for its observers. Default: [`Policy::default`]. `hold`
    /// is 1 to 1,000,000 chunks and 1 to 100,000,000 characters.
    pub policy: Policy,
    /// What happens when it cannot be loaded. Default: [`OnLoadError::Refuse`], because a guard that is quietly absent
    /// is worse than a daemon that does not start.
    pub on_load_error: OnLoadError,
    /// Its own table, for it to validate. Default: empty.
    pub config: Map<String, Json>,
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
    let on_fault = table.read("on_fault", |value| choice(value, &OnFault::ALL.map(|own| (own.as_str(), own))));
    let on_end_held = table.read("on_end_held", |value| choice(value, &OnEndHeld::ALL.map(|own| (own.as_str(), own))));
    let on_load_error =
        table.read("on_load_error", |value| choice(value, &OnLoadError::ALL.map(|own| (own.as_str(), own))));
    let hold = table.section("hold").map(hold);
    let config = table.read("config", Value::json_table).unwrap_or_default();
    table.finish();
    let policy =
        Policy { on_fault: on_fault.unwrap_or_default(), on_end_held: on_end_held.unwrap_or_default(), hold: hold? };
    let on_load_error = on_load_error.unwrap_or_default();
    Some(Plugin { path: path?, name, call_class, policy, on_load_error, config })
}

fn hold(table: Table<'_>) -> Hold {
    let bound =
        |key, allowed, default| table.read(key, |value| count(value, allowed)).map_or(default, |given| given as u64);
    let default = Hold::default();
    let hold =
        Hold { chunks: bound("chunks", HOLD_CHUNKS, default.chunks), text: bound("text", HOLD_TEXT, default.text) };
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
