//! What the TOML parser says, reduced to what a person has to mend.
//!
//! The parser carries on after an error, which is how all of them are found in one run. But it then also reports what
//! only follows from an earlier one: the rest of a line, and after an unclosed bracket the rest of the file.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error as SyntaxError};

use super::source::Source;
use super::table::{Flaw, shown};

/// The syntax errors of a text, and the part of it that they make unreliable.
pub(super) struct Syntax {
    /// One for each line with an error.
    pub(super) flaws: Vec<Flaw>,
    lines: BTreeSet<usize>,
    /// The line of a bracket or quote that is never closed: from here on nothing was understood.
    lost_from: Option<usize>,
}

impl Syntax {
    /// What `errors` come to, given what could be made of the text all the same.
    pub(super) fn new(source: &Source, document: &DeTable<'_>, errors: &[SyntaxError]) -> Self {
        let mut flaws: Vec<Flaw> = errors.iter().map(|error| flaw(source.text(), error)).collect();
        let mut lost_from = None;
        if let Some(opening) = unclosed(source.text(), document, errors) {
            lost_from = Some(source.line(opening.start));
            flaws.retain(|flaw| flaw.span.start < opening.start);
            let what = source.text().get(opening.clone()).unwrap_or_default();
            flaws.push(Flaw::new(opening.clone(), None, format!("invalid TOML: `{what}` is never closed")));
        }
        flaws.sort_by_key(|flaw| flaw.span.start);
        flaws.dedup_by_key(|flaw| source.line(flaw.span.start));
        let lines = flaws.iter().map(|flaw| source.line(flaw.span.start)).collect();
        Self { flaws, lines, lost_from }
    }

    /// Whether the whole text was understood.
    pub(super) fn is_sound(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether what was read from `line` is more than a guess.
    pub(super) fn is_sound_at(&self, line: usize) -> bool {
        !self.lines.contains(&line) && self.lost_from.is_none_or(|lost| line < lost)
    }
}

fn flaw(text: &str, error: &SyntaxError) -> Flaw {
    let span = error.span().unwrap_or(text.len()..text.len());
    let place = text.get(span.clone()).unwrap_or_default();
    let message = error.message();
    // Expectations that say nothing, or only half of it.
    let vague = [", expected nothing", ", expected literal string"];
    let what = match vague.iter().find_map(|vague| message.strip_suffix(vague)).unwrap_or(message) {
        "duplicate key" => format!("duplicate key {}", shown(place)),
        // What the parser says of a bare word, though there is none.
        "string values must be quoted" if place.is_empty() => "missing value".to_owned(),
        other => other.to_owned(),
    };
    Flaw::new(span, None, format!("invalid TOML: {what}"))
}

/// What the parser says at the end of a text in which something is still open.
const UNCLOSED: [&str; 4] =
    ["unclosed array", "unclosed inline table", "invalid multi-line basic string", "invalid multi-line literal string"];

/// The mark that opened the outermost value which the text ends in.
fn unclosed(text: &str, document: &DeTable<'_>, errors: &[SyntaxError]) -> Option<Range<usize>> {
    let end = errors.iter().find_map(|error| {
        let what = error.message().split(',').next()?;
        let end = error.span()?.start;
        let at_end = text.get(end..)?.trim().is_empty();
        (at_end && UNCLOSED.contains(&what)).then_some(end)
    })?;
    let start = document.values().filter_map(|value| open_at(value, end)).min()?;
    let opening = text.get(start..)?;
    let quoted = ["\"\"\"", "'''"].iter().any(|quote| opening.starts_with(quote));
    Some(start..start + if quoted { 3 } else { 1 })
}

/// Where the outermost value in `value` starts that reaches to `end`. The span of a table with a header is its header.
fn open_at(value: &Spanned<DeValue<'_>>, end: usize) -> Option<usize> {
    let span = value.span();
    if span.start < end && span.end >= end {
        return Some(span.start);
    }
    match value.get_ref() {
        DeValue::Array(array) => array.iter().filter_map(|element| open_at(element, end)).min(),
        DeValue::Table(table) => table.values().filter_map(|value| open_at(value, end)).min(),
        _ => None,
    }
}
