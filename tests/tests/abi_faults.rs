//! Every way of being broken, through a real library and the real ladder in this process: each is a fault with its place,
//! the stream goes on without the observer, and the process lives to run the next one.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold, as they do")]

use std::sync::Arc;

use seam_host::{Loader, OnLoadError, PluginSpec};
use seam_ladder::{Amended, Envelope, FaultReport, Flow, Hold, Ladder, Policy, Pulse, Sink, Strip};
use seam_plugin_api::abi::{FaultKind, Invocation};
use seam_plugin_api::{CallClass, Chunk, ChunkKind, Outcome};

/// What comes of a stream.
#[derive(Default)]
struct Seen(Vec<String>);

impl Sink for Seen {
    fn pass(&mut self, chunk: &Chunk<'_>) {
        self.0.push(format!("{} {}", chunk.kind(), chunk.text()));
    }
    fn amended(&mut self, amended: &Amended<'_>) {
        self.0.push(format!("amended {} {}", amended.body.kind, amended.body.text));
    }
    fn discard(&mut self, seq: u64) {
        self.0.push(format!("{seq} discarded"));
    }
    fn envelope(&mut self, envelope: &Envelope<'_>) {
        self.0.push(format!("envelope on {}", envelope.channel));
    }
    fn strip(&mut self, strip: &Strip<'_>) {
        self.0.push(format!("strip {}", strip.cleared));
    }
    fn fault(&mut self, report: &FaultReport<'_>) {
        self.0.push(format!("FAULT {}", report.fault));
    }
}

struct Bench {
    loader: Loader,
    _copies: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let copies = tempfile::tempdir().unwrap();
        Self { loader: Loader::new(Some(copies.path().to_owned())).unwrap(), _copies: copies }
    }

    /// Streams three texts and a finish through the broken plugin; every line of what comes of that.
    fn lines(&self, config: &str, policy: Policy) -> Vec<String> {
        let spec = PluginSpec {
            name: None,
            path: e2e::plugins::plugin("broken").unwrap(),
            config: config.to_owned(),
            call_classes: None,
            policy,
            on_load_error: OnLoadError::Refuse,
        };
        let loaded = match self.loader.load(&[spec]) {
            Ok(loaded) => loaded,
            Err(rejections) => {
                return rejections.iter().map(|rejection| format!("NOT LOADED {}", rejection.reason)).collect();
            }
        };
        let rungs = match loaded.generation.rungs(&invocation()) {
            Ok(rungs) if rungs.is_empty() => return vec!["NO OBSERVER".to_owned()],
            Ok(rungs) => rungs,
            Err(fault) => return vec![format!("REFUSED {fault}")],
        };
        let mut seen = Seen::default();
        let mut ladder = Ladder::new(rungs, invocation(), Arc::new(Pulse::default()));
        let kinds = [ChunkKind::ContentDelta, ChunkKind::ContentDelta, ChunkKind::ContentDelta, ChunkKind::Finish];
        for (seq, (kind, text)) in (0..).zip(kinds.into_iter().zip(["one", "two", "three", "stop"])) {
            if ladder.push(&Chunk::new(seq, 0, kind, text, None), seq, &mut seen) == Flow::Stopped {
                break;
            }
        }
        ladder.end(&mut seen);
        let outcome = ladder.stop().map_or(Outcome::Completed, seam_ladder::Stop::outcome);
        seen.0.extend(ladder.stop().map(|stop| format!("STOP {}", stop.reason)));
        let reports = ladder.close(outcome);
        seen.0.extend(
            reports.iter().filter_map(|report| report.end_fault.as_ref()).map(|fault| format!("AT THE END {fault}")),
        );
        seen.0
    }

    fn story(&self, fault: &str, at: u64, policy: Policy) -> String {
        let lines = self.lines(&format!(r#"{{"fault":"{fault}","at":{at}}}"#), policy);
        format!("{fault} at {at}\n  {}\n", lines.join("\n  "))
    }
}

fn invocation() -> Arc<Invocation> {
    Arc::new(Invocation::new(CallClass::Converse))
}

/// Lines of the fixture move; files do not.
fn snapshot(name: &str, stories: &[String]) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\(at (?:\S*/)?tests/plugins/broken/src/(\w+)\.rs:\d+:\d+\)", "(at broken/src/$1.rs:LINE)");
    settings.bind(|| insta::assert_snapshot!(name, stories.concat()));
}

#[test]
fn a_panic_anywhere_is_a_fault_with_its_place() {
    let bench = Bench::new();
    let panics = [
        "panic_configure",
        "panic_registrations",
        "panic_factory",
        "panic_chunk",
        "panic_chunk_and_drop",
        "panic_payload",
        "panic_end",
        "panic_drop",
    ];
    snapshot("panics", &panics.map(|fault| bench.story(fault, 2, Policy::default())));
}

#[test]
fn an_answer_that_breaks_the_contract_is_a_fault() {
    let bench = Bench::new();
    let violations = [
        "non_json_payload",
        "bad_channel",
        "release_unknown",
        "release_too_many",
        "release_out_of_order",
        "strip_too_much",
        "bad_observer_id",
        "refuse_config",
        "refuse_silently",
    ];
    snapshot("violations", &violations.map(|fault| bench.story(fault, 2, Policy::default())));
}

#[test]
fn what_is_no_fault_is_none() {
    let bench = Bench::new();
    snapshot(
        "no_faults",
        &["none", "stop", "amend_kind", "emit", "slow", "hold_forever"]
            .map(|fault| bench.story(fault, 2, Policy::default())),
    );
}

#[test]
fn holding_over_the_bound_is_a_fault() {
    let bench = Bench::new();
    let policy = Policy { hold: Hold { chunks: 2, text: 1000 }, ..Policy::default() };
    snapshot("over_the_bound", &[bench.story("hold_forever", 1, policy)]);
}

/// The panic of the plugin's drop has nobody who waits for it: it is counted.
#[test]
fn a_plugin_that_panics_when_it_is_dropped_is_counted() {
    let bench = Bench::new();
    assert_eq!(bench.story("panic_plugin_drop", 1, Policy::default()).matches("content_delta").count(), 3);
    let faults = bench.loader.stats().of("broken").counts().faults;
    assert!(faults.contains(&(FaultKind::Panic, 1)), "{faults:?}");
}

/// The same library again and again, at fault each time in another place: nothing of one time is left for the next.
#[test]
fn faults_do_not_add_up() {
    let bench = Bench::new();
    let first = bench.story("panic_payload", 1, Policy::default());
    for _ in 0..50 {
        bench.story("panic_chunk_and_drop", 3, Policy::default());
    }
    assert_eq!(bench.story("panic_payload", 1, Policy::default()), first);
    assert!(first.contains("observer.rs"), "its own place: {first}");
}
