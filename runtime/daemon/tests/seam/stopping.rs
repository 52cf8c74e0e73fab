//! A stop ends the stream in front of its chunk, in the client's own protocol.

use seam_plugin_api::Outcome;

use crate::drive::run;
use crate::observer::{Move, Scripted};
use crate::reading::{Event, content as text_of, events};
use crate::streams::{DONE, content, content_of, finish, finish_of, three_chunks};

fn stop_at(nth: usize) -> Scripted {
    Scripted::new(std::iter::repeat_n(Move::Continue, nth).chain([Move::Stop]))
}

#[test]
fn the_client_sees_a_finish_with_the_reason_and_one_end_marker() {
    let stream = [content("a"), content("b"), content("c"), finish("stop"), DONE.into()].concat();
    let ran = run(stream.as_bytes(), &[stop_at(2)]);
    assert_eq!(ran.outcome, Some(Outcome::Stopped));
    insta::assert_snapshot!(ran.text(), @r#"
    data: {"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","kept":[1, 2],"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}

    data: {"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","kept":[1, 2],"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}

    data: {"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}],"seam":{"stop":{"accumulated_content_length":2,"chunk_index":3,"delivered_length":2,"discarded":1,"observer_id":"observer-0","plugin":"tests","reason":"as scripted","seq":2}}}

    data: [DONE]
    "#);
}

#[test]
fn in_the_middle_of_a_frame_what_came_before_stays() {
    let stream = [three_chunks(), DONE.into()].concat();
    let ran = run(stream.as_bytes(), &[stop_at(1)]);
    insta::assert_snapshot!(ran.text(), @r#"
    data: {"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","kept":[1, 2],"choices":[{"index":0,"delta":{"reasoning_content":"hm","content":""},"finish_reason":null}]}

    data: {"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}],"seam":{"stop":{"accumulated_content_length":0,"chunk_index":2,"delivered_length":0,"discarded":1,"observer_id":"observer-0","plugin":"tests","reason":"as scripted","seq":1}}}

    data: [DONE]
    "#);
}

#[test]
fn of_the_first_chunk_leaves_an_answer_without_text() {
    let stream = [content("a"), finish("stop"), DONE.into()].concat();
    let events = events(run(stream.as_bytes(), &[stop_at(0)]).text());
    assert_eq!(events.len(), 2);
    assert_eq!(events[0].finishes(0), Some("content_filter"));
    assert_eq!(events[1], Event::Done);
}

#[test]
fn while_chunks_are_held_drops_them_and_keeps_the_comments_in_front() {
    let stream =
        [content("a"), content("b"), ": kept\n\n".into(), content("c"), ": gone\n\n".into(), DONE.into()].concat();
    let ran = run(stream.as_bytes(), &[Scripted::new([Move::Continue, Move::Buffer, Move::Stop])]);
    let events = events(ran.text());
    assert_eq!(text_of(&events, 0), "a");
    assert_eq!(events[1], Event::Comment(": kept".into()));
    assert_eq!(events[2].stop().unwrap()["discarded"], 2);
    assert_eq!(events[3..], [Event::Done]);
}

#[test]
fn at_the_end_of_the_stream_while_the_end_marker_waits() {
    // The first observer holds everything; what it lets go at the end makes the second one stop.
    let stream = [content("a"), content("b"), finish("stop"), DONE.into()].concat();
    let ran = run(stream.as_bytes(), &[Scripted::new(vec![Move::Buffer; 9]), stop_at(1)]);
    let events = events(ran.text());
    assert_eq!(text_of(&events, 0), "a");
    assert_eq!(events[1].finishes(0), Some("content_filter"));
    assert_eq!(events[2..], [Event::Done]);
    assert_eq!(ran.outcome, Some(Outcome::Stopped));
}

#[test]
fn behind_a_finish_that_the_client_has_adds_no_second_one() {
    let usage = "data: {\"choices\":[],\"usage\":{\"total_tokens\":3}}\n\n";
    let stream = [&content("a"), &finish("stop"), usage, DONE].concat();
    let ran = run(stream.as_bytes(), &[stop_at(2)]);
    let events = events(ran.text());
    assert_eq!(events.iter().filter_map(|event| event.finishes(0)).collect::<Vec<_>>(), ["stop"]);
    assert_eq!(events[2].json().unwrap()["choices"], serde_json::json!([]));
    assert!(events[2].stop().is_some());
    assert_eq!(events[3..], [Event::Done]);
}

#[test]
fn behind_the_end_marker_adds_nothing() {
    let stream = [content("a"), finish("stop"), DONE.into(), content("late")].concat();
    let ran = run(stream.as_bytes(), &[stop_at(2)]);
    assert_eq!(ran.text(), [content("a"), finish("stop"), DONE.into()].concat());
}

#[test]
fn while_the_end_marker_waits_replaces_it_by_the_reason_and_its_own() {
    let stream = [content("a"), content("b"), DONE.into(), content("late")].concat();
    let ran = run(stream.as_bytes(), &[Scripted::new([Move::Continue, Move::Buffer, Move::Stop])]);
    let events = events(ran.text());
    assert_eq!(events[1].finishes(0), Some("content_filter"));
    assert_eq!((events.len(), events.last()), (3, Some(&Event::Done)));
}

#[test]
fn with_two_choices_finishes_the_one_that_is_open() {
    let stream =
        [content_of(0, "a"), content_of(1, "b"), finish_of(0, "stop"), content_of(1, "c"), DONE.into()].concat();
    let ran = run(stream.as_bytes(), &[stop_at(3)]);
    let events = events(ran.text());
    assert_eq!(events[3].finishes(1), Some("content_filter"));
    assert_eq!(events[3].finishes(0), None);
    assert_eq!(events[4..], [Event::Done]);
}

#[test]
fn nothing_is_added_when_a_stopped_stream_is_ended_again() {
    // `run` feeds the rest of the stream and its end, whatever became of it.
    let stream = [content("a"), content("b"), content("c")].concat();
    let once = run(stream.as_bytes(), &[stop_at(1)]);
    let split = stream.len() / 3 * 2;
    let again = crate::drive::run_cut(stream.as_bytes(), &[split], &[stop_at(1)], crate::drive::End::Shutdown);
    assert_eq!(once.bytes, again.bytes);
    assert_eq!(again.outcome, Some(Outcome::Stopped));
}

#[test]
fn an_unterminated_rest_is_not_looked_at_after_a_stop() {
    let stream = [content("a"), content("b"), "data: {\"choices\":[{\"index\":0,\"del".into()].concat();
    let events = events(run(stream.as_bytes(), &[stop_at(1)]).text());
    assert_eq!(events.iter().filter(|event| **event == Event::Done).count(), 1);
    assert_eq!(events.len(), 3);
}
