//! What an edited frame looks like, case by case.

use seam_plugin_api::ChunkKind;

use super::{
    content, fresh, parts, parts_of, payload_edit, rendered, rendered_body, rendered_by, shown, text_edit, tool_call,
};
use crate::{Body, Edit};

const KEEP: Edit<'static> = Edit::Keep;
const REMOVE: Edit<'static> = Edit::Remove;

#[test]
fn a_changed_text_changes_its_string_alone() {
    let data = r#"{"candidates": [{"content": {"parts": [{"text": "a b","thoughtSignature":"sig"}],"role": "model"},"safetyRatings":[ ]}],"x":1.0}"#;
    assert_eq!(rendered(data, &[content("[\"R\"]\n")]), format!("data: {}\n\n", data.replace("a b", "[\\\"R\\\"]\\n")));
    let thought = parts(r#"{"text":"a","thought":true}"#);
    assert_eq!(
        parts_of(&rendered(&thought, &[text_edit(ChunkKind::ReasoningDelta, "b")])),
        r#"[{"text":"b","thought":true}]"#
    );
}

#[test]
fn a_removed_part_leaves_its_signature_behind() {
    let data = parts(
        r#"{"text":"a"},{"text":"b","thoughtSignature":"s"},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"t"},{"text":"d"}"#,
    );
    let edits = [REMOVE, REMOVE, KEEP, REMOVE];
    assert_eq!(
        parts_of(&rendered(&data, &edits)),
        r#"[{"text":"","thoughtSignature":"s"},{"text":"","thoughtSignature":"t"},{"text":"d"}]"#
    );
    let unknown = parts(r#"{"hologram":"secret","thoughtSignature":"s"},{"text":"a"}"#);
    assert_eq!(parts_of(&rendered(&unknown, &[KEEP, REMOVE])), r#"[{"text":"","thoughtSignature":"s"},{"text":"a"}]"#);
}

#[test]
fn a_frame_of_which_nothing_is_left_is_not_written() {
    assert_eq!(rendered(&parts(r#"{"text":"a"}"#), &[REMOVE]), "");
}

#[test]
fn code_and_its_output_are_changed_in_place() {
    let data = parts(
        r#"{"executableCode":{"language":"PYTHON","code":"secret"},"thoughtSignature":"s"},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"secret"}}"#,
    );
    let edits = [content("out"), tool_call(r#"{"code":"code"}"#, r#"{"index":0}"#)];
    assert_eq!(
        parts_of(&rendered(&data, &edits)),
        r#"[{"executableCode":{"code":"code","language":"PYTHON"},"thoughtSignature":"s"},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"out"}}]"#
    );
    assert_eq!(
        parts_of(&rendered(&data, &[KEEP, REMOVE])),
        r#"[{"text":"","thoughtSignature":"s"},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"secret"}}]"#
    );
    assert_eq!(
        parts_of(&rendered(&data, &[text_edit(ChunkKind::ReasoningDelta, "x"), KEEP])),
        r#"[{"executableCode":{"code":"secret","language":"PYTHON"},"thoughtSignature":"s"},{"text":"x","thought":true}]"#
    );
}

#[test]
fn arguments_stay_an_object() {
    let data = parts(r#"{"functionCall":{"name":"f","args":{"a": "secret"}},"thoughtSignature":"s"}"#);
    let edit = tool_call(r#" {"a": 1.0}"#, r#"{"index":0,"name":"g","id":"i"}"#);
    insta::assert_snapshot!(rendered(&data, &[edit]), @r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"g","args":{"a": 1.0},"id":"i"},"thoughtSignature":"s"}],"role":"model"},"index":0}]}"#);
    let nothing = tool_call("", r#"{"index":0,"name":"f"}"#);
    assert_eq!(
        parts_of(&rendered(&data, &[nothing])),
        r#"[{"functionCall":{"args":{},"name":"f"},"thoughtSignature":"s"}]"#
    );
}

#[test]
fn a_call_with_arguments_that_are_no_object_is_malformed_and_not_made() {
    let mut wire = fresh();
    let data = parts(r#"{"functionCall":{"name":"f","args":{"a":"secret"}},"thoughtSignature":"s"}"#);
    let edit = tool_call("[REDACTED", r#"{"index":0,"name":"f"}"#);
    assert_eq!(parts_of(&rendered_by(&mut wire, &data, &[edit])), r#"[{"text":"","thoughtSignature":"s"}]"#);
    let end = r#"{"candidates":[{"finishReason":"STOP","index":0}]}"#;
    assert_eq!(
        rendered_by(&mut wire, end, &[KEEP]),
        format!("data: {}\n\n", end.replace("STOP", "MALFORMED_FUNCTION_CALL"))
    );
    assert_eq!(rendered(end, &[KEEP]), format!("data: {end}\n\n"));
}

#[test]
fn streamed_arguments_are_changed_value_by_value() {
    let data = parts(
        r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x"},{"jsonPath":"$.b","numberValue":1},{"jsonPath":"$.c","boolValue":true},{"jsonPath":"$.d","nullValue":"NULL_VALUE"}],"willContinue":true}}"#,
    );
    let call = |text| tool_call(text, r#"{"index":0}"#);
    let values = |rendered: &str| {
        serde_json::from_str::<serde_json::Value>(&parts_of(rendered)).unwrap()[0]["functionCall"]["partialArgs"]
            .clone()
    };
    let edits = [call(r#"{"$.a":"\"y\u0041""#), call(r#","$.b":2.5"#), call(r#","$.c":"[R]""#), call(r#","$.d":null"#)];
    assert_eq!(
        values(&rendered(&data, &edits)),
        serde_json::json!([{"jsonPath":"$.a","stringValue":"\"yA"},{"jsonPath":"$.b","numberValue":2.5},{"jsonPath":"$.c","stringValue":"[R]"},{"jsonPath":"$.d","nullValue":"NULL_VALUE"}])
    );
    let whole = [call("[R]"), call("[R]"), call(""), call("7")];
    assert_eq!(
        values(&rendered(&data, &whole)),
        serde_json::json!([{"jsonPath":"$.a","stringValue":"[R]"},{"jsonPath":"$.b","stringValue":"[R]"},{"jsonPath":"$.c","stringValue":""},{"jsonPath":"$.d","stringValue":"7"}])
    );
    let out = rendered(&data, &[REMOVE, KEEP, content("z"), REMOVE]);
    assert_eq!(
        parts_of(&out),
        r#"[{"functionCall":{"partialArgs":[{"jsonPath":"$.b","numberValue":1}],"willContinue":true}},{"text":"z"}]"#
    );
}

#[test]
fn a_streamed_string_is_redacted_across_its_pieces() {
    let mut wire = fresh();
    let value = |text: &str, goes_on: bool| {
        parts(&format!(
            r#"{{"functionCall":{{"partialArgs":[{{"jsonPath":"$.a","stringValue":"{text}","willContinue":{goes_on}}}],"willContinue":true}}}}"#
        ))
    };
    let start = parts(r#"{"functionCall":{"name":"f","willContinue":true}}"#);
    rendered_by(&mut wire, &start, &[KEEP]);
    let call = |text| tool_call(text, r#"{"index":0}"#);
    assert!(
        rendered_by(&mut wire, &value("my 41", true), &[call(r#"{"$.a":"my [R]"#)])
            .contains(r#""stringValue":"my [R]","#)
    );
    assert!(rendered_by(&mut wire, &value("11", true), &[call("")]).contains(r#""stringValue":"","#));
    assert!(rendered_by(&mut wire, &value("11 now", false), &[call(" now\"")]).contains(r#""stringValue":" now","#));
    let end = parts(r#"{"functionCall":{}}"#);
    assert_eq!(rendered_by(&mut wire, &end, &[call("}")]), format!("data: {end}\n\n"));
}

#[test]
fn a_call_whose_end_is_left_out_goes_on() {
    let data = parts(r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x"}]}}"#);
    assert_eq!(
        parts_of(&rendered(&data, &[KEEP, REMOVE])),
        r#"[{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x"}],"willContinue":true}}]"#
    );
}

#[test]
fn content_that_becomes_a_call_is_one_that_the_provider_takes_back() {
    let data = parts(r#"{"text":"before"},{"text":"<call>","thoughtSignature":"s"}"#);
    let edits = [KEEP, tool_call(r#"{"q":"x"}"#, r#"{"index":0,"name":"search"}"#)];
    assert_eq!(
        parts_of(&rendered(&data, &edits)),
        r#"[{"text":"before"},{"text":"","thoughtSignature":"s"},{"functionCall":{"args":{"q":"x"},"name":"search"},"thoughtSignature":"skip_thought_signature_validator"}]"#
    );
    let unsigned = parts(r#"{"text":"<call>"}"#);
    let edit = tool_call("{}", r#"{"index":0,"name":"search","id":"mine"}"#);
    assert_eq!(
        parts_of(&rendered(&unsigned, &[edit])),
        r#"[{"functionCall":{"args":{},"id":"mine","name":"search"},"thoughtSignature":"skip_thought_signature_validator"}]"#
    );
}

#[test]
fn a_call_that_comes_in_pieces_is_written_when_it_is_whole() {
    let mut wire = fresh();
    let data = parts(r#"{"text":"x"}"#);
    let first = tool_call(r#"{"q":"#, r#"{"index":3,"name":"search"}"#);
    assert_eq!(parts_of(&rendered_by(&mut wire, &data, &[first])), "[]");
    let second = tool_call(r#""y"}"#, r#"{"index":3}"#);
    assert!(parts_of(&rendered_by(&mut wire, &data, &[second])).contains(r#"{"args":{"q":"y"},"name":"search"}"#));
    let end = r#"{"candidates":[{"finishReason":"STOP","index":0}]}"#;
    assert!(rendered_by(&mut wire, end, &[KEEP]).contains("STOP"));
    rendered_by(&mut wire, &data, &[first]);
    assert!(rendered_by(&mut wire, end, &[KEEP]).contains("MALFORMED_FUNCTION_CALL"));
}

#[test]
fn calls_beside_content_come_after_it() {
    let payload =
        r#"{"tool_calls":[{"index":0,"name":"a","arguments":"{\"x\":1}"},{"index":1,"name":"b","arguments":""}]}"#;
    let edit = Edit::Replace(Body { kind: ChunkKind::ContentDelta, text: "said", payload: Some(payload) });
    let data = parts(r#"{"text":"raw"},{"text":"more"}"#);
    assert_eq!(
        parts_of(&rendered(&data, &[edit, KEEP])),
        r#"[{"text":"said"},{"functionCall":{"args":{"x":1},"name":"a"},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"args":{},"name":"b"},"thoughtSignature":"skip_thought_signature_validator"},{"text":"more"}]"#
    );
    let half = r#"{"tool_calls":[{"index":0,"name":"a","arguments":"{}"},{"index":1,"name":"b","arguments":"no"}]}"#;
    let edit = Edit::Replace(Body { kind: ChunkKind::ContentDelta, text: "said", payload: Some(half) });
    assert_eq!(parts_of(&rendered(&data, &[edit, KEEP])), r#"[{"text":"said"},{"text":"more"}]"#);
}

#[test]
fn thoughts_and_texts_turn_into_each_other() {
    let data = parts(r#"{"thought": true,"text":"a"},{"text":"b"}"#);
    let edits = [content("A"), text_edit(ChunkKind::ReasoningDelta, "B")];
    assert_eq!(parts_of(&rendered(&data, &edits)), r#"[{"text":"A"},{"text":"B","thought":true}]"#);
    assert_eq!(
        parts_of(&rendered(&data, &[KEEP, text_edit(ChunkKind::RefusalDelta, "no")])),
        r#"[{"text":"a","thought":true},{"text":"no"}]"#
    );
}

#[test]
fn a_call_that_becomes_content_leaves_no_call_behind() {
    let data = parts(r#"{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"}"#);
    assert_eq!(parts_of(&rendered(&data, &[content("x")])), r#"[{"text":"","thoughtSignature":"s"},{"text":"x"}]"#);
    let plain = parts(r#"{"functionCall":{"name":"f","args":{}}}"#);
    assert_eq!(parts_of(&rendered(&plain, &[content("x")])), r#"[{"text":"x"}]"#);
}

#[test]
fn what_ends_or_describes_a_candidate_can_be_changed() {
    let data = r#"{"candidates":[{"finishReason":"STOP","groundingMetadata":{"a":1},"index":0}]}"#;
    let edits = [
        payload_edit(ChunkKind::Annotation, r#"{"groundingMetadata":{"b":2}}"#),
        text_edit(ChunkKind::Finish, "OTHER"),
    ];
    insta::assert_snapshot!(rendered(data, &edits), @r#"data: {"candidates":[{"finishReason":"OTHER","groundingMetadata":{"b":2},"index":0}]}"#);
    insta::assert_snapshot!(rendered(data, &[REMOVE, content("more")]), @r#"data: {"candidates":[{"index":0,"content":{"parts":[{"text":"more"}],"role":"model"}}]}"#);
    let both = parts(r#"{"text":"a"}"#);
    insta::assert_snapshot!(rendered(&both, &[text_edit(ChunkKind::Finish, "STOP")]), @r#"data: {"candidates":[{"content":{"parts":[],"role":"model"},"index":0,"finishReason":"STOP"}]}"#);
}

#[test]
fn usage_can_be_changed_or_left_out() {
    let data = r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":3,"x":1}}"#;
    let edit = payload_edit(ChunkKind::Usage, r#"{"input_tokens":5,"provider":{"promptTokenCount":3,"x":1}}"#);
    assert_eq!(rendered(data, &[KEEP, edit]), format!("data: {}\n\n", data.replace(":3", ":5")));
    assert_eq!(rendered(data, &[KEEP, REMOVE]), format!("data: {}}}\n\n", data.split(",\"usage").next().unwrap()));
}

#[test]
fn what_quotes_the_text_says_what_was_delivered() {
    let mut wire = fresh();
    rendered_by(&mut wire, &parts(r#"{"text":"My number is "}"#), &[KEEP]);
    rendered_by(&mut wire, &parts(r#"{"text":"12345, call é me"}"#), &[content("[R], call é me")]);
    let end = r#"{"candidates":[{"finishReason":"STOP","logprobsResult":{"chosenCandidates":[{"token":"12345"}]},
        "citationMetadata":{"citations":[{"startIndex":13,"endIndex":18,"uri":"u"},{"startIndex":13,"endIndex":99}]},
        "groundingMetadata":{"groundingSupports":[{"segment":{"endIndex":18,"text":"My number is 12345"}},{"segment":{"startIndex":20,"endIndex":30,"text":"call é me"}},{"segment":{"startIndex":3,"endIndex":9,"text":"number"}},{"segment":{"startIndex":1,"endIndex":6,"text":"12345"}}]}}]}"#;
    insta::assert_snapshot!(rendered_by(&mut wire, &end.replace("\n        ", ""), &[KEEP, KEEP, KEEP, KEEP]), @r#"data: {"candidates":[{"finishReason":"STOP","citationMetadata":{"citations":[{"startIndex":13,"endIndex":16,"uri":"u"}]},"groundingMetadata":{"groundingSupports":[{"segment":{"endIndex":16,"text":"My number is [R]"}},{"segment":{"startIndex":18,"endIndex":28,"text":"call é me"}},{"segment":{"startIndex":3,"endIndex":9,"text":"number"}}]}}]}"#);
    let mut untouched = fresh();
    rendered_by(&mut untouched, &parts(r#"{"text":"My number is "}"#), &[KEEP]);
    assert_eq!(rendered_by(&mut untouched, end, &[KEEP; 4]).matches("12345").count(), 3);
}

#[test]
fn a_whole_answer_quotes_the_part_that_is_meant() {
    let body = r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"one"},{"text":"secret two"}]},"groundingMetadata":{"groundingSupports":[{"segment":{"partIndex":1,"endIndex":3,"text":"one"}},{"segment":{"partIndex":2,"startIndex":7,"endIndex":10,"text":"two"}}]}}]}"#;
    let edits = [KEEP, content("ones"), content("[R] two"), KEEP];
    insta::assert_snapshot!(rendered_body(body, &edits), @r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"ones"},{"text":"[R] two"}]},"groundingMetadata":{"groundingSupports":[{"segment":{"partIndex":1,"endIndex":3,"text":"one"}},{"segment":{"partIndex":2,"startIndex":4,"endIndex":7,"text":"two"}}]}}]}"#);
}

#[test]
fn nothing_passes_behind_a_later_member() {
    let data = r#"{"candidates":[{"content":{"parts":[{"text":"secret"}],"parts":[{"text":"secret","text":"b"}]},"finishReason":"STOP"}]}"#;
    let out = rendered(data, &[content("x"), KEEP]);
    assert_eq!(
        out,
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]},\"finishReason\":\"STOP\"}]}\n\n"
    );
    assert_eq!(shown(data).len(), 2);
}

#[test]
fn a_quote_does_not_pass_behind_a_later_one() {
    let mut wire = fresh();
    rendered_by(&mut wire, &parts(r#"{"text":"secret"}"#), &[content("public")]);
    for twice in [
        r#"{"groundingSupports":[{"segment":{"endIndex":6,"text":"secret","text":"secret"}}]}"#,
        r#"{"groundingSupports":[{"segment":{"endIndex":6,"text":"secret"},"segment":{"endIndex":6,"text":"secret"}}]}"#,
        r#"{"groundingSupports":[{"segment":{"endIndex":6,"text":"secret"}}],"groundingSupports":[]}"#,
    ] {
        let data = format!(r#"{{"candidates":[{{"groundingMetadata":{twice}}}]}}"#);
        let out = rendered_by(&mut wire, &data, &[KEEP]);
        assert!(!out.contains("secret"), "{out}");
    }
}

#[test]
fn an_error_can_be_changed_in_both_forms() {
    let error = r#"{"error":{"code":503,"message":"secret"}}"#;
    let payload = r#"{"code":503,"message":"secret"}"#;
    let edit = Edit::Replace(Body { kind: ChunkKind::Error, text: "x", payload: Some(payload) });
    assert_eq!(rendered(error, &[edit]), "data: {\"error\":{\"code\":503,\"message\":\"x\"}}\n\n");
    assert_eq!(rendered(&format!("[{error}]"), &[edit]), "data: [{\"error\":{\"code\":503,\"message\":\"x\"}}]\n\n");
}
