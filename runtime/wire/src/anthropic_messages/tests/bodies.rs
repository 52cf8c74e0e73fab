use super::*;
use crate::Stop;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

const BODY: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[ {"type":"thinking","thinking":"t","signature":"s"}, {"type":"text","text":"a","citations":[{"n":1}]},{"type":"tool_use","id":"toolu_1","name":"look","input":{"q": 1}} ],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":9}}"#;

fn decoded(body: &str) -> (Wire, Decoded, Vec<Seen>) {
    let (mut wire, mut decoded) = (fresh(), Decoded::default());
    wire.decode_body(body.as_bytes(), &mut decoded);
    let chunks = decoded.chunks(body.as_bytes()).map(Seen::of).collect();
    (wire, decoded, chunks)
}

fn rendered(body: &str, edits: &[(usize, Edit<'_>)]) -> String {
    let (mut wire, decoded, chunks) = decoded(body);
    let edit = |position| edits.iter().find(|(at, _)| *at == position).map_or(Edit::Keep, |(_, edit)| *edit);
    let edits: Vec<Edit<'_>> = (0..chunks.len()).map(edit).collect();
    let mut out = Vec::new();
    wire.render_body(body.as_bytes(), &decoded, &edits, &mut out);
    String::from_utf8(out).unwrap()
}

fn value(body: &str, edits: &[(usize, Edit<'_>)]) -> Value {
    serde_json::from_str(&rendered(body, edits)).unwrap()
}

#[test]
fn each_block_of_a_body_is_a_choice() {
    let told: Vec<String> = decoded(BODY).2.iter().map(Seen::to_string).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    0 reasoning_delta signed "t"
    1 content_delta "a"
    1 annotation {"citations":[{"n":1}]}
    2 tool_call_delta "{\"q\": 1}" {"id":"toolu_1","index":2,"name":"look"}
    2 finish "tool_use"
    0 usage {"input_tokens":7,"output_tokens":9,"provider":{"input_tokens":7,"output_tokens":9}}
    "#);
}

#[test]
fn a_body_with_its_reason_is_complete_and_an_error_is_a_failure() {
    let complete = decoded(BODY).0.arrival();
    assert_eq!((complete.complete, complete.failed), (true, false));
    let (wire, _, chunks) = decoded(r#"{"type":"error","error":{"type":"not_found_error","message":"no model"}}"#);
    assert!(wire.arrival().failed);
    assert_eq!((chunks[0].kind, chunks[0].text.as_str()), (ChunkKind::Error, "no model"));
}

#[test]
fn only_the_changed_texts_of_a_body_are_other_bytes() {
    let out = rendered(BODY, &[(1, content("b")), (3, tool_call(r#"{"q":2}"#, r#"{"index":2}"#))]);
    assert_eq!(out, BODY.replace(r#""text":"a""#, r#""text":"b""#).replace(r#"{"q": 1}"#, r#"{"q":2}"#));
}

#[test]
fn a_block_that_is_removed_leaves_no_empty_one_behind() {
    let out = value(BODY, &[(1, Edit::Remove), (2, Edit::Remove)]);
    assert_eq!(out["content"].as_array().unwrap().len(), 2);
    let emptied = value(BODY, &[(1, content(""))]);
    assert_eq!(emptied, out);
}

#[test]
fn a_body_without_its_only_call_does_not_end_for_one() {
    let out = value(BODY, &[(3, content("no call"))]);
    assert_eq!(out["content"][2], json!({"type":"text","text":"no call"}));
    assert_eq!(out["stop_reason"], "end_turn");
}

#[test]
fn text_of_a_body_becomes_a_call() {
    let body = r#"{"id":"msg_1","type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}"#;
    let out = value(body, &[(0, tool_call(r#"{"q":1}"#, r#"{"index":0,"name":"look"}"#))]);
    assert_eq!(out["content"], json!([{"type":"tool_use","id":"toolu_seam_1_0","name":"look","input":{"q":1}}]));
    assert_eq!(out["stop_reason"], "tool_use");
}

#[test]
fn calls_beside_the_text_of_a_body_are_blocks_behind_it() {
    let body = r#"{"id":"msg_1","type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}"#;
    let payload = r#"{"tool_calls":[{"index":0,"name":"look","arguments":"{\"q\":1}"}]}"#;
    let edit = |text| Edit::Replace(Body { kind: ChunkKind::ContentDelta, text, payload: Some(payload) });
    let kinds = |out: &Value| -> Vec<String> {
        out["content"].as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&value(body, &[(0, edit("A"))])), ["text", "tool_use"]);
    let out = value(body, &[(0, edit(""))]);
    assert_eq!((kinds(&out), &out["stop_reason"]), (vec!["tool_use".to_owned()], &json!("tool_use")));
}

#[test]
fn a_stopped_body_says_so_and_keeps_what_was_delivered() {
    let (mut wire, decoded, chunks) = decoded(BODY);
    let edits: Vec<Edit<'_>> = (0..chunks.len()).map(|at| if at < 2 { Edit::Keep } else { Edit::Remove }).collect();
    let stop = Stop { sentinel: r#"{"reason":"secret"}"#, delivered: &|_| "" };
    let mut out = Vec::new();
    wire.stop_body(BODY.as_bytes(), &decoded, &edits, &stop, &mut out);
    let out: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(out["content"].as_array().unwrap().len(), 2);
    assert_eq!(out["content"][1]["text"], "a");
    assert_eq!((&out["stop_reason"], &out["seam"]["stop"]), (&json!("refusal"), &json!({"reason":"secret"})));
}

#[test]
fn a_stopped_body_of_which_nothing_is_left_is_a_message() {
    let (mut wire, decoded, _) = decoded("[1]");
    let stop = Stop { sentinel: "{}", delivered: &|_| "" };
    let mut out = Vec::new();
    wire.stop_body(b"[1]", &decoded, &[Edit::Remove], &stop, &mut out);
    let out: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(
        (&out["type"], &out["content"], &out["stop_reason"]),
        (&json!("message"), &json!([]), &json!("refusal"))
    );
}

#[test]
fn a_changed_error_body_keeps_its_type() {
    let body = r#"{"type":"error","error":{"type":"not_found_error","message":"model x"},"request_id":"r"}"#;
    let payload = r#"{"type":"not_found_error","message":"model x"}"#;
    let edit = Edit::Replace(Body { kind: ChunkKind::Error, text: "no model", payload: Some(payload) });
    assert_eq!(rendered(body, &[(0, edit)]), body.replace("model x", "no model"));
}

#[test]
fn a_result_in_a_body_does_not_stay_without_its_call() {
    let body = r#"{"content":[{"type":"server_tool_use","id":"s","name":"n","input":{}},{"type":"x_tool_result","tool_use_id":"s"},{"type":"text","text":"a"}]}"#;
    let out = value(body, &[(0, Edit::Remove)]);
    assert_eq!(out["content"], json!([{"type":"text","text":"a"}]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bodies_with_any_edits_say_them_and_have_no_empty_text(seed in vec(0_usize..4, 0..6), edits in vec(0_usize..6, 24)) {
        const BLOCKS: [&str; 4] = [
            r#"{"type":"text","text":"a","citations":null}"#,
            r#"{"type":"text","text":"b","citations":[{"n":1}]}"#,
            r#"{"type":"thinking","thinking":"c"}"#,
            r#"{"type":"tool_use","id":"t","name":"n","input":{"q":1}}"#,
        ];
        let content_json = seed.iter().map(|kind| BLOCKS[*kind]).collect::<Vec<_>>().join(" , ");
        let body = format!(r#"{{"id":"m","content":[{content_json}],"stop_reason":"end_turn"}}"#);
        let chunks = decoded(&body).2;
        let mut put_in = 0;
        let edits: Vec<(usize, Edit<'_>)> = chunks.iter().enumerate().map(|(position, chunk)| {
            let edit = match edits[position] {
                _ if matches!(chunk.kind, ChunkKind::Finish | ChunkKind::Annotation) => Edit::Keep,
                0 => Edit::Keep,
                1 => Edit::Remove,
                2 => content(""),
                3 => text_edit(ChunkKind::ReasoningDelta, "<new>"),
                4 => content("<new>"),
                _ => tool_call("{\"x\":\"<new>\"}", r#"{"index":0,"name":"made"}"#),
            };
            put_in += usize::from(edits[position] > 2 && edit != Edit::Keep);
            (position, edit)
        }).collect();
        let out = rendered(&body, &edits);
        prop_assert_eq!(out.matches("<new>").count(), put_in, "{}", out);
        let out: Value = serde_json::from_str(&out).unwrap();
        for block in out["content"].as_array().unwrap() {
            prop_assert!(block["text"] != "" , "{}", out);
        }
    }
}
