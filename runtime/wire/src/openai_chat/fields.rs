//! The members that are looked for in each object of the protocol: their names, and where they were found.

use super::is_text;
use crate::chunk::Decoded;
use crate::json::{self, Kind, Malformed, Member, Scanner, Span};

/// The last member of each known name of one object.
pub(super) struct Fields<const N: usize> {
    pub(super) members: [Option<Member>; N],
}

impl<const N: usize> Fields<N> {
    pub(super) const fn new() -> Self {
        Self { members: [None; N] }
    }

    /// Takes note of a member, and of the one of the same name that it hides.
    pub(super) fn set(&mut self, slot: Option<usize>, member: Member, decoded: &mut Decoded) {
        let Some(place) = slot.and_then(|slot| self.members.get_mut(slot)) else { return };
        if let Some(earlier) = place.replace(member) {
            decoded.hidden.push(Span::new(earlier.key.start, earlier.value.end));
        }
    }

    /// Reads an object all of whose values are only skipped.
    pub(super) fn read(
        &mut self,
        scanner: &mut Scanner<'_>,
        text: &str,
        slot_of: impl Fn(&str) -> Option<usize> + Copy,
        decoded: &mut Decoded,
    ) -> Result<Span, Malformed> {
        scanner.members(|scanner, key| {
            let value = scanner.skip()?;
            self.set(slot(text, key, slot_of), Member { key, value }, decoded);
            Ok(())
        })
    }

    /// The fields of an object in a document that was scanned before; none of another kind of value.
    pub(super) fn within(
        text: &str,
        object: Span,
        slot_of: impl Fn(&str) -> Option<usize> + Copy,
        decoded: &mut Decoded,
    ) -> Self {
        let mut fields = Self::new();
        // As in `members_of`.
        let _ = fields.read(&mut Scanner::within(text, object), text, slot_of, decoded);
        fields
    }

    pub(super) fn value(&self, slot: usize) -> Option<Span> {
        self.members.get(slot).copied().flatten().map(|member| member.value)
    }

    pub(super) fn of_kind(&self, slot: usize, text: &str, kind: Kind) -> Option<Span> {
        self.value(slot).filter(|value| json::kind_of(text, *value) == kind)
    }

    /// The string in that field, if it says anything.
    pub(super) fn text(&self, slot: usize, text: &str) -> Option<Span> {
        self.value(slot).filter(|value| is_text(text, *value))
    }
}

/// The slot that a key names, spelt plainly or with escapes.
pub(super) fn slot(text: &str, key: Span, slot_of: impl Fn(&str) -> Option<usize>) -> Option<usize> {
    let plain = key.inside_quotes().of_str(text);
    slot_of(plain).or_else(|| if plain.contains('\\') { slot_of(&json::key_name(text, key)) } else { None })
}

pub(super) mod top {
    pub(in super::super) const CHOICES: usize = 0;
    pub(in super::super) const USAGE: usize = 1;
    pub(in super::super) const ERROR: usize = 2;
    pub(in super::super) const CITATIONS: usize = 3;
    pub(in super::super) const ID: usize = 4;
    pub(in super::super) const MODEL: usize = 5;
    pub(in super::super) const CREATED: usize = 6;

    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        match name {
            "choices" => Some(CHOICES),
            "usage" => Some(USAGE),
            "error" => Some(ERROR),
            "citations" => Some(CITATIONS),
            "id" => Some(ID),
            "model" => Some(MODEL),
            "created" => Some(CREATED),
            _ => None,
        }
    }
}

pub(super) mod choice {
    pub(in super::super) const INDEX: usize = 0;
    pub(in super::super) const DELTA: usize = 1;
    pub(in super::super) const MESSAGE: usize = 2;
    pub(in super::super) const FINISH: usize = 3;
    pub(in super::super) const LOGPROBS: usize = 4;
    pub(in super::super) const USAGE: usize = 5;
    pub(in super::super) const ERROR: usize = 6;

    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        match name {
            "index" => Some(INDEX),
            "delta" => Some(DELTA),
            "message" => Some(MESSAGE),
            "finish_reason" => Some(FINISH),
            "logprobs" => Some(LOGPROBS),
            "usage" => Some(USAGE),
            "error" => Some(ERROR),
            _ => None,
        }
    }
}

pub(super) mod holder {
    pub(in super::super) const REASONING_CONTENT: usize = 0;
    pub(in super::super) const REASONING: usize = 1;
    pub(in super::super) const DETAILS: usize = 2;
    pub(in super::super) const CONTENT: usize = 3;
    pub(in super::super) const REFUSAL: usize = 4;
    pub(in super::super) const TOOL_CALLS: usize = 5;
    pub(in super::super) const FUNCTION_CALL: usize = 6;
    pub(in super::super) const ANNOTATIONS: usize = 7;

    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        match name {
            "reasoning_content" => Some(REASONING_CONTENT),
            "reasoning" => Some(REASONING),
            "reasoning_details" => Some(DETAILS),
            "content" => Some(CONTENT),
            "refusal" => Some(REFUSAL),
            "tool_calls" => Some(TOOL_CALLS),
            "function_call" => Some(FUNCTION_CALL),
            "annotations" => Some(ANNOTATIONS),
            _ => None,
        }
    }
}

pub(super) mod call {
    pub(in super::super) const INDEX: usize = 0;
    pub(in super::super) const ID: usize = 1;
    pub(in super::super) const FUNCTION: usize = 2;
    pub(in super::super) const NAME: usize = 3;
    pub(in super::super) const ARGUMENTS: usize = 4;
    pub(in super::super) const CUSTOM: usize = 5;
    pub(in super::super) const INPUT: usize = 6;

    /// The fields of a call and of the function in it; a custom tool's are called otherwise. Each name has a place of its
    /// own: what one says must not hide what another says.
    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        match name {
            "index" => Some(INDEX),
            "id" => Some(ID),
            "function" => Some(FUNCTION),
            "custom" => Some(CUSTOM),
            "name" => Some(NAME),
            "arguments" => Some(ARGUMENTS),
            "input" => Some(INPUT),
            _ => None,
        }
    }
}

pub(super) mod part {
    pub(in super::super) const TYPE: usize = 0;
    pub(in super::super) const TEXT: usize = 1;
    pub(in super::super) const THINKING: usize = 2;
    pub(in super::super) const REFUSAL: usize = 3;
    pub(in super::super) const SUMMARY: usize = 4;

    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        match name {
            "type" => Some(TYPE),
            "text" => Some(TEXT),
            "thinking" => Some(THINKING),
            "refusal" => Some(REFUSAL),
            "summary" => Some(SUMMARY),
            _ => None,
        }
    }
}
