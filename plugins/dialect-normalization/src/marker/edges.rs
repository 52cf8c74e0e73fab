//! What stands before and after the arguments of a call.

use super::cursor::{Cursor, Miss};
use super::{Dialect, Rules};

/// No provider takes longer names; most take 64.
const LONGEST_NAME: usize = 128;

/// How a marker begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) dialect: Dialect,
    /// The tool's name; empty where the body says it.
    pub(super) name: String,
    /// Its bytes, white space before the body included.
    pub(super) length: usize,
    /// There is neither body nor closing.
    pub(super) is_whole: bool,
}

/// Reads the opening of any dialect.
pub(super) fn read_opening(text: &str, rules: &Rules) -> Result<Opening, Miss> {
    let mut missed = Miss::Absent;
    for &dialect in &rules.dialects {
        let mut cursor = Cursor::new(text);
        let read = match dialect {
            Dialect::Tool => read_tool(&mut cursor),
            Dialect::ToolCall => read_tool_call(&mut cursor),
            Dialect::Function => read_function(&mut cursor),
            Dialect::Tuple => read_tuple(&mut cursor),
        };
        match read.and_then(|(name, is_whole)| check(dialect, name, is_whole, cursor, rules)) {
            Err(Miss::Incomplete) => missed = Miss::Incomplete,
            Err(Miss::Absent) => {}
            Ok(opening) => return Ok(opening),
        }
    }
    Err(missed)
}

/// Whether the name is one, and what follows the opening can go on.
fn check(dialect: Dialect, name: &str, is_whole: bool, mut cursor: Cursor<'_>, rules: &Rules) -> Result<Opening, Miss> {
    if dialect != Dialect::ToolCall && !(is_name(name) && rules.allows(name)) {
        return Err(Miss::Absent);
    }
    if !is_whole {
        cursor.read_space();
        // A call without arguments may say nothing between its tags.
        let may_be_empty = matches!(dialect, Dialect::Tool | Dialect::Function);
        match cursor.peek()? {
            b'{' => {}
            b'<' if may_be_empty => {}
            _ => return Err(Miss::Absent),
        }
    }
    Ok(Opening { dialect, name: name.to_owned(), length: cursor.at, is_whole })
}

/// Whether a text can be the name of a tool.
pub(super) fn is_name(name: &str) -> bool {
    let is_part =
        |character: char| !character.is_whitespace() && !character.is_control() && !"<>{}\"'".contains(character);
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_part)
}

/// `<tool name="NAME" …>` or `<tool name="NAME" …/>`: the name, and whether it is the whole marker.
fn read_tool<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a str, bool), Miss> {
    cursor.read("<tool")?;
    let mut name = None;
    loop {
        let separated = cursor.read_space();
        match cursor.peek()? {
            b'>' => {
                cursor.read(">")?;
                return name.map(|name| (name, false)).ok_or(Miss::Absent);
            }
            b'/' => {
                cursor.read("/>")?;
                return name.map(|name| (name, true)).ok_or(Miss::Absent);
            }
            _ if separated => {
                let (attribute, value) = read_attribute(cursor)?;
                if attribute.eq_ignore_ascii_case("name") {
                    name = name.or(Some(value));
                }
            }
            _ => return Err(Miss::Absent),
        }
    }
}

fn read_attribute<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a str, &'a str), Miss> {
    let attribute = cursor.read_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':' | b'.'));
    cursor.read_space();
    // Without a name there is no attribute, whatever follows.
    if attribute.is_empty() {
        return Err(Miss::Absent);
    }
    cursor.read("=")?;
    cursor.read_space();
    Ok((attribute, cursor.read_quoted()?))
}

/// `<tool_call>`; the body says the name.
fn read_tool_call<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a str, bool), Miss> {
    cursor.read("<tool_call")?;
    cursor.read_space();
    cursor.read(">")?;
    Ok(("", false))
}

/// `<function=NAME>`.
fn read_function<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a str, bool), Miss> {
    cursor.read("<function")?;
    cursor.read_space();
    cursor.read("=")?;
    cursor.read_space();
    let name = match cursor.peek()? {
        b'"' | b'\'' => cursor.read_quoted()?,
        _ => cursor.read_while(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'<' | b'>')),
    };
    cursor.read_space();
    cursor.read(">")?;
    Ok((name, false))
}

/// `{0:"NAME", 1:`. Keys are written without quotes: with them it would be JSON, which may be the answer itself.
fn read_tuple<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a str, bool), Miss> {
    read_in_turn(cursor, &["{", "0", ":"])?;
    let name = cursor.read_quoted()?;
    read_in_turn(cursor, &["", ",", "1", ":"])?;
    Ok((name, false))
}

/// Reads texts one after the other, with any white space after each.
fn read_in_turn(cursor: &mut Cursor<'_>, expected: &[&str]) -> Result<(), Miss> {
    for text in expected {
        cursor.read(text)?;
        cursor.read_space();
    }
    Ok(())
}

/// Reads the closing; its bytes, white space before it included.
pub(super) fn read_closing(dialect: Dialect, text: &str) -> Result<usize, Miss> {
    let mut cursor = Cursor::new(text);
    cursor.read_space();
    let tag = match dialect {
        Dialect::Tool => "</tool",
        Dialect::ToolCall => "</tool_call",
        Dialect::Function => "</function",
        Dialect::Tuple => {
            cursor.read("}")?;
            return Ok(cursor.at);
        }
    };
    cursor.read(tag)?;
    cursor.read_space();
    cursor.read(">")?;
    Ok(cursor.at)
}
