//! The rule, one byte after the other: which parts of a text are matches, and how far that is settled.
//!
//! The redaction of a whole text is defined position by position. At a position, each recogniser may begin one attempt
//! (its left border permitting); the longest of its accepted candidates is its match. The leftmost position with a
//! match wins, there the longest match, there the kind that comes first; the scan goes on behind it. A candidate that
//! stays undecided for as many characters as its bound counts as matched so far, and so does each longer one: what
//! might be a secret is never let go because it is long.
//!
//! A [`Stream`] computes just that, with all attempts side by side, and settles a text the moment that no continuation
//! can change what becomes of it.

use crate::automaton::{AT_END, BEFORE, END, LIVE, State};
use crate::redactor::Redactor;

/// A part of the text that is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Where it begins, in bytes from the beginning of the text.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// The position of the kind whose label takes its place; `None` if it goes on from the edit in front of it.
    pub(crate) label: Option<u16>,
    /// What the label stands in.
    pub(crate) within: Within,
}

/// What a label stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    /// Plain text.
    Text,
    /// A JSON string.
    JsonString,
    /// JSON, in place of a whole value.
    Json,
}

/// One recogniser at work from one position.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    start: u64,
    /// Behind the longest accepted candidate; `start` if there is none.
    end: u64,
    /// Characters since `start` or, if there is an accepted candidate, since `end`.
    undecided: u32,
    state: State,
    recogniser: u16,
    live: bool,
}

/// Attempts above which the redundant ones are looked for.
const CROWD: usize = 16;

/// The state of one text: a few hundred bytes, and the text that is held.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// The length of the text so far, in bytes.
    length: u64,
    /// Up to here the text has been settled, whatever comes: see [`Self::let_go`].
    floor: u64,
    /// Behind the edits so far.
    covered: u64,
    /// By position, then by recogniser.
    attempts: Vec<Attempt>,
    /// The label of the first position's match is out; its end is not yet known.
    committed: bool,
    crowd: usize,
    /// The text that attempts may ask about, and where it begins.
    kept: String,
    kept_from: u64,
    /// The last two bytes, the last one first.
    before: [Option<u8>; 2],
    edits: Vec<Edit>,
}

impl Stream {
    /// Takes the next piece of the text.
    pub fn push(&mut self, redactor: &Redactor, text: &str) {
        if self.kept.is_empty() {
            self.kept_from = self.length;
            self.scan(redactor, text, 0);
            self.keep(redactor, text);
        } else {
            let from = self.kept.len();
            let mut kept = std::mem::take(&mut self.kept);
            kept.push_str(text);
            self.scan(redactor, &kept, from);
            self.kept = kept;
            self.trim(redactor);
        }
    }

    /// The text ends here: what is still undecided is no match. The next piece begins a new text, in the same count.
    pub fn finish(&mut self, redactor: &Redactor) {
        let kept = std::mem::take(&mut self.kept);
        for at in 0..self.attempts.len() {
            if self.attempts[at].live && self.flags(redactor, at) & AT_END != 0 {
                self.accept(redactor, at, &kept, self.length, None);
            }
            self.attempts[at].live = false;
        }
        self.resolve(redactor, &kept);
        self.attempts.clear();
        self.committed = false;
        self.before = [None; 2];
        self.floor = self.length;
    }

    /// Settles the text so far as if it ended here, without forgetting what it might have become: if it goes on as a
    /// match, the rest of that is still taken out.
    pub fn let_go(&mut self, redactor: &Redactor) {
        let mut ended = self.clone();
        ended.finish(redactor);
        self.edits = ended.edits;
        self.covered = ended.covered;
        self.floor = self.length;
    }

    /// How much of the text is settled, in bytes: no continuation changes what becomes of it.
    #[must_use]
    pub fn settled(&self) -> u64 {
        let held_from = match self.attempts.first() {
            None => self.length,
            Some(_) if self.committed => self.covered,
            Some(first) => first.start,
        };
        held_from.max(self.floor)
    }

    /// The length of the text so far, in bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// What was taken out since the last call, in order.
    pub fn take_edits(&mut self) -> Vec<Edit> {
        std::mem::take(&mut self.edits)
    }

    /// Whether something was taken out since the last [`Self::take_edits`].
    #[must_use]
    pub fn has_edits(&self) -> bool {
        !self.edits.is_empty()
    }

    /// Scans `text[from..]`; `text` begins at `kept_from`.
    fn scan(&mut self, redactor: &Redactor, text: &str, from: usize) {
        let bytes = text.as_bytes();
        let mut at = from;
        let mut no_cut_until = from;
        while at < bytes.len() {
            if self.attempts.is_empty() && at >= no_cut_until {
                let run = redactor.prose.run(bytes, at);
                at = run.to;
                no_cut_until = run.until;
                if at == bytes.len() {
                    break;
                }
            }
            self.step(redactor, text, at, at - from);
            at += 1;
        }
        self.length = self.kept_from + bytes.len() as u64;
        for &byte in &bytes[bytes.len().saturating_sub(2).max(from)..] {
            self.before = [Some(byte), self.before[0]];
        }
    }

    /// Takes one byte, the `new`th of this piece of the text.
    #[inline]
    fn step(&mut self, redactor: &Redactor, text: &str, at: usize, new: usize) {
        let bytes = text.as_bytes();
        let byte = bytes[at];
        let mut changed = self.step_attempts(redactor, text, at, byte);
        let (before, earlier) = match new {
            0 => (self.before[0], self.before[1]),
            1 => (Some(bytes[at - 1]), self.before[0]),
            _ => (Some(bytes[at - 1]), Some(bytes[at - 2])),
        };
        let mut mask = redactor.starts.at(byte, before, earlier);
        while mask != 0 {
            changed |= self.begin(redactor, text, at, mask.trailing_zeros() as u16, before);
            mask &= mask - 1;
        }
        if changed {
            self.resolve(redactor, text);
        }
        if self.attempts.len() > self.crowd.max(CROWD) {
            self.thin_out(redactor);
        }
    }

    /// Steps every attempt; answers whether one came to an end or to an accepted candidate.
    #[inline]
    fn step_attempts(&mut self, redactor: &Redactor, text: &str, at: usize, byte: u8) -> bool {
        let mut changed = false;
        for place in 0..self.attempts.len() {
            let attempt = &mut self.attempts[place];
            if !attempt.live {
                continue;
            }
            let recogniser = &redactor.recognisers[usize::from(attempt.recogniser)];
            attempt.state = recogniser.automaton.step(attempt.state, byte);
            let flags = recogniser.automaton.flags(attempt.state);
            if is_character_start(byte) {
                attempt.undecided += 1;
            }
            if flags != LIVE || attempt.undecided >= recogniser.bound {
                changed |= self.after_step(redactor, text, at, place, flags);
            }
        }
        changed
    }

    /// What a step led to, other than to a state that is merely alive.
    fn after_step(&mut self, redactor: &Redactor, text: &str, at: usize, place: usize, flags: u8) -> bool {
        let behind = self.kept_from + at as u64 + 1;
        let mut changed = false;
        if flags & BEFORE != 0 {
            changed |= self.accept(redactor, place, text, behind - 1, text.as_bytes().get(at).copied());
        }
        if flags & END != 0 {
            changed |= self.accept(redactor, place, text, behind, None);
        }
        let attempt = &mut self.attempts[place];
        let recogniser = &redactor.recognisers[usize::from(attempt.recogniser)];
        if flags & LIVE == 0 || behind - attempt.start >= recogniser.reach {
            attempt.live = false;
            return true;
        }
        if attempt.undecided >= recogniser.bound && text.is_char_boundary(at + 1) {
            attempt.end = behind;
            attempt.undecided = 0;
            return true;
        }
        changed
    }

    /// Takes the candidate that ends at `end`, if its check does; `next` follows it.
    fn accept(&mut self, redactor: &Redactor, place: usize, text: &str, end: u64, next: Option<u8>) -> bool {
        let attempt = &mut self.attempts[place];
        let recogniser = &redactor.recognisers[usize::from(attempt.recogniser)];
        let length = if recogniser.check.is_none() {
            Some((end - attempt.start) as usize)
        } else {
            let range = (attempt.start - self.kept_from) as usize..(end - self.kept_from) as usize;
            text.get(range).and_then(|candidate| recogniser.accepts(candidate, next))
        };
        let Some(length) = length else { return false };
        attempt.end = attempt.end.max(attempt.start + length as u64);
        attempt.undecided = 0;
        true
    }

    /// Begins an attempt with the byte at `at`.
    fn begin(&mut self, redactor: &Redactor, text: &str, at: usize, number: u16, before: Option<u8>) -> bool {
        let recogniser = &redactor.recognisers[usize::from(number)];
        let state = recogniser.automaton.step(recogniser.automaton.start(before), text.as_bytes()[at]);
        let flags = recogniser.automaton.flags(state);
        if flags & (LIVE | END) == 0 {
            return false;
        }
        let start = self.kept_from + at as u64;
        self.attempts.push(Attempt { start, end: start, undecided: 1, state, recogniser: number, live: true });
        (flags != LIVE || recogniser.bound <= 1) && self.after_step(redactor, text, at, self.attempts.len() - 1, flags)
    }

    /// Settles what can be settled: drops attempts that came to nothing, takes out matches whose position and kind are
    /// certain.
    fn resolve(&mut self, redactor: &Redactor, text: &str) {
        self.attempts.retain(|attempt| attempt.live || attempt.end > attempt.start);
        while let Some(first) = self.attempts.first().copied() {
            let group = || self.attempts.iter().take_while(|attempt| attempt.start == first.start);
            // The first of the longest: `max_by_key` would answer the last.
            let longest = group().map(|attempt| attempt.end).max().unwrap_or(first.end);
            let Some(best) = group().find(|attempt| attempt.end == longest).copied() else { return };
            if longest == first.start {
                return;
            }
            let kind = redactor.recognisers[usize::from(best.recogniser)].kind;
            let live = group().any(|attempt| attempt.live);
            let rival =
                |attempt: &Attempt| attempt.live && redactor.recognisers[usize::from(attempt.recogniser)].kind != kind;
            if live && (group().any(rival) || self.may_be_allowed(redactor, &first, text)) {
                return;
            }
            if live || self.committed || !self.is_allowed(redactor, &best, text) {
                self.take_out(first.start, longest, kind);
            }
            self.committed = live;
            self.attempts.retain(|attempt| attempt.start >= longest || (live && attempt.start == first.start));
            if live {
                return;
            }
        }
    }

    fn may_be_allowed(&self, redactor: &Redactor, attempt: &Attempt, text: &str) -> bool {
        if redactor.allowed.is_empty() || self.committed {
            return false;
        }
        let seen = text.get((attempt.start - self.kept_from) as usize..(attempt.end - self.kept_from) as usize);
        seen.is_some_and(|seen| redactor.may_be_allowed(seen))
    }

    fn is_allowed(&self, redactor: &Redactor, attempt: &Attempt, text: &str) -> bool {
        if redactor.allowed.is_empty() {
            return false;
        }
        let whole = text.get((attempt.start - self.kept_from) as usize..(attempt.end - self.kept_from) as usize);
        whole.is_some_and(|whole| redactor.allowed.iter().any(|allowed| allowed == whole))
    }

    /// Takes `start..end` out, or what is new of it.
    fn take_out(&mut self, start: u64, end: u64, kind: u16) {
        let from = if self.committed { self.covered } else { start }.max(self.floor);
        if end <= from {
            return;
        }
        match self.edits.last_mut() {
            Some(last) if self.committed && last.end == from => last.end = end,
            _ => self.edits.push(Edit {
                start: from,
                end,
                label: (!self.committed).then_some(kind),
                within: Within::Text,
            }),
        }
        self.covered = end;
    }

    /// Drops attempts that can change nothing: of two undecided ones in the same state the later one, as whatever ends
    /// the one ends the other, and the earlier one wins.
    fn thin_out(&mut self, redactor: &Redactor) {
        let mut seen = std::collections::HashSet::new();
        self.attempts.retain(|attempt| {
            let undecided = attempt.live && attempt.end == attempt.start;
            let checked = redactor.recognisers[usize::from(attempt.recogniser)].check.is_some();
            !undecided || checked || seen.insert((attempt.recogniser, attempt.state))
        });
        self.crowd = 2 * self.attempts.len();
    }

    fn flags(&self, redactor: &Redactor, place: usize) -> u8 {
        let attempt = &self.attempts[place];
        redactor.recognisers[usize::from(attempt.recogniser)].automaton.flags(attempt.state)
    }

    /// Where the text begins that attempts may still ask about.
    fn needed_from(&self, redactor: &Redactor) -> u64 {
        let Some(first) = self.attempts.first() else { return self.length };
        let asks = |attempt: &Attempt| redactor.recognisers[usize::from(attempt.recogniser)].check.is_some();
        let group_asks = self.attempts.iter().take_while(|attempt| attempt.start == first.start).any(asks);
        if self.committed && !group_asks { self.covered.max(first.start) } else { first.start }
    }

    fn keep(&mut self, redactor: &Redactor, text: &str) {
        let from = self.needed_from(redactor);
        if let Some(needed) = text.get((from - self.kept_from) as usize..) {
            self.kept.push_str(needed);
        }
        self.kept_from = from;
    }

    fn trim(&mut self, redactor: &Redactor) {
        let from = self.needed_from(redactor);
        self.kept.drain(..((from - self.kept_from) as usize).min(self.kept.len()));
        self.kept_from = from;
    }
}

const fn is_character_start(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

#[cfg(test)]
mod minimal_tests;
#[cfg(test)]
pub(crate) mod tests;
