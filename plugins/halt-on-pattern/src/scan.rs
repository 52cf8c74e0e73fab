//! The rule: whether a text that comes in pieces has matched by now.
//!
//! A scan gives the same answer for every cutting of a text. It answers as soon as a match is certain: at the last
//! character of the match where the pattern ends with text, and at the next character or at the end where it ends with
//! an assertion about that (`\b`, `$`). The match that it names is the shortest one that ends first.

use regex_automata::nfa::thompson::State;
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;

use crate::pattern::{Patterns, leads_to, step};

/// One text, as far as it has come.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// Where matches in progress stand, before any assertion about the next character; the latest begun first.
    threads: Vec<Thread>,
    /// How far the text has come.
    end: Position,
    /// The last character, or `None` at the text's beginning.
    before: Option<char>,
    /// The text from where the first match in progress began, or earlier.
    kept: String,
    /// Where `kept` begins.
    kept_from: Position,
}

/// A match in progress. Of several in the same state only the one begun last is kept: whatever completes one completes
/// the other, and it spans the least.
#[derive(Clone, Copy, Debug)]
struct Thread {
    state: StateID,
    from: Position,
}

/// A place in a text, from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    byte: usize,
    character: u64,
}

/// What a step needs while it lasts: one for any number of scans that take turns.
#[derive(Debug, Default)]
pub struct Scratch {
    /// For each state the last closure that reached it.
    reached: Vec<u64>,
    closure: u64,
    ahead: Vec<StateID>,
    /// The threads that wait for a byte.
    ready: Vec<Thread>,
}

/// What stands after a position.
#[derive(Clone, Copy, Debug)]
enum After {
    Character(char),
    End,
    /// Not known yet; only what holds in any case is taken to hold.
    Unknown,
    /// The rest of a character whose first bytes stand before: no assertion is about such a place.
    SameCharacter,
}

impl Scan {
    /// Takes the next piece of the text; the text that matched, if a match is certain now. After a match the scan goes on
    /// behind the piece, as whoever only watches may ask it to: what lies before is part of no further match.
    pub fn push(&mut self, patterns: &Patterns, scratch: &mut Scratch, text: &str) -> Option<String> {
        let start = self.end;
        let Some((from, at)) = self.find(patterns, scratch, text) else {
            self.keep(start, text);
            return None;
        };
        let matched = self.text_since(from, start, &text[..at]);
        self.forget(start, text);
        Some(matched)
    }

    /// The text that matched, if it matches when it ends here. The scan can go on in either case.
    pub fn finish(&mut self, patterns: &Patterns, scratch: &mut Scratch) -> Option<String> {
        let from = self.close(patterns, scratch, After::End)?;
        let matched = self.text_since(from, self.end, "");
        self.forget(self.end, "");
        Some(matched)
    }

    /// Where the first match begins that is certain within this piece, and where in the piece it ends.
    fn find(&mut self, patterns: &Patterns, scratch: &mut Scratch, text: &str) -> Option<(Position, usize)> {
        let mut at = 0;
        loop {
            if self.threads.is_empty() {
                at = self.skip(patterns, text, at);
            }
            let Some(character) = text[at..].chars().next() else { break };
            if let Some(from) = self.close(patterns, scratch, After::Character(character)) {
                return Some((from, at));
            }
            self.take(patterns, scratch, character);
            at += character.len_utf8();
        }
        Some((self.close_anyway(patterns, scratch)?, text.len()))
    }

    /// Goes on to the next byte that a match can begin with.
    fn skip(&mut self, patterns: &Patterns, text: &str, at: usize) -> usize {
        let rest = &text.as_bytes()[at..];
        let begins = |byte: &u8| patterns.openings[usize::from(*byte)];
        let next = at + rest.iter().position(begins).unwrap_or(rest.len());
        // A byte that begins a match begins a character: the patterns match nothing but whole ones.
        let passed = &text[at..next];
        if let Some(last) = passed.chars().next_back() {
            self.before = Some(last);
            self.end.byte += passed.len();
            self.end.character += passed.chars().count() as u64;
        }
        next
    }

    /// Follows every assertion that holds here, from every match in progress and from a new one; where the match
    /// begins, if one is complete.
    fn close(&self, patterns: &Patterns, scratch: &mut Scratch, after: After) -> Option<Position> {
        scratch.begin(patterns);
        let opened = Thread { state: patterns.nfa.start_anchored(), from: self.end };
        let found = scratch.follow(patterns, opened, self.before, after);
        found.or_else(|| self.close_begun(patterns, scratch, after))
    }

    /// As `close`, at the end of a piece: only a match in progress can be complete whatever follows.
    fn close_anyway(&self, patterns: &Patterns, scratch: &mut Scratch) -> Option<Position> {
        if !self.threads.iter().any(|thread| patterns.at_match[thread.state.as_usize()]) {
            return None;
        }
        scratch.begin(patterns);
        self.close_begun(patterns, scratch, After::Unknown)
    }

    fn close_begun(&self, patterns: &Patterns, scratch: &mut Scratch, after: After) -> Option<Position> {
        let oldest = self.end.character.saturating_sub(patterns.window);
        let within = self.threads.iter().take_while(|thread| thread.from.character >= oldest);
        within.copied().find_map(|thread| scratch.follow(patterns, thread, self.before, after))
    }

    /// Steps over a character, from the states that the last closure made ready.
    fn take(&mut self, patterns: &Patterns, scratch: &mut Scratch, character: char) {
        let mut bytes = [0; 4];
        for (at, &byte) in character.encode_utf8(&mut bytes).as_bytes().iter().enumerate() {
            if at > 0 {
                scratch.begin(patterns);
                self.close_begun(patterns, scratch, After::SameCharacter);
            }
            self.threads.clear();
            let stepped = scratch.ready.iter().filter_map(|thread| {
                let state = step(patterns.nfa.state(thread.state), byte)?;
                Some(Thread { state, from: thread.from })
            });
            self.threads.extend(stepped);
        }
        self.before = Some(character);
        self.end.byte += character.len_utf8();
        self.end.character += 1;
    }

    /// The text from a position on, of which the last piece began at `start` and has come as far as `piece`.
    fn text_since(&self, from: Position, start: Position, piece: &str) -> String {
        if from.byte >= start.byte {
            return piece[from.byte - start.byte..].to_owned();
        }
        format!("{}{piece}", &self.kept[from.byte - self.kept_from.byte..])
    }

    /// Keeps of the text what a match in progress may need to be named.
    fn keep(&mut self, start: Position, piece: &str) {
        let Some(oldest) = self.threads.last() else {
            self.kept.clear();
            return;
        };
        if oldest.from.byte >= start.byte {
            self.kept.clear();
            self.kept.push_str(&piece[oldest.from.byte - start.byte..]);
            self.kept_from = oldest.from;
            return;
        }
        self.kept.push_str(piece);
        let unneeded = oldest.from.byte - self.kept_from.byte;
        // Only once it is the greater part, so that what is moved was paid for by what came.
        if unneeded > self.kept.len() / 2 {
            self.kept.drain(..unneeded);
            self.kept_from = oldest.from;
        }
    }

    /// Forgets every match in progress and goes on behind a piece that began at `start`.
    fn forget(&mut self, start: Position, piece: &str) {
        self.threads.clear();
        self.kept.clear();
        self.before = piece.chars().next_back().or(self.before);
        self.end.byte = start.byte + piece.len();
        self.end.character = start.character + piece.chars().count() as u64;
    }
}

impl Scratch {
    /// Begins a closure: nothing is reached, nothing ready.
    fn begin(&mut self, patterns: &Patterns) {
        self.reached.resize(patterns.nfa.states().len(), 0);
        self.closure += 1;
        self.ready.clear();
    }

    /// Follows a thread through what needs no text; where it began, if that completes a match.
    fn follow(&mut self, patterns: &Patterns, thread: Thread, before: Option<char>, after: After) -> Option<Position> {
        self.ahead.clear();
        self.ahead.push(thread.state);
        while let Some(id) = self.ahead.pop() {
            if std::mem::replace(&mut self.reached[id.as_usize()], self.closure) == self.closure {
                continue;
            }
            match patterns.nfa.state(id) {
                State::Match { .. } => return Some(thread.from),
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => {
                    self.ready.push(Thread { state: id, from: thread.from });
                }
                State::Look { look, .. } if !holds(patterns, *look, before, after) => {}
                state => self.ahead.extend(leads_to(state)),
            }
        }
        None
    }
}

fn holds(patterns: &Patterns, look: Look, before: Option<char>, after: After) -> bool {
    match after {
        After::Character(character) => patterns.holds(look, before, Some(character)),
        After::End => patterns.holds(look, before, None),
        After::Unknown => patterns.holds_anyway(look, before),
        After::SameCharacter => false,
    }
}

#[cfg(test)]
mod tests;
