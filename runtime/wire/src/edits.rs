//! What a text said as it came in against what went out, without keeping either: for the places of a protocol that repeat
//! a text which was streamed before, or that point into it.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher as _};

/// One text: how much of it came in, and what of it was replaced on its way out.
#[derive(Debug, Default)]
pub(crate) struct TextEdits {
    came: Came,
    /// How much of what came in has gone out, kept or replaced, in bytes and characters.
    left: Length,
    /// What was replaced, in order.
    edits: Vec<Replaced>,
}

/// A length or position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Length {
    pub(crate) bytes: usize,
    /// Unicode scalar values.
    pub(crate) characters: usize,
}

impl Length {
    pub(crate) fn of(text: &str) -> Self {
        Self { bytes: text.len(), characters: text.chars().count() }
    }

    fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, characters: self.characters + other.characters }
    }
}

/// How much came in, and a fingerprint of it.
#[derive(Debug, Default)]
struct Came {
    length: usize,
    hasher: DefaultHasher,
}

/// One replacement: the range that came in, and what went out.
#[derive(Debug)]
struct Replaced {
    start: Length,
    end: Length,
    new: String,
}

impl TextEdits {
    /// Takes the next piece that came in.
    pub(crate) fn came(&mut self, piece: &str) {
        self.came.length += piece.len();
        // Byte by byte, so that the fingerprint does not depend on how the text was cut.
        self.came.hasher.write(piece.as_bytes());
    }

    /// How much came in, in bytes.
    pub(crate) const fn length(&self) -> usize {
        self.came.length
    }

    /// Whether a text is just what came in.
    pub(crate) fn is_repeated_by(&self, text: &str) -> bool {
        text.len() == self.came.length && self.begins(text)
    }

    /// Whether a text begins with all that came in.
    pub(crate) fn begins(&self, text: &str) -> bool {
        let Some(beginning) = text.get(..self.came.length) else { return false };
        let mut hasher = DefaultHasher::default();
        hasher.write(beginning.as_bytes());
        hasher.finish() == self.came.hasher.finish()
    }

    /// The next piece that came in goes out as it is.
    pub(crate) fn kept(&mut self, piece: &str) {
        self.left = self.left.plus(Length::of(piece));
    }

    /// The next piece that came in goes out as another.
    pub(crate) fn replaced(&mut self, old: &str, new: &str) {
        let before = common_prefix(old, new);
        let (old_rest, new_rest) = (&old[before..], &new[before..]);
        let after = common_suffix(old_rest, new_rest);
        let (old_core, new_core) = (&old_rest[..old_rest.len() - after], &new_rest[..new_rest.len() - after]);
        self.kept(&old[..before]);
        if !(old_core.is_empty() && new_core.is_empty()) {
            self.push(old_core, new_core);
        }
        self.kept(&old_rest[old_rest.len() - after..]);
    }

    fn push(&mut self, old: &str, new: &str) {
        let start = self.left;
        self.left = start.plus(Length::of(old));
        // Neighbours stay apart: the border between them is a sure point for positions.
        self.edits.push(Replaced { start, end: self.left, new: new.to_owned() });
    }

    /// Whether any of it went out otherwise than it came.
    pub(crate) const fn is_altered(&self) -> bool {
        !self.edits.is_empty()
    }

    /// The whole text as it went out, from the whole as it came in.
    pub(crate) fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.apply_to(Length::default(), text)
    }

    /// A part of the text as it went out, from the part as it came in, which begins at `start`. A replacement that lies
    /// only partly in it is in it as a whole where it begins in it, and not at all where it began before.
    pub(crate) fn apply_to<'a>(&self, start: Length, part: &'a str) -> Cow<'a, str> {
        let (from, to) = (start.bytes, start.bytes + part.len());
        let mut out = String::new();
        let mut at = from;
        let reaches = |edit: &&Replaced| {
            edit.start.bytes < to && edit.end.bytes > from
                || edit.start == edit.end && (from..=to).contains(&edit.start.bytes)
        };
        for edit in self.edits.iter().filter(reaches) {
            if edit.start.bytes >= from {
                out.push_str(between(part, at - from, edit.start.bytes - from));
                out.push_str(&edit.new);
            }
            at = edit.end.bytes.min(to);
        }
        if at == from && out.is_empty() && !self.edits.iter().any(|edit| reaches(&edit)) {
            return Cow::Borrowed(part);
        }
        out.push_str(between(part, at - from, part.len()));
        Cow::Owned(out)
    }

    /// Where a position in characters is in what went out. One inside a replacement of another length is at its end.
    pub(crate) fn map_characters(&self, position: usize) -> usize {
        let mut mapped = position;
        for edit in &self.edits {
            let (start, end) = (edit.start.characters, edit.end.characters);
            let new = Length::of(&edit.new).characters;
            if start >= position {
                break;
            }
            // What lies behind is moved by the difference; what lies inside goes to the end, or stays where nothing moved.
            if end <= position || new != end - start {
                mapped = mapped + new - (end.min(position) - start);
            }
        }
        mapped
    }
}

/// A part of a text; nothing where it can't be cut so.
fn between(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or_default()
}

/// The length of what both begin with, in bytes.
fn common_prefix(one: &str, other: &str) -> usize {
    let same = one.char_indices().zip(other.chars()).find(|((_, left), right)| left != right);
    same.map_or_else(|| one.len().min(other.len()), |((at, _), _)| at)
}

/// The length of what both end with, in bytes.
fn common_suffix(one: &str, other: &str) -> usize {
    let pairs = one.chars().rev().zip(other.chars().rev());
    pairs.take_while(|(left, right)| left == right).map(|(left, _)| left.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pieces with what goes out in their place.
    fn run(pieces: &[(&str, Option<&str>)]) -> (TextEdits, String, String) {
        let mut edits = TextEdits::default();
        let (mut came, mut went) = (String::new(), String::new());
        for (old, new) in pieces {
            edits.came(old);
            match new {
                Some(new) => edits.replaced(old, new),
                None => edits.kept(old),
            }
            came.push_str(old);
            went.push_str(new.unwrap_or(old));
        }
        (edits, came, went)
    }

    #[test]
    fn a_text_is_known_again_and_changed_as_it_was() {
        let (edits, came, went) =
            run(&[("my card ", None), ("4111 ", Some("[card]")), ("1111", Some("")), (" é ok", None)]);
        assert!(edits.is_altered());
        assert!(edits.is_repeated_by(&came) && !edits.is_repeated_by(&went) && !edits.is_repeated_by("my"));
        assert!(edits.begins(&format!("{came} and more")) && !edits.begins("my card"));
        assert_eq!(edits.apply(&came), went);
    }

    #[test]
    fn a_text_that_went_out_as_it_came_is_not_copied() {
        let (edits, came, _) = run(&[("a", None), ("b", Some("b"))]);
        assert!(!edits.is_altered());
        assert!(matches!(edits.apply(&came), Cow::Borrowed("ab")));
    }

    #[test]
    fn positions_move_with_what_is_in_front_of_them() {
        let (edits, came, went) = run(&[("é ", None), ("secret", Some("[x]")), (" end", None)]);
        assert_eq!((edits.map_characters(2), edits.map_characters(8), edits.map_characters(12)), (2, 5, 9));
        assert_eq!(edits.map_characters(came.chars().count()), went.chars().count());
        assert_eq!(edits.map_characters(5), 5, "inside: at its end");
    }

    #[test]
    fn a_part_says_what_went_out_of_it() {
        let (edits, ..) = run(&[("one two three", Some("one 2 three"))]);
        let at = |start: usize| Length { bytes: start, characters: start };
        assert_eq!(edits.apply_to(at(4), "two three"), "2 three");
        assert_eq!(edits.apply_to(at(8), "three"), "three");
        assert_eq!(edits.apply_to(at(0), "one t"), "one 2");
    }

    fn piece() -> impl Strategy<Value = (String, Option<String>)> {
        let word = || prop::collection::vec(prop::sample::select(vec!["a", "é", "漢", "🙂", "ab"]), 0..4);
        (word(), prop::option::of(word())).prop_map(|(old, new)| (old.concat(), new.map(|new| new.concat())))
    }

    proptest! {
        #[test]
        fn the_whole_is_always_what_went_out(pieces in prop::collection::vec(piece(), 0..8)) {
            let borrowed: Vec<_> = pieces.iter().map(|(old, new)| (old.as_str(), new.as_deref())).collect();
            let (edits, came, went) = run(&borrowed);
            prop_assert!(edits.is_repeated_by(&came));
            prop_assert_eq!(edits.apply(&came), went.as_str());
            for at in 0..=came.chars().count() {
                prop_assert!(edits.map_characters(at) <= went.chars().count());
            }
        }
    }
}
