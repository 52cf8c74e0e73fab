//! What quotes a candidate's text, by its positions or word for word: it must say what was delivered.

use super::edits::Delivered;
use crate::json::{self, Kind, Span, is_text};
use crate::splice::{Object, Parts, Patches};

/// Makes the supports of a `groundingMetadata` quote what was delivered. A support of which nothing was delivered, or
/// that is not about the text that came in, is left out.
pub(super) fn rewrite_supports(text: &str, metadata: Span, delivered: &Delivered, patches: &mut Patches) {
    for supports in arrays_in(text, metadata, "groundingSupports") {
        let mut parts = Parts::of_array(text, supports);
        for (position, support) in json::elements_of(text, supports).into_iter().enumerate() {
            let segments = values_in(text, support, "segment");
            if !segments.into_iter().all(|segment| rewrite_range(text, segment, delivered, patches)) {
                parts.remove(position);
            }
        }
        parts.write(patches);
    }
}

/// Makes the sources of a `citationMetadata`, which have two names, refer to what was delivered.
pub(super) fn rewrite_citations(text: &str, metadata: Span, delivered: &Delivered, patches: &mut Patches) {
    let names = ["citations", "citationSources"];
    for sources in names.into_iter().flat_map(|name| arrays_in(text, metadata, name)) {
        let mut parts = Parts::of_array(text, sources);
        for (position, source) in json::elements_of(text, sources).into_iter().enumerate() {
            let has_range = json::member_of(text, source, "endIndex").is_some();
            if has_range && !rewrite_range(text, source, delivered, patches) {
                parts.remove(position);
            }
        }
        parts.write(patches);
    }
}

/// An object with `startIndex`, `endIndex` and perhaps the `text` between them; false if nothing of it was delivered, or
/// if it has two texts.
fn rewrite_range(text: &str, object: Span, delivered: &Delivered, patches: &mut Patches) -> bool {
    if values_in(text, object, "text").len() > 1 {
        return false;
    }
    let number = |name| json::member_of(text, object, name).and_then(|value| value.of_str(text).parse::<usize>().ok());
    let quoted = json::member_of(text, object, "text").filter(|value| is_text(text, *value));
    let quoted = quoted.map(|value| {
        let mut spelt = String::new();
        json::unescape(value.inside_quotes().of_str(text), &mut spelt);
        spelt
    });
    let (start, end) = (number("startIndex").unwrap_or(0), number("endIndex").unwrap_or(0));
    let part = number("partIndex").unwrap_or(0);
    let Some(quote) = delivered.quote(part, start..end, quoted.as_deref()) else { return false };
    let mut changed = Object::new(text, object);
    for (name, old, new) in [("startIndex", start, quote.range.start), ("endIndex", end, quote.range.end)] {
        if old != new {
            changed.set(name, &new.to_string(), patches);
        }
    }
    if quoted.is_some_and(|quoted| quoted != quote.text) {
        changed.set("text", &json::string(&quote.text), patches);
    }
    changed.write(patches);
    true
}

fn arrays_in(text: &str, object: Span, name: &str) -> Vec<Span> {
    let mut values = values_in(text, object, name);
    values.retain(|value| json::kind_of(text, *value) == Kind::Array);
    values
}

/// Every value of the members of that name: some readers take the first where there are two.
fn values_in(text: &str, object: Span, name: &str) -> Vec<Span> {
    let members = json::members_of(text, object).into_iter();
    members.filter(|member| json::key_name(text, member.key) == name).map(|member| member.value).collect()
}
