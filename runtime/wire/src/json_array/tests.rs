//! Frames of an array at every cut, and an array again whatever is left out or put in.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value;

use super::JsonArrayDecoder;
use crate::answer::Event;
use crate::framing::{FrameWriter, Framing};
use crate::sse::Frame;

const ARRAY: &str = "\u{FEFF} [{\"a\":\"]}\\\"\\\\\"}\r\n,\n{\"b\":[1,[2],{}]} , \"s,]\" ,12.5, null,[]\t,{} ]\n";

fn cut(reads: &[&[u8]], max_frame: usize) -> Vec<Frame> {
    let mut decoder = JsonArrayDecoder::new(max_frame);
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

fn frames(text: &str) -> Vec<Frame> {
    cut(&[text.as_bytes()], usize::MAX)
}

fn data(frames: &[Frame]) -> Vec<&str> {
    frames.iter().filter_map(Frame::data).map(|data| std::str::from_utf8(data).unwrap()).collect()
}

fn shown(frames: &[Frame]) -> Vec<(Vec<u8>, Option<Vec<u8>>, bool)> {
    frames.iter().map(|frame| (frame.raw().to_vec(), frame.data().map(<[u8]>::to_vec), frame.terminated())).collect()
}

fn raw(frames: &[Frame]) -> Vec<u8> {
    frames.iter().flat_map(|frame| frame.raw().to_vec()).collect()
}

#[test]
fn a_frame_is_an_element_with_what_is_in_front_of_it() {
    let frames = frames(ARRAY);
    let expected = ["{\"a\":\"]}\\\"\\\\\"}", "{\"b\":[1,[2],{}]}", "\"s,]\"", "12.5", "null", "[]", "{}"];
    assert_eq!(data(&frames), expected);
    assert_eq!(frames[0].raw(), "\u{FEFF} [{\"a\":\"]}\\\"\\\\\"}");
    assert_eq!(frames[1].raw(), "\r\n,\n{\"b\":[1,[2],{}]}");
    assert_eq!(frames[7].raw(), " ]");
    assert_eq!(frames[8].raw(), "\n");
    assert_eq!(raw(&frames), ARRAY.as_bytes());
}

#[test]
fn an_array_is_the_same_at_every_cut() {
    let whole = shown(&frames(ARRAY));
    let single: Vec<&[u8]> = ARRAY.as_bytes().chunks(1).collect();
    assert_eq!(shown(&cut(&single, usize::MAX)), whole);
    for first in 0..=ARRAY.len() {
        for second in first..=ARRAY.len() {
            let bytes = ARRAY.as_bytes();
            let reads = [&bytes[..first], &bytes[first..second], &bytes[second..]];
            assert_eq!(shown(&cut(&reads, usize::MAX)), whole, "{first} {second}");
        }
    }
}

#[test]
fn an_element_leaves_with_its_last_byte() {
    let mut decoder = JsonArrayDecoder::new(100);
    decoder.feed(Bytes::from_static(b"[{\"a\":1"));
    assert!(decoder.next_frame().unwrap().is_none());
    decoder.feed(Bytes::from_static(b"}"));
    assert_eq!(decoder.next_frame().unwrap().unwrap().data().unwrap(), b"{\"a\":1}");
    decoder.feed(Bytes::from_static(b"]"));
    assert_eq!(decoder.next_frame().unwrap().unwrap().raw(), "]");
    assert!(decoder.finish().is_none());
}

#[test]
fn what_is_no_array_is_one_frame_at_the_end() {
    for (text, expected) in [
        (" {\"error\":{\"code\":400}}\n", Some("{\"error\":{\"code\":400}}")),
        ("<html>[1]</html>", Some("<html>[1]</html>")),
        ("\"text\"", Some("\"text\"")),
        (" \n", None),
    ] {
        let frames = frames(text);
        assert_eq!((frames.len(), frames[0].raw().as_ref()), (1, text.as_bytes()));
        assert_eq!(data(&frames), Vec::from_iter(expected));
        assert!(frames[0].terminated());
    }
    assert!(frames("").is_empty());
    assert_eq!(data(&frames("[1] and [2]\n")), ["1", "and [2]"]);
}

#[test]
fn an_element_that_broke_off_is_not_terminated() {
    let frames = frames("[{\"a\":1},{\"b\":\"");
    assert_eq!(data(&frames), ["{\"a\":1}", "{\"b\":\""]);
    assert!(frames[0].terminated() && !frames[1].terminated());
}

#[test]
fn an_open_frame_over_the_bound_is_refused_whatever_its_shape() {
    for text in
        ["[{\"a\":\"aaaaaaaaaaaaaaaaaaa", "[[[[[[[[[[[[[[[[[[[[[[[[", "[ ,,,,,,,,,,,,,,,,,,,,,,,", "no array, and long"]
    {
        for size in [1, 5, 100] {
            let mut decoder = JsonArrayDecoder::new(16);
            let mut refused = false;
            for read in text.as_bytes().chunks(size) {
                decoder.feed(Bytes::copy_from_slice(read));
                refused |= decoder.next_frame().is_err();
            }
            assert!(refused && decoder.next_frame().is_err(), "{text} by {size}");
            assert!(decoder.finish().is_none());
        }
    }
}

#[test]
fn one_long_element_in_small_reads_is_scanned_once() {
    let text = format!("[\"{}\"]", "x\\\"".repeat(1 << 20));
    let reads: Vec<&[u8]> = text.as_bytes().chunks(7).collect();
    assert_eq!(raw(&cut(&reads, usize::MAX)), text.as_bytes());
}

/// What the writer makes of frames: left out, as they came, or with other data; `None` puts an event in.
#[derive(Clone, Copy, Debug)]
enum Step {
    Leave,
    Pass,
    Change,
    Inject,
}

/// Writes the frames as the steps say, as a caller does that writes unchanged bytes itself.
fn written(frames: &[Frame], steps: &[Step]) -> (String, Vec<Value>) {
    let (mut writer, mut out, mut expected) = (FrameWriter::new(Framing::JsonArray), Vec::new(), Vec::new());
    let mut steps = steps.iter().copied().chain(std::iter::repeat(Step::Pass));
    for frame in frames {
        let mut step = steps.next().unwrap();
        let is_open = frame.data().is_some() || frame.raw().contains(&b']');
        while matches!(step, Step::Inject) && is_open {
            writer.event(&Event::unnamed("{\"injected\":1}"), &mut out);
            writer.event(&Event::default(), &mut out);
            expected.push(serde_json::json!({ "injected": 1 }));
            step = steps.next().unwrap();
        }
        match (step, frame.data()) {
            (Step::Leave, Some(_)) => writer.touch(),
            (Step::Change, Some(_)) => {
                writer.with_data(frame, "{\"changed\":1}", &mut out);
                expected.push(serde_json::json!({ "changed": 1 }));
            }
            (_, data) => {
                expected.extend(data.map(|data| serde_json::from_slice::<Value>(data).unwrap()));
                if writer.is_misplaced(frame) {
                    writer.raw(frame, &mut out);
                } else {
                    out.extend_from_slice(frame.raw());
                    writer.passed(frame);
                }
            }
        }
    }
    writer.end(&mut out);
    let text = String::from_utf8(out).unwrap();
    (text.trim_start_matches('\u{FEFF}').to_owned(), expected)
}

#[test]
fn an_array_that_nobody_touched_keeps_its_bytes() {
    for text in [ARRAY, "[]", " [ ]\n", "[1]", "{\"error\":{}}", "[1] x"] {
        let (mut writer, mut out) = (FrameWriter::new(Framing::JsonArray), Vec::new());
        for frame in frames(text) {
            assert!(!writer.is_misplaced(&frame), "{text}");
            writer.raw(&frame, &mut out);
        }
        writer.end(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }
}

#[test]
fn an_array_that_broke_off_is_closed_behind_its_last_whole_element() {
    for text in ["[{\"a\":1},{\"b\":\"", "[{\"a\":1},", "[{\"a\":1}"] {
        let (mut writer, mut out) = (FrameWriter::new(Framing::JsonArray), Vec::new());
        for frame in frames(text) {
            writer.raw(&frame, &mut out);
        }
        writer.event(&Event::unnamed("{\"error\":{}}"), &mut out);
        writer.end(&mut out);
        let value: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value, serde_json::json!([{ "a": 1 }, { "error": {} }]), "{text}");
    }
}

#[test]
fn nothing_follows_the_closing_bracket() {
    for text in ["[1]", "{\"error\":{}}"] {
        let (mut writer, mut out) = (FrameWriter::new(Framing::JsonArray), Vec::new());
        frames(text).iter().for_each(|frame| writer.raw(frame, &mut out));
        writer.event(&Event::unnamed("{}"), &mut out);
        writer.end(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }
}

#[test]
fn an_end_without_any_element_is_an_empty_array() {
    let mut out = Vec::new();
    FrameWriter::new(Framing::JsonArray).end(&mut out);
    assert_eq!(out, b"[]\n");
}

fn values() -> impl Strategy<Value = Vec<Value>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a\"\\\\\\]}{\\[,: é\n]{0,12}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c\"\\]]{0,3}", inner, 0..4).prop_map(Value::from_iter),
        ]
    });
    prop::collection::vec(value, 0..6)
}

fn array_text(values: &[Value], space: &str, pretty: bool) -> String {
    let element = |value: &Value| if pretty { format!("{value:#}") } else { value.to_string() };
    let elements: Vec<String> = values.iter().map(element).collect();
    format!("{space}[{space}{}{space}]{space}", elements.join(&format!("{space},{space}")))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(
        prop_oneof![Just(Step::Leave), Just(Step::Pass), Just(Step::Change), Just(Step::Inject)],
        0..12,
    )
}

proptest! {
    #[test]
    fn every_array_is_cut_into_its_elements(
        values in values(), space in "[ \r\n\t]{0,3}", pretty: bool, cuts in prop::collection::vec(1..40_usize, 0..20),
    ) {
        let text = array_text(&values, &space, pretty);
        let mut rest = text.as_bytes();
        let mut reads = Vec::new();
        for size in cuts {
            let (read, tail) = rest.split_at(size.min(rest.len()));
            reads.push(read);
            rest = tail;
        }
        reads.push(rest);
        let frames = cut(&reads, usize::MAX);
        prop_assert_eq!(raw(&frames), text.as_bytes());
        let found: Vec<Value> = data(&frames).iter().map(|data| serde_json::from_str(data).unwrap()).collect();
        prop_assert_eq!(found, values);
    }

    #[test]
    fn what_is_written_is_always_one_array(
        values in values(), space in "[ \r\n\t]{0,3}", pretty: bool, steps in steps(),
    ) {
        let frames = frames(&array_text(&values, &space, pretty));
        let (text, expected) = written(&frames, &steps);
        let found: Result<Vec<Value>, _> = serde_json::from_str(&text);
        prop_assert_eq!(found.map_err(|error| format!("{error}: {text}")), Ok(expected));
    }

    #[test]
    fn whatever_the_bytes_none_is_lost(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(raw(&cut(&single, usize::MAX)), bytes.clone());
        prop_assert_eq!(shown(&cut(&[&bytes], usize::MAX)), shown(&cut(&single, usize::MAX)));
    }
}
