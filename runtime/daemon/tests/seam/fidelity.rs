//! What no observer changes leaves as the very bytes that came, however they were cut.

use proptest::prelude::*;
use proptest::sample::subsequence;
use seam_plugin_api::Outcome;

use crate::drive::{End, run_cut};
use crate::observer::{Move, Scripted};
use crate::reading::events;
use crate::streams::{DONE, content, finish, fixtures, recorded};

/// That the bytes are those that came, and behind them our own error where the provider's answer is not whole.
fn assert_faithful(name: &str, stream: &[u8], cuts: &[usize], observers: &[Scripted]) {
    let ran = run_cut(stream, cuts, observers, End::Finish);
    assert!(ran.bytes.starts_with(stream), "{name} cut at {cuts:?}");
    let added = std::str::from_utf8(&ran.bytes[stream.len()..]).unwrap();
    if is_broken_off(stream) {
        assert_eq!(ran.outcome, Some(Outcome::ProviderError), "{name}");
        assert_eq!(events(added)[0].error_code(), Some("provider_broke_off"), "{name} cut at {cuts:?}");
    } else {
        assert_eq!(added, "", "{name} cut at {cuts:?}");
    }
}

/// Whether a recorded stream has neither an end marker, nor an error, nor any finish.
fn is_broken_off(stream: &[u8]) -> bool {
    let text = String::from_utf8_lossy(stream);
    let finished = text.contains("\"finish_reason\":\"") || text.contains("\"finish_reason\": \"");
    !text.contains("[DONE]") && !text.contains("\"error\"") && !finished
}

/// A cut in every frame at once, at this share of its length.
fn cut_in_every_frame(stream: &[u8], share: usize, of: usize) -> Vec<usize> {
    let blank_lines = stream.windows(2).enumerate().filter(|(_, pair)| *pair == b"\n\n").map(|(at, _)| at + 2);
    let ends: Vec<usize> = blank_lines.chain([stream.len()]).collect();
    let starts = [0].into_iter().chain(ends.iter().copied());
    let cuts = starts.zip(&ends).map(|(start, end)| start + (end - start) * share / of);
    let mut cuts: Vec<usize> = cuts.filter(|at| 0 < *at && *at < stream.len()).collect();
    cuts.dedup();
    cuts
}

fn all() -> Vec<(String, Vec<u8>)> {
    fixtures().into_iter().chain(recorded()).collect()
}

#[test]
fn whole_and_byte_by_byte() {
    for (name, stream) in all() {
        assert_faithful(&name, &stream, &[], &[]);
        let every: Vec<usize> = (1..stream.len()).collect();
        assert_faithful(&name, &stream, &every, &[]);
    }
}

#[test]
fn cut_in_two_at_every_place_of_the_fixtures() {
    for (name, stream) in fixtures() {
        for at in 1..stream.len() {
            assert_faithful(&name, &stream, &[at], &[]);
        }
    }
}

#[test]
fn cut_in_every_frame_of_recorded_streams_at_every_share_of_it() {
    const SHARES: usize = 64;
    for (name, stream) in recorded() {
        for share in 0..SHARES {
            assert_faithful(&name, &stream, &cut_in_every_frame(&stream, share, SHARES), &[]);
        }
    }
}

#[test]
fn cut_around_every_line_end_of_recorded_streams() {
    for (name, stream) in recorded() {
        let line_ends = stream.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        let mut cuts: Vec<usize> = line_ends.flat_map(|at| [at, at + 1]).filter(|at| *at < stream.len()).collect();
        cuts.dedup();
        assert_faithful(&name, &stream, &cuts, &[]);
    }
}

#[test]
fn every_way_of_cutting_a_short_stream_into_three() {
    let stream = [": hi\n\n", &content("é🦀"), "event: x\r\ndata: [DONE]\r\n\r\n"].concat();
    for first in 1..stream.len() {
        for second in (first + 1)..stream.len() {
            assert_faithful("short", stream.as_bytes(), &[first, second], &[]);
        }
    }
}

#[test]
fn observers_that_only_watch_change_nothing() {
    let watching = [Scripted::new(vec![Move::Continue; 3]), Scripted::new(vec![Move::Emit; 1_000])];
    for (name, stream) in all() {
        assert_faithful(&name, &stream, &[stream.len() / 2], &watching);
    }
}

#[test]
fn what_is_held_and_let_go_unchanged_is_the_very_bytes() {
    let holding = [
        Scripted::new([Move::Buffer, Move::Buffer, Move::ReleaseAll, Move::Buffer, Move::Release(1, None)]),
        Scripted::new([Move::Continue, Move::Buffer, Move::Continue, Move::ReleaseAll]),
    ];
    for (name, stream) in all() {
        assert_faithful(&name, &stream, &[], &holding);
    }
}

#[test]
fn an_end_without_its_empty_line_is_not_given_one() {
    let stream = [content("a"), finish("stop"), DONE.trim_end().to_owned()].concat();
    assert_faithful("unterminated", stream.as_bytes(), &[], &[]);
}

#[test]
fn what_the_provider_sends_behind_its_end_marker_is_passed_on() {
    let stream = [&content("a"), &finish("stop"), DONE, ": late\n\n", &content("later"), DONE].concat();
    assert_faithful("late", stream.as_bytes(), &[], &[]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn cut_anywhere_any_number_of_times(nth in any::<prop::sample::Index>(), at in subsequence((1..500usize).collect::<Vec<_>>(), 0..40)) {
        let all = fixtures();
        let (name, stream) = nth.get(&all);
        let cuts: Vec<usize> = at.iter().map(|share| share * stream.len() / 500).filter(|cut| *cut > 0).collect();
        assert_faithful(name, stream, &cuts, &[]);
    }
}
