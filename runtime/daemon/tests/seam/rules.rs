//! Any stream, any observers, any cuts.

use std::collections::BTreeSet;

use proptest::prelude::*;
use seam_ladder::{Hold, OnEndHeld, OnFault, Policy};
use seam_plugin_api::{ChunkKind, Outcome};

use crate::drive::{End, Ran, run_cut};
use crate::observer::{Move, Scripted};
use crate::reading::{Event, events};

/// A frame of a random stream. Each carries its number, so that the order can be read off what leaves.
#[derive(Clone, Copy, Debug)]
enum Part {
    Comment,
    Opaque,
    Usage,
    Content(u64),
    Reasoning(u64),
    Both(u64),
    Call(u64),
    Refusal(u64),
    Finish(u64),
    LastWords(u64),
    Error,
}

/// How a random stream comes to its end.
#[derive(Clone, Copy, Debug)]
enum Close {
    /// Every choice finishes, and the end marker.
    Proper,
    /// Every choice finishes, no end marker.
    Unmarked,
    /// Nothing.
    Missing,
    /// In the middle of a frame.
    Torn,
}

#[derive(Clone, Debug)]
struct Case {
    parts: Vec<Part>,
    close: Close,
    end: End,
    observers: Vec<Scripted>,
}

fn render(number: usize, part: Part) -> String {
    let delta = |choice: u64, delta: &str, finish: &str| {
        format!(
            "data: {{\"id\":\"c\",\"n\":{number},\"choices\":[{{\"index\":{choice},\"delta\":{{{delta}}},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    match part {
        Part::Comment => format!(": {number}\n\n"),
        Part::Opaque => format!("event: x\ndata: {{\"n\":{number},\"other\":\"é\"}}\n\n"),
        Part::Usage => format!("data: {{\"n\":{number},\"choices\":[],\"usage\":{{\"total_tokens\":{number}}}}}\n\n"),
        Part::Content(choice) => delta(choice, &format!("\"content\":\"w{number} 🦀\""), "null"),
        Part::Reasoning(choice) => delta(choice, "\"reasoning_content\":\"hm\"", "null"),
        Part::Both(choice) => {
            delta(choice, "\"role\":\"assistant\",\"reasoning_content\":\"r\",\"content\":\"c\"", "null")
        }
        Part::Call(choice) => delta(
            choice,
            "\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]",
            "null",
        ),
        Part::Refusal(choice) => delta(choice, "\"refusal\":\"no\"", "null"),
        Part::Finish(choice) => delta(choice, "", "\"stop\""),
        Part::LastWords(choice) => delta(choice, "\"content\":\"bye\"", "\"stop\""),
        Part::Error => format!("data: {{\"n\":{number},\"error\":{{\"message\":\"down\",\"code\":\"down\"}}}}\n\n"),
    }
}

impl Case {
    fn stream(&self) -> String {
        let mut stream: String = self.parts.iter().enumerate().map(|(number, part)| render(number, *part)).collect();
        let number = self.parts.len();
        if matches!(self.close, Close::Proper | Close::Unmarked) {
            stream += &render(number, Part::Finish(0));
            stream += &render(number + 1, Part::Finish(1));
        }
        match self.close {
            Close::Proper => stream += "data: [DONE]\n\n",
            Close::Torn => stream += "data: {\"choices\":[{\"ind",
            Close::Unmarked | Close::Missing => {}
        }
        stream
    }
}

fn part() -> impl Strategy<Value = Part> {
    let choice = 0..2u64;
    prop_oneof![
        2 => Just(Part::Comment),
        1 => Just(Part::Opaque),
        1 => Just(Part::Usage),
        8 => choice.clone().prop_map(Part::Content),
        2 => choice.clone().prop_map(Part::Reasoning),
        4 => choice.clone().prop_map(Part::Both),
        2 => choice.clone().prop_map(Part::Call),
        1 => choice.clone().prop_map(Part::Refusal),
        1 => choice.clone().prop_map(Part::Finish),
        1 => choice.prop_map(Part::LastWords),
        1 => Just(Part::Error),
    ]
}

/// Another kind in a chunk's place.
fn turn() -> impl Strategy<Value = Move> {
    let call = (ChunkKind::ToolCallDelta, "{}", Some("{\"index\":0,\"name\":\"made\"}"));
    let annotation = (ChunkKind::Annotation, "", Some("{\"annotations\":[{\"type\":\"x\"}]}"));
    let plain = [ChunkKind::ContentDelta, ChunkKind::ReasoningDelta, ChunkKind::RefusalDelta, ChunkKind::Finish];
    let opaque = (ChunkKind::Opaque, "", Some("{\"made\":1}"));
    let all = plain.map(|kind| (kind, "stop", None)).into_iter().chain([call, annotation, opaque]).collect::<Vec<_>>();
    prop::sample::select(all).prop_map(|(kind, text, payload)| Move::Turn(kind, text, payload))
}

fn a_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        14 => Just(Move::Continue),
        4 => prop::sample::select(vec!["", "\"quoted\"\n", "北京"]).prop_map(Move::Amend),
        2 => turn(),
        2 => Just(Move::Emit),
        8 => Just(Move::Buffer),
        3 => Just(Move::ReleaseAll),
        5 => (1..5usize, prop::option::of(Just("let go"))).prop_map(|(count, text)| Move::Release(count, text)),
        1 => Just(Move::Stop),
        1 => Just(Move::Fault),
    ]
}

fn observer() -> impl Strategy<Value = Scripted> {
    let hold = prop::option::of(0..6u64).prop_map(|chunks| match chunks {
        Some(chunks) => Hold { chunks, ..Hold::default() },
        None => Hold::default(),
    });
    let policy = (prop::sample::select(OnFault::ALL.to_vec()), prop::sample::select(OnEndHeld::ALL.to_vec()), hold)
        .prop_map(|(on_fault, on_end_held, hold)| Policy { on_fault, on_end_held, hold });
    (prop::collection::vec(a_move(), 0..24), policy).prop_map(|(moves, policy)| Scripted { moves, policy })
}

fn case() -> impl Strategy<Value = Case> {
    let close = prop::sample::select(vec![Close::Proper, Close::Proper, Close::Unmarked, Close::Missing, Close::Torn]);
    let end = prop::sample::select(vec![End::Finish, End::Finish, End::Broken, End::Shutdown]);
    (prop::collection::vec(part(), 0..16), close, end, prop::collection::vec(observer(), 0..4))
        .prop_map(|(parts, close, end, observers)| Case { parts, close, end, observers })
}

fn cut_places(length: usize, shares: &BTreeSet<u16>) -> Vec<usize> {
    let places: BTreeSet<usize> = shares.iter().map(|share| usize::from(*share) * length / 1_000).collect();
    places.into_iter().filter(|at| 0 < *at && *at < length).collect()
}

/// The number of the frame that an event is, where it is one of the provider's.
fn number(event: &Event) -> Option<u64> {
    match event {
        Event::Comment(comment) => comment.strip_prefix(": ").and_then(|number| number.parse().ok()),
        Event::Json(json) => json["n"].as_u64(),
        Event::Done | Event::Text(_) => None,
    }
}

/// The order, the form and the one end of what left.
fn check(case: &Case, ran: &Ran) -> Result<(), TestCaseError> {
    let torn = matches!(case.close, Close::Torn);
    // What the provider tore is not ended by us where nothing of ours follows it.
    let missing = if torn && !ran.text().ends_with("\n\n") { "\n\n" } else { "" };
    let events = events(&[ran.text(), missing].concat());
    let numbers: Vec<u64> = events.iter().filter_map(number).collect();
    prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "out of order: {numbers:?}");
    let texts = events.iter().filter(|event| matches!(event, Event::Text(_))).count();
    prop_assert!(texts <= usize::from(torn), "what is no JSON is what the provider tore");
    let done = events.iter().filter(|event| **event == Event::Done).count();
    prop_assert!(done <= 1, "{done} end markers");
    prop_assert!(done == 0 || events.last() == Some(&Event::Done), "something behind the end marker");
    let stops = events.iter().filter(|event| event.stop().is_some()).count();
    let stopped = matches!(ran.outcome, Some(Outcome::Stopped | Outcome::ObserverFault));
    prop_assert_eq!(stops, usize::from(stopped), "a stop is said once");
    let ours = events.iter().filter_map(Event::error_code).filter(|code| *code != "down").count();
    prop_assert!(ours <= usize::from(!stopped), "an error beside a stop, or two");
    prop_assert_eq!(done == 1, stopped || ours == 1 || (marked(case)), "ended {:?}", ran.outcome);
    prop_assert!(ran.outcome.is_some());
    if stopped {
        check_choices(&events)?;
    }
    Ok(())
}

fn marked(case: &Case) -> bool {
    matches!(case.close, Close::Proper)
}

/// After a stop every choice that began, in a frame of the provider or by an observer, is finished, and by us only where
/// it was not: text behind a finish opens it again.
fn check_choices(events: &[Event]) -> Result<(), TestCaseError> {
    for choice in 0..2 {
        let (mut open, mut began, mut by_us) = (false, false, 0);
        for event in events {
            let own = event.json().and_then(|json| json["choices"].as_array()).into_iter().flatten();
            let mut deltas = own.filter(|own| own["index"] == choice).filter_map(|own| own["delta"].as_object());
            let says = deltas.any(|delta| !delta.is_empty());
            (open, began) = (open || says, began || says);
            if let Some(reason) = event.finishes(choice) {
                prop_assert!(
                    reason != "content_filter" || open || !began,
                    "choice {choice} was finished before: {events:?}"
                );
                by_us += usize::from(reason == "content_filter");
                open = false;
            }
        }
        prop_assert!(!open, "choice {choice} is left open");
        prop_assert!(by_us <= 1, "choice {choice} is finished by us {by_us} times");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_output_does_not_depend_on_the_cuts_and_is_well_formed(
        case in case(),
        shares in prop::collection::btree_set(1..1_000u16, 0..30),
    ) {
        let stream = case.stream();
        let whole = run_cut(stream.as_bytes(), &[], &case.observers, case.end);
        let cut = run_cut(stream.as_bytes(), &cut_places(stream.len(), &shares), &case.observers, case.end);
        prop_assert_eq!(&whole, &cut);
        check(&case, &whole)?;
    }

    #[test]
    fn without_observers_what_leaves_begins_with_what_came(
        parts in prop::collection::vec(part(), 0..16),
        shares in prop::collection::btree_set(1..1_000u16, 0..30),
    ) {
        let case = Case { parts, close: Close::Proper, end: End::Finish, observers: Vec::new() };
        let stream = case.stream();
        let ran = run_cut(stream.as_bytes(), &cut_places(stream.len(), &shares), &[], End::Finish);
        prop_assert_eq!(ran.text(), &stream);
    }
}
