//! Faults of a plugin, and the sinks in which a host collects what an entry reports.

use std::borrow::Cow;

use abi_stable::std_types::RStr;

use super::code;
use super::raw::{FaultSink, PairSink};

/// What kind of fault an observer or plugin was at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// A panic, caught on the plugin's side.
    Panic,
    /// An answer that breaks the contract.
    Violation,
    /// More held than the operator allows.
    HoldOverBound,
    /// A value that is not what its type promises: text that is not UTF-8, a payload that is not JSON, a code out of
    /// range.
    Malformed,
}

impl FaultKind {
    /// The kind's name in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Violation => "violation",
            Self::HoldOverBound => "hold_over_bound",
            Self::Malformed => "malformed",
        }
    }
}

/// A fault of a plugin: it never harms another one, another stream or the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// What happened, in one line.
    pub message: String,
    /// Where in the author's code, where that is known: `src/lib.rs:12:5`.
    pub place: Option<String>,
}

impl Fault {
    /// A fault without a place.
    #[must_use]
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), place: None }
    }

    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Malformed, message)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.message)?;
        match &self.place {
            Some(place) => write!(f, " (at {place})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

/// Text that crossed as an [`RStr`]. Only unsafe code can put anything but UTF-8 into one; what did is replaced, not
/// believed.
pub(super) fn believed(raw: RStr<'_>) -> Cow<'_, str> {
    // The bytes by themselves: as a `str` they would already have been believed.
    String::from_utf8_lossy(raw.as_rslice().as_slice())
}

/// The longest message of a panic that is kept, in characters: it becomes a line of a log.
const LONGEST_MESSAGE: usize = 1000;

/// A message in one line of at most [`LONGEST_MESSAGE`] characters: those of `assert_eq!` have three.
fn one_line(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_MESSAGE) {
        Some((at, _)) => format!("{} …", &line[..at]),
        None => line,
    }
}

/// A fault sink and what was put into it.
pub(super) struct Caught(Option<Fault>);

impl Caught {
    pub(super) const NOTHING: Self = Self(None);

    pub(super) fn sink(&mut self) -> FaultSink {
        unsafe extern "C" fn put(into: *mut (), message: RStr<'_>, place: RStr<'_>) {
            // SAFETY: `sink` put a `&mut Caught` there that outlives the call that the sink is passed to, and that
            // nobody else uses meanwhile.
            let caught = unsafe { &mut *into.cast::<Caught>() };
            let place = Some(one_line(&believed(place))).filter(|place| !place.is_empty());
            caught.0 = Some(Fault { kind: FaultKind::Panic, message: one_line(&believed(message)), place });
        }
        FaultSink { into: std::ptr::from_mut(self).cast(), put }
    }

    pub(super) fn take(self) -> Fault {
        self.0.unwrap_or_else(|| Fault::malformed("an entry reports a fault and says nothing of it"))
    }
}

/// Calls an entry with a sink for its name and value pairs.
pub(super) fn collect_pairs<T>(entry: impl FnOnce(&PairSink) -> T) -> (T, Vec<(String, String)>) {
    unsafe extern "C" fn put(into: *mut (), name: RStr<'_>, value: RStr<'_>) {
        // SAFETY: the sink below holds a `&mut Vec` that outlives the call that the sink is passed to, and that nobody
        // else uses meanwhile.
        let pairs = unsafe { &mut *into.cast::<Vec<(String, String)>>() };
        pairs.push((believed(name).into_owned(), believed(value).into_owned()));
    }
    let mut pairs: Vec<(String, String)> = Vec::new();
    let result = entry(&PairSink { into: std::ptr::from_mut(&mut pairs).cast(), put });
    (result, pairs)
}

/// Calls an entry with a sink for its fault.
pub(super) fn collect_fault(entry: impl FnOnce(&FaultSink) -> u8) -> Result<u8, Fault> {
    let mut caught = Caught::NOTHING;
    let code = entry(&caught.sink());
    if code == code::FAULT { Err(caught.take()) } else { Ok(code) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(message: &str, place: &str) -> Fault {
        let entry = |sink: &FaultSink| {
            // SAFETY: the sink is that of the call.
            unsafe { (sink.put)(sink.into, message.into(), place.into()) };
            code::FAULT
        };
        collect_fault(entry).unwrap_err()
    }

    #[test]
    fn a_message_of_several_lines_becomes_one() {
        let fault = reported("assertion `left == right` failed\n  left: 1\n right: 2", "src/lib.rs:1:2");
        assert_eq!(fault.to_string(), "panic: assertion `left == right` failed left: 1 right: 2 (at src/lib.rs:1:2)");
    }

    #[test]
    fn an_endless_message_is_cut() {
        let fault = reported(&"é".repeat(1 << 20), "");
        assert_eq!(fault.message.chars().count(), LONGEST_MESSAGE + 2);
        assert_eq!(fault.place, None);
    }

    #[test]
    fn a_fault_of_which_nothing_is_said_is_malformed() {
        assert_eq!(collect_fault(|_| code::FAULT).unwrap_err().kind, FaultKind::Malformed);
        assert_eq!(collect_fault(|_| code::BUFFER), Ok(code::BUFFER));
    }
}
