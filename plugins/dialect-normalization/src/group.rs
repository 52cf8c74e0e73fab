//! The rule: the text of one choice, taken apart into pieces while it comes.

use std::ops::Range;

use crate::marker::{Call, Marker, Reading, Rules, find_candidate};

/// The text of chunks that are held together, from the one in which a marker may begin.
#[derive(Debug, Default)]
pub(crate) struct Group {
    text: String,
    /// What the text is made of as far as that is decided; of two neighbours at least one is a call.
    pieces: Vec<Piece>,
    /// How far it is decided.
    decided: usize,
    /// What may begin there.
    marker: Option<Marker>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// The text in this range.
    Text(Range<usize>),
    /// A call in the place of its marker.
    Call(Call),
}

/// Whether a text has anything in it that is or may become a marker. Costs nothing but the look at it where it has not.
pub(crate) fn concerns(text: &str, rules: &Rules) -> bool {
    let mut at = 0;
    while let Some(next) = find_candidate(&text[at..]) {
        at += next;
        match Marker::default().read(&text[at..], rules) {
            Reading::Text(length) => at += length,
            Reading::Incomplete | Reading::Call(..) => return true,
        }
    }
    false
}

impl Group {
    /// Takes the next piece of the text.
    pub(crate) fn push(&mut self, text: &str, rules: &Rules) {
        self.text.push_str(text);
        loop {
            let Some(marker) = &mut self.marker else {
                let rest = &self.text[self.decided..];
                let next = find_candidate(rest);
                self.decide_text(next.unwrap_or(rest.len()));
                if next.is_none() {
                    return;
                }
                self.marker = Some(Marker::default());
                continue;
            };
            match marker.read(&self.text[self.decided..], rules) {
                Reading::Incomplete => return,
                Reading::Text(length) => self.decide_text(length),
                Reading::Call(length, call) => {
                    self.decided += length;
                    self.pieces.push(Piece::Call(call));
                }
            }
            self.marker = None;
        }
    }

    /// The text ends here: what was undecided is text.
    pub(crate) fn end(&mut self) {
        self.marker = None;
        self.decide_text(self.text.len() - self.decided);
    }

    /// Whether a marker may have begun that has not come to its end.
    pub(crate) const fn is_undecided(&self) -> bool {
        self.marker.is_some()
    }

    /// How many calls were found.
    pub(crate) fn calls(&self) -> usize {
        self.pieces.iter().filter(|piece| matches!(piece, Piece::Call(_))).count()
    }

    /// What the text is made of, as far as that is decided.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The text that came.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn decide_text(&mut self, length: usize) {
        let range = self.decided..self.decided + length;
        self.decided = range.end;
        match self.pieces.last_mut() {
            _ if length == 0 => {}
            Some(Piece::Text(before)) => before.end = range.end,
            _ => self.pieces.push(Piece::Text(range)),
        }
    }
}

#[cfg(test)]
mod tests;
