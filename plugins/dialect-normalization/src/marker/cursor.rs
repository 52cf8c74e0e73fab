//! A place in a text whose end may not have come yet.

/// Why something was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// The text ends before it is decided.
    Incomplete,
    /// It is not there, whatever follows.
    Absent,
}

/// Reads from left to right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The next byte, still to be read.
    pub(super) fn peek(&self) -> Result<u8, Miss> {
        self.rest().as_bytes().first().copied().ok_or(Miss::Incomplete)
    }

    /// Reads a text of ASCII, in any case.
    pub(super) fn read(&mut self, expected: &str) -> Result<(), Miss> {
        let (rest, expected) = (self.rest().as_bytes(), expected.as_bytes());
        let common = rest.len().min(expected.len());
        if !rest[..common].eq_ignore_ascii_case(&expected[..common]) {
            return Err(Miss::Absent);
        }
        if common < expected.len() {
            return Err(Miss::Incomplete);
        }
        self.at += common;
        Ok(())
    }

    /// Reads white space, if there is any; whether there was.
    pub(super) fn read_space(&mut self) -> bool {
        let from = self.at;
        self.read_while(|byte| byte.is_ascii_whitespace());
        self.at > from
    }

    /// Reads the bytes that a condition holds for.
    pub(super) fn read_while(&mut self, condition: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().position(|byte| !condition(byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Reads what stands before a byte, and the byte.
    pub(super) fn read_until(&mut self, end: u8) -> Result<&'a str, Miss> {
        let inside = self.read_while(|byte| byte != end);
        self.peek()?;
        self.at += 1;
        Ok(inside)
    }

    /// Reads a text in single or double quotes.
    pub(super) fn read_quoted(&mut self) -> Result<&'a str, Miss> {
        let quote = self.peek()?;
        if !matches!(quote, b'"' | b'\'') {
            return Err(Miss::Absent);
        }
        self.at += 1;
        self.read_until(quote)
    }
}
