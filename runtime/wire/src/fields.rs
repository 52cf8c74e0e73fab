//! The members that are looked for in each object of a protocol, and where they were found.

use crate::chunk::Decoded;
use crate::json::{self, Kind, Malformed, Member, Scanner, Span, is_text};

/// The last member of each known name of one object.
pub(crate) struct Fields<const N: usize> {
    pub(crate) members: [Option<Member>; N],
}

impl<const N: usize> Fields<N> {
    pub(crate) const fn new() -> Self {
        Self { members: [None; N] }
    }

    /// Takes note of a member, and of the one of the same name that it hides.
    pub(crate) fn set(&mut self, slot: Option<usize>, member: Member, decoded: &mut Decoded) {
        let Some(place) = slot.and_then(|slot| self.members.get_mut(slot)) else { return };
        if let Some(earlier) = place.replace(member) {
            decoded.hidden.push(Span::new(earlier.key.start, earlier.value.end));
        }
    }

    /// Reads an object all of whose values are only skipped.
    pub(crate) fn read(
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
    pub(crate) fn within(
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

    pub(crate) fn value(&self, slot: usize) -> Option<Span> {
        self.members.get(slot).copied().flatten().map(|member| member.value)
    }

    pub(crate) fn of_kind(&self, slot: usize, text: &str, kind: Kind) -> Option<Span> {
        self.value(slot).filter(|value| json::kind_of(text, *value) == kind)
    }

    /// The string in that field, if it says anything.
    pub(crate) fn text(&self, slot: usize, text: &str) -> Option<Span> {
        self.value(slot).filter(|value| is_text(text, *value))
    }
}

/// The slot that a key names, spelt plainly or with escapes.
pub(crate) fn slot(text: &str, key: Span, slot_of: impl Fn(&str) -> Option<usize>) -> Option<usize> {
    let plain = key.inside_quotes().of_str(text);
    slot_of(plain).or_else(|| if plain.contains('\\') { slot_of(&json::key_name(text, key)) } else { None })
}
