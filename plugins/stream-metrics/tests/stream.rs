//! The plugin behind the real ladder. The kit's chunks arrive a millisecond apart, the first one at 0.
#![expect(clippy::unwrap_used, reason = "tests say what must hold by panicking; the shared parts of them do as well")]

use seam_plugin_api::abi::PluginLibrary;
use seam_plugin_api::serde_json::{self, Value, json};
use seam_plugin_api::{Outcome, Verdict};
use seam_plugin_testkit::{Kit, Run, ScriptedChunk};
use stream_metrics::{BOUNDS, OBSERVER_ID, StreamMetrics};

fn kit(table: &Value) -> Kit {
    Kit::of::<StreamMetrics>(table).unwrap()
}

/// Each event on the channel: the chunk it came with, its kind, its payload.
fn events(run: &Run) -> Vec<(u64, &str, &Value)> {
    run.envelopes_on("metrics").map(|event| (event.seq, event.kind.as_str(), &event.payload)).collect()
}

fn answer() -> Vec<ScriptedChunk> {
    vec![
        ScriptedChunk::opaque(&json!({ "id": 1 })),
        ScriptedChunk::reasoning("Hmm…"),
        ScriptedChunk::content("Grüße"),
        ScriptedChunk::tool_call(0, "id", "f", "{}"),
        ScriptedChunk::finish("tool_calls"),
        ScriptedChunk::usage(&json!({ "input_tokens": 3, "output_tokens": 5 })),
    ]
}

#[test]
fn a_finish_brings_the_summary_of_its_choice_and_usage_what_the_provider_counted() {
    let run = kit(&json!({})).run(answer());
    let mut counts = [0; 15];
    counts[0] = 2;
    let summary = json!({
        "choice": 0,
        "outcome": "finished",
        "finish_reason": "tool_calls",
        "chunks": 3,
        "characters": { "content": 5, "reasoning": 4, "refusal": 0, "tool_arguments": 2 },
        "time_to_first_chunk_seconds": 0.001,
        "characters_per_second": 5500.0,
        "between_chunks": { "mean_seconds": 0.001, "max_seconds": 0.001, "bounds_seconds": BOUNDS, "counts": counts },
    });
    let usage = json!({ "input_tokens": 3, "output_tokens": 5 });
    assert_eq!(events(&run), [(4, "stream.summary", &summary), (5, "stream.usage", &usage)]);
}

#[test]
fn every_chunk_goes_on_as_it_came() {
    let run = kit(&json!({ "every": 1 })).run(answer());
    assert!(run.faults.is_empty());
    let out: Vec<_> = run.out.iter().map(|chunk| (chunk.kind, &chunk.text, &chunk.payload, chunk.amended)).collect();
    let sent: Vec<_> = run.sent.iter().map(|chunk| (chunk.kind, &chunk.text, &chunk.payload, false)).collect();
    assert_eq!(out, sent);
}

#[test]
fn choices_are_summed_up_apart() {
    let run = kit(&json!({})).run([
        ScriptedChunk::content("a"),
        ScriptedChunk::content("bb").in_choice(1),
        ScriptedChunk::content("cccc"),
        ScriptedChunk::finish("stop").in_choice(1),
        ScriptedChunk::finish("length"),
        ScriptedChunk::finish("length"),
    ]);
    let told: Vec<_> = events(&run)
        .into_iter()
        .map(|(seq, _, payload)| (seq, payload["choice"].clone(), payload["characters"]["content"].clone()))
        .collect();
    assert_eq!(told, [(3, json!(1), json!(2)), (4, json!(0), json!(5))]);
}

#[test]
fn blocks_of_one_answer_are_summed_up_when_its_reason_comes() {
    let run = kit(&json!({})).run([
        ScriptedChunk::reasoning("Hm."),
        ScriptedChunk::finish(""),
        ScriptedChunk::content("Yes").in_choice(1),
        ScriptedChunk::finish("").in_choice(1),
        ScriptedChunk::content("open").in_choice(2),
        ScriptedChunk::finish("end_turn").in_choice(1),
    ]);
    let summaries: Vec<_> = events(&run)
        .iter()
        .map(|(seq, _, payload)| (*seq, payload["choice"].clone(), payload["finish_reason"].clone()))
        .collect();
    assert_eq!(summaries, [(5, json!(0), json!("end_turn")), (5, json!(1), json!("end_turn"))]);
}

#[test]
fn progress_comes_with_every_nth_text_of_the_stream() {
    let run = kit(&json!({ "every": 2 })).run([
        ScriptedChunk::content("a"),
        ScriptedChunk::annotation(&json!([])),
        ScriptedChunk::content("b").in_choice(1),
        ScriptedChunk::content("c"),
        ScriptedChunk::reasoning("d"),
    ]);
    let progress = |chunks: u64, content: u64, reasoning: u64, elapsed: f64| {
        json!({
            "chunks": chunks,
            "characters": { "content": content, "reasoning": reasoning, "refusal": 0, "tool_arguments": 0 },
            "elapsed_seconds": elapsed,
        })
    };
    let (first, second) = (progress(2, 2, 0, 0.002), progress(4, 3, 1, 0.004));
    assert_eq!(events(&run), [(2, "stream.progress", &first), (4, "stream.progress", &second)]);
}

#[test]
fn without_being_asked_there_is_no_progress() {
    let run = kit(&json!({})).run(["a"; 50]);
    assert_eq!(run.verdicts_of(OBSERVER_ID), vec![Verdict::Continue; 50]);
}

#[test]
fn an_error_sums_up_what_will_not_finish() {
    let run = kit(&json!({})).run([
        ScriptedChunk::content("a"),
        ScriptedChunk::finish("stop"),
        ScriptedChunk::content("b").in_choice(1),
        ScriptedChunk::error("overloaded", &json!({ "code": 529 })),
    ]);
    let told: Vec<_> = events(&run)
        .into_iter()
        .map(|(seq, _, payload)| (seq, payload["choice"].clone(), payload["outcome"].clone()))
        .collect();
    assert_eq!(told, [(1, json!(0), json!("finished")), (3, json!(1), json!("error"))]);
}

#[test]
fn the_daemon_counts_each_stream_once_however_it_ended() {
    let kit = kit(&json!({}));
    for run in [kit.run(answer()), kit.run_broken_off(answer(), Outcome::ClientGone)] {
        assert_eq!(run.counter("chunks"), 3);
        assert_eq!(run.counter("characters"), 11);
        assert_eq!(run.counter("content_characters"), 5);
        assert_eq!(run.counter("reasoning_characters"), 4);
        assert_eq!(run.counter("refusal_characters"), 0);
        assert_eq!(run.counter("tool_argument_characters"), 2);
        assert_eq!(run.histograms["time_to_first_chunk_seconds"], [0.001]);
        assert_eq!(run.histograms["mean_time_between_chunks_seconds"], [0.001]);
        assert_eq!(run.histograms["longest_time_between_chunks_seconds"], [0.001]);
        assert_eq!(run.histograms["characters_per_second"], [5500.0]);
        assert!(run.log.is_empty());
    }
}

#[test]
fn a_stream_without_text_leaves_no_samples() {
    let run = kit(&json!({})).run([ScriptedChunk::finish("stop")]);
    assert!(run.histograms.values().all(Vec::is_empty));
    assert_eq!(events(&run)[0].2["time_to_first_chunk_seconds"], Value::Null);
}

#[test]
fn the_plugin_describes_its_table() {
    let description = PluginLibrary::linked::<StreamMetrics>().describe().unwrap();
    assert_eq!(description.name, "stream-metrics");
    let schema: Value = serde_json::from_str(&description.config_schema).unwrap();
    assert_eq!(schema["properties"]["every"]["minimum"], 1);
    let refused = Kit::of::<StreamMetrics>(r#"{"every":0,"evry":1}"#).err().unwrap().to_string();
    assert!(refused.starts_with("evry: unknown field"), "{refused}");
}
