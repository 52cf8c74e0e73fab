//! Where in the content that went out a position in the content that came in is: citations tell ranges of it.

/// The content of one choice as it came in against what went out, in characters. It holds no text, and a bounded number
/// of changes.
#[derive(Debug, Default)]
pub(super) struct Positions {
    /// How much came in.
    came: u64,
    /// What went out otherwise, in order; at most [`Self::MOST`].
    changes: Vec<Change>,
}

/// A range that went out as a text of another length. One of the same length moves nothing, and is not kept.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// Where it began, in what came in.
    start: u64,
    /// How long it was.
    before: u64,
    /// How long it is now.
    after: u64,
}

impl Change {
    const fn end(&self) -> u64 {
        self.start + self.before
    }
}

impl Positions {
    /// Beyond this many, the last ones are taken for one: positions between them are then told less exactly.
    const MOST: usize = 64;

    /// Text went out as it came in.
    pub(super) fn kept(&mut self, text: &str) {
        self.came += length(text);
    }

    /// Text went out as another, either of which may be empty.
    pub(super) fn changed(&mut self, before: &str, after: &str) {
        let same = before.chars().zip(after.chars()).take_while(|(old, new)| old == new).count() as u64;
        let (old, new) = (length(before), length(after));
        let room = old.min(new) - same;
        let ends = before.chars().rev().zip(after.chars().rev()).take_while(|(old, new)| old == new).count() as u64;
        let ends = ends.min(room);
        let change = Change { start: self.came + same, before: old - same - ends, after: new - same - ends };
        self.came += old;
        if change.before != change.after {
            self.push(change);
        }
    }

    fn push(&mut self, change: Change) {
        // Neighbours stay apart while there is room: the border between them is a position that is told exactly.
        let is_full = self.changes.len() == Self::MOST;
        match self.changes.last_mut().filter(|_| is_full) {
            Some(last) => {
                last.after += change.start - last.end() + change.after;
                last.before = change.end() - last.start;
            }
            None => self.changes.push(change),
        }
    }

    /// Whether any position may have moved.
    pub(super) fn moved(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Where a position that starts or ends a range is now. Inside what was changed it is the start or end of that.
    pub(super) fn now(&self, position: u64, is_end: bool) -> u64 {
        let (mut before, mut after) = (0, 0);
        for change in &self.changes {
            if position >= change.end() && (change.before > 0 || !is_end || position > change.start) {
                before += change.before;
                after += change.after;
            } else if position > change.start {
                return (change.start + after - before) + if is_end { change.after } else { 0 };
            } else {
                break;
            }
        }
        position + after - before
    }
}

fn length(text: &str) -> u64 {
    text.chars().count() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Positions;

    #[test]
    fn a_position_behind_a_change_moves_by_it_and_one_in_it_is_at_its_border() {
        let mut positions = Positions::default();
        positions.kept("Grüße ");
        positions.changed("secret", "[R]");
        positions.kept(" end");
        let now = |start, end| (positions.now(start, false), positions.now(end, true));
        assert_eq!(now(0, 6), (0, 6), "before it");
        assert_eq!(now(6, 12), (6, 9), "the range itself");
        assert_eq!(now(8, 10), (6, 9), "within it");
        assert_eq!(now(13, 16), (10, 13), "behind it");
        assert!(positions.moved());
    }

    #[test]
    fn a_range_in_text_of_the_same_length_stays_where_it_is() {
        let mut positions = Positions::default();
        for delta in ["Quoted words, th", "en the cited sen", "tence and a tail."] {
            positions.changed(delta, &delta.to_uppercase());
        }
        assert_eq!((positions.now(14, false), positions.now(37, true)), (14, 37));
        assert!(!positions.moved());
    }

    #[test]
    fn the_border_of_two_changes_is_told_exactly() {
        let mut positions = Positions::default();
        positions.changed("first", "1");
        positions.changed("second", "2");
        assert_eq!((positions.now(0, false), positions.now(5, true)), (0, 1));
        assert_eq!((positions.now(5, false), positions.now(11, true)), (1, 2));
    }

    #[test]
    fn what_was_put_in_is_no_part_of_a_range_at_its_border() {
        let mut positions = Positions::default();
        positions.kept("ab");
        positions.changed("", "++");
        positions.kept("cd");
        assert_eq!((positions.now(0, false), positions.now(2, true)), (0, 2));
        assert_eq!((positions.now(2, false), positions.now(4, true)), (4, 6));
    }

    #[test]
    fn text_that_went_out_as_it_came_moves_nothing() {
        let mut positions = Positions::default();
        positions.changed("same", "same");
        assert!(!positions.moved());
    }

    #[test]
    fn the_memory_is_bounded_and_the_end_of_the_text_stays_its_end() {
        let mut positions = Positions::default();
        for _ in 0..1000 {
            positions.kept("a b ");
            positions.changed("secret", "[R]");
        }
        assert_eq!(positions.changes.len(), Positions::MOST);
        assert_eq!(positions.now(10_000, true), 7_000);
        assert_eq!(positions.now(10, false), 7, "the first ones are exact");
    }

    proptest! {
        /// Each piece is marked by its own letter, so that it is found again in what went out.
        #[test]
        fn a_range_of_pieces_that_stayed_is_found_where_they_are_now(
            pieces in prop::collection::vec((0..4_usize, prop::option::of(0..4_usize)), 0..40),
        ) {
            let (mut positions, mut came, mut went) = (Positions::default(), String::new(), String::new());
            let mut ranges = Vec::new();
            for (number, (long, other)) in pieces.iter().enumerate() {
                let text: String = char::from_u32(0x4E00 + number as u32).into_iter().cycle().take(*long).collect();
                let start = came.chars().count();
                match other {
                    None => {
                        positions.kept(&text);
                        went += &text;
                        ranges.push((start, *long, text.clone()));
                    }
                    Some(other) => {
                        let new = "x".repeat(*other);
                        positions.changed(&text, &new);
                        went += &new;
                    }
                }
                came += &text;
            }
            for (start, long, text) in ranges.into_iter().filter(|(_, long, _)| *long > 0) {
                let from = positions.now(start as u64, false) as usize;
                let to = positions.now((start + long) as u64, true) as usize;
                prop_assert_eq!(went.chars().skip(from).take(to - from).collect::<String>(), text);
            }
        }
    }
}
