//! The same answers as one JSON array.

use bytes::Bytes;
use seam_plugin_api::ChunkKind;
use serde_json::Value;

use super::streams::{edited, json, raw, recorded, stopped, upper};
use super::{cut_frames, decode_all, frames, oracle, parts};
use crate::{Blame, Decoded, Edit, Failure, Frame, FrameDecoder, Framing, Protocol, Wire};

/// The events of a stream as the elements of an array, indented as the provider does.
fn array(events: &[u8]) -> String {
    let events = frames(events);
    let elements: Vec<String> =
        events.iter().filter(|frame| frame.data().is_some()).map(|frame| format!("{:#}", json(frame))).collect();
    format!("[{}\n]\n", elements.join("\n,\r\n"))
}

fn elements(text: &[u8]) -> Vec<Frame> {
    cut_frames(Framing::JsonArray, &[text])
}

fn fresh() -> Wire {
    Wire::new(Protocol::Gemini, Framing::JsonArray)
}

#[test]
fn an_array_says_what_the_events_say() {
    for (path, text) in recorded() {
        let told = decode_all(&frames(&text));
        let array = array(&text);
        let single: Vec<&[u8]> = array.as_bytes().chunks(1).collect();
        for frames in [elements(array.as_bytes()), cut_frames(Framing::JsonArray, &single)] {
            assert_eq!(raw(&frames), array.as_bytes());
            let again = decode_all(&frames);
            assert_eq!(again.len(), told.len(), "{}", path.display());
            for (again, told) in again.iter().zip(&told) {
                assert_eq!(
                    (again.choice, again.kind, again.payload.is_some()),
                    (told.choice, told.kind, told.payload.is_some())
                );
                if told.kind != ChunkKind::ToolCallDelta {
                    assert_eq!(again, told, "{}", path.display());
                }
            }
        }
    }
}

#[test]
fn an_array_takes_every_edit_and_stays_one() {
    for (path, text) in recorded() {
        let array = array(&text);
        let frames = elements(array.as_bytes());
        assert_eq!(edited(Framing::JsonArray, &frames, |_| None), array.as_bytes());
        let after: Vec<Value> = serde_json::from_slice(&edited(Framing::JsonArray, &frames, upper)).unwrap();
        let before: Vec<Value> = serde_json::from_str(&array).unwrap();
        let after: Vec<Value> = after.into_iter().map(oracle::pruned).collect();
        assert_eq!(after, before.into_iter().map(oracle::upper).collect::<Vec<_>>(), "{}", path.display());
        for stop_at in 0..decode_all(&frames).len() {
            let stopped: Vec<Value> = serde_json::from_slice(&stopped(Framing::JsonArray, &frames, stop_at)).unwrap();
            assert_eq!(stopped.last().unwrap()["seam"]["stop"]["reason"], "r", "{} at {stop_at}", path.display());
        }
    }
}

#[test]
fn an_array_with_a_left_out_element_stays_one() {
    let element = |text: &str| parts(&format!(r#"{{"text":"{text}"}}"#));
    let array = format!("[{}\n,\n{},{}]\n", element("a"), element("b"), element("c"));
    for left_out in 0..3 {
        let (mut wire, mut out) = (fresh(), Vec::new());
        for (position, frame) in elements(array.as_bytes()).iter().enumerate() {
            let mut decoded = Decoded::default();
            wire.decode(frame, &mut decoded);
            if position == left_out {
                wire.render(frame, &decoded, &[Edit::Remove], &mut out);
            } else if wire.needs_render(frame, &decoded) {
                wire.render(frame, &decoded, &[Edit::Keep], &mut out);
            } else {
                out.extend_from_slice(frame.raw());
                wire.passed(frame, &decoded);
            }
        }
        let left: Vec<Value> = serde_json::from_slice(&out).unwrap();
        assert_eq!(left.len(), 2, "{}", String::from_utf8_lossy(&out));
    }
}

#[test]
fn a_cut_array_ends_with_an_error_as_its_last_element() {
    let array = format!("[{},\n{}]", parts(r#"{"text":"a"}"#), parts(r#"{"text":"b"}"#));
    for cut in 0..array.len() {
        let (mut wire, mut out, mut decoder) = (fresh(), Vec::new(), FrameDecoder::new(Framing::JsonArray, 1 << 20));
        decoder.feed(Bytes::copy_from_slice(&array.as_bytes()[..cut]));
        let mut decoded = Decoded::default();
        while let Some(frame) = decoder.next_frame().unwrap().or_else(|| decoder.finish()) {
            wire.decode(&frame, &mut decoded);
            wire.render(&frame, &decoded, &[], &mut out);
        }
        wire.end_error(&Failure { message: "cut", blame: Blame::Provider, code: "c" }, &mut out);
        let left: Vec<Value> = serde_json::from_slice(&out).expect("an array");
        assert_eq!(left.last().unwrap()["error"]["message"], "cut", "{cut}");
    }
}

/// An answer with an error is one object, not an array, where the whole request failed.
#[test]
fn an_error_in_place_of_an_array_is_told() {
    let frames = elements(b"{\n  \"error\": {\"code\": 429, \"message\": \"slow down\"}\n}\n");
    let told = decode_all(&frames);
    assert_eq!((told.len(), told[0].kind, told[0].text.as_str()), (1, ChunkKind::Error, "slow down"));
}
