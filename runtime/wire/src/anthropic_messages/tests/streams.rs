//! Whole streams: the fixture of this crate, and recorded ones where they are at hand.

use std::path::{Path, PathBuf};

use super::client::Message;
use super::*;
use crate::Stop;
use crate::answer::is_text_kind;

/// A stream of this crate that has every kind of block and delta.
pub(super) const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/anthropic-messages/every-block.sse");

/// The fixture, and the streams recorded from providers, which lie beside the repository on some machines.
pub(super) fn all_streams() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/streams/anthropic-messages"));
    let mut files = vec![PathBuf::from(FIXTURE)];
    match std::fs::read_dir(folder) {
        Ok(entries) => files.extend(entries.map(|entry| entry.unwrap().path())),
        Err(_) => println!("skipped: no recorded streams in {}", folder.display()),
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "sse"));
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// The streams that a strict client takes: one message each.
pub(super) fn well_formed() -> Vec<(PathBuf, Vec<u8>)> {
    let mut streams = all_streams();
    let count = streams.len();
    streams.retain(|(_, text)| Message::read(text).is_ok());
    // Two are spliced, and two hold several messages.
    assert!(streams.len() >= count - 4, "{} of {count}", streams.len());
    streams
}

/// What an event says, by a reader that takes every JSON apart.
fn naive(event: &Value) -> Vec<(ChunkKind, String)> {
    let mut told = Vec::new();
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_object = |value: &Value| value.as_object().is_some_and(|object| !object.is_empty());
    let block = |block: &Value, told: &mut Vec<(ChunkKind, String)>| {
        let kind = block["type"].as_str().unwrap_or_default();
        match kind {
            "text" => told.push((ChunkKind::ContentDelta, string(&block["text"]))),
            "thinking" => told.push((ChunkKind::ReasoningDelta, string(&block["thinking"]))),
            "compaction" => told.push((ChunkKind::ReasoningDelta, string(&block["content"]))),
            _ if kind.ends_with("tool_use") => {
                let input = if is_object(&block["input"]) { block["input"].to_string() } else { String::new() };
                told.push((ChunkKind::ToolCallDelta, format!("{} {} {input}", block["id"], block["name"])));
            }
            _ => {}
        }
    };
    match event["type"].as_str().unwrap() {
        "message_start" => {
            event["message"]["content"].as_array().unwrap().iter().for_each(|part| block(part, &mut told));
            told.push((ChunkKind::Finish, string(&event["message"]["stop_reason"])));
            told.push((ChunkKind::Usage, event["message"]["usage"].to_string()));
        }
        "content_block_start" => block(&event["content_block"], &mut told),
        "content_block_delta" => {
            let delta = &event["delta"];
            told.push((ChunkKind::ReasoningDelta, string(&delta["thinking"])));
            told.push((ChunkKind::ReasoningDelta, string(&delta["content"])));
            told.push((ChunkKind::ContentDelta, string(&delta["text"])));
            told.push((ChunkKind::ToolCallDelta, string(&delta["partial_json"])));
            if is_object(&delta["citation"]) {
                told.push((ChunkKind::Annotation, delta["citation"].to_string()));
            }
        }
        "content_block_stop" => told.push((ChunkKind::Finish, "end of block".to_owned())),
        "message_delta" => {
            told.push((ChunkKind::Finish, string(&event["delta"]["stop_reason"])));
            told.push((ChunkKind::Usage, event["usage"].to_string()));
        }
        _ => {}
    }
    told.retain(|(_, text)| !text.is_empty());
    if told.is_empty() {
        told.push((ChunkKind::Opaque, event.to_string()));
    }
    told
}

/// A chunk as the naive reader tells it.
fn as_naive(chunk: Seen) -> (ChunkKind, String) {
    let payload = chunk.payload.unwrap_or_default();
    let text = match chunk.kind {
        ChunkKind::ToolCallDelta if !payload["id"].is_null() => {
            let input = serde_json::from_str::<Value>(&chunk.text).map_or(chunk.text, |input| input.to_string());
            format!("{} {} {input}", payload["id"], payload["name"])
        }
        ChunkKind::Usage => payload["provider"].to_string(),
        ChunkKind::Annotation => payload["citation"].to_string(),
        ChunkKind::Opaque => payload.to_string(),
        ChunkKind::Finish if chunk.text.is_empty() => "end of block".to_owned(),
        _ => chunk.text,
    };
    (chunk.kind, text)
}

#[test]
fn streams_decode_as_a_naive_reader_decodes_them() {
    for (path, text) in all_streams() {
        let expected: Vec<_> = events(&text).iter().flat_map(naive).collect();
        let told: Vec<_> = decode_all(&frames(&text)).into_iter().map(as_naive).collect();
        assert_eq!(told, expected, "{}", path.display());
    }
}

#[test]
fn streams_pass_as_the_bytes_that_came() {
    for (path, text) in all_streams() {
        assert_eq!(run(&mut fresh(), &text, |_, _| Edit::Keep), text, "{}", path.display());
    }
}

#[test]
fn streams_are_the_same_at_any_cut() {
    for (path, text) in all_streams() {
        let whole = decode_all(&frames(&text));
        let step = if path.ends_with("every-block.sse") { 1 } else { text.len() / 17 };
        for cut in (0..text.len()).step_by(step.max(1)) {
            let mut decoder = SseDecoder::new(1 << 24);
            let mut cut_frames = Vec::new();
            for read in [&text[..cut], &text[cut..]] {
                decoder.feed(Bytes::copy_from_slice(read));
                while let Some(frame) = decoder.next_frame().unwrap() {
                    cut_frames.push(frame);
                }
            }
            cut_frames.extend(decoder.finish());
            assert_eq!(decode_all(&cut_frames), whole, "{} at {cut}", path.display());
        }
    }
}

/// Each chunk of a stream put in its own place again, or made another of its kind.
fn rewritten(text: &[u8], new_text: impl Fn(&Seen) -> String) -> Vec<u8> {
    let (mut wire, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
    for frame in frames(text) {
        let data = frame.data().unwrap_or_default();
        wire.decode(&frame, &mut decoded);
        let texts: Vec<String> = decoded.chunks(data).map(|chunk| new_text(&Seen::of(chunk))).collect();
        let edits: Vec<Edit<'_>> = decoded
            .chunks(data)
            .zip(&texts)
            .map(|(chunk, text)| Edit::Replace(Body { kind: chunk.kind, text, payload: chunk.payload }))
            .collect();
        leave(&mut wire, &frame, &decoded, &edits, &mut out);
    }
    out
}

#[test]
fn what_is_amended_to_itself_is_the_same_event() {
    for (path, text) in all_streams() {
        assert_eq!(rewritten(&text, |chunk| chunk.text.clone()), text, "{}", path.display());
    }
}

fn upper(value: &mut Value) {
    match value {
        Value::String(text) => *text = text.to_uppercase(),
        Value::Array(elements) => elements.iter_mut().for_each(upper),
        Value::Object(members) => {
            *members = std::mem::take(members)
                .into_iter()
                .map(|(name, mut member)| {
                    upper(&mut member);
                    (name.to_uppercase(), member)
                })
                .collect();
        }
        _ => {}
    }
}

fn upper_members(object: &mut Value, names: &[&str]) {
    for name in names {
        object.get_mut(*name).into_iter().for_each(upper);
    }
}

/// The events with every text in upper case, signed ones left alone.
fn upper_events(text: &[u8]) -> Vec<Value> {
    let mut signed = Vec::new();
    let mut events = events(text);
    for event in &mut events {
        let index = event["index"].clone();
        let block = |block: &mut Value, signed: bool| {
            if !signed {
                upper_members(block, &["text", "thinking"]);
            }
            upper_members(block, &["input"]);
        };
        match event["type"].as_str().unwrap() {
            "message_start" => {
                let content = event["message"]["content"].as_array_mut().unwrap();
                content.iter_mut().for_each(|part| block(part, false));
            }
            "content_block_start" => {
                let is_signed = event["content_block"].get("signature").is_some();
                signed.retain(|other| *other != index);
                signed.extend(is_signed.then(|| index.clone()));
                block(&mut event["content_block"], is_signed);
            }
            "content_block_delta" if !signed.contains(&index) => {
                upper_members(&mut event["delta"], &["text", "thinking", "content", "partial_json"]);
            }
            _ => {}
        }
    }
    events
}

#[test]
fn every_text_of_streams_can_be_upper_case_and_nothing_else_changes() {
    for (path, text) in all_streams() {
        let upper = rewritten(&text, |chunk| {
            if is_text_kind(chunk.kind) && !chunk.signed { chunk.text.to_uppercase() } else { chunk.text.clone() }
        });
        let mut expected = upper_events(&text);
        // A signature fits no text but its own.
        if path.ends_with("spliced-message-start.sse") {
            expected.retain(|event| event["delta"]["type"] != "signature_delta");
        }
        let upper = events(&upper);
        assert_eq!(upper.len(), expected.len(), "{}", path.display());
        for (upper, expected) in upper.iter().zip(&expected) {
            assert_eq!(upper, expected, "{}", path.display());
        }
    }
}

/// Positions of so many chunks at most, spread over all.
fn sample(count: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by(count.div_ceil(40).max(1))
}

#[test]
fn streams_without_any_one_chunk_are_well_formed() {
    for (path, text) in well_formed() {
        for without in sample(decode_all(&frames(&text)).len() - 1) {
            let out = run(&mut fresh(), &text, |at, _| if at == without { Edit::Remove } else { Edit::Keep });
            Message::read(&out).unwrap_or_else(|fault| panic!("{} without {without}: {fault}", path.display()));
        }
    }
}

/// A stream that is stopped in front of a chunk: what came before was delivered.
fn stopped_before(text: &[u8], position: usize) -> Vec<u8> {
    let mut wire = fresh();
    let (mut decoded, mut out, mut count) = (Decoded::default(), Vec::new(), 0);
    for frame in frames(text) {
        wire.decode(&frame, &mut decoded);
        let edits: Vec<Edit<'_>> =
            (0..decoded.len()).map(|at| if count + at < position { Edit::Keep } else { Edit::Remove }).collect();
        count += decoded.len();
        leave(&mut wire, &frame, &decoded, &edits, &mut out);
        if count > position {
            break;
        }
    }
    let stop = Stop { sentinel: r#"{"reason":"test"}"#, delivered: &|_| "" };
    wire.end_stopped(&stop, &mut out);
    out
}

#[test]
fn streams_stopped_at_any_chunk_are_messages_that_were_refused() {
    for (path, text) in well_formed() {
        for position in sample(decode_all(&frames(&text)).len()) {
            let message = Message::read(&stopped_before(&text, position));
            let message = message.unwrap_or_else(|fault| panic!("{} at {position}: {fault}", path.display()));
            assert_eq!(message.stop_reason.as_deref(), Some("refusal"), "{} at {position}", path.display());
            assert_eq!(message.sentinel, Some(serde_json::json!({"reason":"test"})));
        }
    }
}

#[test]
fn a_second_message_start_is_passed_and_ended_sanely() {
    let count = |text: &[u8], kind: &str| events(text).iter().filter(|event| event["type"] == kind).count();
    let is_spliced = |text: &[u8]| count(text, "message_start") == 2 && count(text, "message_stop") == 1;
    for (path, text) in all_streams().into_iter().filter(|(_, text)| is_spliced(text)) {
        for position in sample(decode_all(&frames(&text)).len()) {
            let ends = events(&stopped_before(&text, position));
            let last = ends.last().unwrap();
            assert_eq!(last["type"], "message_stop", "{} at {position}", path.display());
            let starts = |events: &[Value]| events.iter().filter(|event| event["type"] == "message_start").count();
            assert!(starts(&ends) <= starts(&events(&text)), "{} at {position}", path.display());
        }
    }
}
