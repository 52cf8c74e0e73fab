//! The accumulated content: per choice, the text that was delivered.

/// Room for a choice's text when its first piece is delivered, in bytes: most answers then grow it a few times at most.
const FIRST_ROOM: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct Texts {
    /// In ascending order of choice: a provider may number its choices as it likes.
    texts: Vec<Text>,
    /// Where the last piece was appended; streams of one choice never search.
    last: usize,
    total: u64,
}

#[derive(Debug)]
struct Text {
    choice: u32,
    text: String,
    /// In Unicode scalar values.
    length: u64,
}

/// The length of a text in Unicode scalar values.
#[inline]
pub(crate) fn length_of(text: &str) -> u64 {
    text.chars().count() as u64
}

impl Texts {
    /// What was delivered in a choice, and its length.
    #[inline]
    pub(crate) fn of(&self, choice: u32) -> (&str, u64) {
        let text = match self.texts.get(self.last) {
            Some(last) if last.choice == choice => Some(last),
            _ => self.find(choice).ok().and_then(|at| self.texts.get(at)),
        };
        text.map_or(("", 0), |text| (text.text.as_str(), text.length))
    }

    /// The length delivered over all choices.
    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn append(&mut self, choice: u32, piece: &str) {
        let length = length_of(piece);
        let Some(text) = self.text_mut(choice) else { return };
        text.text.push_str(piece);
        text.length += length;
        self.total += length;
    }

    /// Takes the last `cleared` characters of a choice back, or all if there are fewer.
    pub(crate) fn strip(&mut self, choice: u32, cleared: u64) {
        let Some(text) = self.find(choice).ok().and_then(|at| self.texts.get_mut(at)) else { return };
        let cleared = cleared.min(text.length);
        let Some(last) = usize::try_from(cleared).ok().and_then(|cleared| cleared.checked_sub(1)) else { return };
        let end = text.text.char_indices().rev().nth(last).map_or(0, |(at, _)| at);
        text.text.truncate(end);
        text.length -= cleared;
        self.total -= cleared;
    }

    /// The text of a choice, made if need be.
    fn text_mut(&mut self, choice: u32) -> Option<&mut Text> {
        if self.texts.get(self.last).is_none_or(|last| last.choice != choice) {
            self.last = match self.find(choice) {
                Ok(at) => at,
                Err(at) => {
                    self.texts.insert(at, Text { choice, text: String::with_capacity(FIRST_ROOM), length: 0 });
                    at
                }
            };
        }
        self.texts.get_mut(self.last)
    }

    fn find(&self, choice: u32) -> Result<usize, usize> {
        self.texts.binary_search_by_key(&choice, |text| text.choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_kept_apart_whatever_their_order() {
        let mut texts = Texts::default();
        for (choice, piece) in [(7, "sieben"), (0, "null"), (7, "!"), (3, "drei"), (0, "?")] {
            texts.append(choice, piece);
        }
        assert_eq!(texts.of(0), ("null?", 5));
        assert_eq!(texts.of(3), ("drei", 4));
        assert_eq!(texts.of(7), ("sieben!", 7));
        assert_eq!(texts.of(1), ("", 0));
        assert_eq!(texts.total(), 16);
    }

    #[test]
    fn a_strip_counts_characters_and_not_bytes() {
        let mut texts = Texts::default();
        texts.append(0, "aé漢🙂");
        texts.strip(0, 2);
        assert_eq!(texts.of(0), ("aé", 2));
        texts.strip(0, 0);
        assert_eq!(texts.of(0), ("aé", 2));
        texts.strip(0, 2);
        assert_eq!((texts.of(0), texts.total()), (("", 0), 0));
    }
}
