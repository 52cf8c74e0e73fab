//! The cases of web-platform-tests `eventsource/format-*`, the faults that gateways were reported for, and the rule that
//! every byte belongs to exactly one frame, at any cut.

use std::time::Instant;

use bytes::Bytes;
use proptest::prelude::*;

use super::{Frame, FrameTooLarge, SseDecoder, write_event, write_with_data};

const LIMIT: usize = 1 << 20;

/// The frames of reads, the rest at the end included.
fn frames<'a>(reads: impl IntoIterator<Item = &'a [u8]>) -> Vec<Frame> {
    let mut decoder = SseDecoder::new(LIMIT);
    let mut frames = Vec::new();
    for read in reads {
        decoder.feed(Bytes::copy_from_slice(read));
        while let Some(frame) = decoder.next_frame().unwrap() {
            frames.push(frame);
        }
    }
    while let Some(frame) = decoder.finish() {
        frames.push(frame);
    }
    frames
}

/// The data of every event.
fn events<'a>(reads: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let text = |data: &[u8]| String::from_utf8(data.to_vec()).unwrap();
    frames(reads).iter().filter_map(|frame| frame.data().map(text)).collect()
}

/// The events of one text, after a check that no cut changes them or loses a byte.
fn events_at_any_cut(text: &str) -> Vec<String> {
    let whole = events([text.as_bytes()]);
    for cut in 0..=text.len() {
        let (head, tail) = text.as_bytes().split_at(cut);
        assert_eq!(events([head, tail]), whole, "cut at {cut}");
        assert_eq!(raw(&frames([head, tail])), text.as_bytes(), "cut at {cut}");
    }
    let bytes = || text.as_bytes().chunks(1);
    assert_eq!(events(bytes()), whole, "byte by byte");
    assert_eq!(raw(&frames(bytes())), text.as_bytes(), "byte by byte");
    whole
}

fn raw(frames: &[Frame]) -> Vec<u8> {
    frames.iter().flat_map(|frame| frame.raw().to_vec()).collect()
}

#[test]
fn wpt_format_bom_one_mark_at_the_start_is_skipped() {
    assert_eq!(events_at_any_cut("\u{FEFF}data:1\n\n\u{FEFF}data:2\n\ndata:3\n\n"), ["1", "3"]);
    assert_eq!(events_at_any_cut("\u{FEFF}\u{FEFF}data:1\n\ndata:2\n\ndata:3\n\n"), ["2", "3"]);
    assert_eq!(events_at_any_cut("\u{FEFF}\ndata:1\n\n"), ["1"]);
}

#[test]
fn wpt_format_comments() {
    let long = "x".repeat(2048);
    let text = format!("data:1\r:\0\n:\r\ndata:2\n:{long}\rdata:3\n:data:fail\r:{long}\ndata:4\n\n");
    assert_eq!(events([text.as_bytes()]), ["1\n2\n3\n4"]);
}

#[test]
fn wpt_format_field_data() {
    assert_eq!(events_at_any_cut("data:\n\ndata\ndata\n\ndata:test\n\n"), ["", "\n", "test"]);
}

#[test]
fn wpt_format_field_parsing() {
    let text =
        "data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n";
    assert_eq!(events_at_any_cut(text), ["\0\n 2\n1\n3\n\n4"]);
}

#[test]
fn wpt_format_leading_space_only_one_is_taken() {
    assert_eq!(events_at_any_cut("data:\ttest\rdata: \ndata:test\n\n"), ["\ttest\n\ntest"]);
}

#[test]
fn wpt_format_newlines() {
    assert_eq!(events_at_any_cut("data:test\r\ndata\ndata:test\r\n\r"), ["test\n\ntest"]);
}

#[test]
fn wpt_format_null_character_and_utf_8() {
    assert_eq!(events_at_any_cut("data:\0\n\n\n\ndata:ok…\n\n"), ["\0", "ok…"]);
}

#[test]
fn wpt_format_field_event_keeps_the_name() {
    let frames = frames([b"event:test\ndata:x\n\nevent: error\nevent\ndata:x\n\ndata:y\n\n".as_slice()]);
    let names: Vec<Option<&[u8]>> = frames.iter().map(Frame::event).collect();
    assert_eq!(names, [Some(b"test".as_slice()), Some(b""), None]);
}

#[test]
fn no_space_after_the_colon_and_a_bare_heartbeat_are_events() {
    assert_eq!(events_at_any_cut("data:{\"a\":1}\n\ndata:\n\ndata:[DONE]\n\n"), ["{\"a\":1}", "", "[DONE]"]);
}

#[test]
fn a_comment_alone_is_a_frame_of_its_own_without_data() {
    let text = ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\ndata: 1\n\n";
    assert_eq!(events_at_any_cut(text), ["1"]);
    assert_eq!(frames([text.as_bytes()]).len(), 3);
}

#[test]
fn a_comment_directly_above_the_end_marker_stays_with_it() {
    let frames = frames([b": x-cost=0.1\n: x-id=7\ndata: [DONE]\n\n".as_slice()]);
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].data(), Some(b"[DONE]".as_slice()));
}

#[test]
fn crlf_framing_splits_before_the_end_of_the_stream() {
    let mut decoder = SseDecoder::new(LIMIT);
    decoder.feed(Bytes::from_static(b"data: a\r\n\r\ndata: b\r\n"));
    assert_eq!(decoder.next_frame().unwrap().unwrap().raw().as_ref(), b"data: a\r\n\r\n");
    assert!(decoder.next_frame().unwrap().is_none());
}

#[test]
fn mixed_line_ends_make_no_phantom_lines() {
    assert_eq!(events_at_any_cut("data: a\n\r\ndata: b\r\n\ndata: c\r\rdata: d\n\n"), ["a", "b", "c", "d"]);
}

#[test]
fn a_crlf_after_data_is_one_line_end_and_dispatches_nothing() {
    let mut decoder = SseDecoder::new(LIMIT);
    decoder.feed(Bytes::from_static(b"data: 1\rdata: 2\r\n"));
    assert!(decoder.next_frame().unwrap().is_none());
    decoder.feed(Bytes::from_static(b"\r"));
    assert_eq!(decoder.next_frame().unwrap().unwrap().data(), Some(b"1\n2".as_slice()));
}

#[test]
fn a_lone_cr_dispatches_at_once_and_its_line_feed_travels_with_the_next_frame() {
    let mut decoder = SseDecoder::new(LIMIT);
    decoder.feed(Bytes::from_static(b"data: a\r\n\r"));
    assert_eq!(decoder.next_frame().unwrap().unwrap().raw().as_ref(), b"data: a\r\n\r");
    decoder.feed(Bytes::from_static(b"\n"));
    assert!(decoder.next_frame().unwrap().is_none());
    decoder.feed(Bytes::from_static(b"data: b\n\n"));
    let frame = decoder.next_frame().unwrap().unwrap();
    assert_eq!((frame.raw().as_ref(), frame.data()), (b"\ndata: b\n\n".as_slice(), Some(b"b".as_slice())));
    assert!(decoder.finish().is_none());
}

#[test]
fn an_event_name_in_one_read_and_its_data_in_the_next_belong_together() {
    let frames = frames([b"event: response.created\n".as_slice(), b"data: 1\n\n"]);
    assert_eq!(frames[0].event(), Some(b"response.created".as_slice()));
    assert_eq!(frames[0].data(), Some(b"1".as_slice()));
}

#[test]
fn one_object_over_several_data_lines_is_joined_and_keeps_its_event_name() {
    let frames = frames([b"event: error\ndata: {\"a\":\ndata: 1}\n\n".as_slice()]);
    assert_eq!(frames[0].data(), Some(b"{\"a\":\n1}".as_slice()));
    assert_eq!(frames[0].event(), Some(b"error".as_slice()));
}

#[test]
fn the_last_event_without_its_blank_line_is_not_lost() {
    for (text, owed) in [("data: 1\n\ndata: 2\n", "\n"), ("data: 1\n\ndata: 2", "\n\n")] {
        assert_eq!(events_at_any_cut(text), ["1", "2"]);
        let frames = frames([text.as_bytes()]);
        assert!(frames[0].terminated() && !frames[1].terminated());
        assert_eq!(frames[1].missing_terminator(), owed.as_bytes());
    }
}

#[test]
fn bytes_left_without_data_are_a_frame_without_data() {
    let frames = frames([b"data: 1\n\n: bye".as_slice()]);
    assert_eq!(frames[1].data(), None);
    assert_eq!(frames[1].raw().as_ref(), b": bye");
}

#[test]
fn a_character_split_over_reads_is_whole_again() {
    assert_eq!(events_at_any_cut("data: 北京 🦀\n\n"), ["北京 🦀"]);
}

#[test]
fn a_stream_that_never_ends_a_frame_is_an_error_in_any_shape() {
    for shape in [b"x".as_slice(), b": ping\n", b"data: a\n", b"event: a\r\n", b"\xFF"] {
        let mut decoder = SseDecoder::new(1000);
        let mut fed = 0;
        let error = loop {
            decoder.feed(Bytes::copy_from_slice(shape));
            fed += shape.len();
            match decoder.next_frame() {
                Ok(frame) => assert!(frame.is_none() && fed <= 1000, "{fed} bytes of {shape:?}"),
                Err(error) => break error,
            }
        };
        assert_eq!(error, FrameTooLarge { limit: 1000 });
        assert_eq!(decoder.next_frame().unwrap_err(), error);
        assert!(decoder.finish().is_none());
        assert_eq!(error.to_string(), "one event of the stream is larger than 1000 bytes");
    }
}

#[test]
fn the_bound_does_not_depend_on_the_cuts() {
    let text = [b"data: ".as_slice(), &[b'x'; 92], b"\n\n"].concat();
    for size in [1, 7, 100] {
        for (limit, fits) in [(100, true), (99, false)] {
            let mut decoder = SseDecoder::new(limit);
            text.chunks(size).for_each(|read| decoder.feed(Bytes::copy_from_slice(read)));
            assert_eq!(decoder.next_frame().is_ok(), fits, "limit {limit}, reads of {size}");
        }
    }
}

#[test]
fn many_frames_in_one_read_are_slices_of_it() {
    let read = Bytes::from_static(b"data: 1\n\ndata: 2\n\n");
    let mut decoder = SseDecoder::new(LIMIT);
    decoder.feed(read.clone());
    for start in [0, 9] {
        let frame = decoder.next_frame().unwrap().unwrap();
        assert_eq!(frame.raw().as_ptr(), read[start..].as_ptr());
        assert_eq!(frame.data().unwrap().as_ptr(), read[start + 6..].as_ptr());
    }
}

#[test]
fn a_large_event_in_tiny_reads_takes_linear_time() {
    let per_byte = |length: usize| {
        let best = |_| {
            let mut decoder = SseDecoder::new(usize::MAX);
            let byte = Bytes::from_static(b"x");
            let start = Instant::now();
            decoder.feed(Bytes::from_static(b"data: "));
            for _ in 0..length {
                decoder.feed(byte.clone());
                assert!(decoder.next_frame().unwrap().is_none());
            }
            start.elapsed()
        };
        (0..3).map(best).min().unwrap().as_secs_f64() / length as f64
    };
    // Quadratic time would make this ratio 8; the bound leaves room for a busy machine.
    let ratio = per_byte(1 << 20) / per_byte(1 << 17);
    assert!(ratio < 3.0, "time per byte grows {ratio:.2} fold");
}

#[test]
fn other_data_leaves_every_other_byte_of_a_frame() {
    let rewrite = |text: &str, data: &str| {
        let mut out = Vec::new();
        write_with_data(&frames([text.as_bytes()])[0], data, &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(
        rewrite(": c\r\nid: 1\r\ndata:old\r\nevent: e\r\n\r\n", "new"),
        ": c\r\nid: 1\r\ndata:new\r\nevent: e\r\n\r\n"
    );
    assert_eq!(
        rewrite("id: 1\ndata: a\n: c\ndata: b\nretry: 5\n\n", "x\ny"),
        "id: 1\ndata: x\ndata: y\n: c\nretry: 5\n\n"
    );
    assert_eq!(rewrite("data: a", "b"), "data: b\n\n");
    assert_eq!(rewrite("data: a\ndata: b", "c"), "data: c\n\n");
    assert_eq!(rewrite("data: a\ndata: b\n: c", "d"), "data: d\n: c\n\n");
}

#[test]
fn a_written_event_reads_back() {
    let mut out = Vec::new();
    write_event(None, "{\n}", &mut out);
    assert_eq!(out, b"data: {\ndata: }\n\n");
}

/// Text made of what matters to the rules, and cut into reads.
fn cut_text() -> impl Strategy<Value = (Vec<u8>, Vec<usize>)> {
    let piece = prop::sample::select(vec![
        "\n", "\r", "\r\n", "\n\n", "\r\n\r\n", "data", "data:", "data: x", "event: e", ":", ": c", " ", "\u{FEFF}",
        "é", "id: 1", "z",
    ]);
    let text = prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes());
    (text, prop::collection::vec(1..7_usize, 1..60))
}

proptest! {
    #[test]
    fn every_byte_belongs_to_one_frame_and_no_cut_changes_an_event((text, sizes) in cut_text()) {
        let mut reads = Vec::new();
        let mut rest = &text[..];
        for size in sizes.iter().cycle() {
            let (read, after) = rest.split_at((*size).min(rest.len()));
            reads.push(read);
            rest = after;
            if rest.is_empty() { break; }
        }
        let cut = frames(reads.iter().copied());
        prop_assert_eq!(raw(&cut), &text[..]);
        prop_assert_eq!(events(reads.iter().copied()), events([&text[..]]));
        prop_assert!(cut.iter().rev().skip(1).all(Frame::terminated));
    }
}
