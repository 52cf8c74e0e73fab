//! What a frame is read as.

use seam_plugin_api::ChunkKind;

use super::{decode_all, frame, parts, shown};
use crate::{Decoded, Framing, Protocol, Wire};

#[test]
fn an_answer_is_told_in_the_order_of_the_contract() {
    let data = r#"{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":10,"thoughtsTokenCount":5,"cachedContentTokenCount":1},
        "candidates":[{"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["q"]},"logprobsResult":{"x":1},
        "content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a": 1},"id":"i"}},{"text":"a\"b"},{"inlineData":{"mimeType":"m","data":"AA"}},
        {"thought":true,"text":"hm"},{"text":"","thoughtSignature":"s"},{"text":"c"}]},"index":2}]}"#;
    insta::assert_snapshot!(shown(data).join("\n"), @r#"
    2 reasoning_delta "hm"
    2 content_delta "a\"b"
    2 content_delta "c"
    2 tool_call_delta "{\"a\": 1}" {"id":"i","index":0,"name":"f"}
    2 opaque {"inlineData":{"data":"AA","mimeType":"m"}}
    2 annotation {"groundingMetadata":{"webSearchQueries":["q"]}}
    2 annotation {"logprobsResult":{"x":1}}
    2 finish "STOP"
    0 usage {"cached_tokens":1,"input_tokens":3,"output_tokens":7,"provider":{"cachedContentTokenCount":1,"candidatesTokenCount":2,"promptTokenCount":3,"thoughtsTokenCount":5,"totalTokenCount":10},"reasoning_tokens":5,"total_tokens":10}
    "#);
}

#[test]
fn candidates_are_choices() {
    let candidates = r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"index":1},{"content":{"parts":[{"text":"b"}]},"index":0}]}"#;
    assert_eq!(shown(candidates), ["1 content_delta \"a\"", "0 content_delta \"b\""]);
    assert_eq!(shown(r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}"#), ["0 content_delta \"a\""]);
}

#[test]
fn calls_are_numbered_through_the_candidate() {
    let call = |inside: &str| frame(&parts(&format!(r#"{{"functionCall":{{{inside}}}}}"#)));
    let frames = [
        call(r#""name":"a","args":{}"#),
        call(r#""name":"b","willContinue":true"#),
        call(
            r#""partialArgs":[{"jsonPath":"$.x","stringValue":"v\n","willContinue":true},{"jsonPath":"$.y","numberValue":-0.5},{"jsonPath":"$.z","boolValue":true},{"jsonPath":"$.n","nullValue":"NULL_VALUE"}],"willContinue":true"#,
        ),
        call(""),
        frame(&parts(
            r#"{"executableCode":{"language":"PYTHON","code":"print(1)"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\n"}}"#,
        )),
        frame(&parts(r#"{"toolCall":{"toolType":"FILE_SEARCH","id":"t","args":{"q":"x"}},"thoughtSignature":"s"}"#)),
    ];
    let told: Vec<String> = decode_all(&frames).iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    0 tool_call_delta "{}" {"index":0,"name":"a"}
    0 tool_call_delta {"index":1,"name":"b"}
    0 tool_call_delta "{\"$.x\":\"v\\n" {"index":1}
    0 tool_call_delta "\",\"$.y\":-0.5" {"index":1}
    0 tool_call_delta ",\"$.z\":true" {"index":1}
    0 tool_call_delta ",\"$.n\":null" {"index":1}
    0 tool_call_delta "}" {"index":1}
    0 content_delta "1\n"
    0 tool_call_delta "{\"code\":\"print(1)\"}" {"index":2,"name":"code_execution"}
    0 tool_call_delta "{\"q\":\"x\"}" {"id":"t","index":3,"name":"FILE_SEARCH"}
    "#);
}

#[test]
fn streamed_arguments_are_told_as_one_object() {
    let call = |inside: &str| parts(&format!(r#"{{"functionCall":{{{inside}}}}}"#));
    for (calls, expected) in [
        (vec![r#""name":"f","willContinue":true"#, ""], "{}"),
        (
            vec![
                r#""name":"f","partialArgs":[{"jsonPath":"$.a[0]","stringValue":"x\u0079"},{"jsonPath":"$.b","nullValue":"NULL_VALUE"}]"#,
            ],
            r#"{"$.a[0]":"x\u0079","$.b":null}"#,
        ),
        (
            vec![
                r#""name":"f","willContinue":true"#,
                r#""partialArgs":[{"jsonPath":"$.a","stringValue":"x","willContinue":true}],"willContinue":true"#,
                r#""partialArgs":[{"jsonPath":"$.a","stringValue":"y","willContinue":true}],"willContinue":true"#,
                r#""partialArgs":[{"jsonPath":"$.a"},{"jsonPath":"$.c[]"}],"willContinue":true"#,
                r#""willContinue":true"#,
                r#""partialArgs":[{"jsonPath":"$.b","stringValue":"z","willContinue":true}],"willContinue":true"#,
                r#""partialArgs":[{"jsonPath":"$.n","numberValue":1}],"willContinue":true"#,
                "",
            ],
            r#"{"$.a":"xy","$.b":"z","$.n":1}"#,
        ),
    ] {
        let frames: Vec<_> = calls.iter().map(|inside| frame(&call(inside))).collect();
        let told = decode_all(&frames);
        let arguments: String = told
            .iter()
            .filter(|chunk| chunk.kind == ChunkKind::ToolCallDelta)
            .map(|chunk| chunk.text.as_str())
            .collect();
        assert_eq!(arguments, expected);
    }
}

#[test]
fn a_refused_prompt_is_a_finish() {
    let data =
        r#"{"promptFeedback":{"blockReason":"SAFETY","safetyRatings":[]},"usageMetadata":{"promptTokenCount":3}}"#;
    assert_eq!(shown(data)[0], "0 finish \"SAFETY\"");
    let (mut wire, mut decoded) = (Wire::new(Protocol::Gemini, Framing::Sse), Decoded::default());
    wire.decode(&frame(data), &mut decoded);
    assert!(wire.arrival().complete && !wire.arrival().over);
}

#[test]
fn an_answer_is_complete_when_each_candidate_has_its_reason() {
    let (mut wire, mut decoded) = (Wire::new(Protocol::Gemini, Framing::Sse), Decoded::default());
    let mut complete_after = |data: &str| {
        wire.decode(&frame(data), &mut decoded);
        wire.arrival().complete
    };
    assert!(!complete_after(r#"{"usageMetadata":{"promptTokenCount":1}}"#));
    let unspecified = r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"FINISH_REASON_UNSPECIFIED"},{"index":1,"content":{"parts":[{"text":"a"}]}}]}"#;
    assert!(!complete_after(unspecified));
    assert!(!complete_after(r#"{"candidates":[{"finishReason":"STOP"}]}"#));
    assert!(complete_after(r#"{"candidates":[{"finishReason":"MAX_TOKENS","index":1}]}"#));
}

#[test]
fn an_error_inside_the_stream_is_told_in_both_forms() {
    let error = r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#;
    let told = r#"0 error "overloaded" {"code":503,"message":"overloaded","status":"UNAVAILABLE"}"#;
    assert_eq!(shown(error), [told]);
    assert_eq!(shown(&format!("[{error}]")), [told]);
}

/// maximhq/bifrost#5188.
#[test]
fn data_that_is_a_string_or_an_array_is_opaque() {
    assert_eq!(shown("\"text\""), ["0 opaque \"text\""]);
    assert_eq!(shown("[{\"candidates\":[]},1]"), ["0 opaque [{\"candidates\":[]},1]"]);
    assert_eq!(shown("{\"candidates\":7}"), ["0 opaque {\"candidates\":7}"]);
    assert_eq!(shown("not json"), ["0 opaque \"not json\""]);
}

#[test]
fn odd_shapes_are_read_without_harm() {
    for odd in [
        r#"{"candidates":[null,7,{"content":[]},{"content":{"parts":{}}},{"content":{"parts":[null,"",[]]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":[]},{"text":7},{"executableCode":{"id":"x"}},{"codeExecutionResult":"x"}]}}]}"#,
        r#"{"candidates":[],"promptFeedback":[],"usageMetadata":{},"error":null}"#,
    ] {
        let told = shown(odd);
        assert!(told.len() == 1 && told[0].contains(" opaque "), "{told:?}");
    }
}

#[test]
fn a_part_that_is_no_object_is_opaque() {
    assert_eq!(shown(&parts(r#"{"text":"a"},"b",7"#)), ["0 content_delta \"a\"", "0 opaque \"b\"", "0 opaque 7"]);
}

#[test]
fn what_a_later_member_hides_is_not_told() {
    let data = r#"{"candidates":[{"content":{"parts":[{"text":"a"}],"parts":[{"text":"b"}]},"content":{"parts":[{"text":"c","text":"d"}]}}]}"#;
    assert_eq!(shown(data), ["0 content_delta \"d\""]);
}

#[test]
fn a_part_of_which_nothing_is_known_is_neither_lost_nor_empty() {
    let data = parts(r#"{"hologram":{"x":1}},{"thoughtSignature":"s"},{}"#);
    let data = data.replacen('{', r#"{"usageMetadata":{"promptTokenCount":1},"#, 1);
    let told = shown(&data);
    assert_eq!(told[0], r#"0 opaque {"hologram":{"x":1}}"#);
    assert_eq!(told.len(), 2, "{told:?}");
}
