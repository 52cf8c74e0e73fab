//! What the imitators and the larger providers put beside the protocol's own members, and what becomes of it.

use seam_plugin_api::ChunkKind;

use super::{content, frame, fresh, rendered, rendered_body, rendered_by, shown, text_edit};
use crate::{Decoded, Edit, Wire};

const KEEP: Edit<'static> = Edit::Keep;

/// Sends a frame the way the seam does.
fn pass(chat: &mut Wire, data: &str) -> String {
    let (frame, mut decoded, mut out) = (frame(data), Decoded::default(), Vec::new());
    chat.decode(&frame, &mut decoded);
    if chat.needs_render(&frame, &decoded) {
        chat.render(&frame, &decoded, &[], &mut out);
    } else {
        out.extend_from_slice(frame.raw());
        chat.passed(&frame, &decoded);
    }
    String::from_utf8(out).unwrap()
}

fn signed(data: &str) -> Vec<bool> {
    let (frame, mut decoded) = (frame(data), Decoded::default());
    fresh().decode(&frame, &mut decoded);
    decoded.chunks(frame.data().unwrap()).map(|chunk| chunk.signed).collect()
}

/// Together's streams of chat: `choices[].text` repeats `delta.content`, and `token_id` is what it was made of.
#[test]
fn redacted_content_does_not_go_out_in_the_text_beside_the_delta() {
    let data = r#"{"choices":[{"index":0,"text":"secret","delta":{"token_id":42,"role":"assistant","content":"secret"},"seed":7}]}"#;
    assert_eq!(shown(data), [r#"0 content_delta "secret""#]);
    insta::assert_snapshot!(rendered(data, &[content("[R]")]), @r#"data: {"choices":[{"index":0,"text":"[R]","delta":{"role":"assistant","content":"[R]"},"seed":7}]}"#);
    assert_eq!(rendered(data, &[KEEP]), format!("data: {data}\n\n"));
    let moved = rendered(data, &[text_edit(ChunkKind::ReasoningDelta, "r")]);
    insta::assert_snapshot!(moved, @r#"data: {"choices":[{"index":0,"text":"","delta":{"role":"assistant","reasoning_content":"r"},"seed":7}]}"#);
}

#[test]
fn text_beside_the_delta_that_says_something_else_is_a_chunk_of_its_own() {
    let data = r#"{"choices":[{"index":0,"text":"other","delta":{"reasoning":"r","content":"one","refusal":"no"}},{"index":1,"text":"alone"}]}"#;
    assert_eq!(
        shown(data),
        [
            r#"0 reasoning_delta "r""#,
            r#"0 content_delta "one""#,
            r#"0 content_delta "other""#,
            r#"0 refusal_delta "no""#,
            r#"1 content_delta "alone""#
        ]
    );
    insta::assert_snapshot!(rendered(data, &[KEEP, content("1"), content("2"), KEEP, content("3")]), @r#"data: {"choices":[{"index":0,"text":"2","delta":{"reasoning":"r","content":"1","refusal":"no"}},{"index":1,"text":"3"}]}"#);
}

/// vLLM with `return_token_ids`.
#[test]
fn token_ids_do_not_spell_what_was_redacted() {
    let data = r#"{"choices":[{"index":0,"delta":{"content":"secret"},"token_ids":[1,2]},{"index":1,"delta":{"content":"b"},"token_ids":[3]}]}"#;
    insta::assert_snapshot!(rendered(data, &[content("[R]"), KEEP]), @r#"data: {"choices":[{"index":0,"delta":{"content":"[R]"}},{"index":1,"delta":{"content":"b"},"token_ids":[3]}]}"#);
}

/// OpenRouter in front of Anthropic: each piece of thinking comes twice, and the signature comes behind the last.
#[test]
fn signed_reasoning_is_refused_by_the_provider_in_the_next_turn_once_it_was_amended() {
    let piece = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","format":"anthropic-claude-v1","index":0}]}}]}"#;
    assert_eq!(shown(piece), [r#"0 reasoning_delta "hm""#]);
    assert_eq!(signed(piece), [true]);
    let whole = r#"{"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","text":"a","signature":"c2ln"},{"type":"reasoning.text","text":"b"},{"type":"reasoning.text","text":"c","signature":null,"format":"unknown"},{"type":"reasoning.summary","summary":"d","format":"anthropic-claude-v1"}],"content":"x"}}]}"#;
    assert_eq!(signed(whole), [true, false, false, false, false]);
    let unsigned = r#"{"choices":[{"index":0,"delta":{"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","format":"openai-responses-v1"}]}}]}"#;
    assert_eq!(signed(unsigned), [false]);
    let other = r#"{"choices":[{"index":0,"delta":{"reasoning":"summary","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"c2ln"}]}}]}"#;
    assert_eq!(signed(other), [false, true], "what is only shown can be amended");
}

#[test]
fn encrypted_reasoning_stays_as_it_is_whatever_is_amended_around_it() {
    let encrypted =
        r#"{"type":"reasoning.encrypted","data":"c2VjcmV0","id":"rs_1","format":"openai-responses-v1","index":0}"#;
    let data = format!(
        r#"{{"choices":[{{"index":0,"delta":{{"content":"a","reasoning_details":[{encrypted},{{"type":"reasoning.summary","summary":"hm"}}]}}}}]}}"#
    );
    assert_eq!(shown(&data), [r#"0 reasoning_delta "hm""#, r#"0 content_delta "a""#]);
    let out = rendered(&data, &[text_edit(ChunkKind::ReasoningDelta, "R"), content("A")]);
    assert!(out.contains(encrypted) && out.contains(r#""summary":"R""#) && out.contains(r#""content":"A""#), "{out}");
}

/// Azure's asynchronous filter: results without a delta, with offsets into the text so far.
#[test]
fn azure_offsets_into_text_that_was_altered_are_dropped() {
    let offsets = r#"{"id":"","object":"","created":0,"model":"","choices":[{"index":0,"content_filter_offsets":{"check_offset":44,"start_offset":44,"end_offset":198},"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}},"finish_reason":null}]}"#;
    let mut chat = fresh();
    let first = r#"{"choices":[{"index":0,"delta":{"content":"secret"},"content_filter_offsets":{"check_offset":44},"content_filter_results":{}}]}"#;
    assert_eq!(pass(&mut chat, offsets), format!("data: {offsets}\n\n"), "nothing was altered yet");
    insta::assert_snapshot!(rendered_by(&mut chat, first, &[content("[R]")]), @r#"data: {"choices":[{"index":0,"delta":{"content":"[R]"},"content_filter_results":{}}]}"#);
    insta::assert_snapshot!(pass(&mut chat, offsets), @r#"data: {"id":"","object":"","created":0,"model":"","choices":[{"index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}},"finish_reason":null}]}"#);
    let other = offsets.replace("\"index\":0", "\"index\":1");
    assert_eq!(pass(&mut chat, &other), format!("data: {other}\n\n"), "of a choice that was not altered");
}

#[test]
fn azure_prompt_results_in_a_first_frame_without_choices_pass_and_name_nothing() {
    let first = r#"{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false}}}]}"#;
    let mut chat = fresh();
    assert_eq!(pass(&mut chat, first), format!("data: {first}\n\n"));
    pass(&mut chat, r#"{"id":"c1","model":"gpt","created":9,"choices":[{"index":0,"delta":{"content":"a"}}]}"#);
    let mut out = Vec::new();
    chat.end_stopped(&crate::Stop { sentinel: "{}", delivered: &|_| "" }, &mut out);
    insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r#"
    data: {"id":"c1","object":"chat.completion.chunk","created":9,"model":"gpt","choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}],"seam":{"stop":{}}}

    data: [DONE]
    "#);
}

/// The padding hides how long a text is from who watches the connection; of another text it would tell.
#[test]
fn padding_goes_with_the_text_that_it_was_made_for() {
    let data = r#"{"choices":[{"index":0,"delta":{"content":"a"}}],"obfuscation":"Kp3"}"#;
    insta::assert_snapshot!(rendered(data, &[content("b")]), @r#"data: {"choices":[{"index":0,"delta":{"content":"b"}}]}"#);
    assert_eq!(rendered(data, &[KEEP]), format!("data: {data}\n\n"));
}

#[test]
fn a_whole_answer_changes_wherever_it_says_its_text() {
    let body = r#"{"choices":[{"index":0,"text":"secret","message":{"role":"assistant","content":"secret"},"token_ids":[4],"finish_reason":"stop"}]}"#;
    insta::assert_snapshot!(rendered_body(body, &[content("[R]"), KEEP]), @r#"{"choices":[{"index":0,"text":"[R]","message":{"role":"assistant","content":"[R]"},"finish_reason":"stop"}]}"#);
}

#[test]
fn citations_of_content_that_was_altered_tell_where_it_is_now() {
    let mut chat = fresh();
    let text = |text: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#);
    pass(&mut chat, &text("Grüße: "));
    rendered_by(&mut chat, &text("secret"), &[content("[R]")]);
    pass(&mut chat, &text(" news"));
    let data = r#"{"choices":[{"index":0,"delta":{"annotations":[{"type":"url_citation","url_citation":{"start_index":14,"end_index":18,"url":"u","title":"t"}},{"type":"url_citation","url_citation":{"end_index":6, "start_index":0}},{"type":"file_citation","start_index":"x","index":3}]}}]}"#;
    let moved = data.replace("\"start_index\":14,\"end_index\":18", "\"start_index\":11,\"end_index\":15");
    assert_eq!(pass(&mut chat, data), format!("data: {moved}\n\n"));
    let other = data.replace("\"index\":0,\"delta\"", "\"index\":1,\"delta\"");
    assert_eq!(pass(&mut chat, &other), format!("data: {other}\n\n"), "of another choice");
}

#[test]
fn citations_of_a_whole_answer_tell_where_its_content_is_now() {
    let body = r#"{"choices":[{"index":0,"message":{"content":"secret news","annotations":[{"type":"url_citation","url_citation":{"start_index":7,"end_index":11}}]},"finish_reason":"stop"}]}"#;
    let out = rendered_body(body, &[content("[R] news"), KEEP, KEEP]);
    assert_eq!(out, body.replace("secret", "[R]").replace(":7,", ":4,").replace(":11}", ":8}"));
}
