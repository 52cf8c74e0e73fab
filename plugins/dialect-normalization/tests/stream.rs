//! The plugin behind the real ladder.
#![expect(clippy::unwrap_used, reason = "tests say what must hold by panicking; the shared parts of them do as well")]

use std::collections::VecDeque;

use dialect_normalization::{DialectNormalization, OBSERVER_ID};
use proptest::prelude::*;
use seam_plugin_api::abi::PluginLibrary;
use seam_plugin_api::serde_json::{self, Value, json};
use seam_plugin_api::{ChunkKind, Outcome, Verdict};
use seam_plugin_testkit::{Hold, Kit, OutChunk, Policy, Run, ScriptedChunk};

const MARKER: &str = r#"<tool name="search">{"q":"x"}</tool>"#;

fn kit(table: &Value) -> Kit {
    Kit::of::<DialectNormalization>(table).unwrap()
}

fn content(text: &str, choice: u32) -> ScriptedChunk {
    ScriptedChunk::content(text).in_choice(choice)
}

fn finish(choice: u32) -> ScriptedChunk {
    ScriptedChunk::finish("stop").in_choice(choice)
}

/// A chunk for an assertion: text in quotes, a call as index, name and arguments, calls beside a text behind it, anything
/// else by its kind.
fn show(chunk: &OutChunk) -> String {
    match chunk.kind {
        ChunkKind::ContentDelta => {
            let calls = calls_beside(chunk).into_iter().map(|call| format!(" + {call}"));
            format!("{:?}", chunk.text) + &calls.collect::<String>()
        }
        ChunkKind::ToolCallDelta => {
            let call: Value = serde_json::from_str(chunk.payload.as_ref().unwrap()).unwrap();
            format!("#{} {} {}", call["index"], call["name"].as_str().unwrap_or("-"), chunk.text)
        }
        kind => kind.to_string(),
    }
}

fn calls_beside(chunk: &OutChunk) -> Vec<String> {
    let payload: Value =
        chunk.payload.as_ref().map(|payload| serde_json::from_str(payload).unwrap()).unwrap_or_default();
    let show = |call: &Value| {
        let [name, arguments] = ["name", "arguments"].map(|member| call[member].as_str().unwrap());
        format!("#{} {name} {arguments}", call["index"])
    };
    payload["tool_calls"].as_array().into_iter().flatten().map(show).collect()
}

/// Every call of a choice, whether in a chunk of its own or beside a text.
fn calls(run: &Run, choice: u32) -> Vec<String> {
    let of_chunk = |chunk: &OutChunk| match chunk.kind {
        ChunkKind::ToolCallDelta => vec![show(chunk)],
        _ => calls_beside(chunk),
    };
    run.out.iter().filter(|chunk| chunk.choice == choice).flat_map(of_chunk).collect()
}

fn shown(run: &Run) -> Vec<String> {
    assert!(run.faults.is_empty(), "{:?}", run.faults);
    let seqs: Vec<u64> = run.out.iter().map(|chunk| chunk.seq).collect();
    assert_eq!(seqs, (0..run.sent.len() as u64).collect::<Vec<_>>(), "each chunk comes out once and in order");
    run.out.iter().map(show).collect()
}

#[test]
fn a_marker_in_one_chunk_becomes_a_call_at_once() {
    let run = kit(&json!({})).run([content(MARKER, 0)]);
    assert_eq!(shown(&run), [r#"#0 search {"q":"x"}"#]);
    assert!(matches!(run.verdicts_of(OBSERVER_ID)[0], Verdict::Amend(_)));
    let payload: Value = serde_json::from_str(run.out[0].payload.as_ref().unwrap()).unwrap();
    assert_eq!(payload, json!({ "index": 0, "name": "search", "_amendedBy": "dialect-normalization" }));
    assert_eq!(run.counter("tool_calls_normalized"), 1);
}

#[test]
fn text_that_is_no_marker_is_let_go_at_once() {
    let run = kit(&json!({})).run(["a < b", " {", "x} <", "tool", "box> ", "<tool name=\"a b\">"]);
    let let_go = |chunk: usize| !matches!(run.verdicts_of(OBSERVER_ID)[chunk], Verdict::Buffer);
    assert_eq!((0..6).map(let_go).collect::<Vec<_>>(), [true, false, false, false, true, true]);
    assert_eq!(run.content(), "a < b {x} <toolbox> <tool name=\"a b\">");
    assert!(run.out.iter().all(|chunk| !chunk.amended));
}

#[test]
fn a_marker_over_many_chunks_becomes_one_call_and_chunks_without_text() {
    let run = kit(&json!({})).run(["Sure. <to", "ol name=\"search\">{\"q\"", ":\"x\"}</to", "ol> Done", "."]);
    assert_eq!(shown(&run), [r#""Sure. ""#, r#"#0 search {"q":"x"}"#, r#"" Done""#, r#""""#, r#"".""#]);
}

#[test]
fn more_pieces_than_chunks_wait_for_the_chunks_to_come() {
    let run = kit(&json!({})).run([format!("a{MARKER}b{MARKER}"), "c".to_owned(), "d".to_owned(), "e".to_owned()]);
    let call = |index| format!(r#"#{index} search {{"q":"x"}}"#);
    // Four pieces at first, five with the text that comes: five chunks never come, so the last ones go on unchanged.
    assert_eq!(shown(&run)[1..], [r#""c""#, r#""d""#, r#""e""#]);
    let run = kit(&json!({})).run([
        format!("a{MARKER}b{MARKER}"),
        "c".into(),
        "d".into(),
        "e".into(),
        "f".into(),
        "g".into(),
    ]);
    assert_eq!(shown(&run), [r#""a""#.into(), call(0), r#""b""#.into(), call(1), r#""cdef""#.into(), r#""g""#.into()]);
}

#[test]
fn at_the_finish_texts_are_joined_to_make_room() {
    let run = kit(&json!({})).run([
        content("Look: ", 0),
        content(&format!("now {MARKER} done"), 0),
        content("!", 0),
        finish(0),
    ]);
    assert_eq!(shown(&run), [r#""Look: ""#, r#""now  done!""#, r#"#0 search {"q":"x"}"#, "finish"]);
}

#[test]
fn at_the_finish_white_space_around_a_call_makes_room() {
    let run = kit(&json!({})).run([content(&format!("\n{MARKER}\n"), 0), finish(0)]);
    assert_eq!(shown(&run), [r#"#0 search {"q":"x"}"#, "finish"]);
}

#[test]
fn in_an_answer_of_one_chunk_the_calls_stand_beside_the_text() {
    let run = kit(&json!({})).run([content(&format!("Look: {MARKER} and {MARKER}"), 0), finish(0)]);
    let carrier = r#""Look:  and " + #0 search {"q":"x"} + #1 search {"q":"x"}"#;
    assert_eq!(shown(&run), [carrier, "finish"]);
    assert_eq!(run.counter("tool_calls_normalized"), 2);
    let payload: Value = serde_json::from_str(run.out[0].payload.as_ref().unwrap()).unwrap();
    let call = |index| json!({ "index": index, "name": "search", "arguments": r#"{"q":"x"}"# });
    assert_eq!(payload, json!({ "tool_calls": [call(0), call(1)], "_amendedBy": "dialect-normalization" }));
}

#[test]
fn the_last_chunk_before_the_finish_carries_what_has_no_room() {
    let run = kit(&json!({})).run([
        content(&format!("Look: {MARKER}"), 0),
        content(&format!("\n{MARKER} and {MARKER}"), 0),
        finish(0),
    ]);
    let call = |index| format!(r#"#{index} search {{"q":"x"}}"#);
    let carrier = format!(r#""\n and " + {} + {} + {}"#, call(0), call(1), call(2));
    assert_eq!(shown(&run), [r#""Look: ""#.to_owned(), carrier, "finish".to_owned()]);
}

#[test]
fn over_the_bound_for_holding_found_calls_stand_beside_the_text() {
    let run = kit(&json!({ "hold_chunks": 1 })).run([
        content(&format!("Look: {MARKER}{MARKER}"), 0),
        content("a", 1),
        content("<", 2),
    ]);
    assert_eq!(shown(&run), [r#""Look: " + #0 search {"q":"x"} + #1 search {"q":"x"}"#, r#""a""#, r#""<""#]);
    assert_eq!(run.counter("holds_given_up"), 1);
}

/// Only texts were counted, the daemon counts payloads too: the observer was taken out of the stream.
#[test]
fn payloads_that_wait_behind_a_marker_count_against_the_bound() {
    let logprobs = |at: usize| ScriptedChunk::annotation(&json!({ "logprobs": "x".repeat(2000), "at": at }));
    let pieces = MARKER.chars().enumerate().flat_map(|(at, piece)| [content(&piece.to_string(), 0), logprobs(at)]);
    let run = kit(&json!({})).run(pieces.chain([content(MARKER, 1), finish(0)]));
    assert!(run.faults.is_empty(), "{:?}", run.faults);
    assert_eq!((run.counter("holds_given_up"), run.content()), (1, MARKER));
    assert_eq!(calls(&run, 1), [r#"#0 search {"q":"x"}"#]);
}

#[test]
fn content_that_carries_calls_already_ends_what_is_held_and_goes_on_as_it_is() {
    let call = json!({ "index": 4, "name": "look", "arguments": "{}" });
    let carrier = content(MARKER, 0).with_payload(&json!({ "tool_calls": [call] }));
    let run = kit(&json!({})).run([content("<tool", 0), carrier, content("<tool name='search'/>", 0)]);
    assert_eq!(shown(&run), [r#""<tool""#.to_owned(), format!("{MARKER:?} + #4 look {{}}"), "#5 search {}".to_owned()]);
    assert!(!run.out[1].amended);
}

#[test]
fn what_else_a_payload_says_stays_beside_the_calls() {
    let noted = content(&format!("Look: {MARKER}"), 0).with_payload(&json!({ "note": 1, "tool_calls": null }));
    let run = kit(&json!({})).run([noted, finish(0)]);
    assert_eq!(shown(&run), [r#""Look: " + #0 search {"q":"x"}"#, "finish"]);
    let payload: Value = serde_json::from_str(run.out[0].payload.as_ref().unwrap()).unwrap();
    assert_eq!(payload["note"], 1);
}

#[test]
fn every_cut_gives_the_same_text_and_call() {
    let text = format!("Mäßig. {MARKER} Gut.");
    kit(&json!({})).run_text_at_every_cut(&text, |run| {
        shown(run);
        assert_eq!(calls(run, 0), [r#"#0 search {"q":"x"}"#], "{:?}", run.pieces());
        assert_eq!(run.content(), "Mäßig.  Gut.", "{:?}", run.pieces());
    });
}

#[test]
fn markers_that_turn_out_not_to_be_go_on_unchanged_at_every_cut() {
    let kit = kit(&json!({ "max_marker": 64 }));
    for text in [
        "a <tool name=\"f\">{'q': 1}</tool> b",
        "a <tool name=\"f\">{\"q\": \"never closed, and far too long for the bound of the table\"} b",
        "{0:\"f\", 1:{\"q\": [}} b",
        "<tool_call>{\"name\":\"f\"} b",
        "ends in <tool name=",
    ] {
        kit.assert_same_at_every_cut(text, text);
        kit.run_text_at_every_cut(text, |run| assert!(run.out.iter().all(|chunk| !chunk.amended)));
    }
}

#[test]
fn an_end_without_a_finish_lets_everything_go_unchanged() {
    let run = kit(&json!({})).run(["a <tool name", "=\"search\">{\"q\""]);
    assert_eq!(run.content(), "a <tool name=\"search\">{\"q\"");
    assert!(run.out.iter().all(|chunk| !chunk.amended));
    let run = kit(&json!({})).run_broken_off(["a <tool name"], Outcome::ClientGone);
    assert!(run.out.is_empty());
}

#[test]
fn an_error_of_the_provider_decides_what_is_held() {
    let error = ScriptedChunk::error("overloaded", &json!({}));
    let run = kit(&json!({})).run([content(&format!("\n{MARKER}"), 0), content("{", 1), error]);
    assert_eq!(shown(&run), [r#"#0 search {"q":"x"}"#, r#""{""#, "error"]);
}

#[test]
fn other_chunks_wait_behind_what_is_held() {
    let run = kit(&json!({})).run([
        content("<tool name=", 0),
        ScriptedChunk::reasoning("<tool name='search'/>"),
        ScriptedChunk::annotation(&json!([])),
        content("'search'/>", 0),
    ]);
    assert_eq!(shown(&run), ["#0 search {}", "reasoning_delta", "annotation", r#""""#]);
}

#[test]
fn calls_are_numbered_behind_those_of_the_provider() {
    let run = kit(&json!({})).run([
        ScriptedChunk::tool_call(0, "id", "look", "{}"),
        content("<tool name='search'/>", 0),
        content("<tool name='search'/>", 1),
        content("<tool name=", 0),
        ScriptedChunk::tool_call(2, "id", "look", "{}"),
        content("'search'/>", 0),
    ]);
    let expected = ["#0 look {}", "#1 search {}", "#0 search {}", "#3 search {}", "#2 look {}", r#""""#];
    assert_eq!(shown(&run), expected);
}

#[test]
fn choices_that_hold_at_once_go_on_together_and_in_order() {
    let run = kit(&json!({})).run([
        content("<tool name=", 0),
        content("{0:", 1),
        content("'search'/>", 0),
        content("x", 2),
        content("'look',1:{}}", 1),
        content("y", 0),
    ]);
    assert_eq!(shown(&run), ["#0 search {}", "#0 look {}", r#""""#, r#""x""#, r#""""#, r#""y""#]);
    let buffers = run.verdicts_of(OBSERVER_ID).iter().filter(|verdict| **verdict == Verdict::Buffer).count();
    assert_eq!(buffers, 3);
}

#[test]
fn a_decided_choice_behind_an_undecided_one_goes_on_with_the_finish_of_that() {
    let run = kit(&json!({})).run([
        content("<tool", 0),
        content("<tool name='search'/>", 1),
        finish(1),
        content(" ", 0),
        finish(0),
        content("z", 0),
    ]);
    let expected = [r#""<tool""#, "#0 search {}", "finish", r#"" ""#, "finish", r#""z""#];
    assert_eq!(shown(&run), expected);
}

#[test]
fn a_finish_that_lets_go_a_part_waits_for_the_rest() {
    let run = kit(&json!({})).run([content("<", 0), content("{", 1), finish(0), content("x", 1)]);
    assert_eq!(shown(&run), [r#""<""#, r#""{""#, "finish", r#""x""#]);
    // The finish chunk that released the first one was held behind the second.
    let verdicts = run.verdicts_of(OBSERVER_ID);
    assert!(matches!(&verdicts[2], Verdict::Release(release) if release.chunks.len() == 1), "{verdicts:?}");
    assert!(matches!(&verdicts[3], Verdict::Release(release) if release.chunks.len() == 3), "{verdicts:?}");
}

#[test]
fn only_offered_tools_are_called_where_any_are_offered() {
    let texts = ["<tool name='search'/>", "<tool name='rm'/>"];
    let restricted = kit(&json!({})).tools(["search"]).run(texts);
    assert_eq!(shown(&restricted), ["#0 search {}", r#""<tool name='rm'/>""#]);
    let free = kit(&json!({ "offered_only": false })).tools(["search"]).run(texts);
    assert_eq!(shown(&free), ["#0 search {}", "#1 rm {}"]);
    assert_eq!(shown(&kit(&json!({})).run(texts)), ["#0 search {}", "#1 rm {}"]);
}

#[test]
fn only_the_configured_dialects_are_recognised() {
    let run = kit(&json!({ "dialects": ["tuple"] })).run(["<tool name='search'/>", "{0:'look',1:{}}"]);
    assert_eq!(shown(&run), [r#""<tool name='search'/>""#, "#0 look {}"]);
}

#[test]
fn holding_ends_before_the_daemon_ends_it() {
    let hold = Hold { chunks: 4, text: 1000 };
    let kit = kit(&json!({ "hold_chunks": 4 })).policy(Policy { hold, ..Policy::default() });
    let mut chunks = vec![content("<tool name='f'>{\"a\":\"", 0)];
    chunks.extend((0..10).map(|_| ScriptedChunk::reasoning("hm")));
    chunks.push(content("\"}</tool>", 0));
    let run = kit.run(chunks);
    assert_eq!(run.counter("holds_given_up"), 1);
    assert_eq!(shown(&run)[0], r#""<tool name='f'>{\"a\":\"""#);
    assert_eq!(run.content(), "<tool name='f'>{\"a\":\"\"}</tool>");
}

#[test]
fn held_text_ends_before_the_daemon_ends_it() {
    let hold = Hold { chunks: 100, text: 100 };
    let kit = kit(&json!({ "max_marker": 100, "hold_text": 100 })).policy(Policy { hold, ..Policy::default() });
    // The bound for one marker is not reached in any choice, but in all of them.
    let run = kit.run((0..10).map(|choice| content("<tool name='f'>{\"a\":\"", choice)));
    assert_eq!(run.counter("holds_given_up"), 2);
    assert!(shown(&run).iter().all(|chunk| chunk.starts_with("\"<tool")));
}

#[test]
fn the_plugin_describes_its_table() {
    let description = PluginLibrary::linked::<DialectNormalization>().describe().unwrap();
    assert_eq!(description.name, "dialect-normalization");
    let schema: Value = serde_json::from_str(&description.config_schema).unwrap();
    let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["dialects", "hold_chunks", "hold_text", "max_marker", "offered_only"]);
    assert_eq!(schema["properties"]["dialects"]["default"], json!(["tool", "tool_call", "function", "tuple"]));
}

/// A part of a generated answer: text that begins no marker, or a call in one of the dialects.
#[derive(Clone, Debug)]
enum Part {
    Text(&'static str),
    Call(usize),
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        prop::sample::select(vec!["plain ", "a<b ", "é{x} ", "\n", "< {", "<tool_box>"]).prop_map(Part::Text),
        (0..CALLS.len()).prop_map(Part::Call),
    ]
}

/// Markers with the name and arguments that they stand for.
const CALLS: [(&str, &str); 5] = [
    (r#"<tool name="f">{"a":"}"}</tool>"#, r#"f {"a":"}"}"#),
    (r#"<tool_call>{"name":"g","arguments":{"é":1}}</tool_call>"#, r#"g {"é":1}"#),
    (r"<function=h>{}</function>", "h {}"),
    (r#"{0:"i", 1:{"b":{"c":2}}}"#, r#"i {"b":{"c":2}}"#),
    (r"<tool name='j'/>", "j {}"),
];

/// The answer that the parts make.
fn written(parts: &[Part]) -> String {
    let text = |part: &Part| match part {
        Part::Text(text) => *text,
        Part::Call(call) => CALLS[*call].0,
    };
    parts.iter().map(text).collect()
}

fn cut(text: &str, cuts: &mut impl Iterator<Item = bool>) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for character in text.chars() {
        if cuts.next() == Some(true) {
            pieces.push(String::new());
        }
        pieces.last_mut().unwrap().push(character);
    }
    pieces
}

/// The chunks of several choices in one order, each choice in its own.
fn interleave(mut queues: Vec<VecDeque<ScriptedChunk>>, order: &[prop::sample::Index]) -> Vec<ScriptedChunk> {
    let mut chunks = Vec::new();
    for pick in order.iter().cycle() {
        queues.retain(|queue| !queue.is_empty());
        if queues.is_empty() {
            break;
        }
        let at = pick.index(queues.len());
        chunks.extend(queues[at].pop_front());
    }
    chunks
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect()
}

proptest! {
    #[test]
    fn whatever_is_cut_and_interleaved_no_text_and_no_call_is_lost(
        choices in prop::collection::vec(prop::collection::vec(part(), 1..6), 1..4),
        cuts in prop::collection::vec(0..100_u32, 600),
        cuts_in_a_hundred in prop::sample::select(vec![25, 3, 0]),
        order in prop::collection::vec(any::<prop::sample::Index>(), 600),
        with_finish in any::<bool>(),
    ) {
        let texts: Vec<String> = choices.iter().map(|parts| written(parts)).collect();
        let mut cuts = cuts.into_iter().cycle().map(|cut| cut < cuts_in_a_hundred);
        let queues = (0..).zip(&texts).map(|(number, text)| {
            let finish = with_finish.then(|| finish(number));
            cut(text, &mut cuts).into_iter().map(|piece| content(&piece, number)).chain(finish).collect()
        });
        let chunks = interleave(queues.collect(), &order);
        let run = kit(&json!({})).run(chunks);
        shown(&run);
        for (number, (parts, text)) in (0..).zip(choices.iter().zip(&texts)) {
            let own = run.out.iter().filter(|chunk| chunk.choice == number && chunk.kind == ChunkKind::ContentDelta);
            let delivered: String = own.map(|chunk| chunk.text.as_str()).collect();
            let calls: Vec<String> =
                calls(&run, number).iter().map(|call| call.split_once(' ').unwrap().1.to_owned()).collect();
            let written: Vec<&str> =
                parts.iter().filter_map(|part| if let Part::Call(call) = part { Some(CALLS[*call].1) } else { None }).collect();
            let plain: String =
                parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(*text) } else { None }).collect();
            if with_finish || calls.len() == written.len() {
                prop_assert_eq!(&calls, &written);
                // White space that was the only text beside calls may have made room for one.
                prop_assert_eq!(squeeze(&delivered), squeeze(&plain));
            } else {
                // The stream broke off while some waited for room: each call is a call or text, never both.
                let as_text: usize = CALLS.iter().map(|(marker, _)| delivered.matches(marker).count()).sum();
                prop_assert_eq!(calls.len() + as_text, written.len());
            }
            if calls.is_empty() {
                prop_assert_eq!(&delivered, text);
            }
        }
    }
}
