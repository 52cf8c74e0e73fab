//! The plugin behind the real ladder.
#![expect(clippy::unwrap_used, reason = "tests say what must hold by panicking; the shared parts of them do as well")]

use halt_on_pattern::{HaltOnPattern, OBSERVER_ID};
use proptest::prelude::*;
use seam_plugin_api::abi::PluginLibrary;
use seam_plugin_api::serde_json::{self, Value, json};
use seam_plugin_api::{CallClass, Verdict};
use seam_plugin_testkit::{Kit, ScriptedChunk};

fn kit(table: &Value) -> Kit {
    Kit::of::<HaltOnPattern>(table).unwrap()
}

#[test]
fn a_refusal_ends_the_stream_in_front_of_the_chunk_that_completes_it() {
    let run = kit(&json!({})).run(["Well. ", "I cannot", " help", " with that.", " Sorry."]);
    let stop = run.stop.as_ref().unwrap();
    assert_eq!(stop.reason, r#"pattern matched: "I cannot help""#);
    assert_eq!((stop.chunk_index, stop.accumulated_content_length, stop.seq), (4, 19, 3));
    assert_eq!(run.content(), "Well. I cannot help");
    assert_eq!(run.verdicts_of(OBSERVER_ID)[..3], [Verdict::Continue, Verdict::Continue, Verdict::Continue]);
}

#[test]
fn a_match_in_one_chunk_lets_nothing_of_it_out() {
    let run = kit(&json!({})).run(["Sure? ", "Sorry, I can’t help with that."]);
    assert_eq!(run.stop.unwrap().reason, r#"pattern matched: "Sorry, I can’t help""#);
    assert_eq!(run.out.len(), 1);
}

#[test]
fn every_cut_of_a_matching_text_stops_for_the_same_reason() {
    let text = "Naïve? I’m unable to\nprovide… that";
    let matched = "Naïve? I’m unable to\nprovide";
    kit(&json!({})).run_text_at_every_cut(text, |run| {
        let stop = run.stop.as_ref().unwrap_or_else(|| panic!("{:?} went through", run.pieces()));
        assert_eq!(stop.reason, r#"pattern matched: "I’m unable to\nprovide""#);
        // What went out stops in front of the first chunk with anything behind the match.
        let pieces = run.pieces();
        let stopped_at = usize::try_from(stop.seq).unwrap();
        assert_eq!(run.content(), pieces[..stopped_at].concat());
        assert!(run.content().len() <= matched.len(), "{pieces:?}");
        assert!(run.content().len() + pieces[stopped_at].len() > matched.len(), "{pieces:?}");
    });
}

#[test]
fn every_cut_of_another_text_goes_through() {
    let kit = kit(&json!({}));
    for text in ["I cannot helpfully say", "Sorry, I can’t. Help yourself!", ""] {
        kit.assert_same_at_every_cut(text, text);
        kit.run_text_at_every_cut(text, |run| assert_eq!(run.stop, None));
    }
}

#[test]
fn a_boundary_at_the_end_is_decided_by_the_finish_chunk_of_its_choice() {
    let finish = |choice| ScriptedChunk::finish("stop").in_choice(choice);
    let run = kit(&json!({})).run([ScriptedChunk::content("I cannot help"), finish(1), finish(0)]);
    assert_eq!(run.stop.unwrap().seq, 2);
}

#[test]
fn choices_are_texts_of_their_own() {
    let kit = kit(&json!({ "pattern": "ab" }));
    let split = ["a", "b"].map(ScriptedChunk::content);
    let [a, b] = split.clone();
    assert_eq!(kit.run([a.clone(), b.clone().in_choice(1)]).stop, None);
    assert_eq!(kit.run([a, ScriptedChunk::content("x").in_choice(1), b]).stop.unwrap().seq, 2);
}

#[test]
fn only_the_named_texts_are_watched() {
    let chunks = [
        ScriptedChunk::reasoning("secret"),
        ScriptedChunk::refusal("secret"),
        ScriptedChunk::tool_call(0, "id", "name", "secret"),
        ScriptedChunk::content("secret"),
    ];
    let stopped_at = |fields: Value| {
        let table = json!({ "pattern": "secret", "fields": fields });
        kit(&table).run(chunks.clone()).stop.map(|stop| stop.seq)
    };
    assert_eq!(stopped_at(json!(["content"])), Some(3));
    assert_eq!(stopped_at(json!(["tool_calls", "content"])), Some(2));
    assert_eq!(stopped_at(json!(["refusal"])), Some(1));
    assert_eq!(stopped_at(json!(["content", "reasoning"])), Some(0));
    assert_eq!(kit(&json!({ "pattern": "secret" })).run(chunks.clone()).stop.unwrap().seq, 3);
}

#[test]
fn texts_of_different_kinds_do_not_flow_together() {
    let kit = kit(&json!({ "pattern": "ab", "fields": ["content", "reasoning"] }));
    assert_eq!(kit.run([ScriptedChunk::reasoning("a"), ScriptedChunk::content("b")]).stop, None);
}

#[test]
fn interleaved_tool_calls_are_texts_of_their_own() {
    let kit = kit(&json!({ "pattern": "rm -rf", "fields": ["tool_calls"] }));
    let calls = |second| {
        [
            ScriptedChunk::tool_call(0, "a", "shell", r#"{"c":"rm "#),
            ScriptedChunk::tool_call(1, "b", "shell", r#"{"c":"ls "#),
            ScriptedChunk::tool_arguments(second, "-rf"),
        ]
    };
    assert_eq!(kit.run(calls(1)).stop, None);
    assert_eq!(kit.run(calls(0)).stop.unwrap().reason, r#"pattern matched: "rm -rf""#);
}

#[test]
fn a_refusal_of_the_provider_stops_if_that_is_asked_for() {
    let chunks = || [ScriptedChunk::content("Hm."), ScriptedChunk::refusal("I'm sorry.")];
    assert_eq!(kit(&json!({})).run(chunks()).stop, None);
    let run = kit(&json!({ "on_refusal": true, "fields": [] })).run(chunks());
    assert_eq!(run.stop.as_ref().unwrap().reason, "provider refusal");
    assert_eq!(run.content(), "Hm.");
}

#[test]
fn every_call_class_is_watched() {
    for class in CallClass::ALL {
        let kit = kit(&json!({ "pattern": "x" })).call_class(class);
        assert!(kit.run(["x"]).stop.is_some(), "{class}");
    }
}

#[test]
fn a_long_match_is_quoted_in_part() {
    let run = kit(&json!({ "pattern": "<.*>" })).run([format!("<{}>", "é".repeat(400))]);
    assert_eq!(run.stop.unwrap().reason, format!("pattern matched: \"<{}…\"", "é".repeat(255)));
}

#[test]
fn the_plugin_describes_its_table() {
    let description = PluginLibrary::linked::<HaltOnPattern>().describe().unwrap();
    assert_eq!(description.name, "halt-on-pattern");
    let schema: Value = serde_json::from_str(&description.config_schema).unwrap();
    let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["fields", "on_refusal", "pattern", "patterns", "window"]);
    assert_eq!(schema["properties"]["window"]["default"], 16_384);
}

proptest! {
    #[test]
    fn a_stop_does_not_depend_on_where_the_text_is_cut(
        words in prop::collection::vec(prop::sample::select(vec![
            "I cannot", "I can not", "Sorry, I can’t", "I'm not able to", "I am", " ", "\n", "help", "assist", "ful", "I", "…",
        ]), 0..9),
    ) {
        let text = words.concat();
        let kit = kit(&json!({}));
        let whole = kit.run_text(&text).stop.map(|stop| stop.reason);
        kit.run_text_at_every_cut(&text, |run| {
            assert_eq!(run.stop.as_ref().map(|stop| &stop.reason), whole.as_ref(), "{:?}", run.pieces());
            assert!(run.faults.is_empty());
            assert!(text.starts_with(run.content()));
        });
    }
}
