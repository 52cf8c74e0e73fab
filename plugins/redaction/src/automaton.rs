//! A regex as a small table that is stepped one byte at a time and always knows whether a match is still possible.
//!
//! `regex-automata` determinises; its dense automaton is then copied into a table of 16-bit states. The copy answers
//! two questions that the original leaves to the caller: whether the bytes seen so far *are* a match (without the
//! one-byte delay, where nothing looks ahead) and whether they can still *become* one.

use std::collections::HashMap;

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::Hir;

/// Some continuation makes a (longer) match.
pub(crate) const LIVE: u8 = 1;
/// A match ends after the last byte, whatever comes next.
pub(crate) const END: u8 = 2;
/// A match ended in front of the last byte.
pub(crate) const BEFORE: u8 = 4;
/// A match ends after the last byte if the text ends there too.
pub(crate) const AT_END: u8 = 8;

/// Bytes of memory that the determinisation of one pattern may take before it is refused.
const WORK_LIMIT: usize = 16 << 20;
/// Bytes of the dense automaton of one pattern. Four times the size of the table that is kept.
const SIZE_LIMIT: usize = 8 << 20;

/// Which of the matches that begin at one position count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Semantics {
    /// All of them.
    All,
    /// Those that a backtracking engine would come to prefer: the order of alternatives and laziness count.
    Preferred,
}

/// A state of an [`Automaton`].
pub(crate) type State = u16;

/// One regex, anchored at the position where its attempt begins.
#[derive(Debug)]
pub(crate) struct Automaton {
    classes: [u8; 256],
    stride: usize,
    /// Row by state, column by class.
    next: Vec<State>,
    flags: Vec<u8>,
    /// By the byte in front of the attempt; the last one is for the beginning of the text.
    starts: Vec<State>,
}

impl Automaton {
    /// Compiles a pattern. Where neither the pattern nor its check looks ahead (`looks_ahead` is about the check),
    /// matches are known at once (`END`); otherwise when the next byte or the end of the text comes.
    ///
    /// # Errors
    /// The pattern's automaton would be too large.
    pub(crate) fn compile(hir: &Hir, semantics: Semantics, looks_ahead: bool) -> Result<Self, TooLarge> {
        let nfa = thompson::Compiler::new()
            .configure(thompson::Config::new().nfa_size_limit(Some(WORK_LIMIT)))
            .build_from_hir(hir)
            .map_err(|_| TooLarge)?;
        let kind = match semantics {
            Semantics::All => MatchKind::All,
            Semantics::Preferred => MatchKind::LeftmostFirst,
        };
        let config = dense::Config::new()
            .start_kind(StartKind::Anchored)
            .match_kind(kind)
            .accelerate(false)
            .determinize_size_limit(Some(WORK_LIMIT))
            .dfa_size_limit(Some(SIZE_LIMIT));
        let dfa = dense::Builder::new().configure(config).build_from_nfa(&nfa).map_err(|_| TooLarge)?;
        let at_once = !looks_ahead && hir.properties().look_set().is_empty();
        Copying::new(&dfa).copy(at_once)
    }

    /// The state of an attempt in front of its first byte; `before` is the byte that precedes it.
    #[inline]
    pub(crate) fn start(&self, before: Option<u8>) -> State {
        self.starts[before.map_or(256, usize::from)]
    }

    /// The state after one more byte.
    #[inline]
    pub(crate) fn step(&self, state: State, byte: u8) -> State {
        self.next[usize::from(state) * self.stride + usize::from(self.classes[usize::from(byte)])]
    }

    /// What is known in a state: any of [`LIVE`], [`END`], [`BEFORE`], [`AT_END`].
    #[inline]
    pub(crate) fn flags(&self, state: State) -> u8 {
        self.flags[usize::from(state)]
    }

    /// Every state that an attempt can begin in, each once.
    pub(crate) fn start_states(&self) -> Vec<State> {
        let mut starts = self.starts.clone();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// Which bytes an attempt can begin with.
    pub(crate) fn first_bytes(&self) -> [bool; 256] {
        let starts = self.start_states();
        let survives = |byte: u8| starts.iter().any(|&start| self.flags(self.step(start, byte)) != 0);
        std::array::from_fn(|byte| u8::try_from(byte).is_ok_and(survives))
    }

    /// How many states there are.
    pub(crate) fn len(&self) -> usize {
        self.flags.len()
    }

    /// The bytes of memory that the tables take.
    pub(crate) fn memory(&self) -> usize {
        2 * (self.next.len() + self.starts.len()) + self.flags.len() + 256
    }
}

/// The pattern's automaton would be too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// The walk over a dense automaton that numbers its states as it meets them.
struct Copying<'a> {
    dfa: &'a dense::DFA<Vec<u32>>,
    numbers: HashMap<StateID, State>,
    met: Vec<StateID>,
}

impl<'a> Copying<'a> {
    fn new(dfa: &'a dense::DFA<Vec<u32>>) -> Self {
        Self { dfa, numbers: HashMap::new(), met: Vec::new() }
    }

    fn number(&mut self, id: StateID) -> Result<State, TooLarge> {
        if let Some(&number) = self.numbers.get(&id) {
            return Ok(number);
        }
        let number = State::try_from(self.met.len()).map_err(|_| TooLarge)?;
        self.numbers.insert(id, number);
        self.met.push(id);
        Ok(number)
    }

    fn copy(mut self, at_once: bool) -> Result<Automaton, TooLarge> {
        let mut starts = Vec::with_capacity(257);
        for before in (0..=u8::MAX).map(Some).chain([None]) {
            let config = start::Config::new().anchored(Anchored::Yes).look_behind(before);
            let id = self.dfa.start_state(&config).map_err(|_| TooLarge)?;
            starts.push(self.number(id)?);
        }
        let mut classes = [0; 256];
        for byte in 0..=u8::MAX {
            classes[usize::from(byte)] = self.dfa.byte_classes().get(byte);
        }
        let bytes: Vec<u8> =
            self.dfa.byte_classes().representatives(0..=u8::MAX).filter_map(|unit| unit.as_u8()).collect();
        let mut next = Vec::new();
        let mut done = 0;
        while let Some(&id) = self.met.get(done) {
            for &byte in &bytes {
                let number = self.number(self.dfa.next_state(id, byte))?;
                next.push(number);
            }
            done += 1;
        }
        let mut flags: Vec<u8> = self.met.iter().map(|&id| self.own_flags(id, at_once)).collect();
        mark_live(&mut flags, &next, bytes.len());
        Ok(Automaton { classes, stride: bytes.len(), next, flags, starts })
    }

    /// What a state knows by itself, without its successors.
    fn own_flags(&self, id: StateID, at_once: bool) -> u8 {
        let at_end = self.dfa.is_match_state(self.dfa.next_eoi_state(id));
        match (at_once, at_end) {
            (true, true) => END,
            (true, false) => 0,
            (false, _) => {
                let before = if self.dfa.is_match_state(id) { BEFORE } else { 0 };
                before | if at_end { AT_END | LIVE } else { 0 }
            }
        }
    }
}

/// Marks the states from which a match can still be reached. States are numbered outwards from the start, so walking
/// them backwards settles all but loops in the first round.
fn mark_live(flags: &mut [u8], next: &[State], stride: usize) {
    loop {
        let mut changed = false;
        for state in (0..flags.len()).rev() {
            if flags[state] & LIVE != 0 {
                continue;
            }
            let row = &next[state * stride..(state + 1) * stride];
            if row.iter().any(|&to| flags[usize::from(to)] & (LIVE | END | BEFORE) != 0) {
                flags[state] |= LIVE;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(pattern: &str, semantics: Semantics, looks_ahead: bool) -> Automaton {
        let hir = regex_syntax::Parser::new().parse(pattern).expect("a pattern");
        Automaton::compile(&hir, semantics, looks_ahead).expect("small")
    }

    fn run(automaton: &Automaton, text: &str) -> Vec<u8> {
        let mut state = automaton.start(None);
        text.bytes()
            .map(|byte| {
                state = automaton.step(state, byte);
                automaton.flags(state)
            })
            .collect()
    }

    #[test]
    fn a_match_is_known_at_its_last_byte_and_dead_after_it() {
        let automaton = compile("abc?", Semantics::All, false);
        assert_eq!(run(&automaton, "abcd"), [LIVE, LIVE | END, END, 0]);
        assert_eq!(run(&automaton, "ax"), [LIVE, 0]);
    }

    #[test]
    fn a_pattern_that_looks_ahead_waits_for_the_next_byte() {
        let automaton = compile(r"ab(?-u:\b)", Semantics::All, false);
        assert_eq!(run(&automaton, "ab "), [LIVE, LIVE | AT_END, BEFORE]);
        assert_eq!(run(&automaton, "abc"), [LIVE, LIVE | AT_END, 0]);
    }

    #[test]
    fn a_lazy_pattern_is_over_at_its_first_end() {
        let automaton = compile("<.*?>", Semantics::Preferred, false);
        assert_eq!(run(&automaton, "<a>b>"), [LIVE, LIVE, END, 0, 0]);
    }

    #[test]
    fn the_byte_in_front_picks_the_start() {
        let automaton = compile(r"(?-u:\b)ab", Semantics::All, false);
        let inside = automaton.step(automaton.start(Some(b'x')), b'a');
        assert_eq!(automaton.flags(inside), 0);
        let outside = automaton.step(automaton.start(Some(b' ')), b'a');
        assert_eq!(automaton.flags(outside), LIVE);
    }

    #[test]
    fn a_huge_pattern_is_refused() {
        let hir = regex_syntax::Parser::new().parse(r"(\w{1,500}[a-z]){40}").expect("a pattern");
        assert_eq!(Automaton::compile(&hir, Semantics::Preferred, false).err(), Some(TooLarge));
    }
}
