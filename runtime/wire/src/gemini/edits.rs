//! The text of a candidate's answer as it came in against what was delivered, without keeping the text: what quotes the
//! text later must say what was delivered.

use std::ops::Range;

/// How many bytes of changes are remembered of one candidate. Beyond that it is no longer known what was delivered
/// where, and what quotes the text is left out.
const MOST_REMEMBERED: usize = 5 * 1024;

/// What is shorter than this is found in any text.
const SHORTEST_SECRET: usize = 4;

/// What a change costs beside its text.
const CHANGE: usize = size_of::<Change>();

/// The answer's text. All positions are bytes of UTF-8.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    /// How long the text is that came in, up to what was delivered last.
    came: usize,
    /// How long the text is that was delivered.
    went: usize,
    changes: Vec<Change>,
    remembered: usize,
    /// Changes were forgotten.
    forgotten: bool,
    /// The parts of a body. Empty for a stream, whose parts are one text.
    parts: Vec<Part>,
}

/// A range of the text that came in, and what was delivered for it. Changes are in order and do not overlap.
#[derive(Debug)]
struct Change {
    came: Range<usize>,
    old: Box<str>,
    new: Box<str>,
}

/// Where a part starts in either text, by its position among all parts.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    position: usize,
    came: usize,
    went: usize,
}

/// A piece of the delivered text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Quote {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

impl Delivered {
    pub(super) fn is_altered(&self) -> bool {
        self.forgotten || !self.changes.is_empty()
    }

    /// A text was delivered as it came.
    pub(super) fn kept(&mut self, text: &str) {
        self.came += text.len();
        self.went += text.len();
    }

    /// Another text was delivered than came.
    pub(super) fn replaced(&mut self, old: &str, new: &str) {
        let same = |(one, other): &((usize, char), char)| one.1 == *other;
        let front: usize =
            old.char_indices().zip(new.chars()).take_while(same).map(|((_, char), _)| char.len_utf8()).sum();
        let (old_rest, new_rest) = (&old[front..], &new[front..]);
        let backwards = old_rest.chars().rev().zip(new_rest.chars().rev());
        let back: usize = backwards.take_while(|(one, other)| one == other).map(|(char, _)| char.len_utf8()).sum();
        let came = self.came + front..self.came + old.len() - back;
        let new = &new_rest[..new_rest.len() - back];
        let old_part = &old_rest[..old_rest.len() - back];
        self.came += old.len();
        self.went += front + new.len() + back;
        if came.is_empty() && new.is_empty() {
            return;
        }
        self.remembered += CHANGE + old_part.len() + new.len();
        self.forgotten |= self.remembered > MOST_REMEMBERED;
        if self.forgotten {
            self.changes = Vec::new();
        } else {
            self.changes.push(Change { came, old: old_part.into(), new: new.into() });
        }
    }

    /// The part of a body at that position starts here.
    pub(super) fn starts_part(&mut self, position: usize) {
        self.parts.push(Part { position, came: self.came, went: self.went });
    }

    /// What was delivered for a range of a part, which came in as `text`, if that is given. `None` if nothing was, if the
    /// range is none of the text, or if `text` is not what came in there: it would say what was not delivered.
    pub(super) fn quote(&self, part: usize, range: Range<usize>, text: Option<&str>) -> Option<Quote> {
        let meant = self.parts.iter().find(|known| known.position == part).or_else(|| self.parts.first());
        let base = meant.copied().unwrap_or_default();
        let came = base.came.checked_add(range.start)?..base.came.checked_add(range.end)?;
        let fits = came.start <= came.end && came.end <= self.came && text.is_none_or(|text| text.len() == came.len());
        if self.forgotten || !fits {
            return None;
        }
        let quote = self.quote_of(&came, text)?;
        if text.is_some() && self.changes.iter().any(|change| change.is_undone_by(&quote.text)) {
            return None;
        }
        let range = quote.range.start.checked_sub(base.went)?..quote.range.end.checked_sub(base.went)?;
        (!range.is_empty()).then_some(Quote { range, text: quote.text })
    }

    /// The quote, with positions in the whole delivered text.
    fn quote_of(&self, came: &Range<usize>, text: Option<&str>) -> Option<Quote> {
        let original =
            |part: Range<usize>| text.map_or(Some(""), |text| text.get(part.start - came.start..part.end - came.start));
        let (mut quoted, mut length, mut at) = (String::new(), 0, came.start);
        // What the changes in front of the quote took away and put in.
        let (mut removed, mut added) = (0, 0);
        let mut start = None;
        for change in self.changes.iter().take_while(|change| change.came.start < came.end) {
            if !change.touches(came) {
                removed += change.came.len();
                added += change.new.len();
                continue;
            }
            let from = change.came.start.max(at);
            let covered = from..change.came.end.clamp(from, came.end);
            if text.is_some() && original(covered.clone())? != change.old_in(&covered)? {
                return None;
            }
            quoted.push_str(original(at..from)?);
            let (skipped, new) = change.part_for(came);
            let first = if change.came.start <= came.start { change.came.start + skipped } else { came.start };
            start = start.or(Some(first + added - removed));
            quoted.push_str(new);
            length += from - at + new.len();
            at = covered.end;
        }
        quoted.push_str(original(at..came.end)?);
        length += came.end - at;
        let start = start.unwrap_or(came.start + added - removed);
        Some(Quote { range: start..start + length, text: quoted })
    }
}

impl Change {
    /// Whether what was delivered for the range has something of this change.
    fn touches(&self, came: &Range<usize>) -> bool {
        if self.came.is_empty() {
            return came.start < self.came.start && self.came.start < came.end;
        }
        self.came.start < came.end && came.start < self.came.end
    }

    /// What came in in a range within the change.
    fn old_in(&self, range: &Range<usize>) -> Option<&str> {
        self.old.get(range.start - self.came.start..range.end - self.came.start)
    }

    /// Whether the text says what was replaced.
    fn is_undone_by(&self, text: &str) -> bool {
        self.old.len() >= SHORTEST_SECRET && !self.new.contains(&*self.old) && text.contains(&*self.old)
    }

    /// What of the new text belongs to the range, and where in the new text that starts: all of it, unless the change is
    /// one byte for one.
    fn part_for(&self, came: &Range<usize>) -> (usize, &str) {
        let start = came.start.saturating_sub(self.came.start);
        let end = self.came.len() - self.came.end.saturating_sub(came.end);
        let part = self.new.get(start..end).filter(|_| self.new.len() == self.came.len());
        part.map_or((0, &*self.new), |part| (start, part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn delivered(pieces: &[(&str, &str)]) -> Delivered {
        let mut delivered = Delivered::default();
        for (old, new) in pieces {
            if old == new { delivered.kept(old) } else { delivered.replaced(old, new) }
        }
        delivered
    }

    #[test]
    fn a_quote_says_what_was_delivered_where() {
        let text = delivered(&[("My number is ", "My number is "), ("12345", "[R]"), (", call é me", ", call é me")]);
        let quote = text.quote(0, 0..18, Some("My number is 12345")).unwrap();
        assert_eq!(quote, Quote { range: 0..16, text: "My number is [R]".into() });
        let quote = text.quote(0, 20..30, Some("call é me")).unwrap();
        assert_eq!((quote.range, quote.text.as_str()), (18..28, "call é me"));
        let within = text.quote(0, 15..20, Some("345, ")).unwrap();
        assert_eq!((within.range, within.text.as_str()), (13..18, "[R], "));
    }

    #[test]
    fn a_change_of_single_letters_is_quoted_letter_by_letter() {
        let text = delivered(&[("abcdef", "ABCDEF"), ("ghi", "GHI")]);
        assert_eq!(text.quote(0, 2..8, Some("cdefgh")).unwrap(), Quote { range: 2..8, text: "CDEFGH".into() });
    }

    #[test]
    fn what_is_no_range_of_the_text_is_not_quoted() {
        let text = delivered(&[("secret", "")]);
        assert_eq!(text.quote(0, 0..6, Some("secret")), None);
        assert_eq!(text.quote(0, 0..4, Some("secret")), None);
        assert_eq!(text.quote(0, 4..9, None), None);
        assert_eq!(text.quote(0, usize::MAX..usize::MAX, None), None);
    }

    #[test]
    fn a_quote_with_wrong_positions_does_not_say_what_was_replaced() {
        let text = delivered(&[("call ", "call "), ("12345", "[R]"), (" or me, now", " or me, now")]);
        assert_eq!(text.quote(0, 4..10, Some("12345 ")), None);
        assert_eq!(text.quote(0, 10..17, Some("l 12345")), None);
    }

    #[test]
    fn a_part_of_a_body_has_its_own_positions() {
        let mut text = Delivered::default();
        text.starts_part(1);
        text.replaced("one", "eleven");
        text.starts_part(3);
        text.replaced("two!", "twelve!");
        assert_eq!(text.quote(3, 0..4, Some("two!")).unwrap(), Quote { range: 0..7, text: "twelve!".into() });
        assert_eq!(text.quote(1, 0..3, Some("one")).unwrap(), Quote { range: 0..6, text: "eleven".into() });
    }

    #[test]
    fn changes_take_bounded_memory() {
        let mut text = Delivered::default();
        for _ in 0..100_000 {
            text.replaced("abc", "xy");
        }
        assert!(text.is_altered() && text.changes.capacity() == 0);
        assert_eq!(text.quote(0, 0..3, Some("abc")), None);
    }

    proptest! {
        #[test]
        fn a_quote_is_a_part_of_what_was_delivered(
            pieces in prop::collection::vec(("[abé]{0,5}", "[abéX]{0,5}"), 0..6), start in 0..30_usize, length in 0..12_usize,
        ) {
            let mut text = Delivered::default();
            let (mut came, mut went) = (String::new(), String::new());
            for (old, new) in &pieces {
                text.replaced(old, new);
                came.push_str(old);
                went.push_str(new);
            }
            prop_assert_eq!(text.is_altered(), pieces.iter().any(|(old, new)| old != new));
            if let Some(piece) = came.get(start..start + length)
                && let Some(quote) = text.quote(0, start..start + length, Some(piece))
            {
                prop_assert_eq!(went.get(quote.range.clone()), Some(quote.text.as_str()));
                let bare = text.quote(0, start..start + length, None).unwrap();
                prop_assert_eq!(bare.range, quote.range);
            }
        }
    }
}
