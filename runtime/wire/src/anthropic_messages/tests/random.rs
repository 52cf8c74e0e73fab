//! Random edits of random chunks: what comes out is well-formed and says the edited text.

use super::client::Message;
use super::streams::well_formed;
use super::*;
use proptest::prelude::*;

/// What becomes of one chunk.
#[derive(Clone, Copy, Debug)]
enum Change {
    Keep,
    Remove,
    Same,
    Content,
    Reasoning,
    Call,
    CallBeside,
    Opaque,
}

const BESIDE: &str = r#"{"tool_calls":[{"index":0,"name":"beside","arguments":"{}"}]}"#;
const NEW_CALL: &str = r#"{"index":0,"name":"made"}"#;

fn edit(change: Change, chunk: &Seen) -> Edit<'static> {
    let text = |kind, text, payload| Edit::Replace(Body { kind, text, payload });
    // A finish, usage or error that goes away takes the message's end along; what is signed is not edited.
    let is_movable = matches!(
        chunk.kind,
        ChunkKind::ContentDelta | ChunkKind::ReasoningDelta | ChunkKind::ToolCallDelta | ChunkKind::Annotation
    );
    match change {
        _ if chunk.signed || !is_movable => Edit::Keep,
        Change::Keep => Edit::Keep,
        Change::Remove => Edit::Remove,
        Change::Same if chunk.kind == ChunkKind::Annotation => Edit::Keep,
        Change::Same => text(chunk.kind, "<same>", None),
        Change::Content => text(ChunkKind::ContentDelta, "<content>", None),
        Change::Reasoning => text(ChunkKind::ReasoningDelta, "<reasoning>", None),
        Change::Call => text(ChunkKind::ToolCallDelta, "{\"made\":1}", Some(NEW_CALL)),
        Change::CallBeside => text(ChunkKind::ContentDelta, "<beside>", Some(BESIDE)),
        Change::Opaque => text(ChunkKind::Opaque, "", Some("{\"type\":\"ping\"}")),
    }
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        6 => Just(Change::Keep),
        1 => Just(Change::Remove),
        2 => Just(Change::Same),
        2 => Just(Change::Content),
        1 => Just(Change::Reasoning),
        2 => Just(Change::Call),
        1 => Just(Change::CallBeside),
        1 => Just(Change::Opaque),
    ];
    prop::collection::vec(change, 1..40)
}

/// A stream of blocks of every kind, in the order that the seed says.
fn made_stream(seed: &[u8]) -> Vec<u8> {
    let mut all = vec![START.to_owned()];
    for (index, kind) in seed.iter().enumerate() {
        let (block, delta) = match kind % 5 {
            0 => (r#"{"type":"text","text":""}"#, r#"{"type":"text_delta","text":"a"}"#),
            1 => (r#"{"type":"text","text":"held"}"#, r#"{"type":"citations_delta","citation":{"n":1}}"#),
            2 => (r#"{"type":"thinking","thinking":""}"#, r#"{"type":"thinking_delta","thinking":"b"}"#),
            3 => (
                r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#,
                r#"{"type":"input_json_delta","partial_json":"c"}"#,
            ),
            _ => (r#"{"type":"compaction","content":null}"#, r#"{"type":"compaction_delta","content":"d"}"#),
        };
        all.push(format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#));
        for _ in 0..=(kind / 5) % 4 {
            all.push(format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#));
        }
        all.push(format!(r#"{{"type":"content_block_stop","index":{index}}}"#));
    }
    all.extend([END_TURN.to_owned(), STOP.to_owned()]);
    stream(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

fn all_texts(message: &Message, mark: &str) -> usize {
    message.blocks.iter().map(|block| block.text.matches(mark).count()).sum()
}

/// Whatever is edited, the stream is well-formed and each new text is there as often as it was put in.
fn check(text: &[u8], changes: &[Change]) -> Result<(), TestCaseError> {
    let mut marks = [("<content>", 0), ("<reasoning>", 0), ("{\"made\":1}", 0), ("<beside>", 0)];
    let out = run(&mut fresh(), text, |position, chunk| {
        let edit = edit(changes[position % changes.len()], chunk);
        if let Edit::Replace(body) = edit {
            marks.iter_mut().filter(|(mark, _)| *mark == body.text).for_each(|(_, count)| *count += 1);
        }
        edit
    });
    let message = Message::read(&out);
    prop_assert!(message.is_ok(), "{:?}\n{}", message.err(), String::from_utf8_lossy(&out));
    let message = message.unwrap();
    for (mark, count) in marks {
        prop_assert_eq!(all_texts(&message, mark), count, "{} in {}", mark, String::from_utf8_lossy(&out));
    }
    let decoded = decode_all(&frames(&out));
    let of_kind = |kind| decoded.iter().filter(move |chunk| chunk.kind == kind);
    let content: String = of_kind(ChunkKind::ContentDelta).map(|chunk| chunk.text.as_str()).collect();
    prop_assert_eq!(content, message.texts("text").concat());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn made_streams_with_any_edits_are_well_formed(seed in prop::collection::vec(any::<u8>(), 0..6), changes in changes()) {
        check(&made_stream(&seed), &changes)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn streams_with_any_edits_are_well_formed(changes in changes()) {
        for (_, text) in well_formed() {
            check(&text, &changes)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_no_event_does_no_harm(data in "[\\[\\]{}\",:a-e0-9 \\\\]{0,40}", kind in 0_usize..7, edit_all in changes()) {
        const KINDS: [&str; 7] = ["message_start", "content_block_start", "content_block_delta", "content_block_stop",
            "message_delta", "message_stop", "error"];
        let text = format!(
            "data: {{\"type\":\"{0}\",\"index\":0,\"delta\":{data}}}\n\ndata: {{\"type\":\"{0}\",\"content_block\":{data}}}\n\n\
             data: {{\"type\":\"{0}\",\"message\":{data},\"usage\":{data},\"error\":{data}}}\n\ndata: {data}\n\n",
            KINDS[kind]
        );
        let mut wire = fresh();
        prop_assert_eq!(run(&mut wire, text.as_bytes(), |_, _| Edit::Keep), text.as_bytes());
        run(&mut fresh(), text.as_bytes(), |position, chunk| edit(edit_all[position % edit_all.len()], chunk));
    }
}
