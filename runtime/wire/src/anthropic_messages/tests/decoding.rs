use super::*;
use serde_json::json;

fn delta(delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":2,"delta":{delta}}}"#)
}

fn start(block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":2,"content_block":{block}}}"#)
}

#[test]
fn every_event_of_an_answer_is_told() {
    let first = text_delta(0, "Hi \"you\"");
    let told = shown(&[START, TEXT, PING, &first, STOP_0, END_TURN, STOP]);
    insta::assert_snapshot!(told.join("\n"), @r#"
    0 usage {"input_tokens":7,"output_tokens":1,"provider":{"input_tokens":7,"output_tokens":1}}
    0 opaque {"content_block":{"text":"","type":"text"},"index":0,"type":"content_block_start"}
    0 opaque {"type":"ping"}
    0 content_delta "Hi \"you\""
    0 finish
    0 finish "end_turn"
    0 usage {"output_tokens":9,"provider":{"output_tokens":9}}
    0 opaque {"type":"message_stop"}
    "#);
}

#[test]
fn every_kind_of_delta_is_told() {
    let told: Vec<String> = [
        r#"{"type":"text_delta","text":"a"}"#,
        r#"{"type":"text_delta","text":""}"#,
        r#"{"type":"thinking_delta","thinking":"b"}"#,
        r#"{"type":"signature_delta","signature":"c"}"#,
        r#"{"type":"input_json_delta","partial_json":"{\"d\\u"}"#,
        r#"{"type":"citations_delta","citation":{"cited_text":"e"}}"#,
        r#"{"type":"compaction_delta","content":"f"}"#,
        r#"{"type":"compaction_delta","content":"f","encrypted_content":"x"}"#,
        r#"{"type":"other_delta","other":"g"}"#,
    ]
    .iter()
    .flat_map(|inner| shown(&[&delta(inner)]))
    .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    2 content_delta "a"
    2 opaque {"delta":{"text":"","type":"text_delta"},"index":2,"type":"content_block_delta"}
    2 reasoning_delta "b"
    2 opaque signed {"delta":{"signature":"c","type":"signature_delta"},"index":2,"type":"content_block_delta"}
    2 tool_call_delta "{\"d\\u" {"index":2}
    2 annotation {"citation":{"cited_text":"e"}}
    2 reasoning_delta "f"
    2 reasoning_delta signed "f"
    2 opaque {"delta":{"other":"g","type":"other_delta"},"index":2,"type":"content_block_delta"}
    "#);
}

#[test]
fn a_block_that_begins_tells_what_it_holds_already() {
    let told: Vec<String> = [
        r#"{"type":"text","text":"a","citations":[{"n":1}]}"#,
        r#"{"type":"thinking","thinking":"b"}"#,
        r#"{"type":"thinking","thinking":"b","signature":""}"#,
        r#"{"type":"redacted_thinking","data":"c"}"#,
        r#"{"type":"tool_use","id":"toolu_1","name":"look","input":{}}"#,
        r#"{"type":"tool_use","id":"toolu_1","name":"look","input":{"q":1}}"#,
        r#"{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}"#,
        r#"{"type":"mcp_tool_use","id":"mcp_1","name":"echo","input":{},"server_name":"s"}"#,
        r#"{"type":"mcp_tool_result","tool_use_id":"mcp_1","content":[{"type":"text","text":"d"}]}"#,
        r#"{"type":"compaction","content":"e"}"#,
        r#"{"type":"fallback","from":{"model":"m"},"to":{"model":"n"}}"#,
    ]
    .iter()
    .map(|inner| shown(&[&start(inner)]).join(" + "))
    .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    2 content_delta "a" + 2 annotation {"citations":[{"n":1}]}
    2 reasoning_delta "b"
    2 reasoning_delta signed "b"
    2 opaque signed {"content_block":{"data":"c","type":"redacted_thinking"},"index":2,"type":"content_block_start"}
    2 tool_call_delta {"id":"toolu_1","index":2,"name":"look"}
    2 tool_call_delta "{\"q\":1}" {"id":"toolu_1","index":2,"name":"look"}
    2 tool_call_delta {"id":"srv_1","index":2,"name":"web_search"}
    2 tool_call_delta {"id":"mcp_1","index":2,"name":"echo"}
    2 opaque {"content_block":{"content":[{"text":"d","type":"text"}],"tool_use_id":"mcp_1","type":"mcp_tool_result"},"index":2,"type":"content_block_start"}
    2 reasoning_delta "e"
    2 opaque {"content_block":{"from":{"model":"m"},"to":{"model":"n"},"type":"fallback"},"index":2,"type":"content_block_start"}
    "#);
}

#[test]
fn thinking_is_signed_if_its_block_has_a_signature_member() {
    let thinking = delta(r#"{"type":"thinking_delta","thinking":"b"}"#);
    let signed = |block: &str| {
        let text = stream(&[&start(block), &thinking]);
        decode_all(&frames(&text)).last().unwrap().signed
    };
    assert!(signed(r#"{"type":"thinking","thinking":"","signature":""}"#));
    assert!(!signed(r#"{"type":"thinking","thinking":""}"#));
}

#[test]
fn a_signature_is_forgotten_with_its_block() {
    let thinking = delta(r#"{"type":"thinking_delta","thinking":"b"}"#);
    let block = start(r#"{"type":"thinking","thinking":"","signature":""}"#);
    let stop = r#"{"type":"content_block_stop","index":2}"#;
    for between in [stop, START] {
        let text = stream(&[&block, between, &thinking]);
        assert!(!decode_all(&frames(&text)).last().unwrap().signed, "{between}");
    }
}

#[test]
fn the_end_of_a_message_is_told_in_its_last_block() {
    let second = r#"{"type":"content_block_start","index":4,"content_block":{"type":"text","text":""}}"#;
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null,"stop_details":{"type":"refusal","explanation":"no"}},"usage":{"output_tokens":3,"cache_read_input_tokens":2},"context_management":{"applied_edits":[]}}"#;
    let told = shown(&[START, second, end]);
    assert_eq!(
        told[2..],
        [
            "4 refusal_delta \"no\"",
            "4 finish \"refusal\"",
            r#"0 usage {"cached_tokens":2,"output_tokens":3,"provider":{"cache_read_input_tokens":2,"output_tokens":3}}"#
        ]
    );
}

#[test]
fn an_error_is_told_with_its_message() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_eq!(shown(&[overloaded]), [r#"0 error "Overloaded" {"message":"Overloaded","type":"overloaded_error"}"#]);
}

#[test]
fn a_message_that_begins_with_content_tells_it() {
    let start = START.replace(
        r#""content":[]"#,
        r#""content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"n","input":{"q":1}}]"#,
    );
    let start = start.replacen(r#""stop_reason":null"#, r#""stop_reason":"tool_use""#, 1);
    assert_eq!(
        shown(&[&start])[..3],
        [
            "0 content_delta \"a\"",
            r#"1 tool_call_delta "{\"q\":1}" {"id":"t","index":1,"name":"n"}"#,
            "1 finish \"tool_use\""
        ]
    );
}

/// What has arrived after each of these events.
fn arrivals(events: &[&str]) -> Vec<(bool, bool, bool)> {
    let (mut wire, mut decoded) = (fresh(), Decoded::default());
    let told = frames(&stream(events)).into_iter().map(|frame| {
        wire.decode(&frame, &mut decoded);
        let arrival = wire.arrival();
        (arrival.over, arrival.complete, arrival.failed)
    });
    told.collect()
}

#[test]
fn an_answer_is_complete_with_its_stop_reason_and_over_with_its_stop() {
    let (nothing, complete, over) = ((false, false, false), (false, true, false), (true, true, false));
    assert_eq!(arrivals(&[START, TEXT, STOP_0, END_TURN, STOP]), [nothing, nothing, nothing, complete, over]);
}

#[test]
fn an_error_after_which_the_provider_closes_is_its_failure() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_eq!(arrivals(&[START, TEXT, error]).last(), Some(&(false, false, true)));
}

#[test]
fn a_second_message_in_one_stream_is_not_complete_by_the_first_ones_reason() {
    assert_eq!(arrivals(&[START, END_TURN, START]).last(), Some(&(false, false, false)));
}

#[test]
fn an_error_is_one_by_its_name_alone() {
    let (mut wire, mut decoded) = (fresh(), Decoded::default());
    wire.decode(&frames(b"event: error\ndata: {\"detail\":\"broken\"}\n\n")[0], &mut decoded);
    assert!(wire.arrival().failed);
    assert_eq!(decoded.len(), 1);
}

#[test]
fn what_is_none_of_the_protocols_events_is_opaque() {
    for data in ["null", "[]", "\"text\"", "{}", r#"{"type":5}"#, "no json", r#"{"type":"content_block_delta"}"#] {
        let text = format!("data: {data}\n\n");
        let chunks = decode_all(&frames(text.as_bytes()));
        assert_eq!((chunks.len(), chunks[0].kind), (1, ChunkKind::Opaque), "{data}");
        assert_eq!(run(&mut fresh(), text.as_bytes(), |_, _| Edit::Keep), text.as_bytes(), "{data}");
    }
}

#[test]
fn an_events_name_says_its_type_where_its_data_do_not() {
    let text = b"event: content_block_delta\ndata: {\"index\":1,\"delta\":{\"text\":\"a\"}}\n\n";
    assert_eq!(decode_all(&frames(text))[0].to_string(), "1 content_delta \"a\"");
}

#[test]
fn of_two_members_of_one_name_the_last_counts() {
    let twice = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"secret","text":"b"}}"#;
    assert_eq!(shown(&[twice]), ["0 content_delta \"b\""]);
    let out = edited(&[twice], &[(0, content("c"))]);
    assert!(!String::from_utf8(out.clone()).unwrap().contains("secret"));
    assert_eq!(events(&out)[0]["delta"], json!({"type":"text_delta","text":"c"}));
}

#[test]
fn a_name_with_escapes_is_the_name_that_it_spells() {
    let escaped = r#"{"type":"content_bloc\u006b_delta","index":0,"delta":{"type":"text_delta","te\u0078t":"a"}}"#;
    let told = decode_all(&frames(format!("data: {escaped}\n\n").as_bytes()));
    assert_eq!(told[0].to_string(), "0 content_delta \"a\"");
}

#[test]
fn the_fixture_reads_as_a_person_would_tell_it() {
    let text = std::fs::read(super::streams::FIXTURE).unwrap();
    let told: Vec<String> =
        decode_all(&frames(&text)).iter().map(|chunk| chunk.to_string().replace("\\\"", "'")).collect();
    let brief = |line: &String| line.chars().take(110).collect::<String>();
    insta::assert_snapshot!(told.iter().map(brief).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_usage_that_comes_again_is_told_again_and_never_summed() {
    let again = END_TURN.replace("\"end_turn\"", "null").replace(":9", ":5");
    let told = shown(&[START, &again, END_TURN]);
    let counts: Vec<&String> = told.iter().filter(|line| line.contains("usage")).collect();
    assert_eq!(counts.len(), 3);
    assert!(counts[1].contains("\"output_tokens\":5,") && counts[2].contains("\"output_tokens\":9,"), "{counts:?}");
}

#[test]
fn a_message_start_that_comes_twice_passes_and_is_told_twice() {
    let first = text_delta(0, "a");
    let all = [START, START, TEXT, &first, STOP_0, END_TURN, STOP];
    assert_eq!(edited(&all, &[]), stream(&all));
    assert_eq!(shown(&all).iter().filter(|line| line.contains("usage")).count(), 3);
}

#[test]
fn a_block_of_a_signature_alone_passes() {
    let start =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#;
    let signature = r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}"#;
    let all = [START, start, signature, STOP_0, END_TURN, STOP];
    assert_eq!(edited(&all, &[]), stream(&all));
    assert!(!shown(&all).iter().any(|line| line.contains("reasoning_delta")));
}
