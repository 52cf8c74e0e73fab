//! What each dialect's frames decode to; the reported faults by their symptom.

use seam_plugin_api::ChunkKind;

use super::{Seen, decode_all, frame, frames, fresh, shown};
use crate::Decoded;

fn delta(members: &str) -> String {
    format!(r#"{{"id":"c","choices":[{{"index":0,"delta":{{{members}}},"finish_reason":null}}]}}"#)
}

#[test]
fn a_plain_piece_of_text_is_shown_in_place_and_an_escaped_one_unescaped() {
    let data = delta(r#""content":" looking""#);
    let (frame, mut decoded) = (frame(&data), Decoded::default());
    fresh().decode(&frame, &mut decoded);
    let shown_at = decoded.chunk(0, frame.data().unwrap()).unwrap().text.as_ptr();
    assert!(frame.raw().as_ptr_range().contains(&shown_at));
    assert_eq!(shown(&delta(r#""content":"a\n\"b\" \u5317\ud83e\udd80""#)), ["0 content_delta \"a\\n\\\"b\\\" 北🦀\""]);
}

#[test]
fn the_order_is_the_contracts_whatever_the_order_of_the_members() {
    let data = r#"{"usage":{"prompt_tokens":1},"choices":[{"finish_reason":"stop","logprobs":{"content":[1]},
        "delta":{"annotations":[2],"tool_calls":[{"index":0,"function":{"arguments":"{"}}],"refusal":"no","content":"c","reasoning":"r"},
        "index":3}]}"#;
    insta::assert_snapshot!(shown(data).join("\n"), @r#"
    3 reasoning_delta "r"
    3 content_delta "c"
    3 refusal_delta "no"
    3 tool_call_delta "{" {"index":0}
    3 annotation {"annotations":[2]}
    3 annotation {"logprobs":{"content":[1]}}
    3 finish "stop"
    0 usage {"input_tokens":1,"provider":{"prompt_tokens":1}}
    "#);
}

#[test]
fn no_choices_is_no_fault() {
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":24,"completion_tokens":1355,"total_tokens":1379,"completion_tokens_details":{"reasoning_tokens":1084},"prompt_tokens_details":{"cached_tokens":0}}}"#;
    let counts = r#""cached_tokens":0,"input_tokens":24,"output_tokens":1355"#;
    let provider = r#""provider":{"completion_tokens":1355,"completion_tokens_details":{"reasoning_tokens":1084},"prompt_tokens":24,"prompt_tokens_details":{"cached_tokens":0},"total_tokens":1379}"#;
    let expected = format!("0 usage {{{counts},{provider},\"reasoning_tokens\":1084,\"total_tokens\":1379}}");
    assert_eq!(shown(usage), [expected]);
    assert_eq!(shown(r#"{"choices":[],"usage":null}"#), [r#"0 opaque {"choices":[],"usage":null}"#]);
}

#[test]
fn azure_filter_results_without_choices_or_without_delta_are_opaque() {
    let first = r#"{"choices":[],"created":0,"id":"","model":"","prompt_filter_results":[1]}"#;
    assert_eq!(shown(first), [format!("0 opaque {first}")]);
    let later = r#"{"choices":[{"content_filter_offsets":{"start":0},"finish_reason":null,"index":2}]}"#;
    assert_eq!(shown(later), [format!("2 opaque {later}")]);
}

#[test]
fn an_empty_string_is_no_value() {
    let first =
        r#"{"choices":[{"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":"","index":0}]}"#;
    assert_eq!(shown(first), [format!("0 opaque {first}")]);
    let fragment = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a"}}]},"finish_reason":""}]}"#;
    assert_eq!(shown(fragment), [r#"0 tool_call_delta "{\"a" {"index":0}"#]);
}

#[test]
fn the_last_text_and_the_finish_reason_in_one_chunk_are_both_seen() {
    let data = r#"{"choices":[{"index":0,"delta":{"content":"end"},"finish_reason":"length"}]}"#;
    assert_eq!(shown(data), ["0 content_delta \"end\"", "0 finish \"length\""]);
}

#[test]
fn usage_inside_a_choice_is_seen_and_one_beside_it_counts_instead() {
    let inside = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":1}}]}"#;
    assert_eq!(shown(inside)[1], r#"0 usage {"input_tokens":1,"provider":{"prompt_tokens":1}}"#);
    let both = r#"{"usage":{"prompt_tokens":2},"choices":[{"index":0,"delta":{},"usage":{"prompt_tokens":1}}]}"#;
    assert_eq!(shown(both), [r#"0 usage {"input_tokens":2,"provider":{"prompt_tokens":2}}"#]);
}

#[test]
fn a_choice_keeps_its_own_index() {
    let data = r#"{"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}},{"delta":{"content":"c"}}]}"#;
    assert_eq!(shown(data), ["1 content_delta \"b\"", "0 content_delta \"a\"", "2 content_delta \"c\""]);
}

/// The payloads of calls that come one to a frame.
fn calls(elements: &[&str]) -> Vec<String> {
    let frames: Vec<_> = elements.iter().map(|element| frame(&delta(&format!("\"tool_calls\":[{element}]")))).collect();
    decode_all(&frames).into_iter().filter_map(|chunk| chunk.payload).map(|payload| payload.to_string()).collect()
}

#[test]
fn calls_without_index_are_numbered() {
    let sent = [
        r#"{"id":"x","function":{"name":"f","arguments":"{}"}}"#,
        r#"{"id":"y","function":{"name":"f","arguments":"{"}}"#,
        r#"{"function":{"arguments":"}"}}"#,
        r#"{"index":2,"id":"z","function":{"name":"g","arguments":""}}"#,
        r#"{"id":"x","function":{"arguments":" "}}"#,
    ];
    insta::assert_snapshot!(calls(&sent).join("\n"), @r#"
    {"id":"x","index":0,"name":"f"}
    {"id":"y","index":1,"name":"f"}
    {"index":1}
    {"id":"z","index":2,"name":"g"}
    {"id":"x","index":0}
    "#);
}

#[test]
fn two_calls_of_one_index_are_told_apart() {
    let first = r#"{"index":0,"id":"x","function":{"name":"f","arguments":"{\"path\":\"a\"}"}}"#;
    let second = r#"{"index":0,"id":"y","function":{"name":"f","arguments":"{\"path\":\"b\"}"}}"#;
    let told_apart = [r#"{"id":"x","index":0,"name":"f"}"#, r#"{"id":"y","index":1,"name":"f"}"#];
    assert_eq!(calls(&[first, second]), told_apart);
    assert_eq!(calls(&[&format!("{first},{second}")]), told_apart);
    // A fragment that repeats the id, or brings another one without a name, goes on with the call.
    let more = [
        r#"{"index":0,"id":"x","function":{"arguments":"{"}}"#,
        r#"{"index":0,"id":"r2","function":{"arguments":"}"}}"#,
    ];
    assert_eq!(calls(&[first, more[0], more[1]])[1..], [r#"{"id":"x","index":0}"#, r#"{"id":"r2","index":0}"#]);
}

#[test]
fn arguments_cut_inside_an_escape_are_a_fragment_like_any_other() {
    let data = delta(r#""tool_calls":[{"index":0,"function":{"arguments":"{\"a\":\"\\uD8"}}]"#);
    assert_eq!(shown(&data), [r#"0 tool_call_delta "{\"a\":\"\\uD8" {"index":0}"#]);
}

#[test]
fn a_lone_surrogate_shows_as_the_replacement_character_and_passes() {
    assert_eq!(shown(&delta(r#""content":"a\ud83e""#)), ["0 content_delta \"a\u{FFFD}\""]);
}

#[test]
fn a_function_call_of_old_and_arguments_that_are_an_object_are_tool_calls() {
    let old = delta(r#""function_call":{"name":"f","arguments":"{}"}"#);
    assert_eq!(shown(&old), [r#"0 tool_call_delta "{}" {"index":0,"name":"f"}"#]);
    let object = delta(r#""tool_calls":[{"id":"x","function":{"name":"f","arguments":{"a": 1}}}]"#);
    assert_eq!(shown(&object), [r#"0 tool_call_delta "{\"a\": 1}" {"id":"x","index":0,"name":"f"}"#]);
}

#[test]
fn reasoning_under_two_names_is_one_chunk_unless_the_texts_differ() {
    let same = delta(r#""reasoning":"r","reasoning_content":"r""#);
    assert_eq!(shown(&same), ["0 reasoning_delta \"r\""]);
    let differing = delta(r#""reasoning":"x","reasoning_content":"r""#);
    assert_eq!(shown(&differing), ["0 reasoning_delta \"r\"", "0 reasoning_delta \"x\""]);
    let empty = delta(r#""reasoning":"x","reasoning_content":"""#);
    assert_eq!(shown(&empty), ["0 reasoning_delta \"x\""]);
}

#[test]
fn reasoning_details_are_seen_unless_they_repeat_the_reasoning() {
    let repeated = delta(r#""reasoning":"ab","reasoning_details":[{"text":"a"},{"summary":"b"},{"data":"…"}]"#);
    assert_eq!(shown(&repeated), ["0 reasoning_delta \"ab\""]);
    let alone = delta(r#""content":"","reasoning_details":[{"type":"reasoning.text","text":"15"}]"#);
    assert_eq!(shown(&alone), ["0 reasoning_delta \"15\""]);
    let other = delta(r#""reasoning":"a","reasoning_details":[{"text":"b"}]"#);
    assert_eq!(shown(&other), ["0 reasoning_delta \"a\"", "0 reasoning_delta \"b\""]);
}

#[test]
fn content_that_is_an_array_of_parts_is_seen_part_by_part() {
    let parts = delta(
        r#""content":[{"type":"text","text":"a"},{"type":"thinking","thinking":[{"type":"text","text":"t"},{"type":"text","text":""}]},
            {"type":"thinking","thinking":"u"},"b",{"type":"refusal","refusal":"no"},{"type":"image","url":"x"}]"#,
    );
    insta::assert_snapshot!(shown(&parts).join("\n"), @r#"
    0 reasoning_delta "t"
    0 reasoning_delta "u"
    0 content_delta "a"
    0 content_delta "b"
    0 refusal_delta "no"
    "#);
}

#[test]
fn a_refusal_is_no_empty_success() {
    assert_eq!(shown(&delta(r#""content":null,"refusal":"I can't""#)), ["0 refusal_delta \"I can't\""]);
}

#[test]
fn an_error_inside_the_stream_is_an_error_chunk() {
    let frames =
        frames(b"event: error\ndata:{\"error\":{\"message\":\"over\\nload\",\"code\":529}}\n\ndata: [DONE]\n\n");
    let chunks: Vec<String> = decode_all(&frames).iter().map(Seen::to_string).collect();
    assert_eq!(chunks, [r#"0 error "over\nload" {"code":529,"message":"over\nload"}"#]);
    assert_eq!(shown(r#"{"error":"gone"}"#), [r#"0 error "gone" "gone""#]);
    let middle =
        r#"{"error":{"message":"lost"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#;
    assert_eq!(shown(middle), ["0 finish \"error\"", r#"0 error "lost" {"message":"lost"}"#]);
}

#[test]
fn snowflake_log_probabilities_of_nulls_are_no_annotation() {
    let data = r#"{"choices":[{"delta":{"content":"a"},"index":0,"logprobs":{"content":null,"refusal":null}}]}"#;
    assert_eq!(shown(data), ["0 content_delta \"a\""]);
}

#[test]
fn data_after_the_end_marker_is_read_like_any_other() {
    let all = decode_all(&frames(b"data: [DONE]\n\ndata: {\"hook_results\":1}\n\n"));
    assert_eq!(all.iter().map(Seen::to_string).collect::<Vec<_>>(), [r#"0 opaque {"hook_results":1}"#]);
}

#[test]
fn the_end_marker_and_a_heartbeat_have_no_chunks() {
    let (mut chat, mut decoded) = (fresh(), Decoded::default());
    for (text, end) in
        [("data:[DONE]\n\n", true), ("data: [DONE] \r\n\r\n", true), ("data:\n\n", false), (": c\n\n", false)]
    {
        chat.decode(&frames(text.as_bytes())[0], &mut decoded);
        assert!(decoded.is_empty() && decoded.is_end_marker() == end, "{text:?}");
    }
}

#[test]
fn what_is_no_json_object_is_one_opaque_chunk() {
    assert_eq!(shown("\"text\""), ["0 opaque \"text\""]);
    assert_eq!(shown("[{\"a\":1}]"), ["0 opaque [{\"a\":1}]"]);
    assert_eq!(shown("upstream: \"gone\""), [r#"0 opaque "upstream: \"gone\"""#]);
    assert_eq!(
        shown("{\"choices\":[{\"delta\":{\"content\":\"a\"}}"),
        [r#"0 opaque "{\"choices\":[{\"delta\":{\"content\":\"a\"}}""#]
    );
    let broken = decode_all(&frames(b"data: \xFF\xFEx\n\n"));
    assert_eq!(broken[0].to_string(), "0 opaque \"\u{FFFD}\u{FFFD}x\"");
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert_eq!(decode_all(&[frame(&deep)])[0].kind, ChunkKind::Opaque);
}

#[test]
fn a_name_twice_or_spelt_with_escapes_is_read_as_clients_read_it() {
    assert_eq!(shown(&delta(r#""content":"a","content":"b""#)), ["0 content_delta \"b\""]);
    assert_eq!(shown(&delta(r#""con\u0074ent":"b""#)), ["0 content_delta \"b\""]);
    let choices = r#"{"choices":[{"delta":{"content":"a"}}],"choices":[{"index":4,"delta":{"content":"b"}}]}"#;
    assert_eq!(shown(choices), ["4 content_delta \"b\""]);
    let hidden = r#"{"choices":[{"delta":{"content":"a"}}],"choices":null}"#;
    assert_eq!(shown(hidden), [r#"0 opaque {"choices":null}"#]);
}

#[test]
fn citations_beside_the_choices_are_an_annotation() {
    let data = r#"{"citations":["u"],"choices":[{"index":0,"delta":{"content":"a"}}]}"#;
    assert_eq!(shown(data), ["0 content_delta \"a\"", r#"0 annotation {"citations":["u"]}"#]);
}

#[test]
fn a_decoded_frame_can_be_kept_while_the_next_is_read() {
    let (mut chat, mut decoded) = (fresh(), Decoded::default());
    let (first, second) = (frame(&delta(r#""content":"a\n""#)), frame(&delta(r#""content":"b\n""#)));
    chat.decode(&first, &mut decoded);
    let kept = std::mem::take(&mut decoded);
    chat.decode(&second, &mut decoded);
    assert_eq!(kept.chunk(0, first.data().unwrap()).unwrap().text, "a\n");
    assert_eq!(decoded.chunk(0, second.data().unwrap()).unwrap().text, "b\n");
    assert!(decoded.chunk(1, b"").is_none());
}
