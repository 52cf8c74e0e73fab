//! Ends that the provider, the transport or the operator makes.

use seam_plugin_api::Outcome;

use crate::drive::{End, MAX_FRAME, run, run_cut};
use crate::observer::{Move, Scripted};
use crate::reading::{Event, content as text_of, events};
use crate::streams::{DONE, content, finish};

const ERROR: &str = "data: {\"error\":{\"message\":\"overloaded\",\"type\":\"server_error\",\"code\":503}}\n\n";

#[test]
fn a_stream_that_breaks_off_ends_with_an_error_and_an_end_marker() {
    let ran = run(content("a").as_bytes(), &[]);
    assert_eq!(ran.outcome, Some(Outcome::ProviderError));
    insta::assert_snapshot!(ran.text(), @r#"
    data: {"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","kept":[1, 2],"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}

    data: {"error":{"message":"the provider's stream broke off before the answer was finished","type":"provider_error","param":null,"code":"provider_broke_off"}}

    data: [DONE]
    "#);
}

#[test]
fn an_empty_stream_is_one_that_broke_off() {
    let events = events(run(b"", &[]).text());
    assert_eq!(events[0].error_code(), Some("provider_broke_off"));
    assert_eq!(events[1..], [Event::Done]);
}

#[test]
fn a_frame_that_is_cut_in_the_middle_is_ended_before_the_error() {
    let stream = [content("a"), "data: {\"choices\":[{\"index\":0,\"delta\":{\"con".into()].concat();
    let ran = run(stream.as_bytes(), &[]);
    assert!(ran.text().starts_with(&stream));
    let events = events(ran.text());
    assert!(matches!(events[1], Event::Text(_)));
    assert_eq!(events[2].error_code(), Some("provider_broke_off"));
    assert_eq!(events[3..], [Event::Done]);
}

#[test]
fn a_finish_without_an_end_marker_is_complete() {
    let stream = [content("a"), finish("stop")].concat();
    let ran = run(stream.as_bytes(), &[]);
    assert_eq!((ran.text(), ran.outcome), (&*stream, Some(Outcome::Completed)));
}

#[test]
fn an_error_of_the_provider_passes_and_is_the_outcome() {
    for end in ["", DONE] {
        let stream = [&content("a"), ERROR, end].concat();
        let ran = run(stream.as_bytes(), &[]);
        assert_eq!((ran.text(), ran.outcome), (&*stream, Some(Outcome::ProviderError)));
    }
}

#[test]
fn a_connection_that_breaks_ends_with_the_error_that_is_given() {
    let stream = content("a");
    let ran = run_cut(stream.as_bytes(), &[], &[], End::Broken);
    let events = events(ran.text());
    assert_eq!(events[1].error_code(), Some("reset"));
    assert_eq!((events.len(), ran.outcome), (3, Some(Outcome::ProviderError)));
}

#[test]
fn a_connection_that_breaks_behind_the_end_marker_has_broken_nothing() {
    let stream = [content("a"), finish("stop"), DONE.into()].concat();
    let ran = run_cut(stream.as_bytes(), &[], &[], End::Broken);
    assert_eq!((ran.text(), ran.outcome), (&*stream, Some(Outcome::Completed)));
    let held = run_cut(stream.as_bytes(), &[], &[Scripted::new([Move::Buffer])], End::Shutdown);
    assert_eq!((held.text(), held.outcome), (&*stream, Some(Outcome::Completed)));
}

#[test]
fn a_shutdown_ends_in_the_middle_of_a_frame_without_its_beginning() {
    let whole = content("a");
    let stream = [&whole, "data: {\"choi"].concat();
    let ran = run_cut(stream.as_bytes(), &[], &[], End::Shutdown);
    let events = events(ran.text());
    assert!(ran.text().starts_with(&whole) && !ran.text().contains("choi\""));
    assert_eq!(events[1].error_code(), Some("shutdown"));
    assert_eq!((events.len(), ran.outcome), (3, Some(Outcome::Shutdown)));
}

#[test]
fn a_frame_that_is_too_large_ends_the_stream_whatever_its_shape() {
    let line = format!("data: {}\n\n", "x".repeat(MAX_FRAME));
    let comments = ": x\n".repeat(MAX_FRAME / 4 + 1);
    for large in [line, comments] {
        let stream = [&*content("a"), &*large, &*finish("stop"), DONE].concat();
        for cuts in [vec![], (1..stream.len()).step_by(1_000).collect()] {
            let ran = run_cut(stream.as_bytes(), &cuts, &[], End::Finish);
            let events = events(ran.text());
            assert_eq!(text_of(&events, 0), "a");
            assert_eq!(events[1].error_code(), Some("provider_frame_too_long"));
            assert_eq!((events.len(), ran.outcome), (3, Some(Outcome::ProviderError)));
        }
    }
}

#[test]
fn a_stream_of_noise_is_passed_on_and_ends_with_an_error() {
    let noise = "\u{0}\u{1}no event at all\nnor: this\n\n";
    let ran = run(noise.as_bytes(), &[]);
    assert!(ran.text().starts_with(noise));
    assert_eq!(events(&ran.text()[noise.len()..])[0].error_code(), Some("provider_broke_off"));
}
