//! JSON by spans: a strict scanner that says where each key and value lies, so that one value can be changed and every
//! other byte kept.
//!
//! [`is_document`] is strict: it accepts what `serde_json` accepts, nesting bound included, with one difference: the
//! escape of a lone surrogate is not an error. It reads as U+FFFD, and its bytes stay as they are while the string is
//! not changed. The [`Scanner`] itself also takes what common encoders write and lenient clients read, and says so in
//! [`Scanner::is_loose`]: `NaN`, `Infinity` and `-Infinity` as numbers, deeper nesting, and a byte order mark in front.
//! Control characters inside strings stay an error, as for the common readers.

use std::borrow::Cow;
use std::fmt::Write as _;

mod strict;

pub(crate) use strict::strict;

/// Arrays and objects within each other, of a strict document: the bound of `serde_json`, which fails on the 128th.
const STRICT_DEPTH: u32 = 127;

/// Arrays and objects within each other that are scanned at all; each takes some stack.
const MAX_DEPTH: u32 = 512;

/// What some encoders put in front of a document.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// A range of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    /// The position after the last byte; never less than `start`.
    pub(crate) end: usize,
}

impl Span {
    pub(crate) const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) fn of_str(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }

    /// Whether the other lies within this one.
    pub(crate) const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// What lies between the quotes of a string's span.
    pub(crate) const fn inside_quotes(self) -> Self {
        Self { start: self.start + 1, end: self.end - 1 }
    }
}

/// The text is no JSON document, or one nested too deeply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

/// One member of an object. Both spans include quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) key: Span,
    pub(crate) value: Span,
}

/// A cursor over one document. Each call takes one token or value and checks it.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    loose: bool,
}

/// The data as text. Bytes that are no UTF-8 read as U+FFFD, as for a client.
pub(crate) fn text_of(data: &[u8]) -> Cow<'_, str> {
    // Valid data, which nearly all is, is checked faster by this than by the lossy reading.
    std::str::from_utf8(data).map_or_else(|_| String::from_utf8_lossy(data), Cow::Borrowed)
}

/// Whether the text is one JSON document that every reader takes.
pub(crate) fn is_document(text: &str) -> bool {
    scan(text) == Ok(false)
}

/// Whether the text is a document, a loose one included.
pub(crate) fn is_readable(text: &str) -> bool {
    scan(text).is_ok()
}

/// Scans one document; whether it is a loose one.
fn scan(text: &str) -> Result<bool, Malformed> {
    let mut scanner = Scanner::new(text);
    scanner.skip()?;
    scanner.end()?;
    Ok(scanner.is_loose())
}

/// The span of the document in a text that may have white space around it, or a byte order mark in front.
pub(crate) fn document_span(text: &str) -> Span {
    let inside = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).trim_ascii_start();
    let start = text.len() - inside.len();
    Span::new(start, start + inside.trim_ascii_end().len())
}

impl<'a> Scanner<'a> {
    /// A scanner of the document that the text is.
    pub(crate) fn new(text: &'a str) -> Self {
        let loose = text.starts_with(BYTE_ORDER_MARK);
        let at = if loose { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        Self { text, at, depth: 0, loose }
    }

    /// Whether anything was taken so far that strict JSON does not have.
    pub(crate) const fn is_loose(&self) -> bool {
        self.loose
    }

    /// A scanner of one value inside a document that was scanned before. Spans refer to the document.
    pub(crate) fn within(text: &'a str, value: Span) -> Self {
        Self { text: text.get(..value.end).unwrap_or_default(), at: value.start, depth: 0, loose: false }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) -> Option<u8> {
        loop {
            let byte = self.byte();
            if !matches!(byte, Some(b' ' | b'\n' | b'\t' | b'\r')) {
                return byte;
            }
            self.at += 1;
        }
    }

    /// What the next value is, from its first byte.
    #[inline]
    pub(crate) fn kind(&mut self) -> Result<Kind, Malformed> {
        match self.skip_space() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            _ => Err(Malformed),
        }
    }

    /// Takes one value of any kind.
    pub(crate) fn skip(&mut self) -> Result<Span, Malformed> {
        let kind = self.kind()?;
        let start = self.at;
        match kind {
            Kind::Object => self.members(|scanner, _| scanner.skip().map(drop))?,
            Kind::Array => self.elements(|scanner| scanner.skip().map(drop))?,
            Kind::String => self.string()?,
            Kind::Number => self.number()?,
            Kind::Bool | Kind::Null => self.literal()?,
        };
        Ok(Span::new(start, self.at))
    }

    /// Takes an object; `each` is called at each member's value, with the key's span, and must take that value.
    pub(crate) fn members(
        &mut self,
        mut each: impl FnMut(&mut Self, Span) -> Result<(), Malformed>,
    ) -> Result<Span, Malformed> {
        let start = self.open(b'{')?;
        if self.skip_space() == Some(b'}') {
            return Ok(self.close(start));
        }
        loop {
            if self.skip_space() != Some(b'"') {
                return Err(Malformed);
            }
            let key = self.string()?;
            self.expect(b':')?;
            each(self, key)?;
            if !self.another(b'}')? {
                return Ok(self.close(start));
            }
        }
    }

    /// Takes an array; `each` is called at each element and must take it.
    pub(crate) fn elements(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<(), Malformed>,
    ) -> Result<Span, Malformed> {
        let start = self.open(b'[')?;
        if self.skip_space() == Some(b']') {
            return Ok(self.close(start));
        }
        loop {
            each(self)?;
            if !self.another(b']')? {
                return Ok(self.close(start));
            }
        }
    }

    /// Nothing but white space is left.
    pub(crate) fn end(&mut self) -> Result<(), Malformed> {
        if self.skip_space().is_none() { Ok(()) } else { Err(Malformed) }
    }

    fn open(&mut self, bracket: u8) -> Result<usize, Malformed> {
        if self.skip_space() != Some(bracket) || self.depth == MAX_DEPTH {
            return Err(Malformed);
        }
        self.loose |= self.depth == STRICT_DEPTH;
        self.depth += 1;
        self.at += 1;
        Ok(self.at - 1)
    }

    fn close(&mut self, start: usize) -> Span {
        self.depth -= 1;
        self.at += 1;
        Span::new(start, self.at)
    }

    fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.skip_space() != Some(byte) {
            return Err(Malformed);
        }
        self.at += 1;
        Ok(())
    }

    /// After a member or element: takes a comma, or stays in front of the closing bracket.
    fn another(&mut self, bracket: u8) -> Result<bool, Malformed> {
        match self.skip_space() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == bracket => Ok(false),
            _ => Err(Malformed),
        }
    }

    /// Takes a string that starts here; the span includes the quotes.
    fn string(&mut self) -> Result<Span, Malformed> {
        let start = self.at;
        self.at += 1;
        loop {
            self.at = plain_until(self.text.as_bytes(), self.at);
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Span::new(start, self.at));
                }
                Some(b'\\') => self.escape()?,
                _ => return Err(Malformed),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Malformed> {
        match self.text.as_bytes().get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = self.text.as_bytes().get(self.at + 2..self.at + 6).ok_or(Malformed)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(Malformed);
                }
                self.at += 6;
            }
            _ => return Err(Malformed),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Span, Malformed> {
        let start = self.at;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if let Some(b'N' | b'I') = self.byte() {
            return self.no_number(start);
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'0'..=b'9')) { Err(Malformed) } else { Ok(Span::new(start, self.at)) }
    }

    /// Takes what encoders write for a number that JSON has none for.
    fn no_number(&mut self, start: usize) -> Result<Span, Malformed> {
        let signed = self.at > start;
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += match rest {
            [b'N', b'a', b'N', ..] if !signed => "NaN".len(),
            _ if rest.starts_with(b"Infinity") => "Infinity".len(),
            _ => return Err(Malformed),
        };
        self.loose = true;
        Ok(Span::new(start, self.at))
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Malformed) }
    }

    fn literal(&mut self) -> Result<Span, Malformed> {
        let start = self.at;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        self.at += match rest {
            [b't', b'r', b'u', b'e', ..] | [b'n', b'u', b'l', b'l', ..] => 4,
            [b'f', b'a', b'l', b's', b'e', ..] => 5,
            _ => return Err(Malformed),
        };
        Ok(Span::new(start, self.at))
    }
}

/// The first position from `at` on that is a quote, a backslash, a control character or the end. Eight bytes a step:
/// most of a provider's frame is inside strings.
fn plain_until(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let mut rest = bytes.get(at..).unwrap_or_default();
    while let Some((&block, behind)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(block);
        // With this bit turned over, a quote is 0x20, and it and the control characters are what lies below 0x21.
        let turned = word ^ (ONES * 0x02);
        let slash = word ^ (ONES * b'\\' as u64);
        // The lowest set bit is exact: a borrow only ever spoils the bytes above the first match.
        let found = (turned.wrapping_sub(ONES * 0x21) & !turned) | (slash.wrapping_sub(ONES) & !slash);
        let found = found & HIGH;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
        rest = behind;
    }
    for byte in rest {
        if matches!(byte, b'"' | b'\\' | 0..=0x1F) {
            break;
        }
        at += 1;
    }
    at
}

/// The members of an object in a scanned document, in order; none for another kind of value.
pub(crate) fn members_of(text: &str, object: Span) -> Vec<Member> {
    let mut members = Vec::new();
    // The document was scanned before, so this can't fail; if it did, what was found so far is right.
    let _ = Scanner::within(text, object).members(|scanner, key| {
        let value = scanner.skip()?;
        members.push(Member { key, value });
        Ok(())
    });
    members
}

/// The elements of an array in a scanned document, in order; none for another kind of value.
pub(crate) fn elements_of(text: &str, array: Span) -> Vec<Span> {
    let mut elements = Vec::new();
    // As in `members_of`.
    let _ = Scanner::within(text, array).elements(|scanner| {
        elements.push(scanner.skip()?);
        Ok(())
    });
    elements
}

/// The value of the last member of that name: what a JSON reader takes when a name comes twice.
pub(crate) fn member_of(text: &str, object: Span, name: &str) -> Option<Span> {
    members_of(text, object).iter().rev().find(|member| is_key(text, member.key, name)).map(|member| member.value)
}

/// What the value at a span of a scanned document is.
pub(crate) fn kind_of(text: &str, value: Span) -> Kind {
    Scanner::within(text, value).kind().unwrap_or(Kind::Null)
}

/// Whether the value is a string that says something: an empty one is none.
pub(crate) fn is_text(text: &str, value: Span) -> bool {
    value.end - value.start > 2 && text.as_bytes().get(value.start) == Some(&b'"')
}

/// Whether a key's span spells that name.
pub(crate) fn is_key(text: &str, key: Span, name: &str) -> bool {
    let inside = key.inside_quotes().of_str(text);
    // What is spelt with escapes is longer than its name.
    inside == name || (inside.len() > name.len() && inside.contains('\\') && key_name(text, key) == name)
}

/// The name that a key's span spells.
pub(crate) fn key_name(text: &str, key: Span) -> Cow<'_, str> {
    let inside = key.inside_quotes().of_str(text);
    if memchr::memchr(b'\\', inside.as_bytes()).is_none() {
        return Cow::Borrowed(inside);
    }
    let mut name = String::new();
    unescape(inside, &mut name);
    Cow::Owned(name)
}

/// Appends what a string spells. `inside` lies between the quotes and was scanned before. A lone surrogate becomes
/// U+FFFD.
pub(crate) fn unescape(inside: &str, out: &mut String) {
    let mut rest = inside;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let mut escape = rest[at + 1..].chars();
        match escape.next() {
            Some('u') => {
                rest = unescape_unit(escape.as_str(), out);
                continue;
            }
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{C}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some(other) => out.push(other),
            None => {}
        }
        rest = escape.as_str();
    }
    out.push_str(rest);
}

/// Appends what the hex digits after `\u` spell, together with the low surrogate that may follow a high one.
fn unescape_unit<'a>(digits: &'a str, out: &mut String) -> &'a str {
    let (unit, rest) = code_unit(digits);
    if (0xD800..0xDC00).contains(&unit)
        && let Some(digits) = rest.strip_prefix("\\u")
        && let (low @ 0xDC00..0xE000, after) = code_unit(digits)
    {
        out.push(char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)).unwrap_or('\u{FFFD}'));
        return after;
    }
    out.push(char::from_u32(unit).unwrap_or('\u{FFFD}'));
    rest
}

fn code_unit(digits: &str) -> (u32, &str) {
    let (digits, rest) = digits.split_at_checked(4).unwrap_or((digits, ""));
    (u32::from_str_radix(digits, 16).unwrap_or(0xFFFD), rest)
}

/// Appends the text as a JSON string, quotes included.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    loop {
        let (plain, behind) = rest.split_at(plain_until(rest.as_bytes(), 0));
        out.push_str(plain);
        match behind.as_bytes().first() {
            None => break,
            Some(b'"') => out.push_str("\\\""),
            Some(b'\\') => out.push_str("\\\\"),
            Some(b'\n') => out.push_str("\\n"),
            Some(b'\r') => out.push_str("\\r"),
            Some(b'\t') => out.push_str("\\t"),
            // Writing to a string can't fail.
            Some(control) => drop(write!(out, "\\u{control:04x}")),
        }
        rest = &behind[1..];
    }
    out.push('"');
}

/// The text as a JSON string.
pub(crate) fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(text, &mut out);
    out
}

#[cfg(test)]
mod tests;
