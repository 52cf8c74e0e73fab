//! Patterns as one automaton, and what about it can be known in advance.
//!
//! The automaton is a Thompson NFA that is stepped state set by state set. Of the engines that take a text piece by
//! piece it is the one that knows Unicode word boundaries and every other assertion, needs no memory that grows with
//! the text, and is linear in it whatever the pattern.

use std::fmt;

use regex_automata::nfa::thompson::{BuildError, Compiler, Config, NFA, State, WhichCaptures};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;

/// Room for Unicode classes repeated some dozens of times; a compiled refusal takes a hundredth.
const LARGEST_AUTOMATON: usize = 4 * 1024 * 1024;

/// What may stand after a position, one for each way in which an assertion can tell: the end, letters and marks within
/// and beyond ASCII, line ends.
const FOLLOWERS: [Option<char>; 7] = [None, Some('a'), Some(' '), Some('\n'), Some('\r'), Some('é'), Some('–')];

/// One or more patterns, any of which counts; shared by every invocation.
#[derive(Debug)]
pub struct Patterns {
    pub(crate) nfa: NFA,
    /// The bytes that a match can begin with.
    pub(crate) openings: Box<[bool; 256]>,
    /// For each state whether a match can be reached from it without further text.
    pub(crate) at_match: Box<[bool]>,
    /// How many characters a match may span.
    pub(crate) window: u64,
}

/// Why patterns cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// It is not a regular expression; what is wrong with it.
    Syntax(String),
    /// The automaton would take more than this many bytes.
    TooLarge(usize),
    /// It matches the empty text, if only in places.
    MatchesNothing,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(error) => write!(f, "is no regular expression: {error}"),
            Self::TooLarge(limit) => write!(f, "is too large: its automaton would take more than {limit} bytes"),
            Self::MatchesNothing => f.write_str("matches without any text: every stream would end at its first chunk"),
        }
    }
}

impl std::error::Error for PatternError {}

impl PatternError {
    fn new(error: &BuildError) -> Self {
        if let Some(limit) = error.size_limit() {
            return Self::TooLarge(limit);
        }
        // The parser draws the pattern with a mark under the fault; a table's fault has one line.
        let drawn = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        let last = drawn.lines().last().unwrap_or_default();
        Self::Syntax(last.strip_prefix("error: ").unwrap_or(last).to_owned())
    }
}

impl Patterns {
    /// Compiles patterns in the syntax of the `regex` crate. A match may span `window` characters at most.
    ///
    /// # Errors
    /// A pattern that is no regular expression, is too large, or matches the empty text.
    pub fn compile<P: AsRef<str>>(patterns: &[P], window: u32) -> Result<Self, PatternError> {
        let config = Config::new().which_captures(WhichCaptures::None).nfa_size_limit(Some(LARGEST_AUTOMATON));
        let nfa = Compiler::new().configure(config).build_many(patterns).map_err(|error| PatternError::new(&error))?;
        let at_match = states_at_match(&nfa);
        if at_match[nfa.start_anchored().as_usize()] {
            return Err(PatternError::MatchesNothing);
        }
        let openings = Box::new(openings(&nfa));
        Ok(Self { nfa, openings, at_match, window: u64::from(window) })
    }

    /// Whether an assertion holds between two characters; `None` stands for the end of the text on that side.
    pub(crate) fn holds(&self, look: Look, before: Option<char>, after: Option<char>) -> bool {
        let mut around = [0; 8];
        let middle = before.map_or(0, |character| character.encode_utf8(&mut around).len());
        let length = middle + after.map_or(0, |character| character.encode_utf8(&mut around[middle..]).len());
        self.nfa.look_matcher().matches(look, &around[..length], middle)
    }

    /// Whether an assertion holds after a character whatever follows.
    pub(crate) fn holds_anyway(&self, look: Look, before: Option<char>) -> bool {
        FOLLOWERS.into_iter().all(|after| self.holds(look, before, after))
    }
}

/// The states that a state leads to without text, if the assertion that it may be holds.
pub(crate) fn leads_to(state: &State) -> impl Iterator<Item = StateID> {
    let (single, several): ([Option<StateID>; 2], &[StateID]) = match state {
        State::Look { next, .. } | State::Capture { next, .. } => ([Some(*next), None], &[]),
        State::BinaryUnion { alt1, alt2 } => ([Some(*alt1), Some(*alt2)], &[]),
        State::Union { alternates } => ([None, None], alternates),
        State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) | State::Fail | State::Match { .. } => {
            ([None, None], &[])
        }
    };
    single.into_iter().flatten().chain(several.iter().copied())
}

/// For each state whether a match can be reached from it without text: found backwards from the matches.
fn states_at_match(nfa: &NFA) -> Box<[bool]> {
    let mut sources: Vec<Vec<usize>> = vec![Vec::new(); nfa.states().len()];
    let mut reaching: Vec<usize> = Vec::new();
    for (at, state) in nfa.states().iter().enumerate() {
        leads_to(state).for_each(|ahead| sources[ahead.as_usize()].push(at));
        if matches!(state, State::Match { .. }) {
            reaching.push(at);
        }
    }
    let mut at_match = vec![false; sources.len()].into_boxed_slice();
    while let Some(at) = reaching.pop() {
        if !std::mem::replace(&mut at_match[at], true) {
            reaching.extend_from_slice(&sources[at]);
        }
    }
    at_match
}

/// The bytes that a match can begin with: found forwards from the start, every assertion taken to hold.
fn openings(nfa: &NFA) -> [bool; 256] {
    let mut openings = [false; 256];
    let mut visited = vec![false; nfa.states().len()];
    let mut ahead = vec![nfa.start_anchored()];
    while let Some(id) = ahead.pop() {
        if std::mem::replace(&mut visited[id.as_usize()], true) {
            continue;
        }
        let state = nfa.state(id);
        ahead.extend(leads_to(state));
        for byte in u8::MIN..=u8::MAX {
            openings[usize::from(byte)] |= step(state, byte).is_some();
        }
    }
    openings
}

/// The state that a byte leads to.
pub(crate) fn step(state: &State, byte: u8) -> Option<StateID> {
    match state {
        State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
        State::Sparse(transitions) => transitions.matches_byte(byte),
        State::Dense(transitions) => transitions.matches_byte(byte),
        _ => None,
    }
}
