//! Random answers with random edits: what was edited is what is read again.

use proptest::prelude::*;
use seam_plugin_api::ChunkKind;
use serde_json::{Value, json};

use super::{frame, frames, fresh, seen};
use crate::{Body, Decoded, Edit, Stop};

fn text() -> impl Strategy<Value = String> {
    "[a-c \"\\\\é\u{1F600}\n\u{2028}]{0,6}"
}

fn arguments() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-c]{1,2}", text(), 0..3).prop_map(|members| json!(members))
}

fn part() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![
        4 => text().prop_map(|text| json!({ "text": text })),
        2 => text().prop_map(|text| json!({ "text": text, "thought": true })),
        2 => (arguments(), any::<bool>()).prop_map(|(args, id)| {
            if id { json!({ "functionCall": { "name": "f", "args": args, "id": "i" } }) } else { json!({ "functionCall": { "args": args, "name": "g" } }) }
        }),
        1 => prop::collection::vec(text(), 0..3).prop_map(|values| {
            let values: Vec<Value> = values.iter().map(|value| json!({ "jsonPath": "$.a", "stringValue": value })).collect();
            json!({ "functionCall": { "partialArgs": values, "willContinue": true } })
        }),
        1 => text().prop_map(|code| json!({ "executableCode": { "language": "PYTHON", "code": code } })),
        1 => text().prop_map(|output| json!({ "codeExecutionResult": { "outcome": "OUTCOME_OK", "output": output } })),
        1 => text().prop_map(|data| json!({ "inlineData": { "mimeType": "m", "data": data } })),
    ];
    (kind, any::<bool>()).prop_map(|(mut part, signed)| {
        if signed {
            part["thoughtSignature"] = "s".into();
        }
        part
    })
}

fn candidate(index: u32) -> impl Strategy<Value = Value> {
    (prop::collection::vec(part(), 0..5), any::<bool>(), any::<bool>()).prop_map(move |(parts, finish, grounding)| {
        let mut candidate = json!({ "content": { "parts": parts, "role": "model" }, "index": index });
        if finish {
            candidate["finishReason"] = "STOP".into();
        }
        if grounding {
            let segment = json!({ "startIndex": 0, "endIndex": 2, "text": "ab" });
            candidate["groundingMetadata"] = json!({ "groundingSupports": [{ "segment": segment }] });
        }
        candidate
    })
}

fn answer() -> impl Strategy<Value = Value> {
    (candidate(0), prop::option::of(candidate(1)), any::<bool>()).prop_map(|(first, second, usage)| {
        let candidates: Vec<Value> = [Some(first), second].into_iter().flatten().collect();
        let mut answer = json!({ "candidates": candidates, "modelVersion": "m" });
        if usage {
            answer["usageMetadata"] = json!({ "promptTokenCount": 1 });
        }
        answer
    })
}

/// What becomes of a chunk, by the order of the draws.
#[derive(Clone, Debug)]
enum Change {
    Keep,
    Remove,
    /// Another text; arguments of a call for a call.
    Text(String, Value),
    /// Another kind.
    Kind(usize, String, Value),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => Just(Change::Keep),
        1 => Just(Change::Remove),
        4 => (text(), arguments()).prop_map(|(text, args)| Change::Text(text, args)),
        2 => (0..7_usize, text(), arguments()).prop_map(|(kind, text, args)| Change::Kind(kind, text, args)),
    ]
}

const KINDS: [ChunkKind; 7] = [
    ChunkKind::ContentDelta,
    ChunkKind::ReasoningDelta,
    ChunkKind::ToolCallDelta,
    ChunkKind::RefusalDelta,
    ChunkKind::Annotation,
    ChunkKind::Finish,
    ChunkKind::Opaque,
];

const CALL: &str = r#"{"index":9,"name":"made"}"#;

/// The text that a chunk of that kind gets.
fn new_text(kind: ChunkKind, is_object: bool, text: &str, arguments: &Value) -> String {
    match kind {
        ChunkKind::ToolCallDelta if is_object => arguments.to_string(),
        ChunkKind::Annotation | ChunkKind::Opaque | ChunkKind::Usage => String::new(),
        _ => text.to_owned(),
    }
}

/// The kinds and texts of everything that says something, in an order that does not depend on their places.
fn said(chunks: impl Iterator<Item = (u32, ChunkKind, String)>) -> Vec<(u32, u8, String)> {
    // What is shown of streamed arguments depends on what came before them.
    let is_streamed = |text: &str| text.contains("\"$.a\":");
    let texts = chunks.filter(|(_, kind, text)| !text.is_empty() && *kind != ChunkKind::Finish && !is_streamed(text));
    let mut said: Vec<(u32, u8, String)> = texts
        .map(|(choice, kind, text)| {
            let kind = if kind == ChunkKind::RefusalDelta { ChunkKind::ContentDelta } else { kind };
            (choice, kind.code(), text)
        })
        .collect();
    said.sort();
    said
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_was_edited_is_what_is_read_again(
        answer in answer(), changes in prop::collection::vec(change(), 24), pretty: bool,
    ) {
        let data = if pretty { format!("{answer:#}").replace('\n', " ") } else { answer.to_string() };
        let (mut wire, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
        let frame = frame(&data);
        wire.decode(&frame, &mut decoded);
        let chunks = seen(&decoded, data.as_bytes());
        let payloads: Vec<Option<String>> = chunks.iter().map(|chunk| chunk.payload.as_ref().map(Value::to_string)).collect();
        let mut bodies = Vec::new();
        for ((chunk, payload), change) in chunks.iter().zip(&payloads).zip(&changes) {
            let is_object = chunk.text.starts_with('{') || chunk.kind != ChunkKind::ToolCallDelta;
            let is_code = chunk.payload.as_ref().is_some_and(|payload| payload["name"] == "code_execution");
            let is_streamed = chunk.kind == ChunkKind::ToolCallDelta && chunk.payload.as_ref().is_some_and(|payload| payload.get("name").is_none());
            bodies.push(match change {
                Change::Keep => Some((chunk.kind, chunk.text.clone(), payload.clone())),
                _ if is_streamed => Some((chunk.kind, chunk.text.clone(), payload.clone())),
                Change::Remove => None,
                Change::Text(text, _) if is_code => {
                    Some((chunk.kind, json!({ "code": format!("x{text}") }).to_string(), payload.clone()))
                }
                Change::Text(text, args) => {
                    Some((chunk.kind, new_text(chunk.kind, is_object, text, args), payload.clone()))
                }
                Change::Kind(kind, ..) if KINDS[*kind] == chunk.kind => Some((chunk.kind, chunk.text.clone(), payload.clone())),
                Change::Kind(kind, text, args) => {
                    let kind = KINDS[*kind];
                    let payload = match kind {
                        ChunkKind::ToolCallDelta => Some(CALL.to_owned()),
                        ChunkKind::Annotation | ChunkKind::Opaque => Some("{\"x\":1}".to_owned()),
                        _ => None,
                    };
                    Some((kind, new_text(kind, true, text, args), payload))
                }
            });
        }
        let edits: Vec<Edit<'_>> = bodies.iter().map(|body| match body {
            Some((kind, text, payload)) => Edit::Replace(Body { kind: *kind, text, payload: payload.as_deref() }),
            None => Edit::Remove,
        }).collect();
        wire.render(&frame, &decoded, &edits, &mut out);
        let mut again = Vec::new();
        for frame in frames(&out) {
            let value: Value = serde_json::from_slice(frame.data().unwrap()).unwrap();
            for part in value["candidates"].as_array().into_iter().flatten().flat_map(|candidate| candidate["content"]["parts"].as_array()).flatten() {
                prop_assert!(!part.as_object().unwrap().is_empty(), "{}", value);
            }
            let mut decoded = Decoded::default();
            fresh().decode(&frame, &mut decoded);
            again.extend(seen(&decoded, frame.data().unwrap()));
        }
        let expected = bodies.iter().zip(&chunks).filter_map(|(body, chunk)| {
            let (kind, text, _) = body.clone()?;
            Some((chunk.choice, kind, text))
        });
        let found = again.into_iter().map(|chunk| (chunk.choice, chunk.kind, chunk.text));
        prop_assert_eq!(said(found), said(expected), "{}", String::from_utf8_lossy(&out));
    }

    #[test]
    fn odd_documents_do_no_harm(document in odd(), removed in prop::collection::vec(any::<bool>(), 24), upper: bool) {
        let data = document.to_string();
        let (mut wire, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
        let frame = frame(&data);
        wire.decode(&frame, &mut decoded);
        let texts: Vec<String> = decoded.chunks(data.as_bytes()).map(|chunk| chunk.text.to_uppercase()).collect();
        let edits: Vec<Edit<'_>> = decoded.chunks(data.as_bytes()).zip(&texts).zip(&removed).map(|((chunk, text), removed)| match removed {
            true => Edit::Remove,
            false if upper => Edit::Replace(Body { kind: chunk.kind, text, payload: chunk.payload }),
            false => Edit::Keep,
        }).collect();
        wire.render(&frame, &decoded, &edits, &mut out);
        if edits.iter().all(|edit| *edit == Edit::Keep) {
            prop_assert_eq!(&out[..], &frame.raw()[..]);
        }
        wire.end_stopped(&Stop { sentinel: "{}", delivered: &|_| "" }, &mut out);
        for frame in frames(&out) {
            prop_assert!(serde_json::from_slice::<Value>(frame.data().unwrap()).is_ok());
        }
        let mut body = Vec::new();
        let (mut wire, mut decoded) = (fresh(), Decoded::default());
        wire.decode_body(data.as_bytes(), &mut decoded);
        wire.stop_body(data.as_bytes(), &decoded, &edits, &Stop { sentinel: "{}", delivered: &|_| "" }, &mut body);
        prop_assert!(serde_json::from_slice::<Value>(&body).is_ok());
    }
}

/// Any nesting of the protocol's names, and of what is in no answer.
fn odd() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(json!(true)),
        (-3..3_i64).prop_map(|number| json!(number)),
        text().prop_map(|text| json!(text)),
        Just(json!({})),
        Just(json!([]))
    ];
    leaf.prop_recursive(8, 64, 4, |inner| {
        let names = prop::sample::select(vec![
            "candidates", "content", "parts", "text", "thought", "thoughtSignature", "functionCall", "args", "name", "id", "partialArgs",
            "stringValue", "numberValue", "jsonPath", "executableCode", "code", "codeExecutionResult", "output", "toolCall", "toolType", "finishReason",
            "groundingMetadata", "groundingSupports", "segment", "citationMetadata", "citations", "startIndex", "endIndex", "logprobsResult",
            "usageMetadata", "promptTokenCount", "promptFeedback", "blockReason", "error", "message", "index", "modelVersion", "responseId", "other",
        ]);
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => prop::collection::vec((names, inner), 0..6).prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}
