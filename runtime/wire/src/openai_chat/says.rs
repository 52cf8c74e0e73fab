//! Whether a JSON value says anything, and whether two say the same.

use crate::json::{self, Kind, Malformed, Scanner, Span, is_text};

/// Whether two values of arguments say the same.
pub(super) fn is_same(text: &str, one: Span, other: Span) -> bool {
    one.of_str(text) == other.of_str(text)
        || (is_text(text, one) && is_text(text, other) && spell([one], text) == spell([other], text))
}

/// What strings spell, one after the other.
pub(super) fn spell(strings: impl IntoIterator<Item = Span>, text: &str) -> String {
    let mut spelt = String::new();
    for string in strings {
        json::unescape(string.inside_quotes().of_str(text), &mut spelt);
    }
    spelt
}

/// Whether a value carries anything: not null, not empty, and no object of such values only.
pub(super) fn says_anything(text: &str, value: Span) -> bool {
    next_says_anything(&mut Scanner::within(text, value)).unwrap_or(false)
}

/// Whether there is a string in the value that says anything.
pub(super) fn has_text(text: &str, value: Span) -> bool {
    next_has_text(&mut Scanner::within(text, value)).unwrap_or(false)
}

fn next_has_text(scanner: &mut Scanner<'_>) -> Result<bool, Malformed> {
    let mut found = false;
    match scanner.kind()? {
        Kind::Object => scanner.members(|scanner, _| {
            found |= next_has_text(scanner)?;
            Ok(())
        })?,
        Kind::Array => scanner.elements(|scanner| {
            found |= next_has_text(scanner)?;
            Ok(())
        })?,
        kind => {
            let span = scanner.skip()?;
            found = kind == Kind::String && span.end - span.start > 2;
            span
        }
    };
    Ok(found)
}

/// As [`says_anything`], of the value that comes next. Each byte is looked at once, however deeply objects nest.
fn next_says_anything(scanner: &mut Scanner<'_>) -> Result<bool, Malformed> {
    let mut found = false;
    match scanner.kind()? {
        Kind::Object => {
            scanner.members(|scanner, _| {
                found |= next_says_anything(scanner)?;
                Ok(())
            })?;
        }
        Kind::Array => {
            scanner.elements(|scanner| {
                found = true;
                scanner.skip().map(drop)
            })?;
        }
        kind => {
            let span = scanner.skip()?;
            found = match kind {
                Kind::Null => false,
                Kind::String => span.end - span.start > 2,
                _ => true,
            };
        }
    }
    Ok(found)
}
