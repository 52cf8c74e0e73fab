//! Arguments that are streamed value by value, shown as what arguments are to observers: fragments of one JSON object.
//!
//! The object is flat; its names are the JSON paths of the values, as they come. What comes as
//!
//! ```json
//! {"jsonPath":"$.to.city","stringValue":"New ","willContinue":true}
//! {"jsonPath":"$.to.city","stringValue":"Delhi"}
//! {"jsonPath":"$.guests","numberValue":2}
//! ```
//!
//! is shown as `{"$.to.city":"New `, `Delhi"`, `,"$.guests":2`, and the end of the call as `}`.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::names::partial;
use crate::chunk::Decoded;
use crate::fields::Fields;
use crate::json::{self, Kind, Span, is_text};
use crate::splice::{Object, Patches};

/// What was shown of the arguments of one call.
#[derive(Debug, Default)]
pub(super) struct StreamedArguments {
    /// A value was.
    begun: bool,
    /// The path of the string that goes on, as a hash.
    open: Option<u64>,
}

/// One value of streamed arguments.
struct Value<'t> {
    path: &'t str,
    /// What it is and says; a string without its quotes.
    value: Option<(Kind, &'t str)>,
    goes_on: bool,
}

impl<'t> Value<'t> {
    fn read(text: &'t str, element: Span) -> Self {
        // What is hidden was noted when the chunk was found.
        let fields = Fields::<6>::within(text, element, partial::slot, &mut Decoded::default());
        let values = (partial::VALUES..).zip(partial::VALUE_NAMES);
        let value = values.filter_map(|(slot, name)| Some((fields.value(slot)?, name))).next();
        let value = value.map(|(value, name)| match json::kind_of(text, value) {
            _ if name == "nullValue" => (Kind::Null, "null"),
            Kind::String => (Kind::String, value.inside_quotes().of_str(text)),
            kind => (kind, value.of_str(text)),
        });
        Self {
            path: fields.text(partial::PATH, text).map_or("\"$\"", |path| path.of_str(text)),
            value,
            goes_on: fields.value(partial::GOES_ON).is_some_and(|value| value.of_str(text) == "true"),
        }
    }

    /// What is shown behind the value itself.
    const fn after(&self) -> &'static str {
        match self.value {
            Some((Kind::String, _)) | None if !self.goes_on => "\"",
            _ => "",
        }
    }
}

impl StreamedArguments {
    /// Writes the fragment for a value.
    pub(super) fn show(&mut self, text: &str, element: Span, out: &mut String) {
        let value = Value::read(text, element);
        let path = hash_of(value.path);
        let is_open = self.open == Some(path);
        let Some((kind, said)) = value.value else {
            // The end of a string, or of a list.
            if is_open {
                out.push_str(value.after());
                self.open = self.open.filter(|_| value.goes_on);
            }
            return;
        };
        if !is_open || kind != Kind::String {
            self.show_path(value.path, out);
            out.push_str(if kind == Kind::String { "\"" } else { "" });
        }
        out.push_str(said);
        out.push_str(value.after());
        self.open = (kind == Kind::String && value.goes_on).then_some(path);
    }

    fn show_path(&mut self, path: &str, out: &mut String) {
        if self.open.take().is_some() {
            out.push('"');
        }
        out.push(if self.begun { ',' } else { '{' });
        self.begun = true;
        out.push_str(path);
        out.push(':');
    }

    /// Writes the end of the object.
    pub(super) fn show_end(&mut self, out: &mut String) {
        if self.open.is_some() {
            out.push('"');
        }
        out.push_str(if self.begun { "}" } else { "{}" });
        *self = Self::default();
    }
}

fn hash_of(path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

/// Gives a value what an edited fragment says: what stands between the marks that were shown around it. Anything but a
/// value of the same kind makes it a string.
pub(super) fn rewrite_value(text: &str, element: Span, before: &str, after: &str, patches: &mut Patches) {
    let value = Value::read(text, element);
    let said = value.value.map_or("", |(_, said)| said);
    let (shown, end) = match before.strip_suffix(value.after()) {
        Some(shown) => (shown, value.after()),
        None => (before, ""),
    };
    let start = shown.strip_suffix(said).unwrap_or(shown);
    let middle = after.strip_prefix(start).unwrap_or(after);
    let middle = middle.strip_suffix(end).unwrap_or(middle);
    let mut object = Object::new(text, element);
    let name = partial::VALUE_NAMES.into_iter().find(|name| object.value(name).is_some());
    let (new, is_same) = match value.value {
        Some((Kind::String, _)) | None => (spelt(middle), name == Some("stringValue")),
        Some((kind, _)) if json::is_document(middle) && json::kind_of(middle, json::document_span(middle)) == kind => {
            (middle.to_owned(), kind != Kind::Null)
        }
        Some(_) if is_text(middle, Span::new(0, middle.len())) && json::is_document(middle) => {
            (middle.to_owned(), false)
        }
        Some(_) => (json::string(middle), false),
    };
    match name {
        Some(name) if is_same => object.set(name, &new, patches),
        Some(name) => {
            let position = object.find(name);
            object.remove(name);
            object.add(position, "stringValue", &new);
        }
        None if middle.is_empty() => {}
        None => object.set("stringValue", &new, patches),
    }
    object.write(patches);
}

/// The JSON string that the inside of one stands for, which may be none any more.
fn spelt(inside: &str) -> String {
    let quoted = format!("\"{inside}\"");
    if json::is_document(&quoted) {
        return quoted;
    }
    let mut text = String::new();
    json::unescape(inside, &mut text);
    json::string(&text)
}
