//! What users of other gateways and clients reported, each named after its symptom: whole streams, sent the way the seam
//! sends them.

use seam_plugin_api::ChunkKind;
use serde_json::Value;

use super::{Seen, content, frame, frames, fresh, rendered, rendered_by, seen, tool_call};
use crate::{Arrival, Decoded, Edit, Failure, Stop, Wire};

const KEEP: Edit<'static> = Edit::Keep;

/// Sends a stream, and answers with what observers saw and what went out.
fn sent(chat: &mut Wire, text: &str) -> (Vec<Seen>, String) {
    let (mut decoded, mut chunks, mut out) = (Decoded::default(), Vec::new(), Vec::new());
    for frame in frames(text.as_bytes()) {
        chat.decode(&frame, &mut decoded);
        chunks.extend(seen(&decoded, frame.data().unwrap_or_default()));
        chat.render(&frame, &decoded, &[], &mut out);
    }
    (chunks, String::from_utf8(out).unwrap())
}

/// A stream of frames with those data.
fn stream(data: &[&str]) -> String {
    data.iter().map(|data| format!("data: {data}\n\n")).collect()
}

/// What observers saw of a stream that goes out as it came, and what it says of its arrival.
fn watched(text: &str) -> (Vec<String>, Arrival) {
    let mut chat = fresh();
    let (chunks, out) = sent(&mut chat, text);
    assert_eq!(out, text);
    (chunks.iter().map(Seen::to_string).collect(), chat.arrival())
}

fn stopped(chat: &mut Wire) -> String {
    let mut out = Vec::new();
    chat.end_stopped(&Stop { sentinel: "{}", delivered: &|_| "" }, &mut out);
    String::from_utf8(out).unwrap()
}

const DELTA: &str = r#"{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#;
const FINISH: &str = r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

/// ollama#4357, sglang#3912, opencrabs#1499
#[test]
fn an_empty_finish_reason_between_fragments_of_arguments_does_not_end_the_call() {
    let fragment = |text: &str, finish: &str| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"function":{{"arguments":"{text}"}}}}]}},"finish_reason":"{finish}"}}]}}"#
        )
    };
    let text = stream(&[&fragment("{", ""), &fragment("}", "")]);
    let (chunks, arrival) = watched(&text);
    assert_eq!(chunks, [r#"0 tool_call_delta "{" {"index":0}"#, r#"0 tool_call_delta "}" {"index":0}"#]);
    assert!(!arrival.complete);
    let mut chat = fresh();
    sent(&mut chat, &text);
    assert!(stopped(&mut chat).contains(r#"{"index":0,"delta":{},"finish_reason":"content_filter"}"#));
}

/// litellm#30870, litellm#36553, logfire#64
#[test]
fn a_frame_without_choices_after_content_does_not_lose_the_rest() {
    let text = stream(&[DELTA, r#"{"id":"c","choices":[]}"#, r#"{"id":"c","choices":null}"#, DELTA, FINISH, "[DONE]"]);
    let (chunks, arrival) = watched(&text);
    let opaque = [r#"0 opaque {"choices":[],"id":"c"}"#, r#"0 opaque {"choices":null,"id":"c"}"#];
    let text = r#"0 content_delta "a""#;
    assert_eq!(chunks, [text, opaque[0], opaque[1], text, r#"0 finish "stop""#]);
    assert!(arrival.over);
}

/// bifrost#191
#[test]
fn usage_behind_the_finish_is_not_lost() {
    let finish = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":1}}]}"#;
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":2}}"#;
    let (chunks, arrival) = watched(&stream(&[DELTA, finish, usage, "[DONE]"]));
    let counted = |tokens| format!(r#"0 usage {{"input_tokens":{tokens},"provider":{{"prompt_tokens":{tokens}}}}}"#);
    assert_eq!(chunks[1..], [r#"0 finish "stop""#.to_owned(), counted(1), counted(2)]);
    assert!(arrival.over);
}

/// agentscope-java#2073, letta-code#3720
#[test]
fn the_answer_is_over_with_its_end_marker_and_not_with_the_connection() {
    let mut chat = fresh();
    sent(&mut chat, &stream(&[DELTA, FINISH]));
    assert_eq!((chat.arrival().over, chat.arrival().complete), (false, true));
    sent(&mut chat, &stream(&["[DONE]"]));
    assert!(chat.arrival().over);
}

/// Portkey-AI/gateway sends its hooks' results behind `[DONE]`.
#[test]
fn data_behind_the_end_marker_goes_out_and_nothing_is_ended_twice() {
    let text = stream(&[DELTA, FINISH, "[DONE]", r#"{"hook_results":{"after_request_hooks":[]}}"#]);
    let mut chat = fresh();
    let (chunks, out) = sent(&mut chat, &text);
    assert_eq!(out, text);
    assert_eq!(chunks.last().map(|chunk| chunk.kind), Some(ChunkKind::Opaque));
    assert_eq!(stopped(&mut chat), "");
}

/// Some imitators never send `[DONE]`.
#[test]
fn a_stream_without_its_end_marker_is_complete_once_each_choice_is() {
    let other = DELTA.replace("\"index\":0", "\"index\":1");
    let (_, arrival) = watched(&stream(&[DELTA, &other, FINISH]));
    assert!(!arrival.complete, "choice 1 is open");
    let (_, arrival) = watched(&stream(&[DELTA, &other, FINISH, &FINISH.replace("\"index\":0", "\"index\":1")]));
    assert_eq!((arrival.over, arrival.complete), (false, true));
}

/// Portkey-AI/gateway#1797, vercel/ai#19165
#[test]
fn a_stream_cut_in_the_middle_is_not_taken_for_a_whole_one() {
    let mut chat = fresh();
    sent(&mut chat, &stream(&[DELTA]));
    assert_eq!(chat.arrival(), Arrival::default());
    let mut out = Vec::new();
    let failure = Failure { message: "cut", blame: crate::Blame::Provider, code: "truncated" };
    chat.end_error(&failure, &mut out);
    let out = String::from_utf8(out).unwrap();
    assert!(out.starts_with(r#"data: {"error":{"message":"cut","#) && out.ends_with("\n\ndata: [DONE]\n\n"), "{out}");
}

/// rocketmq-dashboard#2178, agent-os#2214
#[test]
fn an_error_under_status_200_is_no_empty_answer() {
    let (chunks, arrival) = watched("data:{\"error\":{\"message\":\"no quota\"}}\n\ndata:[DONE]\n\n");
    assert_eq!(chunks, [r#"0 error "no quota" {"message":"no quota"}"#]);
    assert!(arrival.failed && arrival.over);
}

/// apache/maka#1976, smolagents#1569, ollama#15457
#[test]
fn two_calls_of_one_index_in_one_frame_do_not_get_each_others_arguments() {
    let data = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"path\":\"a\"}"}},{"index":0,"id":"y","function":{"name":"f","arguments":"{\"path\":\"b\"}"}}]}}]}"#;
    let payload = r#"{"index":1,"id":"y","name":"f"}"#;
    let out = rendered(data, &[KEEP, tool_call("{\"path\":\"B\"}", payload)]);
    assert_eq!(out, format!("data: {}\n\n", data.replace("\\\"b\\\"", "\\\"B\\\"")));
}

/// openai-python#2806, AstrBot#6661, agentao#117
#[test]
fn a_call_without_an_index_is_amended_without_getting_one() {
    let data = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{\"q\":1}"}}]}}]}"#;
    let out = rendered(data, &[tool_call("{}", r#"{"index":0,"id":"x","name":"f"}"#)]);
    assert_eq!(out, format!("data: {}\n\n", data.replace("{\\\"q\\\":1}", "{}")));
}

/// assistant-ui#6355, vercel/ai#15866, llama.cpp#16465
#[test]
fn arguments_cut_inside_an_escape_join_to_the_same_text_when_amended_to_themselves() {
    let fragment = |text: &str| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"function":{{"arguments":{text}}}}}]}}}}]}}"#
        )
    };
    for (first, second) in [
        (r#""{\"a\":\"\\uD8""#, r#""3E\\uDD14\"}""#),
        (r#""{\"a\":\"\\""#, r#""n\"}""#),
        (r#""{\"a\":\"\\u""#, r#""00e9\"}""#),
    ] {
        let (mut chat, mut joined) = (fresh(), String::new());
        for text in [first, second] {
            let data = fragment(text);
            let same: String = serde_json::from_str(text).unwrap();
            let edit = tool_call(&same, r#"{"index":0,"other":1}"#);
            let out = rendered_by(&mut chat, &data, &[edit]);
            assert_eq!(out, format!("data: {data}\n\n"));
            joined += &same;
        }
        assert!(serde_json::from_str::<Value>(&joined).is_ok(), "{joined}");
    }
}

/// mnfst/llm-gateway#2053, brainlid/langchain#569, OmniRoute#7031
#[test]
fn comments_between_and_above_events_are_neither_data_nor_lost() {
    let text = format!(": OPENROUTER PROCESSING\n\ndata: {DELTA}\n\n: x-cost=1\n: x-y=2\ndata: [DONE]\n\n");
    let (chunks, arrival) = watched(&text);
    assert_eq!(chunks, [r#"0 content_delta "a""#]);
    assert!(arrival.over);
    let commented = frames(format!(": x-cost=1\ndata: {DELTA}\n\n").as_bytes()).remove(0);
    let (mut chat, mut decoded, mut out) = (fresh(), Decoded::default(), Vec::new());
    chat.decode(&commented, &mut decoded);
    chat.render(&commented, &decoded, &[content("b")], &mut out);
    let expected = format!(": x-cost=1\ndata: {}\n\n", DELTA.replace("\"a\"", "\"b\""));
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

/// litellm#39748, litellm#39036
#[test]
fn a_blocked_answer_ends_with_its_reason_and_no_stray_stop() {
    let mut chat = fresh();
    sent(&mut chat, &stream(&[DELTA]));
    // The finish came in, and is not delivered.
    chat.decode(&frame(FINISH), &mut Decoded::default());
    let end = stopped(&mut chat);
    assert_eq!((end.matches("finish_reason").count(), end.matches("\"content_filter\"").count()), (1, 1), "{end}");
    assert!(end.ends_with("data: [DONE]\n\n"));
}

/// litellm#3276
#[test]
fn two_answers_to_one_request_keep_their_numbers_whatever_is_edited() {
    let data = r#"{"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]}"#;
    let out = rendered(data, &[content("B"), KEEP]);
    assert_eq!(out, format!("data: {}\n\n", data.replace("\"b\"", "\"B\"")));
}
