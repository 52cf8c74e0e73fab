//! Which bytes ordinary prose is made of, so that it is passed without an attempt.
//!
//! *Plain* bytes are chosen so that no match consists of them alone; a *cut* is a plain byte that ends every attempt
//! which has met nothing but plain bytes. So a run of plain bytes can be passed up to its last cut without looking at
//! a single automaton: whatever began in it is over, and nothing in it was a match. Both sets are worked out from the
//! automata themselves, configured patterns included, and may be empty.

use crate::automaton::{AT_END, Automaton, BEFORE, END, LIVE, State};
use crate::recogniser::Recogniser;

const TRIGGER: u8 = 0;
const PLAIN: u8 = 1;
const CUT: u8 = 2;

/// See the module.
pub(crate) struct Prose {
    class: [u8; 256],
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
    /// Works out both sets for the recognisers.
    pub(crate) fn new(recognisers: &[Recogniser]) -> Self {
        let mut plain = [false; 256];
        for byte in 0..=u8::MAX {
            plain[usize::from(byte)] =
                byte.is_ascii_alphabetic() || !byte.is_ascii() || b" \t\r\n,;!?\"'()[]{}*`<>|".contains(&byte);
        }
        // Such an attempt must be seen to begin. Taking bytes away only makes runs shorter, so what was found to hold goes on to hold.
        for recogniser in recognisers {
            let automaton = &recogniser.automaton;
            if matches_within(automaton, &plain) || goes_on_behind_a_space(automaton, &plain) {
                for (plain, first) in plain.iter_mut().zip(automaton.first_bytes()) {
                    *plain &= !first;
                }
            }
        }
        let mut gap = usize::MAX;
        let mut class = plain.map(|plain| if plain { CUT } else { TRIGGER });
        for recogniser in recognisers {
            let automaton = &recogniser.automaton;
            let states = reached(automaton, &plain);
            if states.len() > automaton.start_states().len() {
                gap = gap.min(usize::try_from(recogniser.bound).unwrap_or(usize::MAX));
            }
            for state in states {
                for byte in 0..=u8::MAX {
                    let at = &mut class[usize::from(byte)];
                    if *at == CUT && automaton.flags(automaton.step(state, byte)) & LIVE != 0 {
                        *at = PLAIN;
                    }
                }
            }
        }
        Self { class, gap }
    }

    /// Passes the run of plain bytes that begins at `from`, where no attempt is alive.
    #[inline]
    pub(crate) fn run(&self, bytes: &[u8], from: usize) -> Run {
        let mut to = from;
        for (at, &byte) in bytes.iter().enumerate().skip(from) {
            match self.class[usize::from(byte)] {
                TRIGGER => return Run { to, until: at + 1 },
                CUT if at - to >= self.gap => return Run { to, until: at + 1 },
                CUT => to = at + 1,
                _ => {}
            }
        }
        Run { to, until: bytes.len() }
    }
}

/// Every state that an attempt can be in after none or some plain bytes.
fn reached(automaton: &Automaton, plain: &[bool; 256]) -> Vec<State> {
    let mut seen = vec![false; automaton.len()];
    let mut states = automaton.start_states();
    for &state in &states {
        seen[usize::from(state)] = true;
    }
    let mut done = 0;
    while let Some(&state) = states.get(done) {
        done += 1;
        for byte in (0..=u8::MAX).filter(|&byte| plain[usize::from(byte)]) {
            let to = automaton.step(state, byte);
            if !seen[usize::from(to)] && automaton.flags(to) & (LIVE | END | BEFORE) != 0 {
                seen[usize::from(to)] = true;
                states.push(to);
            }
        }
    }
    states
}

/// Whether plain bytes alone make a match.
fn matches_within(automaton: &Automaton, plain: &[bool; 256]) -> bool {
    reached(automaton, plain).into_iter().any(|state| automaton.flags(state) & (END | BEFORE | AT_END) != 0)
}

/// Whether an attempt survives a space, where prose is to be cut.
fn goes_on_behind_a_space(automaton: &Automaton, plain: &[bool; 256]) -> bool {
    reached(automaton, plain).into_iter().any(|state| automaton.flags(automaton.step(state, b' ')) & LIVE != 0)
}
