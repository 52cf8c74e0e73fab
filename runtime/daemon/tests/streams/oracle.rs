//! Knows where text is in each protocol's JSON, from the protocols' documentation alone.

mod anthropic;
mod chat;
mod completions;
mod gemini;
mod responses;

use std::collections::{BTreeMap, BTreeSet};

use seam_wire::{Framing, Protocol};
use serde_json::{Map, Value};

use crate::arguments::Upper;
use crate::frames::Frame;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// A piece of prose, or all of it.
    Plain,
    /// A fragment of a call's arguments, of the call with this number; `begins` where it is the first.
    Fragment { call: u64, begins: bool },
    /// All arguments of a call: a text, or the JSON itself.
    Arguments,
    /// What a tool was given or gave that an observer may or may not be shown.
    Either,
}

/// One place of text.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) choice: u64,
    pub(crate) text: Text,
    pub(crate) value: &'a mut Value,
}

/// What is done with each place of text.
pub(crate) type Visit<'v> = dyn FnMut(Place<'_>) + 'v;

/// What must be remembered of an answer to know where its text is.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Blocks or items whose text is signed.
    signed: BTreeSet<u64>,
    /// The id of the last call of each number.
    calls: BTreeMap<(u64, u64), String>,
}

impl Memory {
    /// Whether a fragment with this id begins a call of this number.
    fn begins(&mut self, choice: u64, call: u64, id: Option<&str>) -> bool {
        let Some(id) = id.filter(|id| !id.is_empty()) else { return false };
        self.calls.insert((choice, call), id.to_owned()).as_deref() != Some(id)
    }
}

/// Visits every place of text in an event or a body.
pub(crate) fn visit(protocol: Protocol, memory: &mut Memory, json: &mut Value, visit: &mut Visit<'_>) {
    match protocol {
        Protocol::OpenAiChat => chat::visit(memory, json, visit),
        Protocol::OpenAiCompletions => completions::visit(json, visit),
        Protocol::OpenAiResponses => responses::visit(json, visit),
        Protocol::AnthropicMessages => anthropic::visit(memory, json, visit),
        Protocol::Gemini => gemini::visit(json, visit),
    }
}

/// Visits the string or JSON in a member, where it is there.
fn member(object: &mut Value, name: &str, choice: u64, text: Text, visit: &mut Visit<'_>) {
    if let Some(value) = object.get_mut(name).filter(|value| !value.is_null()) {
        visit(Place { choice, text, value });
    }
}

/// The elements of an array in a member.
fn elements<'a>(object: &'a mut Value, name: &str) -> std::slice::IterMut<'a, Value> {
    object.get_mut(name).and_then(Value::as_array_mut).map(|array| array.iter_mut()).unwrap_or_default()
}

fn number(object: &Value, name: &str) -> u64 {
    object[name].as_u64().unwrap_or(0)
}

/// Upper-cases an answer's text, event by event.
#[derive(Debug)]
pub(crate) struct UpperCase {
    protocol: Protocol,
    memory: Memory,
    calls: BTreeMap<(u64, u64), Upper>,
    /// Choices whose text is no longer what came.
    altered: BTreeSet<u64>,
}

impl UpperCase {
    pub(crate) fn new(protocol: Protocol) -> Self {
        Self { protocol, memory: Memory::default(), calls: BTreeMap::new(), altered: BTreeSet::new() }
    }

    /// What a frame's JSON must become, and what of it that changes.
    fn event(&mut self, json: &mut Value) -> Changed {
        let (calls, altered) = (&mut self.calls, &mut self.altered);
        let (mut changed, mut choices) = (Changed::default(), BTreeSet::new());
        visit(self.protocol, &mut self.memory, json, &mut |Place { choice, text, value }| {
            let before = value.clone();
            upper_place(calls, choice, text, value);
            choices.insert(choice);
            if before == *value {
                return;
            }
            changed.in_frame = true;
            if text != Text::Either {
                changed.surely = true;
                altered.insert(choice);
            }
        });
        changed.in_answer = choices.is_empty() && !altered.is_empty() || !choices.is_disjoint(altered);
        changed
    }

    /// That a frame became what it must; `came` is its JSON as it came in, and the frames are told in order.
    pub(crate) fn compare(&mut self, came: &Value, left: &Value) -> Result<(), String> {
        let mut expected = came.clone();
        let changed = self.event(&mut expected);
        let mut left = left.clone();
        let mut dependents = Dependents { changed, wrong: Vec::new() };
        dependents.drop_from(&mut expected, false);
        dependents.drop_from(&mut left, true);
        if let Some(wrong) = dependents.wrong.first() {
            return Err(wrong.clone());
        }
        self.forget_either(&mut expected);
        self.forget_either(&mut left);
        if expected == left { Ok(()) } else { Err(difference("", &expected, &left)) }
    }

    /// Places that may be upper-cased or not are compared without regard to case.
    fn forget_either(&self, json: &mut Value) {
        let mut memory = Memory { signed: self.memory.signed.clone(), calls: BTreeMap::new() };
        visit(self.protocol, &mut memory, json, &mut |Place { text, value, .. }| {
            if text == Text::Either {
                upper(value, str::to_ascii_uppercase);
            }
        });
    }
}

/// Changes every string of a value.
pub(crate) fn upper(value: &mut Value, mut change: impl FnMut(&str) -> String) {
    change_strings(value, &mut change);
}

fn change_strings(value: &mut Value, change: &mut dyn FnMut(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(array) => array.iter_mut().for_each(|element| change_strings(element, change)),
        Value::Object(object) => object.values_mut().for_each(|member| change_strings(member, change)),
        _ => {}
    }
}

fn upper_place(calls: &mut BTreeMap<(u64, u64), Upper>, choice: u64, text: Text, value: &mut Value) {
    let is_text = value.is_string();
    match text {
        Text::Fragment { call, begins } => {
            let cased = calls.entry((choice, call)).or_default();
            if begins {
                *cased = Upper::default();
            }
            let change = |text: &str| if is_text { cased.fragment(text) } else { text.to_ascii_uppercase() };
            upper(value, change);
        }
        Text::Arguments if is_text => upper(value, Upper::whole),
        Text::Plain | Text::Either | Text::Arguments => upper(value, str::to_ascii_uppercase),
    }
}

/// What changes of a frame.
#[derive(Clone, Copy, Debug, Default)]
struct Changed {
    /// Some place of text in it.
    in_frame: bool,
    /// One that every observer is shown.
    surely: bool,
    /// What its choices said so far.
    in_answer: bool,
}

/// What depends on the text and goes when that is altered: padding in the frame, log-probabilities in the whole answer.
struct Dependents {
    changed: Changed,
    wrong: Vec<String>,
}

impl Dependents {
    fn drop_from(&mut self, json: &mut Value, left: bool) {
        match json {
            Value::Array(array) => array.iter_mut().for_each(|element| self.drop_from(element, left)),
            Value::Object(object) => self.drop_members(object, left),
            _ => {}
        }
    }

    fn drop_members(&mut self, object: &mut Map<String, Value>, left: bool) {
        if self.changed.in_frame && object.remove("obfuscation").is_some() && left && self.changed.surely {
            self.wrong.push("padding stands beside altered text".into());
        }
        if self.changed.in_answer {
            // Says nothing of the text.
            object.remove("avgLogprobs");
        }
        for name in ["logprobs", "logprobsResult"] {
            let Some(probabilities) = self.changed.in_answer.then(|| object.remove(name)).flatten() else { continue };
            if left && says_anything(&probabilities) {
                self.wrong.push(format!("{name} of altered text are left: {probabilities}"));
            }
        }
        object.values_mut().for_each(|member| self.drop_from(member, left));
    }
}

fn says_anything(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(array) => array.iter().any(says_anything),
        Value::Object(object) => object.values().any(says_anything),
        _ => true,
    }
}

/// The first place where two documents differ.
pub(crate) fn difference(path: &str, expected: &Value, found: &Value) -> String {
    match (expected, found) {
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for name in names {
                let at = format!("{path}.{name}");
                match (one.get(name), other.get(name)) {
                    (Some(one), Some(other)) if one == other => {}
                    (Some(one), Some(other)) => return difference(&at, one, other),
                    (Some(one), None) => return format!("{at} is gone; it must be {one}"),
                    (None, other) => return format!("{at} was added: {}", other.unwrap_or(&Value::Null)),
                }
            }
            format!("{path}: no difference")
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let differs = one.iter().zip(other).enumerate().find(|(_, (one, other))| one != other);
            differs.map_or_else(
                || format!("{path}: no difference"),
                |(at, (one, other))| difference(&format!("{path}[{at}]"), one, other),
            )
        }
        _ => format!("{path} must be {expected} and is {found}"),
    }
}

/// A stream without any text that an observer may be shown: what a word may not be in to be looked for.
pub(crate) fn without_text(protocol: Protocol, frames: &[Frame]) -> String {
    let mut memory = Memory::default();
    let mut rest = String::new();
    for frame in frames {
        match &frame.json {
            Some(json) => {
                let mut json = json.clone();
                visit(protocol, &mut memory, &mut json, &mut |place| {
                    if place.text != Text::Either {
                        *place.value = Value::Null;
                    }
                });
                rest.push_str(&json.to_string());
            }
            None => rest.push_str(frame.data.as_deref().unwrap_or_default()),
        }
    }
    rest
}

/// The frames that stay when all text is altered: the signature of thinking that did not begin as signed no longer fits,
/// and a client that sends it back is refused.
pub(crate) fn that_stay(protocol: Protocol, mut frames: Vec<Frame>) -> Vec<Frame> {
    if protocol == Protocol::AnthropicMessages {
        let mut signed = BTreeSet::new();
        frames.retain(|frame| frame.json.as_ref().is_none_or(|json| anthropic::stays(&mut signed, json)));
    }
    frames
}

/// A body as the only frame of a stream.
pub(crate) fn body_frames(bytes: &[u8]) -> Vec<Frame> {
    let text = String::from_utf8_lossy(bytes);
    crate::frames::read(Framing::JsonArray, format!("[{text}]").as_bytes())
}
