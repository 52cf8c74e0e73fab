//! Random frames and random edits: decoding agrees with a naive reader; a rendered frame is whole, changes nothing else,
//! says what the edits say, and never lets through what they took away.

use std::collections::BTreeMap;

use proptest::prelude::*;
use seam_plugin_api::ChunkKind;
use serde_json::Value;

use super::{Seen, frame, frames, fresh, naive, seen};
use crate::{Body, Decoded, Edit};

/// Draws from a seed; the same seed makes the same frame.
struct Dice {
    state: u64,
    words: u32,
}

impl Dice {
    fn new(seed: u64) -> Self {
        Self { state: seed | 1, words: 0 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % bound
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }

    /// A text that occurs nowhere else, so that its traces can be found.
    fn word(&mut self) -> String {
        self.words += 1;
        let word = self.words;
        format!("w{word}{}", self.pick(&["q", "q é", "q\\n", "q \\\"x\\\"", "q\\u5317"]))
    }

    /// A JSON string: mostly one that says something.
    fn text(&mut self) -> String {
        match self.below(8) {
            0 => "\"\"".to_owned(),
            1 => "null".to_owned(),
            _ => format!("\"{}\"", self.word()),
        }
    }

    /// An object of those members that the dice take, in any order, with any white space.
    fn object(&mut self, mut members: Vec<(&str, String)>) -> String {
        let mut taken = Vec::new();
        while !members.is_empty() {
            let (name, value) = members.swap_remove(self.below(members.len() as u64) as usize);
            let (colon, gap) = (self.pick(&[":", ": "]), self.pick(&["", "", " ", "\t"]));
            taken.push(format!("{gap}\"{name}\"{colon}{value}{gap}"));
        }
        format!("{{{}}}", taken.join(","))
    }

    fn some<'a>(&mut self, members: Vec<(&'a str, String)>) -> Vec<(&'a str, String)> {
        members.into_iter().filter(|_| self.one_in(2)).collect()
    }

    fn function(&mut self) -> String {
        let mut function = vec![("arguments", self.text()), ("x", "1".to_owned())];
        if self.one_in(2) {
            function.push(("name", self.text()));
        }
        if self.one_in(6) {
            function.push(("input", self.pick(&["null", "\"\""]).to_owned()));
        }
        self.object(function)
    }

    fn call(&mut self) -> String {
        let mut call = vec![("function", self.function()), ("y", "[1]".to_owned())];
        if self.one_in(2) {
            call.push(("id", self.text()));
        }
        if self.one_in(6) {
            call.push(("custom", self.pick(&["null", "{}"]).to_owned()));
        }
        if !self.one_in(3) {
            call.push(("index", self.below(3).to_string()));
        }
        self.object(call)
    }

    fn list(&mut self, of: fn(&mut Self) -> String) -> String {
        let elements: Vec<String> = (0..self.below(4)).map(|_| of(self)).collect();
        format!("[{}]", elements.join(self.pick(&[",", ", "])))
    }

    fn part(&mut self) -> String {
        let text = self.text();
        match self.below(4) {
            0 => format!("{{\"type\":\"thinking\",\"thinking\":[{{\"type\":\"text\",\"text\":{text}}}]}}"),
            1 => format!("{{\"type\":\"thinking\",\"thinking\":{text}}}"),
            2 => format!("{{\"type\":\"refusal\",\"refusal\":{text}}}"),
            _ => format!("{{\"type\":\"text\",\"text\":{text}}}"),
        }
    }

    fn holder(&mut self) -> String {
        let content = if self.one_in(4) { self.list(Self::part) } else { self.text() };
        let members = vec![
            ("content", content),
            ("reasoning_content", self.text()),
            ("reasoning", self.text()),
            ("refusal", self.text()),
            ("tool_calls", if self.one_in(5) { "null".to_owned() } else { self.list(Self::call) }),
            ("function_call", self.function()),
            ("reasoning_details", self.list(|dice| format!("{{\"text\":{}}}", dice.text()))),
            ("annotations", self.list(|dice| format!("{{\"url\":{}}}", dice.text()))),
        ];
        let mut members = self.some(members);
        members.push(("z", "{ \"k\": 1e2 }".to_owned()));
        if self.one_in(6) {
            // A member that a later one hides.
            let (name, value) = (self.pick(&["content", "reasoning", "refusal"]), self.text());
            members.push((name, value));
        }
        self.object(members)
    }

    fn choice(&mut self, index: u64, holder: &'static str) -> String {
        let members = vec![
            ("logprobs", format!("{{\"content\":[{}]}}", self.text())),
            ("finish_reason", if self.one_in(2) { "\"stop\"".to_owned() } else { self.text() }),
            ("u", "true".to_owned()),
        ];
        let mut members = self.some(members);
        if !self.one_in(8) {
            members.push((holder, self.holder()));
        }
        if self.one_in(6) {
            members.push(("text", self.text()));
        }
        members.push(("index", index.to_string()));
        self.object(members)
    }

    fn document(&mut self, holder: &'static str) -> String {
        let choices: Vec<String> = (0..self.below(3)).map(|index| self.choice(index, holder)).collect();
        let members = vec![
            ("obfuscation", "\"pad\"".to_owned()),
            ("usage", format!("{{\"prompt_tokens\":{},\"t\":1}}", self.below(9))),
            ("citations", format!("[{}]", self.text())),
            ("error", format!("{{\"message\":{},\"code\":1}}", self.text())),
            ("v", "[1.50, {}]".to_owned()),
        ];
        let mut members = self.some(members);
        members.push(("choices", format!("[{}]", choices.join(", "))));
        members.push(("id", "\"c1\"".to_owned()));
        self.object(members)
    }

    /// A payload of content: mostly none, or calls beside the text. What is no list of calls must not matter.
    fn calls_beside(&mut self, word: u32) -> Option<Value> {
        let call = |index: u64| serde_json::json!({ "index": index, "name": format!("new{word}"), "arguments": "{é}" });
        let calls: Vec<Value> = (0..1 + self.below(2)).map(|_| call(self.below(2))).collect();
        match self.below(8) {
            0 | 1 => Some(serde_json::json!({ "tool_calls": calls, "other": word })),
            2 => Some(serde_json::json!({ "tool_calls": [calls[0], { "name": "half" }] })),
            3 => Some(serde_json::json!({ "tool_calls": calls[0] })),
            4 => Some(serde_json::json!([calls])),
            _ => None,
        }
    }

    /// What becomes of a chunk: its kind, text and payload, nothing, or `Ok(None)` for what it was.
    fn edit(&mut self, chunk: &Seen) -> Option<Option<Seen>> {
        let kinds = match self.below(6) {
            0 | 1 => return None,
            2 => return Some(None),
            3 | 4 => vec![chunk.kind],
            _ => ChunkKind::ALL.to_vec(),
        };
        self.words += 1;
        let kind = kinds[self.below(kinds.len() as u64) as usize];
        let (text, word) = (format!("new{}\"", self.words), self.words);
        let payload = match kind {
            ChunkKind::ToolCallDelta if kind == chunk.kind => chunk.payload.clone(),
            ChunkKind::ToolCallDelta => {
                Some(serde_json::json!({ "index": self.below(2), "name": format!("new{word}") }))
            }
            ChunkKind::Annotation => Some(serde_json::json!({ "annotations": [format!("new{word}")] })),
            ChunkKind::Usage => Some(serde_json::json!({ "input_tokens": word, "provider": { "prompt_tokens": 1 } })),
            ChunkKind::Error => Some(serde_json::json!({ "message": format!("new{word}") })),
            ChunkKind::Opaque => Some(serde_json::json!({ "new": word })),
            ChunkKind::ContentDelta => self.calls_beside(word),
            _ => None,
        };
        let has_text = !matches!(kind, ChunkKind::Annotation | ChunkKind::Usage | ChunkKind::Opaque);
        let text = if kind == ChunkKind::Error { format!("new{word}") } else { text };
        Some(Some(Seen { choice: chunk.choice, kind, text: if has_text { text } else { String::new() }, payload }))
    }
}

/// The chunks as they should be after the edits; calls beside content are chunks of their own on the wire.
fn expected(before: &[Seen], edits: &[Option<Option<Seen>>]) -> Vec<Seen> {
    let after = |(chunk, edit): (&Seen, &Option<Option<Seen>>)| match edit {
        None => Some(chunk.clone()),
        Some(new) => new.clone(),
    };
    let chunks = before.iter().zip(edits).filter_map(after);
    chunks.flat_map(|chunk| std::iter::once(chunk.clone()).chain(calls_beside(&chunk))).collect()
}

fn calls_beside(chunk: &Seen) -> Vec<Seen> {
    let payload = chunk.payload.as_ref().filter(|_| chunk.kind == ChunkKind::ContentDelta);
    let calls = payload.and_then(|payload| payload["tool_calls"].as_array()).cloned().unwrap_or_default();
    let call = |call: &Value| {
        let text = call["arguments"].as_str()?.to_owned();
        Some(Seen { choice: chunk.choice, kind: ChunkKind::ToolCallDelta, text, payload: Some(call.clone()) })
    };
    calls.iter().map(call).collect::<Option<_>>().unwrap_or_default()
}

/// The names of the calls of each choice, sorted as the characters of [`texts`] are.
fn names(chunks: &[Seen]) -> Vec<(u32, String)> {
    let calls = chunks.iter().filter(|chunk| chunk.kind == ChunkKind::ToolCallDelta);
    let name = |chunk: &Seen| Some((chunk.choice, chunk.payload.as_ref()?["name"].as_str()?.to_owned()));
    let mut names: Vec<_> = calls.filter_map(name).collect();
    names.sort();
    names
}

fn with_edits<R>(edits: &[Option<Option<Seen>>], then: impl FnOnce(&[Edit<'_>]) -> R) -> R {
    let payloads: Vec<Option<String>> = edits
        .iter()
        .map(|edit| edit.as_ref().and_then(Option::as_ref).and_then(|new| new.payload.as_ref()).map(Value::to_string))
        .collect();
    let borrowed: Vec<Edit<'_>> = edits
        .iter()
        .zip(&payloads)
        .map(|(edit, payload)| match edit {
            None => Edit::Keep,
            Some(None) => Edit::Remove,
            Some(Some(new)) => Edit::Replace(Body { kind: new.kind, text: &new.text, payload: payload.as_deref() }),
        })
        .collect();
    then(&borrowed)
}

/// All text of each kind and choice, its characters sorted: a chunk that moves may change its place among others of its
/// new kind.
fn texts(chunks: &[Seen]) -> BTreeMap<(u32, &'static str), String> {
    let mut texts = BTreeMap::new();
    for chunk in chunks {
        let is_text = matches!(
            chunk.kind,
            ChunkKind::ContentDelta | ChunkKind::ReasoningDelta | ChunkKind::RefusalDelta | ChunkKind::ToolCallDelta
        );
        if is_text && !chunk.text.is_empty() {
            texts.entry((chunk.choice, chunk.kind.as_str())).or_insert_with(String::new).push_str(&chunk.text);
        }
    }
    for text in texts.values_mut() {
        let mut characters: Vec<char> = text.chars().collect();
        characters.sort_unstable();
        *text = characters.into_iter().collect();
    }
    texts
}

fn count(chunks: &[Seen], kind: ChunkKind) -> usize {
    chunks.iter().filter(|chunk| chunk.kind == kind).count()
}

/// The document without what edits may change.
fn rest(mut value: Value) -> Value {
    const CHANGEABLE: [&str; 16] = [
        "usage",
        "obfuscation",
        "citations",
        "error",
        "finish_reason",
        "logprobs",
        "text",
        "content",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "refusal",
        "tool_calls",
        "function_call",
        "annotations",
        "seam",
    ];
    let mut objects = vec![&mut value];
    while let Some(object) = objects.pop() {
        let Some(members) = object.as_object_mut() else { continue };
        CHANGEABLE.iter().for_each(|name| drop(members.remove(*name)));
        for (name, member) in members.iter_mut() {
            if member.is_object() {
                objects.push(member);
            } else if name == "choices" {
                objects.extend(member.as_array_mut().into_iter().flatten());
            }
        }
    }
    value
}

/// What stays of a choice without a `delta` is the same whether one was added or not.
fn without_empty_holders(mut value: Value) -> Value {
    for choice in value["choices"].as_array_mut().into_iter().flatten() {
        if let Some(members) = choice.as_object_mut() {
            members.retain(|_, member| member.as_object().is_none_or(|inner| !inner.is_empty()));
        }
    }
    value
}

/// The words of chunks that the edits changed or took, which nothing may show any more.
fn gone(before: &[Seen], edits: &[Option<Option<Seen>>], after: &[Seen]) -> Vec<String> {
    let changed = before.iter().zip(edits).filter(|(_, edit)| edit.is_some()).map(|(chunk, _)| chunk);
    changed
        .filter(|chunk| chunk.text.starts_with('w') && !after.iter().any(|other| other.text.contains(&chunk.text)))
        .map(|chunk| chunk.text.chars().take_while(char::is_ascii_alphanumeric).collect())
        .collect()
}

/// Every word at a place where observers' texts are, hidden ones included: those that no chunk shows.
fn hidden_words(document: &str, before: &[Seen]) -> Vec<String> {
    let mut words: Vec<String> = document
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| word.starts_with('w') && word.ends_with('q') && word.len() > 2)
        .map(str::to_owned)
        .collect();
    let shows = |word: &str| {
        before.iter().any(|chunk| {
            let payload = chunk.payload.as_ref().map(Value::to_string).unwrap_or_default();
            chunk.text.contains(word) || payload.contains(word)
        })
    };
    words.retain(|word| !shows(word));
    words
}

fn has_hidden_member(document: &str) -> bool {
    let (mut chat, mut decoded) = (fresh(), Decoded::default());
    chat.decode_body(document.as_bytes(), &mut decoded);
    !decoded.hidden.is_empty()
}

fn check(seed: u64) -> Result<(), TestCaseError> {
    let mut dice = Dice::new(seed);
    let document = dice.document("delta");
    let input = frame(&document);
    let (mut chat, mut decoded) = (fresh(), Decoded::default());
    chat.decode(&input, &mut decoded);
    let before = seen(&decoded, input.data().unwrap_or_default());
    prop_assert_eq!(&before, &naive::decode(document.as_bytes()), "{}", document);

    let edits: Vec<_> = before.iter().map(|chunk| dice.edit(chunk)).collect();
    let mut out = Vec::new();
    with_edits(&edits, |edits| chat.render(&input, &decoded, edits, &mut out));
    let text = String::from_utf8(out.clone()).unwrap();
    let report = format!("\n in: {document}\nedits: {edits:?}\nout: {text}");

    if edits.iter().all(Option::is_none) {
        prop_assert_eq!(&text.as_bytes(), &input.raw(), "{}", report);
        return Ok(());
    }
    let wanted = expected(&before, &edits);
    let output = frames(&out);
    prop_assert!(output.iter().all(|frame| frame.terminated() && frame.data().is_some()), "{}", report);
    let mut after = Vec::new();
    for frame in &output {
        let data = frame.data().unwrap();
        prop_assert!(serde_json::from_slice::<Value>(data).is_ok(), "{}", report);
        let (mut again, mut decoded) = (fresh(), Decoded::default());
        again.decode(frame, &mut decoded);
        prop_assert!(decoded.hidden.is_empty(), "{}", report);
        after.extend(seen(&decoded, data));
    }
    prop_assert_eq!(texts(&after), texts(&wanted), "{}", report);
    prop_assert_eq!(names(&after), names(&wanted), "{}", report);
    for kind in [ChunkKind::Finish, ChunkKind::Error] {
        prop_assert_eq!(count(&after, kind), count(&wanted, kind), "{} {}", kind, report);
    }
    for word in gone(&before, &edits, &wanted).iter().chain(&hidden_if_edited(&document, &before, &edits)) {
        let shown = text.contains(&format!("{word}q")) || (word.ends_with('q') && text.contains(word.as_str()));
        prop_assert!(!shown, "{} leaks {}", word, report);
    }
    if before[0].kind == ChunkKind::Opaque {
        return Ok(());
    }
    let main = output.first().and_then(|frame| frame.data()).map(|data| serde_json::from_slice::<Value>(data).unwrap());
    // An event of the seam's own names its object, which the random ones don't.
    if let Some(main) = main.filter(|main| main["id"] == "c1" && main.get("object").is_none()) {
        let original = serde_json::from_str(&document).unwrap();
        let same =
            output.len() > 1 || without_empty_holders(rest(main.clone())) == without_empty_holders(rest(original));
        prop_assert!(same, "other fields {}", report);
    }
    Ok(())
}

/// Words of hidden members must be gone after any edit of their frame.
fn hidden_if_edited(document: &str, before: &[Seen], edits: &[Option<Option<Seen>>]) -> Vec<String> {
    let opaque = before.first().is_some_and(|chunk| chunk.kind == ChunkKind::Opaque);
    if opaque || !has_hidden_member(document) || edits.iter().all(Option::is_none) {
        return Vec::new();
    }
    hidden_words(document, before)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(2000)))]

    #[test]
    fn a_rendered_frame_says_the_edits_and_changes_nothing_else(seed in any::<u64>()) {
        check(seed)?;
    }

    #[test]
    fn a_rendered_body_says_the_edits(seed in any::<u64>()) {
        let mut dice = Dice::new(seed);
        let body = dice.document("message");
        let (mut chat, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
        chat.decode_body(body.as_bytes(), &mut decoded);
        let before = seen(&decoded, body.as_bytes());
        prop_assert_eq!(&before, &naive::decode(body.as_bytes()), "{}", body);
        let edits: Vec<_> = before.iter().map(|chunk| dice.edit(chunk)).collect();
        with_edits(&edits, |edits| chat.render_body(body.as_bytes(), &decoded, edits, &mut out));
        let text = String::from_utf8(out.clone()).unwrap();
        let report = format!("\n in: {body}\nedits: {edits:?}\nout: {text}");
        prop_assert!(serde_json::from_slice::<Value>(&out).is_ok(), "{}", report);
        let (mut again, mut decoded) = (fresh(), Decoded::default());
        again.decode_body(&out, &mut decoded);
        let wanted = expected(&before, &edits);
        if before[0].kind != ChunkKind::Opaque {
            let after = seen(&decoded, &out);
            prop_assert_eq!(texts(&after), texts(&wanted), "{}", report);
            prop_assert_eq!(names(&after), names(&wanted), "{}", report);
        }
        for word in gone(&before, &edits, &wanted) {
            prop_assert!(!text.contains(&format!("{word}q")), "{} leaks {}", word, report);
        }
    }

    #[test]
    fn any_bytes_decode_and_stop_without_harm(data in prop::collection::vec(any::<u8>(), 0..200)) {
        let (mut chat, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
        chat.decode_body(&data, &mut decoded);
        prop_assert!(decoded.len() <= 1 || decoded.shape == crate::chunk::Shape::Chunks);
        let stop = crate::Stop { sentinel: "{}", delivered: &|_| "" };
        chat.stop_body(&data, &decoded, &[Edit::Remove], &stop, &mut out);
        prop_assert!(serde_json::from_slice::<Value>(&out).is_ok());
    }
}
