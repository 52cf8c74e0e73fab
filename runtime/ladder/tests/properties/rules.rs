//! The rules of the contract one by one, each as a stream that shows it. Written as what comes out, in order.

use seam_ladder::{Hold, OnEndHeld, OnFault, Policy};
use seam_plugin_api::ChunkKind;
use seam_plugin_api::abi::FaultKind;

use crate::script::{Body, Case, Happening, Move, Scripted, Sent, Spoilt, Strip};
use crate::{drive, model};

use Move::{Buffer, Continue, Stop};

fn text(text: &str) -> Body {
    Body { kind: ChunkKind::ContentDelta, text: text.to_owned(), payload: None }
}

fn amend(body: &str) -> Move {
    Move::Amend(text(body))
}

const fn release_all() -> Move {
    Move::ReleaseAll(Strip::Nothing)
}

fn release(bodies: &[Option<&str>]) -> Move {
    let amended = bodies.iter().map(|body| body.map(text)).collect();
    Move::ReleaseFirst { count: bodies.len(), amended, spoilt: Spoilt::Nothing, strip: Strip::Nothing }
}

fn rung(moves: impl IntoIterator<Item = Move>) -> Scripted {
    Scripted { moves: moves.into_iter().collect(), policy: Policy::default() }
}

fn strict(moves: impl IntoIterator<Item = Move>) -> Scripted {
    Scripted { policy: Policy { on_fault: OnFault::Stop, ..Policy::default() }, ..rung(moves) }
}

fn discarding(moves: impl IntoIterator<Item = Move>) -> Scripted {
    Scripted { policy: Policy { on_end_held: OnEndHeld::Discard, ..Policy::default() }, ..rung(moves) }
}

/// Sends one content chunk for each letter, a signed one for each capital, then the end, and says what came out; what is
/// discarded comes last.
fn shows(rungs: impl IntoIterator<Item = Scripted>, letters: &str) -> Vec<String> {
    let sent = |letter: char| Sent { choice: 0, body: text(&letter.to_string()), signed: letter.is_uppercase() };
    let case = Case { rungs: rungs.into_iter().collect(), chunks: letters.chars().map(sent).collect(), ends: true };
    let summary = drive::run(&case);
    assert_eq!(summary, model::run(&case));
    let mut lines: Vec<String> = summary.happenings.iter().filter_map(line).collect();
    if let Some((reason, rung, index, length, seq, delivered, discarded, _)) = summary.sentinel {
        lines.push(format!(
            "stop by {rung} at {seq}: {reason}, {index} {length}, {delivered} delivered, {discarded} not"
        ));
    }
    if !summary.discards.is_empty() {
        lines.push(format!("discards {:?}", summary.discards));
    }
    lines
}

fn line(happening: &Happening) -> Option<String> {
    Some(match happening {
        Happening::Pass { seq, body, .. } => format!("{seq} {}", body.text),
        Happening::Amended { seq, body, .. } => format!("{seq} {}!", body.text),
        Happening::Envelope { channel, kind, payload, ordinal, .. } => {
            format!("envelope {ordinal} {channel} {kind} {payload}")
        }
        Happening::Strip { cleared, .. } => format!("strip {cleared}"),
        Happening::Fault { rung, seq, kind, .. } => format!("fault of {rung} at {seq}: {}", kind.as_str()),
        Happening::Shown(_) | Happening::Told { .. } => return None,
    })
}

#[test]
fn without_observers_everything_passes() {
    assert_eq!(shows([], "ab"), ["0 a", "1 b"]);
}

#[test]
fn a_signed_chunk_that_is_amended_is_a_fault_and_goes_out_as_it_came() {
    assert_eq!(shows([rung([amend("x"), amend("y")])], "aBc"), ["0 x!", "fault of 0 at 1: violation", "1 B", "2 c"]);
    assert_eq!(
        shows([strict([Buffer, release(&[Some("x"), None])])], "Ab"),
        ["fault of 0 at 1: violation", "stop by 0 at 1: observer_fault, 2 0, 0 delivered, 2 not", "discards [0, 1]"]
    );
}

#[test]
fn a_signed_chunk_may_be_amended_to_itself_held_and_stopped() {
    assert_eq!(
        shows([rung([amend("A"), Buffer, release(&[Some("B"), Some("x")]), Stop])], "ABcD"),
        ["0 A!", "1 B!", "2 x!", "stop by 0 at 3: seen 4, 4 103, 3 delivered, 1 not", "discards [3]"]
    );
}

#[test]
fn the_next_observer_sees_the_amended_chunk() {
    assert_eq!(shows([rung([amend("x")]), rung([release_all(), Continue])], "ab"), ["0 x!", "1 b"]);
}

#[test]
fn later_chunks_wait_behind_a_held_one_however_they_were_answered() {
    let waits = rung([Buffer, Continue, amend("x"), Buffer, release(&[None]), release_all()]);
    assert_eq!(shows([waits], "abcdef"), ["0 a", "1 b", "2 x!", "3 d", "4 e", "5 f"]);
}

#[test]
fn an_event_is_published_at_once_while_its_chunk_waits() {
    let emits = rung([Buffer, Move::Emit(vec!["metrics".to_owned()]), release_all()]);
    assert_eq!(shows([emits], "abc"), [r#"envelope 0 metrics k {"v":1}"#, "0 a", "1 b", "2 c"]);
}

#[test]
fn a_release_amends_the_first_held_and_keeps_the_rest() {
    let keeps = discarding([Buffer, Buffer, release(&[Some("x"), None])]);
    assert_eq!(shows([keeps], "abc"), ["0 x!", "1 b", "discards [2]"]);
}

#[test]
fn a_strip_takes_delivered_text_back_before_the_released_chunks() {
    let strips = rung([Continue, Continue, Buffer, Move::ReleaseAll(Strip::Some(2))]);
    assert_eq!(
        shows([strips], "abcd"),
        ["0 a", "1 b", "strip 2", r#"envelope 0 seam content.reset {"choice":0,"clearedDeltaLength":2}"#, "2 c", "3 d"]
    );
}

#[test]
fn stripping_nothing_is_not_announced() {
    assert_eq!(shows([rung([Move::ReleaseAll(Strip::Zero)])], "a"), ["0 a"]);
}

#[test]
fn stripping_more_than_was_delivered_is_a_fault_and_changes_nothing() {
    let strips = rung([Continue, Buffer, Move::ReleaseAll(Strip::TooMuch)]);
    assert_eq!(shows([strips], "abc"), ["0 a", "fault of 0 at 2: violation", "1 b", "2 c"]);
}

#[test]
fn a_release_that_breaks_the_order_is_a_fault_and_settles_everything_unchanged() {
    for spoilt in [Spoilt::WrongName, Spoilt::OutOfOrder, Spoilt::OneTooMany, Spoilt::SkipsFirst] {
        let amended = vec![Some(text("x")), Some(text("y"))];
        let spoils = Move::ReleaseFirst { count: 2, amended, spoilt, strip: Strip::Nothing };
        assert_eq!(
            shows([rung([Buffer, spoils, amend("never asked")])], "abc"),
            ["fault of 0 at 1: violation", "0 a", "1 b", "2 c"],
            "{spoilt:?}"
        );
    }
}

#[test]
fn a_stop_discards_its_chunk_and_all_that_comes_later_in_the_stream() {
    let holds_and_lets_go = rung([Buffer, Buffer, release_all()]);
    let stops = rung([Continue, Stop]);
    assert_eq!(
        shows([holds_and_lets_go, stops], "abcd"),
        ["0 a", "stop by 1 at 1: seen 2, 2 101, 1 delivered, 2 not", "discards [1, 2]"]
    );
}

#[test]
fn behind_a_stop_the_stream_ends_and_what_is_held_goes_on() {
    let stops = rung([Continue, Continue, Stop]);
    let holds = rung([Buffer, Buffer]);
    assert_eq!(
        shows([stops, holds], "abc"),
        ["0 a", "1 b", "stop by 0 at 2: seen 3, 3 100, 2 delivered, 1 not", "discards [2]"]
    );
}

#[test]
fn a_stop_behind_a_stop_is_the_sentinel_and_discards_add_up() {
    let first = rung([Continue, Continue, Continue, Stop]);
    let holds = rung([Buffer, Buffer, Buffer]);
    let second = rung([Continue, Stop]);
    assert_eq!(
        shows([first, holds, second], "abcd"),
        ["0 a", "stop by 2 at 1: seen 2, 2 101, 1 delivered, 3 not", "discards [1, 2, 3]"]
    );
}

#[test]
fn at_the_end_held_chunks_go_through_the_rest_of_the_ladder() {
    let holds = rung([Buffer, Buffer]);
    let holds_too = rung([Buffer, amend("x")]);
    assert_eq!(shows([holds, holds_too], "ab"), ["0 a", "1 x!"]);
}

#[test]
fn at_the_end_settled_chunks_go_on_where_the_held_ones_are_discarded() {
    assert_eq!(shows([discarding([Buffer, amend("x"), Buffer])], "abc"), ["1 x!", "discards [0, 2]"]);
}

#[test]
fn a_fault_takes_the_observer_out_and_keeps_what_was_settled_amended() {
    let panics = rung([Buffer, amend("x"), Move::Fault(FaultKind::Panic), amend("never asked")]);
    assert_eq!(shows([panics], "abcd"), ["fault of 0 at 2: panic", "0 a", "1 x!", "2 c", "3 d"]);
}

#[test]
fn a_fault_that_must_not_be_skipped_stops_with_the_ladders_own_numbers() {
    let panics = strict([Continue, Continue, Move::Fault(FaultKind::Panic)]);
    assert_eq!(
        shows([panics], "abcd"),
        [
            "0 a",
            "1 b",
            "fault of 0 at 2: panic",
            "stop by 0 at 2: observer_fault, 3 2, 2 delivered, 1 not",
            "discards [2]"
        ]
    );
}

#[test]
fn the_seams_channel_and_names_of_another_form_are_refused_with_all_their_events() {
    for channel in ["seam", "Metrics", "", "a b", "-a"] {
        let emits = Move::Emit(vec!["metrics".to_owned(), channel.to_owned()]);
        assert_eq!(shows([rung([emits])], "a"), ["fault of 0 at 0: violation", "0 a"], "{channel:?}");
    }
}

fn bounded(hold: Hold, moves: impl IntoIterator<Item = Move>) -> Scripted {
    Scripted { policy: Policy { hold, ..Policy::default() }, ..rung(moves) }
}

#[test]
fn what_waits_behind_a_held_chunk_counts_against_the_bound() {
    let hold = Hold { chunks: 2, text: 100 };
    assert_eq!(
        shows([bounded(hold, [Buffer, Continue, amend("x")])], "abc"),
        ["fault of 0 at 2: hold_over_bound", "0 a", "1 b", "2 c"]
    );
    assert_eq!(shows([bounded(hold, [Buffer, Continue, release_all()])], "abc"), ["0 a", "1 b", "2 c"]);
}

#[test]
fn payloads_count_against_the_bound_on_text() {
    let hold = Hold { chunks: 9, text: 8 };
    let with_payload = || Move::Amend(Body { payload: Some("[1,2,3]".to_owned()), ..text("x") });
    assert_eq!(shows([rung([with_payload()]), bounded(hold, [Buffer])], "a"), ["0 x!"]);
    assert_eq!(
        shows([rung([Continue, with_payload()]), bounded(hold, [Buffer, Continue])], "ab"),
        ["fault of 1 at 1: hold_over_bound", "0 a", "1 x!"]
    );
}

#[test]
fn one_chunk_alone_may_be_held_whatever_its_length() {
    let hold = Hold { chunks: 9, text: 3 };
    let longer = || rung([amend("longer than the bound")]);
    let whole = "0 longer than the bound!";
    assert_eq!(shows([longer(), bounded(hold, [Buffer, release_all()])], "ab"), [whole, "1 b"]);
    for behind in [Buffer, Continue, amend("x"), Move::Emit(vec!["metrics".to_owned()])] {
        assert_eq!(
            shows([longer(), bounded(hold, [Buffer, behind])], "ab"),
            ["fault of 1 at 1: hold_over_bound", whole, "1 b"]
        );
    }
}

#[test]
fn a_release_may_leave_one_chunk_held_whatever_its_length() {
    let hold = Hold { chunks: 9, text: 3 };
    let longer = rung([Continue, amend("longer than the bound")]);
    let releases = bounded(hold, [Buffer, release(&[None]), release_all()]);
    assert_eq!(shows([longer, releases], "abc"), ["0 a", "1 longer than the bound!", "2 c"]);
}

#[test]
fn a_release_that_leaves_a_longer_chunk_held_is_bounded_as_well() {
    let hold = Hold { chunks: 9, text: 3 };
    let longer = rung([Continue, Continue, amend("long")]);
    assert_eq!(
        shows([longer, bounded(hold, [Buffer, Buffer, release(&[None])])], "abc"),
        ["fault of 1 at 2: hold_over_bound", "0 a", "1 b", "2 long!"]
    );
}

#[test]
fn a_thousand_chunks_released_by_each_of_three_observers_come_out_in_order() {
    let moves = || std::iter::repeat_n(Buffer, 999).chain([release_all()]);
    let letters: String = std::iter::repeat_n('a', 1_000).collect();
    let shown = shows([rung(moves()), rung(moves()), rung(moves())], &letters);
    assert_eq!(shown.len(), 1_000);
    assert_eq!(shown.last().map(String::as_str), Some("999 a"));
}
