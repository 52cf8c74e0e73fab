//! One form of one kind, ready to be stepped; and the question where its attempts may begin.

use regex_syntax::hir::Hir;

use crate::automaton::{Automaton, Semantics, TooLarge};
use crate::checks::Check;
use crate::kinds::{Form, Left};

/// See the module.
pub(crate) struct Recogniser {
    /// The position of its kind in the redactor.
    pub(crate) kind: u16,
    pub(crate) automaton: Automaton,
    pub(crate) left: Left,
    pub(crate) check: Option<Check>,
    /// The most characters that are held undecided; at the bound a candidate counts as matched so far.
    pub(crate) bound: u32,
    /// The most bytes that one match covers.
    pub(crate) reach: u64,
}

impl Recogniser {
    /// Compiles a form.
    pub(crate) fn new(kind: u16, form: &Form, hir: &Hir) -> Result<Self, TooLarge> {
        let automaton = Automaton::compile(hir, form.semantics, form.check.is_some())?;
        Ok(Self { kind, automaton, left: form.left, check: form.check, bound: form.bound, reach: form.reach })
    }

    /// Compiles a configured pattern: no borders but its own, the semantics of a backtracking engine.
    pub(crate) fn configured(kind: u16, hir: &Hir, bound: u32) -> Result<Self, TooLarge> {
        let automaton = Automaton::compile(hir, Semantics::Preferred, false)?;
        Ok(Self { kind, automaton, left: Left::Any, check: None, bound, reach: u64::MAX })
    }

    /// The length of the match that a candidate is, in bytes.
    pub(crate) fn accepts(&self, candidate: &str, next: Option<u8>) -> Option<usize> {
        match self.check {
            Some(check) => check(candidate, next),
            None => Some(candidate.len()),
        }
    }
}

/// For every byte, which recognisers may begin an attempt with it and after it: a bit each.
pub(crate) struct Starts {
    with: [u64; 256],
    after: [u64; 256],
    /// As `after`, where a digit precedes that byte.
    after_digit: [u64; 256],
}

impl Starts {
    /// Computes the tables. Recognisers beyond the 64th have no bit; the configuration allows fewer.
    pub(crate) fn new(recognisers: &[Recogniser]) -> Self {
        let mut starts = Self { with: [0; 256], after: [0; 256], after_digit: [0; 256] };
        for (place, recogniser) in recognisers.iter().enumerate() {
            let bit = 1_u64 << place;
            let first = recogniser.automaton.first_bytes();
            for byte in 0..=u8::MAX {
                if first[usize::from(byte)] {
                    starts.with[usize::from(byte)] |= bit;
                }
                if recogniser.left.allows(Some(byte)) {
                    starts.after[usize::from(byte)] |= bit;
                    if recogniser.left.allows_after_digit(byte) {
                        starts.after_digit[usize::from(byte)] |= bit;
                    }
                }
            }
        }
        starts
    }

    /// Which recognisers begin an attempt at `byte`, given the two bytes in front of it, nearest first.
    #[inline]
    pub(crate) fn at(&self, byte: u8, before: Option<u8>, earlier: Option<u8>) -> u64 {
        let with = self.with[usize::from(byte)];
        let Some(before) = before else { return with };
        if with == 0 {
            return 0;
        }
        let after =
            if earlier.is_some_and(|earlier| earlier.is_ascii_digit()) { &self.after_digit } else { &self.after };
        with & after[usize::from(before)]
    }
}
