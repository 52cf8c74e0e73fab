//! What is remembered of one candidate: the numbers of its calls, and what was delivered of it.

use super::edits::Delivered;
use super::streamed::StreamedArguments;

/// One candidate of the answer.
#[derive(Debug, Default)]
pub(super) struct CandidateState {
    pub(super) numbers: CallNumbers,
    /// The client saw it begin.
    pub(super) opened: bool,
    /// The client saw its finish reason.
    pub(super) finished: bool,
    /// The text of its answer, as it came in and as it went out.
    pub(super) delivered: Delivered,
    /// A tool call that comes in pieces from an observer and has no whole arguments yet.
    pub(super) made: Option<MadeCall>,
    /// A call was left out because its arguments are none.
    pub(super) malformed: bool,
}

/// A tool call that an observer puts in piece by piece.
#[derive(Debug)]
pub(super) struct MadeCall {
    /// The index that its chunks ask for.
    pub(super) asked: u32,
    /// The JSON of its name, and of its id if it brings one.
    pub(super) name: String,
    pub(super) id: Option<String>,
    /// The fragments so far; never longer than `MOST_MADE_ARGUMENTS`.
    pub(super) arguments: String,
}

/// The numbers of the provider's calls, in the order in which they begin.
#[derive(Debug, Default)]
pub(super) struct CallNumbers {
    begun: u32,
    /// The arguments of the last call, as far as they are streamed.
    pub(super) streamed: StreamedArguments,
}

impl CallNumbers {
    /// The number of the call whose arguments are streamed.
    pub(super) fn current(&self) -> u32 {
        self.begun.saturating_sub(1)
    }

    /// The number of a call that is named or whole; one that is neither goes on.
    pub(super) fn next(&mut self, named: bool, whole: bool) -> u32 {
        if named || whole || self.begun == 0 {
            self.begun = self.begun.saturating_add(1);
            self.streamed = StreamedArguments::default();
        }
        self.current()
    }
}

impl CandidateState {
    /// Whether a finish reason that says that all is well would not be true.
    pub(super) fn is_broken(&self) -> bool {
        self.malformed || self.made.is_some()
    }
}
