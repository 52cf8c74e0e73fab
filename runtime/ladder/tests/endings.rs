//! The end of an invocation: who is told, what is dropped, what is said of it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use seam_ladder::{
    Amended, Beat, Envelope, FaultReport, Flow, Ladder, Observer, OnFault, Policy, Pulse, Rung, Sink, Strip,
};
use seam_plugin_api::abi::{Answer, Fault, FaultKind, Invocation};
use seam_plugin_api::{CallClass, Chunk, ChunkKind, Context, InvocationResult, Outcome, Value};

/// What an observer of these tests does.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Does {
    #[default]
    Nothing,
    StopAt(u64),
    Panic,
    Violate,
    PanicAtTheEnd,
    PanicInDrop,
    Hold,
}

/// An observer that notes what it is told.
struct Noted {
    does: Does,
    name: &'static str,
    notes: Rc<RefCell<Vec<String>>>,
    pulse: Arc<Pulse>,
}

impl Observer for Noted {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Answer<'_> {
        match self.does {
            Does::StopAt(seq) if seq == chunk.seq() => Answer::Stop {
                reason: "enough",
                chunk_index: context.seen(),
                accumulated_content_length: context.delivered_length(),
            },
            Does::Panic => Answer::Fault(Fault::new(FaultKind::Panic, "no")),
            Does::Violate => Answer::Fault(Fault::new(FaultKind::Violation, "no")),
            Does::Hold => Answer::Buffer,
            _ => Answer::Continue,
        }
    }

    fn on_end_invocation(&mut self, result: &InvocationResult<'_>) -> Result<(), Fault> {
        assert_eq!(self.pulse.beat().seq(), Beat::END);
        assert_eq!(result.value("seed"), Some(Value::Number(9)));
        self.notes.borrow_mut().push(format!("{} told {}", self.name, result.outcome().as_str()));
        if self.does == Does::PanicAtTheEnd { Err(Fault::new(FaultKind::Panic, "at the end")) } else { Ok(()) }
    }

    fn close(self) -> Result<(), Fault> {
        self.notes.borrow_mut().push(format!("{} dropped", self.name));
        if self.does == Does::PanicInDrop { Err(Fault::new(FaultKind::Panic, "in drop")) } else { Ok(()) }
    }
}

/// A sink that wants nothing.
struct Nowhere;

impl Sink for Nowhere {
    fn pass(&mut self, _: &Chunk<'_>) {}
    fn amended(&mut self, _: &Amended<'_>) {}
    fn discard(&mut self, _: u64) {}
    fn envelope(&mut self, _: &Envelope<'_>) {}
    fn strip(&mut self, _: &Strip<'_>) {}
    fn fault(&mut self, _: &FaultReport<'_>) {}
}

struct Set {
    ladder: Ladder<Noted>,
    notes: Rc<RefCell<Vec<String>>>,
    pulse: Arc<Pulse>,
}

fn set(observers: &[(&'static str, Does, OnFault)]) -> Set {
    let (notes, pulse) = (Rc::default(), Arc::new(Pulse::default()));
    let rung = |&(name, does, on_fault): &(&'static str, Does, OnFault)| Rung {
        observer: Noted { does, name, notes: Rc::clone(&notes), pulse: Arc::clone(&pulse) },
        observer_id: name.into(),
        plugin: "tests".into(),
        policy: Policy { on_fault, ..Policy::default() },
    };
    let invocation = Invocation { seed: 9, ..Invocation::new(CallClass::Utility) };
    let ladder = Ladder::new(observers.iter().map(rung).collect(), Arc::new(invocation), Arc::clone(&pulse));
    Set { ladder, notes, pulse }
}

fn content(seq: u64) -> Chunk<'static> {
    Chunk::new(seq, 0, ChunkKind::ContentDelta, "ab", None)
}

#[test]
fn each_observer_is_told_once_and_then_dropped() {
    let Set { mut ladder, notes, pulse } =
        set(&[("x", Does::Nothing, OnFault::Skip), ("y", Does::Hold, OnFault::Skip)]);
    assert_eq!(ladder.push(&content(0), 0, &mut Nowhere), Flow::Open);
    let reports = ladder.close(Outcome::Shutdown);
    assert_eq!(*notes.borrow(), ["x told shutdown", "x dropped", "y told shutdown", "y dropped"]);
    assert_eq!(pulse.current(), None);
    assert_eq!((&*reports[1].observer_id, reports[1].verdicts.buffered), ("y", 1));
    assert!(ladder.close(Outcome::Shutdown).is_empty());
    assert_eq!(ladder.push(&content(1), 0, &mut Nowhere), Flow::Stopped);
    drop(ladder);
    assert_eq!(notes.borrow().len(), 4);
}

#[test]
fn a_ladder_that_is_dropped_tells_its_observers_that_the_client_is_gone() {
    let Set { ladder, notes, .. } = set(&[("x", Does::Nothing, OnFault::Skip)]);
    drop(ladder);
    assert_eq!(*notes.borrow(), ["x told client_gone", "x dropped"]);
}

#[test]
fn an_observer_that_panicked_is_told_nothing_and_one_that_broke_the_contract_is() {
    let Set { mut ladder, notes, .. } =
        set(&[("panics", Does::Panic, OnFault::Skip), ("violates", Does::Violate, OnFault::Skip)]);
    assert_eq!(ladder.push(&content(0), 0, &mut Nowhere), Flow::Open);
    let reports = ladder.close(Outcome::Completed);
    assert_eq!(*notes.borrow(), ["panics dropped", "violates told completed", "violates dropped"]);
    assert_eq!(reports[0].fault.as_ref().unwrap().kind, FaultKind::Panic);
    assert_eq!(reports[1].fault.as_ref().unwrap().kind, FaultKind::Violation);
}

#[test]
fn a_fault_at_the_end_is_in_the_report_and_the_others_are_told_nonetheless() {
    let Set { mut ladder, notes, .. } = set(&[
        ("end", Does::PanicAtTheEnd, OnFault::Stop),
        ("drop", Does::PanicInDrop, OnFault::Stop),
        ("last", Does::Nothing, OnFault::Skip),
    ]);
    let reports = ladder.close(Outcome::Completed);
    let faults: Vec<_> =
        reports.iter().map(|report| report.end_fault.as_ref().map(|own| own.message.as_str())).collect();
    assert_eq!(faults, [Some("at the end"), Some("in drop"), None]);
    assert_eq!(notes.borrow().len(), 6);
}

#[test]
fn the_sentinel_says_everything_that_is_known_of_a_stop() {
    let Set { mut ladder, .. } = set(&[("x", Does::StopAt(2), OnFault::Skip)]);
    assert_eq!(ladder.push(&content(0), 0, &mut Nowhere), Flow::Open);
    assert_eq!(ladder.push(&content(1), 0, &mut Nowhere), Flow::Open);
    assert_eq!(ladder.push(&content(2), 0, &mut Nowhere), Flow::Stopped);
    let stop = ladder.stop().unwrap();
    assert_eq!(stop.outcome(), Outcome::Stopped);
    assert_eq!(
        stop.to_json().to_string(),
        r#"{"accumulated_content_length":4,"chunk_index":3,"delivered_length":4,"discarded":1,"observer_id":"x","plugin":"tests","reason":"enough","seq":2}"#
    );
}

#[test]
fn a_stop_by_fault_ends_the_invocation_as_an_observer_fault() {
    let Set { mut ladder, .. } = set(&[("x", Does::Violate, OnFault::Stop)]);
    assert_eq!(ladder.push(&content(0), 0, &mut Nowhere), Flow::Stopped);
    let stop = ladder.stop().unwrap();
    assert_eq!((stop.reason.as_str(), stop.outcome()), (seam_ladder::OBSERVER_FAULT, Outcome::ObserverFault));
}

#[test]
fn the_last_usage_is_kept() {
    let Set { mut ladder, .. } = set(&[]);
    assert_eq!(ladder.usage(), None);
    for payload in [Some(r#"{"input":1}"#), Some(r#"{"input":2}"#), None] {
        let chunk = Chunk::new(ladder.chunks_in(), 0, ChunkKind::Usage, "", payload);
        assert_eq!(ladder.push(&chunk, 0, &mut Nowhere), Flow::Open);
    }
    assert_eq!(ladder.usage(), Some(r#"{"input":2}"#));
}
