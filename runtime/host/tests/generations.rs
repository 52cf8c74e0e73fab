//! What a generation does for invocations: observers in order, faults that stay where they are, counts that go on.
#![expect(clippy::unwrap_used, reason = "a function beside the tests is a part of those that call it")]

mod fixture;

use std::sync::Arc;

use fixture::{Bench, first, invocation, marked, second, spec};
use prometheus_client::registry::Registry;
use seam_host::{FactoryFault, Generation, Generations, LoadedObserver, PluginCounts, PluginSpec, SAMPLED};
use seam_ladder::{
    Amended, Envelope, FaultReport, Ladder, Observer, OnFault, Policy, Pulse, Rung, RungReport, Sink, Strip,
};
use seam_plugin_api::abi::{FaultKind, Invocation};
use seam_plugin_api::{CallClass, Chunk, ChunkKind, Outcome};

/// Counts nothing, keeps the text.
#[derive(Default)]
struct Text(String);

impl Sink for Text {
    fn pass(&mut self, chunk: &Chunk<'_>) {
        self.0.push_str(chunk.text());
    }
    fn amended(&mut self, amended: &Amended<'_>) {
        self.0.push_str(amended.body.text);
    }
    fn discard(&mut self, _: u64) {}
    fn envelope(&mut self, _: &Envelope<'_>) {}
    fn strip(&mut self, _: &Strip<'_>) {}
    fn fault(&mut self, _: &FaultReport<'_>) {}
}

fn load(bench: &Bench, specs: &[PluginSpec]) -> Arc<Generation> {
    bench.loader.load(specs).unwrap().generation
}

fn rungs(generation: &Arc<Generation>) -> Vec<Rung<LoadedObserver>> {
    generation.rungs(&invocation(CallClass::Converse)).unwrap()
}

/// Runs one invocation of some chunks through a ladder; what came out and what is reported.
fn run(generation: &Arc<Generation>, chunks: u64) -> (String, Vec<RungReport>) {
    run_as(generation, &invocation(CallClass::Converse), chunks)
}

fn run_as(generation: &Arc<Generation>, invocation: &Arc<Invocation>, chunks: u64) -> (String, Vec<RungReport>) {
    let rungs = generation.rungs(invocation).unwrap();
    let mut ladder = Ladder::new(rungs, Arc::clone(invocation), Arc::new(Pulse::default()));
    let mut text = Text::default();
    for seq in 0..chunks {
        let _ = ladder.push(&Chunk::new(seq, 0, ChunkKind::ContentDelta, "x", None), seq, &mut text);
    }
    ladder.end(&mut text);
    (text.0, ladder.close(Outcome::Completed))
}

fn counts(bench: &Bench, plugin: &str) -> PluginCounts {
    bench.loader.stats().of(plugin).counts()
}

fn panics(counts: &PluginCounts) -> u64 {
    counts.faults.iter().filter(|(kind, _)| *kind == FaultKind::Panic).map(|(_, count)| count).sum()
}

fn panicking(bench: &Bench, place: &str, on_fault: OnFault) -> PluginSpec {
    let path = bench.put("plugin.so", first());
    let policy = Policy { on_fault, ..Policy::default() };
    PluginSpec { policy, ..spec(&path, &format!(r#"{{"panics_in":"{place}"}}"#)) }
}

#[test]
fn observers_come_in_the_order_of_the_list_and_of_registration() {
    let bench = Bench::new();
    let (one, two) = (bench.put("one.so", first()), bench.put("two.so", second()));
    let specs = [spec(&two, r#"{"observers":["z","a"]}"#), spec(&one, r#"{"observers":["m"]}"#)];
    let generation = load(&bench, &specs);
    let order: Vec<String> =
        rungs(&generation).iter().map(|rung| format!("{}/{}", rung.plugin, rung.observer_id)).collect();
    assert_eq!(order, ["second/z", "second/a", "first/m"]);
    assert_eq!(run(&generation, 1).0, "first::second::second::x");
}

#[test]
fn a_factory_at_fault_is_left_out_and_counted() {
    let bench = Bench::new();
    let fine = bench.put("fine.so", second());
    let generation = load(&bench, &[panicking(&bench, "factory", OnFault::Skip), spec(&fine, "{}")]);
    assert_eq!(run(&generation, 2).0, "second::xsecond::x");
    assert_eq!((panics(&counts(&bench, "first")), counts(&bench, "first").invocations), (1, 0));
    assert_eq!(counts(&bench, "second").invocations, 1);
}

#[test]
fn a_factory_at_fault_stops_what_must_not_go_without_it() {
    let bench = Bench::new();
    let fine = bench.put("fine.so", second());
    let generation = load(&bench, &[spec(&fine, "{}"), panicking(&bench, "factory", OnFault::Stop)]);
    let error: FactoryFault = generation.rungs(&invocation(CallClass::Converse)).unwrap_err();
    insta::with_settings!({filters => vec![(r"\(at .*\)", "(at PLACE)")]}, {
        insta::assert_snapshot!(error, @"plugin first did not make its observer marker: panic: as its table says (at PLACE)");
    });
    assert_eq!(error.made.len(), 1, "the observer before it is handed over, to be told the end");
    assert_eq!((panics(&counts(&bench, "first")), generation.invocations()), (1, 1));
    drop(error);
    assert_eq!(generation.invocations(), 0);
}

#[test]
fn a_panic_on_a_chunk_takes_out_that_observer_alone() {
    let bench = Bench::new();
    let fine = bench.put("fine.so", second());
    let generation = load(&bench, &[panicking(&bench, "chunk", OnFault::Skip), spec(&fine, "{}")]);
    let (text, reports) = run(&generation, 3);
    assert_eq!(text, "second::x".repeat(3));
    reports.iter().for_each(|report| bench.loader.stats().of(&report.plugin).add_report(report));
    assert_eq!((panics(&counts(&bench, "first")), counts(&bench, "first").chunks), (1, 1));
    assert_eq!((panics(&counts(&bench, "second")), counts(&bench, "second").verdicts.amended), (0, 3));
}

#[test]
fn a_panic_when_an_observer_is_dropped_is_counted_once() {
    let bench = Bench::new();
    let generation = load(&bench, &[panicking(&bench, "observer_drop", OnFault::Skip)]);
    let (_, reports) = run(&generation, 1);
    assert_eq!(reports[0].end_fault.as_ref().map(|fault| fault.kind), Some(FaultKind::Panic));
    assert_eq!(panics(&counts(&bench, "first")), 0, "what is in a report is counted with it");
    // A ladder that never began has no report.
    drop(rungs(&generation));
    assert_eq!(panics(&counts(&bench, "first")), 1);
    // Closed by hand, the fault is the caller's.
    let rung = rungs(&generation).remove(0);
    rung.observer.close().unwrap_err();
    assert_eq!(panics(&counts(&bench, "first")), 1);
}

#[test]
fn a_panic_when_a_plugin_is_dropped_is_counted_and_harms_nobody() {
    let bench = Bench::new();
    let generation = load(&bench, &[panicking(&bench, "plugin_drop", OnFault::Skip)]);
    assert_eq!(run(&generation, 1).0, "first::x");
    drop(generation);
    assert_eq!(panics(&counts(&bench, "first")), 1);
}

#[test]
fn an_invocation_keeps_the_generation_it_started_with() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", first());
    let generations = Generations::new(load(&bench, &[spec(&path, r#"{"say":"1"}"#)]));
    let mut running = rungs(&generations.current());
    let replaced = generations.install(load(&bench, &[spec(&path, r#"{"say":"2"}"#)]));
    assert_eq!(replaced.number(), 1);
    drop(replaced);
    assert_eq!(marked(&mut running[0], "x"), "first:1:x");
    assert_eq!(marked(&mut rungs(&generations.current())[0], "x"), "first:2:x");
    let alive = |generations: &Generations| {
        let alive = generations.alive();
        alive.iter().map(|it| (it.number, it.invocations, it.current)).collect::<Vec<_>>()
    };
    assert_eq!(alive(&generations), [(1, 1, false), (2, 0, true)]);
    drop(running);
    assert_eq!(alive(&generations), [(2, 0, true)]);
}

#[test]
fn counts_go_on_when_a_plugin_is_loaded_anew() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", first());
    let named = |path: &std::path::Path| PluginSpec { name: Some("mine".to_owned()), ..spec(path, "{}") };
    for library in [first(), second(), first()] {
        std::fs::write(&path, library).unwrap();
        let generation = load(&bench, &[named(&path)]);
        let (_, reports) = run(&generation, 5);
        reports.iter().for_each(|report| bench.loader.stats().of(&report.plugin).add_report(report));
    }
    let counts = counts(&bench, "mine");
    assert_eq!((counts.invocations, counts.chunks, counts.verdicts.amended), (3, 15, 15));
    assert_eq!(bench.loader.stats().counts().len(), 1);
}

#[test]
fn time_is_estimated_from_some_calls() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", first());
    let generation = load(&bench, &[spec(&path, "{}")]);
    // As many chunks as calls from one timed call to the next: exactly one of them is timed, wherever it falls.
    run(&generation, SAMPLED);
    let once = counts(&bench, "first").nanos;
    assert!(once > 0 && once.is_multiple_of(SAMPLED), "{once}");
    let begin = std::time::Instant::now();
    run(&generation, SAMPLED * 50);
    let most = begin.elapsed().as_nanos() as u64;
    let estimate = counts(&bench, "first").nanos - once;
    assert!(estimate > 0, "fifty calls were timed");
    assert!(estimate / SAMPLED <= most, "the timed calls took {} of at most {most} ns", estimate / SAMPLED);
}

#[test]
fn metrics_of_plugins_are_exposed_under_the_operators_name() {
    let bench = Bench::new();
    let path = bench.put("plugin.so", first());
    let generation = load(&bench, &[PluginSpec { name: Some("mine".to_owned()), ..spec(&path, "{}") }]);
    run(&generation, 4);
    let mut registry = Registry::default();
    bench.loader.services().register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    assert!(text.contains(r#"seamd_plugin_counter_total{plugin="mine",name="marked"} 4"#), "{text}");
}
