//! Chunks that are held: what comes behind them waits, in order, and leaves as it would have.

use seam_ladder::{Hold, OnEndHeld, OnFault, Policy};
use seam_plugin_api::{ChunkKind, Outcome};

use crate::drive::{End, MAX_FRAME, Noted, run, run_cut, seam};
use crate::observer::{Move, Scripted};
use crate::reading::{content as text_of, events};
use crate::streams::{DONE, content, content_of, finish, finish_of, three_chunks};
use bytes::{Bytes, BytesMut};

#[test]
fn comments_and_the_end_marker_wait_behind_a_held_frame() {
    let parts = [": one\n\n", &content("a"), ": two\n\n", &content("b"), ": three\n\n", &finish("stop"), DONE];
    let mut noted = Noted::default();
    let mut seam = seam(&[Scripted::new([Move::Buffer, Move::Continue, Move::ReleaseAll])], &mut noted);
    let mut left = Vec::new();
    for part in parts {
        let mut out = BytesMut::new();
        seam.feed(Bytes::copy_from_slice(part.as_bytes()), 0, &mut out);
        left.push(String::from_utf8(out.to_vec()).unwrap());
    }
    let until_the_release = parts[1..6].concat();
    assert_eq!(left, [parts[0], "", "", "", "", &until_the_release, DONE]);
}

#[test]
fn an_end_marker_behind_what_is_held_to_the_end_comes_last() {
    let stream = [&content("a"), ": x\n\n", &finish("stop"), DONE].concat();
    let ran = run(stream.as_bytes(), &[Scripted::new([Move::Buffer, Move::Buffer])]);
    assert_eq!(ran.text(), stream);
    assert_eq!(ran.outcome, Some(Outcome::Completed));
}

#[test]
fn an_amended_chunk_changes_its_own_field_alone() {
    let stream = [content("card 1234"), content("b"), finish("stop"), DONE.into()].concat();
    let ran = run(stream.as_bytes(), &[Scripted::new([Move::Amend("card ****")])]);
    assert_eq!(ran.text(), stream.replace("1234", "****"));
}

#[test]
fn one_of_three_chunks_of_a_frame_is_amended() {
    let stream = [three_chunks(), DONE.into()].concat();
    let ran = run(stream.as_bytes(), &[Scripted::new([Move::Continue, Move::Amend("no")])]);
    assert_eq!(ran.text(), stream.replace("yes", "no"));
}

#[test]
fn a_held_chunk_is_released_amended_with_the_frames_between() {
    let stream = [content("12"), ": x\n\n".into(), content("34"), finish("stop"), DONE.into()].concat();
    let ran = run(stream.as_bytes(), &[Scripted::new([Move::Buffer, Move::Release(2, Some("**"))])]);
    assert_eq!(ran.text(), stream.replace("12", "**"));
}

#[test]
fn a_frame_waits_for_the_last_of_its_chunks() {
    let stream = [three_chunks(), DONE.into()].concat();
    let script = [Move::Buffer, Move::Release(1, Some("well")), Move::ReleaseAll];
    let ran = run(stream.as_bytes(), &[Scripted::new(script)]);
    assert_eq!(ran.text(), stream.replace("hm", "well"));
}

#[test]
fn a_chunk_that_becomes_another_kind_leaves_in_the_place_of_its_frame() {
    let stream = [content("<call/>"), content("b"), finish("stop"), DONE.into()].concat();
    let call = Move::Turn(ChunkKind::ToolCallDelta, "{}", Some("{\"index\":0,\"name\":\"now\"}"));
    let ran = run(stream.as_bytes(), &[Scripted::new([call])]);
    let events = events(ran.text());
    let called = events[0].json().unwrap().pointer("/choices/0/delta/tool_calls/0/function/name").unwrap();
    assert_eq!(called, "now");
    assert_eq!(events[2].finishes(0), Some("tool_calls"));
    assert_eq!(events.len(), 4);
}

#[test]
fn a_choice_that_is_held_holds_the_other_one_in_order() {
    let parts = [content_of(0, "a"), content_of(1, "b"), finish_of(1, "stop"), finish_of(0, "stop"), DONE.into()];
    let stream = parts.concat();
    let held = run(stream.as_bytes(), &[Scripted::new([Move::Buffer, Move::Continue, Move::Buffer, Move::ReleaseAll])]);
    assert_eq!(held.text(), stream);
    let amended =
        run(stream.as_bytes(), &[Scripted::new([Move::Buffer, Move::Amend("c"), Move::Release(2, Some("d"))])]);
    let events = events(amended.text());
    assert_eq!((text_of(&events, 0), text_of(&events, 1)), ("d".into(), "c".into()));
}

#[test]
fn what_is_still_held_at_the_end_is_discarded_where_the_operator_says_so() {
    let discard = Policy { on_end_held: OnEndHeld::Discard, ..Policy::default() };
    let stream = [content("a"), content("secret"), ": x\n\n".into(), finish("stop"), DONE.into()].concat();
    let ran = run(stream.as_bytes(), &[Scripted::new([Move::Continue, Move::Buffer]).with(discard)]);
    assert_eq!(ran.text(), [content("a"), ": x\n\n".into(), finish("stop"), DONE.into()].concat());
    assert_eq!(ran.outcome, Some(Outcome::Completed));
}

#[test]
fn what_is_still_held_when_the_provider_breaks_off_goes_before_the_error() {
    let stream = [content("a"), content("b")].concat();
    let release = Scripted::new([Move::Continue, Move::Buffer]);
    let discard = release.clone().with(Policy { on_end_held: OnEndHeld::Discard, ..Policy::default() });
    for (observer, expected) in [(release, "ab"), (discard, "a")] {
        let ran = run_cut(stream.as_bytes(), &[], &[observer], End::Broken);
        let events = events(ran.text());
        assert_eq!(text_of(&events, 0), expected);
        assert_eq!(events[events.len() - 2].error_code(), Some("reset"));
    }
}

#[test]
fn a_fault_that_is_skipped_lets_go_of_what_was_held() {
    let stream = [content("a"), content("b"), finish("stop"), DONE.into()].concat();
    let ran = run(stream.as_bytes(), &[Scripted::new([Move::Buffer, Move::Fault, Move::Stop])]);
    assert_eq!(ran.text(), stream);
    assert_eq!(ran.noted.faults, ["observer-0 at 1: skip"]);
    assert_eq!(ran.outcome, Some(Outcome::Completed));
}

#[test]
fn a_fault_that_stops_ends_the_stream_in_front_of_its_chunk() {
    let stop = Policy { on_fault: OnFault::Stop, ..Policy::default() };
    let stream = [content("a"), content("b"), content("c"), finish("stop"), DONE.into()].concat();
    let ran = run(stream.as_bytes(), &[Scripted::new([Move::Continue, Move::Fault]).with(stop)]);
    let events = events(ran.text());
    assert_eq!(text_of(&events, 0), "a");
    assert_eq!(events[1].stop().unwrap()["reason"], "observer_fault");
    assert_eq!(ran.outcome, Some(Outcome::ObserverFault));
}

#[test]
fn holding_over_the_bound_is_a_fault() {
    let hold = Hold { chunks: 2, ..Hold::default() };
    let stream = [content("a"), content("b"), content("c"), finish("stop"), DONE.into()].concat();
    let observer = Scripted::new(vec![Move::Buffer; 9]).with(Policy { hold, ..Policy::default() });
    let ran = run(stream.as_bytes(), &[observer]);
    assert_eq!(ran.text(), stream);
    assert_eq!(ran.noted.faults, ["observer-0 at 2: skip"]);
}

#[test]
fn two_observers_that_hold_in_turn_keep_the_order() {
    let stream: String = (0..6).map(|nth| content(&nth.to_string())).chain([finish("stop"), DONE.into()]).collect();
    let first = Scripted::new([Move::Buffer, Move::Buffer, Move::Release(2, None), Move::Continue, Move::ReleaseAll]);
    let second = Scripted::new([Move::Continue, Move::Buffer, Move::Continue, Move::Release(2, None)]);
    assert_eq!(run(stream.as_bytes(), &[first, second]).text(), stream);
}

#[test]
fn comments_without_end_behind_a_held_chunk_are_not_kept_without_end() {
    let mut noted = Noted::default();
    let mut seam = seam(&[Scripted::new([Move::Buffer])], &mut noted);
    let mut out = BytesMut::new();
    seam.feed(Bytes::from(content("a")), 0, &mut out);
    let comment = Bytes::from(format!(": {}\n\n", "x".repeat(MAX_FRAME / 2)));
    let mut sent = 0;
    while seam.outcome().is_none() {
        assert!(out.is_empty() && sent < 32 << 20, "{sent} bytes wait");
        seam.feed(comment.clone(), 0, &mut out);
        sent += comment.len();
    }
    assert!(sent > 8 << 20, "a stream may well bring {sent} bytes meanwhile");
    let text = std::str::from_utf8(&out).unwrap();
    assert!(text.starts_with(&content("a")), "what is held goes before the error");
    assert!(text.contains("too_much_waiting") && text.ends_with(DONE));
}

/// The bound on bytes was one for all, and cut off what an operator had allowed.
#[test]
fn as_much_as_may_be_held_may_wait() {
    let hold = Hold { chunks: 40_000, text: 4_000_000 };
    let observer = Scripted::new(vec![Move::Buffer; 40_000]).with(Policy { hold, ..Policy::default() });
    let chunk = content(&"x".repeat(100)).replace("\"kept\"", &format!("\"{}\"", "y".repeat(400)));
    let stream = [chunk.repeat(39_000), DONE.into()].concat();
    assert!(stream.len() > 20 << 20, "{} bytes", stream.len());
    let ran = run(stream.as_bytes(), &[observer]);
    assert!(ran.noted.faults.is_empty() && ran.text() == stream);
    assert_eq!(ran.outcome, Some(Outcome::Completed));
}
