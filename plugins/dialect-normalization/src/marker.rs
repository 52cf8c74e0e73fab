//! The dialects: how a tool call is written as text.
//!
//! ```text
//!   opening                                          body         closing
//!   <tool name="search">                             {"q":"x"}    </tool>            dialect `tool`
//!   <tool_call>       {"name":"search","arguments":  {"q":"x"} }  </tool_call>       dialect `tool_call`
//!   <function=search>                                {"q":"x"}    </function>        dialect `function`
//!   {0:"search", 1:                                  {"q":"x"}    }                  dialect `tuple`
//! ```
//!
//! Whatever the text is cut into, the same characters make a marker, and the same character is the first at which a
//! marker can be none: openings and closings are short and read anew with each piece of text, a body is read once.

use std::ops::ControlFlow;

use seam_plugin_api::prelude::*;
use seam_plugin_api::serde::Serialize;

mod call;
mod cursor;
mod edges;

pub(crate) use call::Call;
use call::{complete, complete_named};
use cursor::Miss;
use edges::{Opening, read_closing, read_opening};

/// The most bytes of an opening or a closing with all its white space: beyond any name and attribute.
const LONGEST_EDGE: usize = 512;

/// A way of writing a tool call as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", rename_all = "snake_case")]
#[schemars(crate = "seam_plugin_api::schemars")]
pub enum Dialect {
    /// `<tool name="NAME">{…}</tool>`, also `<tool name="NAME"/>`.
    Tool,
    /// `<tool_call>{"name":"NAME","arguments":{…}}</tool_call>`.
    ToolCall,
    /// `<function=NAME>{…}</function>`.
    Function,
    /// `{0:"NAME", 1:{…}}`.
    Tuple,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 4] = [Self::Tool, Self::ToolCall, Self::Function, Self::Tuple];

    /// The dialect's name in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::ToolCall => "tool_call",
            Self::Function => "function",
            Self::Tuple => "tuple",
        }
    }
}

/// What counts as a marker in one invocation.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) dialects: Vec<Dialect>,
    /// The only names that are calls; `None`: every name is.
    pub(crate) names: Option<Vec<String>>,
    /// How many characters a marker may have up to the end of its body.
    pub(crate) max_marker: usize,
}

impl Rules {
    pub(crate) fn allows(&self, name: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.iter().any(|allowed| allowed == name))
    }
}

/// Where in a text a marker may begin next.
pub(crate) fn find_candidate(text: &str) -> Option<usize> {
    text.find(['<', '{'])
}

/// A text from where a marker may begin: what is known of it so far.
#[derive(Debug, Default)]
pub(crate) struct Marker {
    stage: Stage,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Opening,
    Body(Opening, Body),
    /// The call is complete; where its closing begins.
    Closing(Dialect, Call, usize),
}

/// What a text turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// A marker so far; more text decides.
    Incomplete,
    /// No marker: this many bytes are text.
    Text(usize),
    /// A call, and the bytes of its marker.
    Call(usize, Call),
}

/// A JSON object that is read once, piece by piece: where it ends.
#[derive(Debug)]
struct Body {
    at: usize,
    characters: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Marker {
    /// Reads on. `text` begins where the marker may begin and has grown since the last call.
    pub(crate) fn read(&mut self, text: &str, rules: &Rules) -> Reading {
        loop {
            let step = match &mut self.stage {
                Stage::Opening => read_first(text, rules),
                Stage::Body(opening, body) => read_body(opening, body, text, rules),
                Stage::Closing(dialect, call, at) => return read_last(*dialect, call, *at, text),
            };
            match step {
                ControlFlow::Continue(stage) => self.stage = stage,
                ControlFlow::Break(reading) => return reading,
            }
        }
    }
}

/// Reads the opening. One that fails gives back a single character: what follows may begin a marker of its own.
fn read_first(text: &str, rules: &Rules) -> ControlFlow<Reading, Stage> {
    let opening = match read_opening(text, rules) {
        Ok(opening) if opening.length <= LONGEST_EDGE => opening,
        Err(Miss::Incomplete) if text.len() <= LONGEST_EDGE => return ControlFlow::Break(Reading::Incomplete),
        _ => return ControlFlow::Break(Reading::Text(1)),
    };
    if opening.is_whole {
        let call = Call { name: opening.name, arguments: "{}".to_owned() };
        return ControlFlow::Break(Reading::Call(opening.length, call));
    }
    if !text[opening.length..].starts_with('{') {
        let call = Call { name: opening.name, arguments: "{}".to_owned() };
        return ControlFlow::Continue(Stage::Closing(opening.dialect, call, opening.length));
    }
    let body = Body::new(opening.length, text[..opening.length].chars().count());
    ControlFlow::Continue(Stage::Body(opening, body))
}

/// Reads the body to its end. One that fails gives back all of it: it was read as a whole, and what looks like a marker
/// inside it is part of it.
fn read_body(opening: &Opening, body: &mut Body, text: &str, rules: &Rules) -> ControlFlow<Reading, Stage> {
    if !body.read(text, rules.max_marker) {
        let is_too_long = body.characters >= rules.max_marker;
        return ControlFlow::Break(if is_too_long { Reading::Text(body.at) } else { Reading::Incomplete });
    }
    let object = &text[opening.length..body.at];
    let call = match opening.dialect {
        Dialect::ToolCall => complete_named(object).filter(|call| rules.allows(&call.name)),
        Dialect::Tool | Dialect::Function | Dialect::Tuple => complete(&opening.name, object),
    };
    match call {
        Some(call) => ControlFlow::Continue(Stage::Closing(opening.dialect, call, body.at)),
        None => ControlFlow::Break(Reading::Text(body.at)),
    }
}

/// Reads the closing. One that fails gives back what was before it.
fn read_last(dialect: Dialect, call: &mut Call, at: usize, text: &str) -> Reading {
    match read_closing(dialect, &text[at..]) {
        Ok(length) if length <= LONGEST_EDGE => Reading::Call(at + length, std::mem::take(call)),
        Err(Miss::Incomplete) if text.len() - at <= LONGEST_EDGE => Reading::Incomplete,
        _ => Reading::Text(at),
    }
}

impl Body {
    fn new(at: usize, characters: usize) -> Self {
        Self { at, characters, depth: 0, in_string: false, escaped: false }
    }

    /// Reads on until the object ends (then: true), the text does, or there are too many characters.
    fn read(&mut self, text: &str, max_characters: usize) -> bool {
        for character in text[self.at..].chars() {
            if self.characters >= max_characters {
                return false;
            }
            self.at += character.len_utf8();
            self.characters += 1;
            if self.take(character) {
                return true;
            }
        }
        false
    }

    /// Whether the object ends with this character.
    fn take(&mut self, character: char) -> bool {
        match character {
            _ if self.escaped => self.escaped = false,
            '\\' if self.in_string => self.escaped = true,
            '"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            '{' => self.depth += 1,
            '}' => self.depth -= 1,
            _ => {}
        }
        self.depth == 0 && character == '}' && !self.in_string
    }
}

#[cfg(test)]
mod tests;
