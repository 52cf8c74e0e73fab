//! What differs from chat: where the text is, what has no form, and the ends.

use bytes::Bytes;
use proptest::prelude::*;
use seam_plugin_api::ChunkKind;
use serde_json::Value;

use crate::{Body, Decoded, Edit, Failure, Frame, Framing, Protocol, SseDecoder, Stop, Wire};

const KEEP: Edit<'static> = Edit::Keep;

fn fresh() -> Wire {
    Wire::new(Protocol::OpenAiCompletions, Framing::Sse)
}

fn frame(data: &str) -> Frame {
    let mut decoder = SseDecoder::new(1 << 20);
    decoder.feed(Bytes::from(format!("data: {data}\n\n")));
    decoder.next_frame().unwrap().unwrap()
}

fn shown_by(wire: &mut Wire, data: &str) -> Vec<String> {
    let (frame, mut decoded) = (frame(data), Decoded::default());
    wire.decode(&frame, &mut decoded);
    let told = |chunk: crate::Chunk<'_>| {
        let payload = chunk.payload.map(|payload| serde_json::from_str::<Value>(payload).unwrap().to_string());
        let told = format!("{} {} {:?} {}", chunk.choice, chunk.kind, chunk.text, payload.unwrap_or_default());
        told.trim_end().to_owned()
    };
    decoded.chunks(frame.data().unwrap()).map(told).collect()
}

fn shown(data: &str) -> Vec<String> {
    shown_by(&mut fresh(), data)
}

fn rendered_by(wire: &mut Wire, data: &str, edits: &[Edit<'_>]) -> String {
    let (frame, mut decoded, mut out) = (frame(data), Decoded::default(), Vec::new());
    wire.decode(&frame, &mut decoded);
    assert_eq!(decoded.len(), edits.len(), "{:?}", shown(data));
    wire.render(&frame, &decoded, edits, &mut out);
    String::from_utf8(out).unwrap().trim_end().replace("data: ", "")
}

fn rendered(data: &str, edits: &[Edit<'_>]) -> String {
    rendered_by(&mut fresh(), data, edits)
}

fn rendered_body(body: &str, edits: &[Edit<'_>]) -> String {
    let (mut wire, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
    wire.decode_body(body.as_bytes(), &mut decoded);
    assert_eq!(decoded.len(), edits.len());
    wire.render_body(body.as_bytes(), &decoded, edits, &mut out);
    String::from_utf8(out).unwrap()
}

fn text(kind: ChunkKind, text: &str) -> Edit<'_> {
    Edit::Replace(Body { kind, text, payload: None })
}

fn content(words: &str) -> Edit<'_> {
    text(ChunkKind::ContentDelta, words)
}

/// Sends a frame the way the seam does.
fn pass(wire: &mut Wire, data: &str) -> String {
    let (frame, mut decoded, mut out) = (frame(data), Decoded::default(), Vec::new());
    wire.decode(&frame, &mut decoded);
    if wire.needs_render(&frame, &decoded) {
        wire.render(&frame, &decoded, &[], &mut out);
    } else {
        out.extend_from_slice(frame.raw());
        wire.passed(&frame, &decoded);
    }
    String::from_utf8(out).unwrap().trim_end().replace("data: ", "")
}

#[test]
fn a_choice_is_its_text_logprobs_and_finish_then_usage() {
    let data = r#"{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":1,"text":" a\n","logprobs":{"tokens":[" a"],"token_logprobs":[-0.5],"top_logprobs":[{" a":-0.5}],"text_offset":[3]},"finish_reason":"stop","stop_reason":"END"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#;
    insta::assert_snapshot!(shown(data).join("\n"), @r#"
    1 content_delta " a\n"
    1 annotation "" {"logprobs":{"text_offset":[3],"token_logprobs":[-0.5],"tokens":[" a"],"top_logprobs":[{" a":-0.5}]}}
    1 finish "stop"
    0 usage "" {"input_tokens":1,"output_tokens":2,"provider":{"completion_tokens":2,"prompt_tokens":1,"total_tokens":3},"total_tokens":3}
    "#);
    assert_eq!(rendered(data, &[KEEP, KEEP, KEEP, KEEP]), data);
}

#[test]
fn altered_text_takes_along_what_is_only_true_of_the_text_that_came() {
    let data = r#"{"choices":[{"index":0,"text":"secret","logprobs":{"tokens":["secret"],"text_offset":[0]},"token_ids":[7],"prompt_logprobs":[null,{"1":{"decoded_token":"secret"}}],"prompt_token_ids":[1],"finish_reason":null,"stop_reason":null}],"obfuscation":"xx","z":1}"#;
    insta::assert_snapshot!(rendered(data, &[content("[R]"), KEEP]), @r#"{"choices":[{"index":0,"text":"[R]","logprobs":null,"finish_reason":null,"stop_reason":null}],"z":1}"#);
}

#[test]
fn log_probabilities_that_come_later_do_not_spell_the_altered_text() {
    let mut wire = fresh();
    let first = r#"{"choices":[{"index":0,"text":"secret","finish_reason":null}]}"#;
    rendered_by(&mut wire, first, &[content("[R]")]);
    let last = r#"{"choices":[{"index":0,"text":"","logprobs":{"tokens":["secret"]},"token_ids":[7],"finish_reason":"stop"}]}"#;
    insta::assert_snapshot!(pass(&mut wire, last), @r#"{"choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"stop"}]}"#);
    let other =
        r#"{"choices":[{"index":1,"text":"","logprobs":{"tokens":["a"]},"token_ids":[7],"finish_reason":"stop"}]}"#;
    assert_eq!(pass(&mut wire, other), other, "of another choice");
}

#[test]
fn a_tool_call_has_no_form_and_is_neither_said_as_text_nor_lost() {
    let mut wire = fresh();
    let data = r#"{"choices":[{"index":0,"text":"<tool>search</tool>","logprobs":null,"finish_reason":null}]}"#;
    let payload = r#"{"index":0,"name":"search"}"#;
    let call = Edit::Replace(Body { kind: ChunkKind::ToolCallDelta, text: "{\"q\":1}", payload: Some(payload) });
    insta::assert_snapshot!(rendered_by(&mut wire, data, &[call]), @r#"{"choices":[{"index":0,"text":"","tool_calls":[{"index":0,"id":"call_seam_0_0","type":"function","function":{"name":"search","arguments":"{\"q\":1}"}}],"logprobs":null,"finish_reason":null}]}"#);
    let finish = r#"{"choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"stop"}]}"#;
    assert_eq!(pass(&mut wire, finish), finish, "the protocol has no other reason");

    let beside = r#"{"tool_calls":[{"index":0,"name":"search","arguments":"{}"}]}"#;
    let beside = Edit::Replace(Body { kind: ChunkKind::ContentDelta, text: "I look.", payload: Some(beside) });
    insta::assert_snapshot!(rendered_body(data, &[beside]), @r#"{"choices":[{"index":0,"text":"I look.","tool_calls":[{"id":"call_seam_0_0","type":"function","function":{"name":"search","arguments":"{}"}}],"logprobs":null,"finish_reason":null}]}"#);
}

#[test]
fn a_refusal_is_text_and_reasoning_is_not() {
    let data = r#"{"choices":[{"index":0,"text":"a","finish_reason":null}]}"#;
    assert_eq!(rendered(data, &[text(ChunkKind::RefusalDelta, "No.")]), data.replace("\"a\"", "\"No.\""));
    insta::assert_snapshot!(rendered(data, &[text(ChunkKind::ReasoningDelta, "hm")]), @r#"{"choices":[{"index":0,"text":"","reasoning_content":"hm","finish_reason":null}]}"#);
}

#[test]
fn reasoning_beside_the_text_is_reasoning_and_can_become_text() {
    let data = r#"{"choices":[{"index":0,"text":"","reasoning":"hm","finish_reason":null}]}"#;
    assert_eq!(shown(data), [r#"0 reasoning_delta "hm""#]);
    insta::assert_snapshot!(rendered(data, &[text(ChunkKind::ReasoningDelta, "R")]), @r#"{"choices":[{"index":0,"text":"","reasoning":"R","finish_reason":null}]}"#);
    insta::assert_snapshot!(rendered(data, &[content("said")]), @r#"{"choices":[{"index":0,"text":"said","reasoning":"","finish_reason":null}]}"#);
}

#[test]
fn a_delta_on_this_path_is_read_as_chat_reads_it() {
    let data = r#"{"choices":[{"index":0,"delta":{"content":"secret"},"text":"secret"},{"index":1,"delta":{"content":""},"text":"other"}]}"#;
    assert_eq!(shown(data), [r#"0 content_delta "secret""#, r#"1 content_delta "other""#]);
    insta::assert_snapshot!(rendered(data, &[content("A"), content("B")]), @r#"{"choices":[{"index":0,"delta":{"content":"A"},"text":"A"},{"index":1,"delta":{"content":""},"text":"B"}]}"#);
}

#[test]
fn an_echoed_prompt_is_content() {
    let body = r#"{"id":"c","object":"text_completion","choices":[{"text":"Once upon a time","index":0,"logprobs":null,"finish_reason":"length"}],"usage":{"prompt_tokens":2}}"#;
    insta::assert_snapshot!(rendered_body(body, &[content("ONCE"), KEEP, KEEP]), @r#"{"id":"c","object":"text_completion","choices":[{"text":"ONCE","index":0,"logprobs":null,"finish_reason":"length"}],"usage":{"prompt_tokens":2}}"#);
}

const STOP: Stop<'static> = Stop { sentinel: r#"{"reason":"no"}"#, delivered: &|_| "" };

#[test]
fn a_stop_finishes_each_open_choice_with_text_that_says_nothing() {
    let (mut wire, mut out) = (fresh(), Vec::new());
    for data in [
        r#"{"id":"c","created":5,"model":"m","choices":[{"index":0,"text":"a","finish_reason":null}]}"#,
        r#"{"id":"c","created":5,"model":"m","choices":[{"index":1,"text":"a","finish_reason":"length"}]}"#,
        r#"{"id":"c","created":5,"model":"m","choices":[{"index":2,"text":"a","finish_reason":""}]}"#,
    ] {
        pass(&mut wire, data);
    }
    wire.end_stopped(&STOP, &mut out);
    insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r#"
    data: {"id":"c","object":"text_completion","created":5,"model":"m","choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"content_filter"},{"index":2,"text":"","logprobs":null,"finish_reason":"content_filter"}],"seam":{"stop":{"reason":"no"}}}

    data: [DONE]
    "#);
}

#[test]
fn a_stop_before_anything_is_a_whole_answer_all_the_same() {
    let (mut wire, mut out) = (fresh(), Vec::new());
    wire.end_stopped(&STOP, &mut out);
    insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r#"
    data: {"id":"cmpl-seam","object":"text_completion","created":0,"model":"","choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"content_filter"}],"seam":{"stop":{"reason":"no"}}}

    data: [DONE]
    "#);
}

#[test]
fn a_stopped_body_keeps_nothing_of_what_was_behind_the_stop() {
    let body = r#"{"id":"c","choices":[{"index":0,"text":"fine","finish_reason":"stop"},{"index":1,"text":"secret","audio":{"transcript":"secret"},"logprobs":{"tokens":["secret"]},"finish_reason":"stop"},{"index":2,"text":"","x":"secret"}]}"#;
    let (mut wire, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
    wire.decode_body(body.as_bytes(), &mut decoded);
    let edits = [KEEP, KEEP, Edit::Remove, Edit::Remove, Edit::Remove];
    wire.stop_body(body.as_bytes(), &decoded, &edits, &STOP, &mut out);
    insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r#"{"id":"c","choices":[{"index":0,"text":"fine","finish_reason":"stop"},{"index":1,"text":"","logprobs":null,"finish_reason":"content_filter"},{"index":2,"text":"","finish_reason":"content_filter"}],"seam":{"stop":{"reason":"no"}}}"#);
}

#[test]
fn an_error_is_told_as_in_chat() {
    let (mut wire, mut out) = (fresh(), Vec::new());
    let failure = Failure { message: "the provider hung up", blame: crate::Blame::Provider, code: "provider_cut" };
    wire.end_error(&failure, &mut out);
    insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r#"
    data: {"error":{"message":"the provider hung up","type":"provider_error","param":null,"code":"provider_cut"}}

    data: [DONE]
    "#);
}

#[test]
fn a_silent_stream_is_kept_by_a_choice_without_text() {
    let (mut wire, mut out) = (fresh(), Vec::new());
    wire.keepalive(&mut out);
    pass(&mut wire, r#"{"id":"c","created":5,"model":"m","choices":[{"index":0,"text":"a","finish_reason":null}]}"#);
    wire.keepalive(&mut out);
    insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r#"
    : keepalive

    data: {"id":"c","object":"text_completion","created":5,"model":"m","choices":[{"index":0,"text":"","logprobs":null,"finish_reason":null}]}
    "#);
}

const NATIVE: &str = r#"{"index":0,"content":"secret","tokens":[7],"stop":false,"id_slot":0,"completion_probabilities":[{"content":"secret"}]}"#;
const NATIVE_END: &str = r#"{"index":0,"content":"","tokens":[],"stop":true,"stop_type":"eos","tokens_predicted":2,"tokens_evaluated":5,"prompt":"p"}"#;

#[test]
fn llama_cpps_own_shape_is_no_way_past_the_observers() {
    insta::assert_snapshot!(shown(NATIVE).join("\n"), @r#"
    0 content_delta "secret"
    0 annotation "" {"completion_probabilities":[{"content":"secret"}]}
    "#);
    insta::assert_snapshot!(shown(NATIVE_END).join("\n"), @r#"
    0 finish "eos"
    0 usage "" {"input_tokens":5,"output_tokens":2,"provider":{"tokens_evaluated":5,"tokens_predicted":2}}
    "#);
    assert_eq!(shown(r#"{"content":"","stop":true,"stopped_limit":true}"#), [r#"0 finish "limit""#]);
    insta::assert_snapshot!(rendered(NATIVE, &[content("[R]"), KEEP]), @r#"{"index":0,"content":"[R]","stop":false,"id_slot":0}"#);
    assert_eq!(rendered(NATIVE_END, &[KEEP, KEEP]), NATIVE_END);
    let twice = NATIVE.replacen("\"content\":", "\"content\":\"hidden\",\"content\":", 1);
    assert_eq!(rendered(&twice, &[content("[R]"), KEEP]), r#"{"index":0,"content":"[R]","stop":false,"id_slot":0}"#);
    assert_eq!(shown(r#"{"content":"a"}"#), [r#"0 opaque "" {"content":"a"}"#], "without its flag it is another's");
}

#[test]
fn llama_cpps_own_shape_takes_every_edit() {
    let call = Edit::Replace(Body { kind: ChunkKind::ToolCallDelta, text: "{}", payload: Some(r#"{"name":"f"}"#) });
    insta::assert_snapshot!(rendered(NATIVE, &[call, Edit::Remove]), @r#"{"index":0,"content":"","stop":false,"id_slot":0,"tool_calls":[{"index":0,"id":"call_seam_0_0","type":"function","function":{"name":"f","arguments":"{}"}}]}"#);
    insta::assert_snapshot!(rendered(NATIVE, &[text(ChunkKind::ReasoningDelta, "r"), KEEP]), @r#"{"index":0,"content":"","stop":false,"id_slot":0,"reasoning":"r"}"#);
    insta::assert_snapshot!(rendered(NATIVE_END, &[Edit::Remove, KEEP]), @r#"{"index":0,"content":"","tokens":[],"stop":false,"stop_type":"none","tokens_predicted":2,"tokens_evaluated":5,"prompt":"p"}"#);
    let usage = Edit::Replace(Body { kind: ChunkKind::Usage, text: "", payload: Some(r#"{"input_tokens":9}"#) });
    insta::assert_snapshot!(rendered(NATIVE_END, &[text(ChunkKind::Finish, "limit"), usage]), @r#"{"index":0,"content":"","tokens":[],"stop":true,"stop_type":"limit","tokens_predicted":null,"tokens_evaluated":9,"prompt":"p"}"#);
}

#[test]
fn llama_cpps_own_shape_ends_in_itself() {
    let (mut wire, mut out) = (fresh(), Vec::new());
    pass(&mut wire, NATIVE);
    assert!(!wire.arrival().complete);
    wire.end_stopped(&STOP, &mut out);
    insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r#"data: {"index":0,"content":"","stop":true,"stop_type":"content_filter","seam":{"stop":{"reason":"no"}}}"#);
    let mut whole = fresh();
    pass(&mut whole, NATIVE_END);
    assert!(whole.arrival().complete);

    let body = r#"{"index":0,"content":"secret","stop":true,"stop_type":"eos"}"#;
    let (mut wire, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
    wire.decode_body(body.as_bytes(), &mut decoded);
    wire.stop_body(body.as_bytes(), &decoded, &[Edit::Remove, Edit::Remove], &STOP, &mut out);
    insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r#"{"index":0,"content":"","stop":true,"stop_type":"content_filter","seam":{"stop":{"reason":"no"}}}"#);
}

/// What an observer makes of a text.
#[derive(Clone, Debug)]
enum Change {
    Keep,
    Remove,
    Become(ChunkKind),
}

fn change() -> impl Strategy<Value = Change> {
    let kinds = [ChunkKind::ContentDelta, ChunkKind::RefusalDelta, ChunkKind::ReasoningDelta, ChunkKind::ToolCallDelta];
    prop_oneof![Just(Change::Keep), Just(Change::Remove), prop::sample::select(kinds.to_vec()).prop_map(Change::Become)]
}

/// A choice whose text says that word, in some dialect.
fn choice_json(index: usize, dialect: usize) -> String {
    let word = format!("old{index}\\n\\u5317");
    match dialect {
        0 => format!(r#"{{"index":{index},"text":"{word}","logprobs":null,"finish_reason":null}}"#),
        1 => format!(r#"{{"text":"{word}","index":{index},"logprobs":{{"tokens":["{word}"]}},"token_ids":[1]}}"#),
        2 => format!(r#"{{"index":{index},"delta":{{"content":"{word}"}},"text":"{word}"}}"#),
        _ => format!(r#"{{"index":{index},"reasoning":"","text":"{word}","text":"{word}","x":{{"y":1}}}}"#),
    }
}

proptest! {
    #[test]
    fn a_rendered_frame_says_what_the_edits_say_and_not_what_they_took(
        choices in prop::collection::vec((0..4_usize, change()), 1..4),
        as_body in any::<bool>(),
    ) {
        let parts: Vec<String> = choices.iter().enumerate().map(|(index, (of, _))| choice_json(index, *of)).collect();
        let data = format!(r#"{{"id":"c","choices":[{}],"obfuscation":"x"}}"#, parts.join(","));
        let (frame, mut wire, mut decoded, mut out) = (frame(&data), fresh(), Decoded::default(), Vec::new());
        wire.decode(&frame, &mut decoded);
        let edits: Vec<Edit<'_>> = decoded
            .chunks(frame.data().unwrap())
            .map(|chunk| match &choices[chunk.choice as usize].1 {
                Change::Keep => Edit::Keep,
                Change::Remove => Edit::Remove,
                Change::Become(kind) if chunk.kind == ChunkKind::ContentDelta => text(*kind, "new"),
                Change::Become(_) => Edit::Keep,
            })
            .collect();
        if as_body {
            let (mut wire, mut decoded) = (fresh(), Decoded::default());
            wire.decode_body(data.as_bytes(), &mut decoded);
            wire.render_body(data.as_bytes(), &decoded, &edits, &mut out);
        } else {
            wire.render(&frame, &decoded, &edits, &mut out);
        }
        let out = String::from_utf8(out).unwrap();
        let kept = edits.iter().all(|edit| *edit == Edit::Keep);
        prop_assert!(!kept || out.contains(&data), "{}", out);
        let removed = edits.iter().all(|edit| *edit == Edit::Remove);
        if removed && !as_body {
            prop_assert_eq!(out, "");
            return Ok(());
        }
        let rest = out.trim_end();
        let after: Value = serde_json::from_str(rest.strip_prefix("data: ").unwrap_or(rest)).unwrap();
        for (index, (of, change)) in choices.iter().enumerate() {
            let choice = &after["choices"][index];
            let holder = if *of == 2 { &choice["delta"] } else { choice };
            let content = if *of == 2 { holder["content"].as_str() } else { choice["text"].as_str() };
            let expected = match change {
                Change::Keep => format!("old{index}\n北"),
                Change::Become(ChunkKind::ContentDelta) => "new".to_owned(),
                Change::Become(ChunkKind::RefusalDelta) if *of != 2 => "new".to_owned(),
                _ => String::new(),
            };
            prop_assert_eq!(content.unwrap_or_default(), expected, "{}", out);
            let shown = choice.to_string().contains(&format!("old{index}"));
            prop_assert_eq!(shown, matches!(change, Change::Keep), "{}", out);
            let reasons = holder["reasoning_content"].as_str() == Some("new") || holder["reasoning"] == "new";
            prop_assert_eq!(reasons, matches!(change, Change::Become(ChunkKind::ReasoningDelta)), "{}", out);
            let calls = holder["tool_calls"][0]["function"]["arguments"] == "new";
            prop_assert_eq!(calls, matches!(change, Change::Become(ChunkKind::ToolCallDelta)), "{}", out);
        }
    }
}
