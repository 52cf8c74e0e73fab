//! The arguments of a tool call: fragments of JSON, read as the texts that they spell.
//!
//! The inside of each string is a text of its own, unescaped, so that `\u0034111…` is the number that it means; edits are
//! put back where they came from and never split an escape. What stands bare between the strings is looked at word by
//! word, and a number that is a match gives way to a quoted label. So valid JSON stays valid. Arguments that turn out
//! not to be JSON are read as plain text. A whole JSON document is read alike.

use std::collections::VecDeque;

use crate::redactor::Redactor;
use crate::stream::{Edit, Stream, Within};

/// The longest bare word, in bytes: numbers and literals are shorter.
const LONGEST_WORD: usize = 256;

/// The state of one call's arguments.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    notation: Notation,
    /// What comes is one JSON document, so a bare word of any length is one.
    is_document: bool,
    /// The length so far, in bytes.
    length: u64,
    /// See [`Stream::let_go`].
    floor: u64,
    /// The end of what arrived, as far as it says nothing yet: half an escape, half a bare word.
    unread: String,
    /// What the strings spell, one text after the other.
    text: Stream,
    /// Where it stands, from the first piece that is not settled.
    pieces: VecDeque<Piece>,
    /// Where bare words are looked at.
    words: Stream,
    edits: Vec<Edit>,
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Notation {
    /// Not yet known.
    #[default]
    Unknown,
    /// JSON, between strings.
    Bare,
    /// JSON, inside a string.
    String,
    /// Not JSON.
    Plain,
}

/// A part of the text and where it stands. Either byte for byte, or an escape.
#[derive(Clone, Copy, Debug)]
struct Piece {
    text: (u64, u64),
    source: (u64, u64),
}

impl Piece {
    const fn is_literal(&self) -> bool {
        self.text.1 - self.text.0 == self.source.1 - self.source.0
    }
}

impl Arguments {
    /// What is taken out of a whole JSON document, in order; what is left of it is one as well.
    pub(crate) fn edits_of(redactor: &Redactor, document: &str) -> Vec<Edit> {
        let mut reader = Self { notation: Notation::Bare, is_document: true, ..Self::default() };
        reader.push(redactor, document);
        reader.finish(redactor);
        reader.take_edits()
    }

    /// Takes the next fragment.
    pub(crate) fn push(&mut self, redactor: &Redactor, fragment: &str) {
        self.length += fragment.len() as u64;
        if self.unread.is_empty() {
            let read = self.read(redactor, fragment);
            self.unread.push_str(fragment.get(read..).unwrap_or_default());
        } else {
            let mut unread = std::mem::take(&mut self.unread);
            unread.push_str(fragment);
            let read = self.read(redactor, &unread);
            unread.drain(..read);
            self.unread = unread;
        }
        self.collect();
    }

    /// The arguments end here.
    pub(crate) fn finish(&mut self, redactor: &Redactor) {
        self.settle_word(redactor);
        self.unread.clear();
        self.text.finish(redactor);
        self.collect();
        self.notation = Notation::Unknown;
    }

    /// See [`Stream::let_go`].
    pub(crate) fn let_go(&mut self, redactor: &Redactor) {
        self.settle_word(redactor);
        self.text.let_go(redactor);
        self.collect();
        self.floor = self.length;
    }

    /// How much is settled, in bytes.
    pub(crate) fn settled(&self) -> u64 {
        let read = self.length - self.unread.len() as u64;
        let settled =
            if self.text.settled() < self.text.length() { self.source_of_start(self.text.settled()) } else { read };
        settled.max(self.floor)
    }

    /// The length so far, in bytes.
    pub(crate) const fn length(&self) -> u64 {
        self.length
    }

    /// What was taken out since the last call, in order.
    pub(crate) fn take_edits(&mut self) -> Vec<Edit> {
        std::mem::take(&mut self.edits)
    }

    /// Reads what can be read of `source`, whose end is the end of what arrived; answers how many bytes that is.
    fn read(&mut self, redactor: &Redactor, source: &str) -> usize {
        let mut at = 0;
        while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
            let from = self.length - rest.len() as u64;
            let read = match self.notation {
                Notation::Unknown => self.read_beginning(rest),
                Notation::Plain => self.read_plain(redactor, rest, from),
                Notation::Bare => self.read_bare(redactor, rest, from),
                Notation::String => self.read_string(redactor, rest, from),
            };
            match read {
                Some(bytes) => at += bytes,
                None => break,
            }
        }
        at
    }

    /// JSON arguments are an object, or at least an array or a string.
    fn read_beginning(&mut self, rest: &str) -> Option<usize> {
        let blank = rest.len() - rest.trim_start().len();
        self.notation = match rest[blank..].chars().next() {
            None => Notation::Unknown,
            Some('{' | '[' | '"') => Notation::Bare,
            Some(_) => Notation::Plain,
        };
        Some(blank)
    }

    fn read_plain(&mut self, redactor: &Redactor, rest: &str, from: u64) -> Option<usize> {
        self.spell(redactor, rest, (from, from + rest.len() as u64));
        Some(rest.len())
    }

    /// Reads a mark or a bare word; `None` if the word may go on.
    fn read_bare(&mut self, redactor: &Redactor, rest: &str, from: u64) -> Option<usize> {
        let is_mark = |symbol: char| symbol.is_whitespace() || "{}[]:,\"".contains(symbol);
        match rest.find(is_mark) {
            Some(0) => {
                if rest.starts_with('"') {
                    self.notation = Notation::String;
                }
                rest.chars().next().map(char::len_utf8)
            }
            Some(length) => Some(self.read_word(redactor, &rest[..length], from)),
            None if rest.len() > LONGEST_WORD && !self.is_document => Some(self.read_word(redactor, rest, from)),
            None => None,
        }
    }

    /// A number that is a match gives way to a quoted label. A word that JSON does not know makes the rest plain text.
    fn read_word(&mut self, redactor: &Redactor, word: &str, from: u64) -> usize {
        if !is_json_word(word) || (word.len() > LONGEST_WORD && !self.is_document) {
            self.notation = Notation::Plain;
            return 0;
        }
        self.words.push(redactor, word);
        self.words.finish(redactor);
        if let Some(edit) = self.words.take_edits().first() {
            self.put(Edit { start: from, end: from + word.len() as u64, label: edit.label, within: Within::Json });
        }
        word.len()
    }

    /// Reads to the end of the string, or to an escape or over one; `None` if the escape is not all there.
    fn read_string(&mut self, redactor: &Redactor, rest: &str, from: u64) -> Option<usize> {
        let literal = rest.find(['"', '\\']).unwrap_or(rest.len());
        if literal > 0 {
            self.spell(redactor, &rest[..literal], (from, from + literal as u64));
            return Some(literal);
        }
        if rest.starts_with('"') {
            self.text.finish(redactor);
            self.collect();
            self.notation = Notation::Bare;
            return Some(1);
        }
        let (symbol, length) = unescape(rest)?;
        self.spell(redactor, symbol.encode_utf8(&mut [0; 4]), (from, from + length as u64));
        Some(length)
    }

    fn spell(&mut self, redactor: &Redactor, text: &str, source: (u64, u64)) {
        let start = self.text.length();
        self.pieces.push_back(Piece { text: (start, start + text.len() as u64), source });
        self.text.push(redactor, text);
    }

    /// Brings the text's edits back to where they stand, and forgets the pieces that are settled.
    fn collect(&mut self) {
        let within = if self.notation == Notation::String { Within::JsonString } else { Within::Text };
        for edit in self.text.take_edits() {
            let (start, end) = (self.source_of_start(edit.start), self.source_of_end(edit.end));
            self.put(Edit { start, end, label: edit.label, within });
        }
        let settled = self.text.settled();
        while self.pieces.front().is_some_and(|piece| piece.text.1 <= settled) {
            self.pieces.pop_front();
        }
    }

    fn put(&mut self, edit: Edit) {
        let start = edit.start.max(self.floor);
        if start < edit.end {
            self.edits.push(Edit { start, ..edit });
        }
    }

    fn source_of_start(&self, at: u64) -> u64 {
        let piece = self.pieces.get(self.pieces.partition_point(|piece| piece.text.1 <= at));
        piece.map_or(self.length, |piece| match piece.is_literal() {
            true => piece.source.0 + at.saturating_sub(piece.text.0),
            false => piece.source.0,
        })
    }

    fn source_of_end(&self, at: u64) -> u64 {
        let piece = self.pieces.get(self.pieces.partition_point(|piece| piece.text.1 < at));
        piece.map_or(self.length, |piece| match piece.is_literal() {
            true => piece.source.0 + at.saturating_sub(piece.text.0),
            false => piece.source.1,
        })
    }

    /// Looks at a bare word as if it ended here.
    fn settle_word(&mut self, redactor: &Redactor) {
        if self.notation != Notation::Bare || self.unread.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.unread);
        let from = self.length - word.len() as u64;
        if self.read_word(redactor, &word, from) == 0 {
            self.spell(redactor, &word, (from, self.length));
        }
    }
}

fn is_json_word(word: &str) -> bool {
    let is_number = word.starts_with(|first: char| first.is_ascii_digit() || first == '-')
        && word.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    is_number || ["true", "false", "null"].iter().any(|literal| literal.starts_with(word))
}

/// The character that an escape stands for and the escape's length; `None` if it is not all there. What is no escape, or
/// half a surrogate pair, stands for the replacement character.
fn unescape(rest: &str) -> Option<(char, usize)> {
    let symbol = rest.chars().nth(1)?;
    let plain = match symbol {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unescape_code(rest),
        '"' | '\\' | '/' => symbol,
        _ => char::REPLACEMENT_CHARACTER,
    };
    Some((plain, 1 + symbol.len_utf8()))
}

fn unescape_code(rest: &str) -> Option<(char, usize)> {
    let lost = (char::REPLACEMENT_CHARACTER, 2);
    let high = match code_unit(rest) {
        Unit::Partial => return None,
        Unit::Bad => return Some(lost),
        Unit::Is(unit) => unit,
    };
    let lost = (char::REPLACEMENT_CHARACTER, 6);
    if !(0xD800..0xDC00).contains(&high) {
        return Some(char::from_u32(high).map_or(lost, |symbol| (symbol, 6)));
    }
    match code_unit(&rest[6..]) {
        Unit::Partial => None,
        Unit::Is(low @ 0xDC00..0xE000) => {
            let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
            Some(char::from_u32(code).map_or(lost, |symbol| (symbol, 12)))
        }
        Unit::Is(_) | Unit::Bad => Some(lost),
    }
}

/// What may be `\uXXXX`.
enum Unit {
    /// So far.
    Partial,
    /// It is not.
    Bad,
    /// It is.
    Is(u32),
}

fn code_unit(rest: &str) -> Unit {
    let bytes = rest.as_bytes();
    let mut unit = 0;
    for at in 0..6 {
        let Some(&byte) = bytes.get(at) else { return Unit::Partial };
        let fits = match at {
            0 => byte == b'\\',
            1 => byte == b'u',
            _ => byte.is_ascii_hexdigit(),
        };
        if !fits {
            return Unit::Bad;
        }
        unit = unit << 4 | char::from(byte).to_digit(16).unwrap_or(0);
    }
    Unit::Is(unit & 0xFFFF)
}
