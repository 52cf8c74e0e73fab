//! Which bytes ordinary prose is made of, so that it is passed without an attempt.
//!
//! *Plain* bytes are chosen so that no match consists of them alone; a *cut* is a plain byte that ends every attempt
//! which has met nothing but plain bytes. So a run of plain bytes can be passed up to its last cut without looking at
//! a single automaton: whatever began in it is over, and nothing in it was a match. Both sets are worked out from the
//! automata themselves, configured patterns included, and may be empty.

use std::collections::HashMap;

use crate::automaton::{AT_END, Automaton, BEFORE, END, LIVE, State};
use crate::recogniser::Recogniser;

/// Ends a run.
const TRIGGER: u8 = 0;
/// Ends a run if the byte that follows is one of `second`; otherwise plain.
const SUSPECT: u8 = 1;
const PLAIN: u8 = 2;
const CUT: u8 = 3;

/// See the module.
pub(crate) struct Prose {
    class: [u8; 256],
    /// The bytes with which the attempts that must be seen to begin go on.
    second: [bool; 256],
    /// Bytes between two cuts in which no candidate can come to the bound where it counts as matched.
    gap: usize,
}

/// Where a run of plain bytes leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Behind its last cut: scanning goes on here.
    pub(crate) to: usize,
    /// Behind the byte that ended the run: no cut is found in front of it.
    pub(crate) until: usize,
}

impl Prose {
    /// Works out the sets for the recognisers. Figures count as prose where that takes no letter from it: they do if no
    /// kind that is looked for has any in it.
    pub(crate) fn new(recognisers: &[Recogniser]) -> Self {
        let words = Self::of(recognisers, is_word);
        let figures = Self::of(recognisers, |byte| is_word(byte) || is_figure(byte));
        if figures.letters() >= words.letters() { figures } else { words }
    }

    /// Works out the sets where prose is made of `common` bytes.
    fn of(recognisers: &[Recogniser], common: fn(u8) -> bool) -> Self {
        let mut class = [TRIGGER; 256];
        for byte in (0..=u8::MAX).filter(|&byte| common(byte)) {
            class[usize::from(byte)] = CUT;
        }
        let mut prose = Self { class, second: [false; 256], gap: usize::MAX };
        let alive: Vec<Vec<State>> =
            recognisers.iter().map(|recogniser| prose.suspect(&recogniser.automaton, common)).collect();
        for (recogniser, states) in recognisers.iter().zip(alive) {
            prose.spare(recogniser, &states);
        }
        prose
    }

    /// Makes those bytes suspects with which an attempt begins that plain bytes alone would make a match, or that would
    /// survive a space, where prose is to be cut: such an attempt must be seen to begin. Answers the states of all other
    /// attempts. Whatever becomes a trigger later makes runs shorter and what was found here no less true.
    fn suspect(&mut self, automaton: &Automaton, common: fn(u8) -> bool) -> Vec<State> {
        let starts = automaton.start_states();
        let mut alive = vec![false; automaton.len()];
        // Most bytes begin an attempt alike.
        let mut known: HashMap<Vec<State>, Vec<State>> = HashMap::new();
        for byte in (0..=u8::MAX).filter(|&byte| common(byte)) {
            let begun: Vec<State> = starts.iter().map(|&start| automaton.step(start, byte)).collect();
            let states = known.entry(begun.clone()).or_insert_with(|| reached(automaton, &begun, common));
            if !states.iter().any(|&state| is_offence(automaton, state)) {
                states.iter().for_each(|&state| alive[usize::from(state)] = true);
            } else if begun.iter().any(|&state| automaton.flags(state) & (END | AT_END) != 0) {
                self.class[usize::from(byte)] = TRIGGER;
            } else {
                self.class[usize::from(byte)] = self.class[usize::from(byte)].min(SUSPECT);
                for next in 0..=u8::MAX {
                    let goes_on = |&state: &State| automaton.flags(automaton.step(state, next)) != 0;
                    self.second[usize::from(next)] |= begun.iter().any(goes_on);
                }
            }
        }
        let others = (0..).zip(alive).filter_map(|(state, alive)| alive.then_some(state));
        starts.iter().copied().chain(others).collect()
    }

    /// Takes the name of a cut from the bytes that leave one of the states alive.
    fn spare(&mut self, recogniser: &Recogniser, states: &[State]) {
        let automaton = &recogniser.automaton;
        if states.len() > automaton.start_states().len() {
            self.gap = self.gap.min(usize::try_from(recogniser.bound).unwrap_or(usize::MAX));
        }
        for &state in states {
            for byte in 0..=u8::MAX {
                let class = &mut self.class[usize::from(byte)];
                if *class == CUT && automaton.flags(automaton.step(state, byte)) & LIVE != 0 {
                    *class = PLAIN;
                }
            }
        }
    }

    /// How many letters pass without a look.
    fn letters(&self) -> usize {
        let passes = |byte: &u8| byte.is_ascii_alphabetic() && self.class[usize::from(*byte)] >= PLAIN;
        (0..=u8::MAX).filter(passes).count()
    }

    /// Passes the run of plain bytes that begins at `from`, where no attempt is alive.
    #[inline]
    pub(crate) fn run(&self, bytes: &[u8], from: usize) -> Run {
        let mut to = from;
        for (at, &byte) in bytes.iter().enumerate().skip(from) {
            match self.class[usize::from(byte)] {
                TRIGGER => return Run { to, until: at + 1 },
                SUSPECT if bytes.get(at + 1).is_none_or(|&next| self.second[usize::from(next)]) => {
                    return Run { to, until: at + 1 };
                }
                CUT if at - to >= self.gap => return Run { to, until: at + 1 },
                CUT => to = at + 1,
                _ => {}
            }
        }
        Run { to, until: bytes.len() }
    }
}

/// What words and what stands between them is made of.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || !byte.is_ascii() || b" \t\r\n,;!?\"'()[]{}*`<>|".contains(&byte)
}

/// What figures, dates and paths are made of beside that.
fn is_figure(byte: u8) -> bool {
    byte.is_ascii_digit() || b".:/%=$#&_+-^~\\".contains(&byte)
}

/// Whether a state is a match, or survives a space.
fn is_offence(automaton: &Automaton, state: State) -> bool {
    automaton.flags(state) & (END | BEFORE | AT_END) != 0 || automaton.flags(automaton.step(state, b' ')) & LIVE != 0
}

/// The given states and every one that common bytes lead to from them, as far as they are alive.
fn reached(automaton: &Automaton, from: &[State], common: fn(u8) -> bool) -> Vec<State> {
    let mut seen = vec![false; automaton.len()];
    let mut states = Vec::new();
    let mut meet = |state: State, states: &mut Vec<State>| {
        if !seen[usize::from(state)] && automaton.flags(state) != 0 {
            seen[usize::from(state)] = true;
            states.push(state);
        }
    };
    from.iter().for_each(|&state| meet(state, &mut states));
    let mut done = 0;
    while let Some(&state) = states.get(done) {
        done += 1;
        for byte in (0..=u8::MAX).filter(|&byte| common(byte)) {
            meet(automaton.step(state, byte), &mut states);
        }
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::tests::every_kind;

    fn bytes_of(prose: &Prose, class: u8) -> String {
        (0..128).filter(|&byte: &u8| prose.class[usize::from(byte)] == class).map(char::from).collect()
    }

    #[test]
    fn the_built_in_kinds_leave_most_letters_to_prose() {
        let prose = &every_kind().prose;
        assert_eq!(bytes_of(prose, PLAIN), "(CDEFGHIJKLMNOPQRTUVWXYZacdefghijklmnopqrstuvwxyz");
        assert_eq!(bytes_of(prose, CUT), "\t\n\r !\"')*,;<>?[]`{|}");
    }

    #[test]
    fn figures_are_prose_where_no_kind_has_any() {
        let prose = &crate::stream::tests::of_kinds(&[crate::kinds::Kind::Email]).prose;
        assert_eq!(prose.run(b"000123:456 7", 0), Run { to: 11, until: 12 });
        assert!(!bytes_of(&every_kind().prose, PLAIN).contains('0'));
    }

    #[test]
    fn a_run_leads_behind_its_last_cut() {
        let prose = &every_kind().prose;
        assert_eq!(prose.run(b"one two, three", 0), Run { to: 9, until: 14 });
        assert_eq!(prose.run(b"one two, a3", 0), Run { to: 9, until: 11 });
        assert_eq!(prose.run(b"7 up", 0), Run { to: 0, until: 1 });
    }

    #[test]
    fn a_pattern_over_plain_bytes_takes_its_first_ones_away() {
        let hir = regex_syntax::Parser::new().parse("(?i:project) [a-z]+").expect("a pattern");
        let recogniser = Recogniser::configured(0, &hir, 100).expect("small");
        let prose = Prose::new(&[recogniser]);
        assert!(!bytes_of(&prose, PLAIN).contains(['p', 'P']) && !bytes_of(&prose, CUT).contains(['p', 'P']));
        assert!(bytes_of(&prose, CUT).contains(' '));
    }
}
