//! Rendering: what comes out is framed and well-formed as what came in, and says the edited text.

use seam_wire::{Decoded, Edit, Framing, Protocol, Stop, Wire};
use serde_json::Value;

use crate::case::{Case, End, Mode};
use crate::decoding::is_json;
use crate::driving::{Driver, Outcome, Texts, says_texts};
use crate::edits::{edit, is_prose};
use crate::framing::each_frame;

/// A frame's longest length: longer than inputs are.
const LONGEST: usize = 1 << 20;

pub(crate) fn check(protocol: Protocol, input: &[u8]) {
    let case = Case::read(input);
    if case.is_body() {
        return check_body(protocol, &case);
    }
    let framing = case.framing(protocol);
    let mut driver = Driver::new(&case, protocol, framing);
    each_frame(framing, LONGEST, case.reads(), |frame| driver.arrive(frame));
    let outcome = driver.finish();
    let came = data_of(framing, case.stream);
    if !came.iter().all(|data| is_strict(data)) {
        return;
    }
    let out = data_of(framing, &outcome.out);
    for data in &out {
        assert!(is_strict(data), "what went out is JSON: {}", String::from_utf8_lossy(data));
    }
    match case.mode() {
        Mode::Itself if case.end() == End::Provider && !case.keeps_alive(0) => equal(&outcome, &out),
        mode if says_texts(mode) && case.end() == End::Provider => {
            assert_eq!(texts_of(protocol, framing, &outcome.out), outcome.texts, "{}", told(&outcome.out));
        }
        _ => {}
    }
}

fn told(out: &[u8]) -> String {
    String::from_utf8_lossy(out).into_owned()
}

fn is_strict(data: &[u8]) -> bool {
    data.trim_ascii().is_empty() || data == b"[DONE]" || is_json(data)
}

fn data_of(framing: Framing, stream: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let reads = vec![bytes::Bytes::copy_from_slice(stream)];
    each_frame(framing, LONGEST, reads, |frame| all.extend(frame.data().map(<[u8]>::to_vec)));
    all
}

/// The same frames, each equal as JSON.
fn equal(outcome: &Outcome, out: &[Vec<u8>]) {
    assert_eq!(outcome.sent.len(), out.len(), "as many frames: {}", told(&outcome.out));
    for (before, after) in outcome.sent.iter().zip(out) {
        let same = before == after || value(before) == value(after);
        assert!(same, "{} became {}", told(before), told(after));
    }
}

fn value(data: &[u8]) -> Option<Value> {
    serde_json::from_slice(data).ok()
}

/// The texts that a stream says.
fn texts_of(protocol: Protocol, framing: Framing, stream: &[u8]) -> Texts {
    let mut wire = Wire::new(protocol, framing);
    let (mut decoded, mut texts) = (Decoded::default(), Texts::new());
    let reads = vec![bytes::Bytes::copy_from_slice(stream)];
    each_frame(framing, LONGEST, reads, |frame| {
        wire.decode(&frame, &mut decoded);
        add_texts(&decoded, frame.data().unwrap_or_default(), &mut texts);
    });
    texts
}

fn add_texts(decoded: &Decoded, data: &[u8], texts: &mut Texts) {
    for chunk in decoded.chunks(data).filter(|chunk| is_prose(chunk.kind) && !chunk.text.is_empty()) {
        texts.entry((chunk.choice, chunk.kind as u8)).or_default().push_str(chunk.text);
    }
}

/// A whole answer with its edits, stopped or not.
fn check_body(protocol: Protocol, case: &Case<'_>) {
    let body = case.stream;
    let mut wire = Wire::new(protocol, Framing::Sse);
    let (mut decoded, mut out) = (Decoded::default(), Vec::new());
    wire.decode_body(body, &mut decoded);
    let (mut edits, mut texts) = (Vec::new(), Texts::new());
    for (position, chunk) in decoded.chunks(body).enumerate() {
        let edit = match case.end() {
            End::Stop(at) if position >= at => Edit::Remove,
            _ => edit(case.mode(), case.edit(position), &chunk),
        };
        let text = match edit {
            Edit::Keep => chunk.text,
            Edit::Replace(body) => body.text,
            Edit::Remove => "",
        };
        if is_prose(chunk.kind) && !text.is_empty() {
            texts.entry((chunk.choice, chunk.kind as u8)).or_default().push_str(text);
        }
        edits.push(edit);
    }
    let stopped = matches!(case.end(), End::Stop(_));
    if stopped {
        let stop = Stop { sentinel: "{\"reason\":\"stopped\"}", delivered: &|_| "" };
        wire.stop_body(body, &decoded, &edits, &stop, &mut out);
    } else {
        wire.render_body(body, &decoded, &edits, &mut out);
    }
    if !is_json(body) {
        return;
    }
    assert!(is_json(&out), "the body that went out is JSON: {}", told(&out));
    if case.mode() == Mode::Itself && !stopped {
        assert!(value(body) == value(&out), "{} became {}", told(body), told(&out));
    }
    if says_texts(case.mode()) && !stopped {
        let (mut again, mut said) = (Wire::new(protocol, Framing::Sse), Texts::new());
        again.decode_body(&out, &mut decoded);
        add_texts(&decoded, &out, &mut said);
        assert_eq!(said, texts, "{}", told(&out));
    }
}
