//! The kit shows an author everything that an observer can do and everything that can be done to it.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up has failed")]
#![expect(clippy::panic, reason = "an observer that panics is one of the things to show")]

use seam_plugin_api::prelude::*;
use seam_plugin_api::{Stop, abi::FaultKind};
use seam_plugin_testkit::{Kit, KitError, OnEndHeld, OnFault, Policy, ScriptedChunk};
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", deny_unknown_fields)]
#[schemars(crate = "seam_plugin_api::schemars")]
struct Config {
    /// What the observer does; see `Probe`.
    does: String,
    #[serde(default)]
    call_class: Option<String>,
}

/// A plugin whose observer does what its table says.
#[derive(Clone)]
struct Probe {
    does: String,
    when: When,
    host: Host,
}

impl Plugin for Probe {
    type Config = Config;

    fn configure(config: Config, host: Host) -> Result<Self, Vec<ConfigFault>> {
        host.log(Level::Info, &format!("configured to {}", config.does));
        host.counter("configured").add(1);
        let when = match config.call_class.as_deref().map(CallClass::from_name) {
            None => When::Any,
            Some(Some(class)) => When::CallClass(class),
            Some(None) => {
                return Err(vec![ConfigFault::new("call_class", "is unknown"), ConfigFault::new("", "is bad")]);
            }
        };
        assert_ne!(config.does, "panic in configure");
        Ok(Self { does: config.does, when, host })
    }

    fn registrations(&self) -> Vec<Registration> {
        let probe = self.clone();
        let make = move |context: &FactoryContext<'_>| {
            assert_ne!(probe.does, "panic in factory");
            context.host().log(Level::Debug, &described(context));
            probe.clone()
        };
        vec![Registration::new(self.when, "probe", make)]
    }
}

fn described(context: &FactoryContext<'_>) -> String {
    let tools: Vec<&str> = context.tool_names().collect();
    let correlation: Vec<_> = context.correlation().iter().map(|own| (own.name(), own.value())).collect();
    format!(
        "{} {} {} {} {} {} {} {} {tools:?} {correlation:?} {}",
        context.call_class(),
        context.turn_id(),
        context.invocation_id(),
        context.model(),
        context.provider(),
        context.family(),
        context.system_prompt(),
        context.messages(),
        context.seed()
    )
}

impl StreamObserver for Probe {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Verdict {
        self.host.counter("chunks").add(1);
        self.host.histogram("arrival").record(context.arrival_nanos() as f64);
        match self.does.as_str() {
            "shout" => Verdict::amend_text(chunk, chunk.text().to_uppercase()),
            "hold" => Verdict::Buffer,
            "stop" if chunk.text() == "stop" => context.stop("asked to"),
            "panic" => panic!("as told"),
            "take back" if chunk.text() == "oops" => {
                Verdict::Release(Release { strip_accumulated: Some(1), ..Release::all() })
            }
            "tell" => Verdict::Emit(vec![Event::new("told", "heard", json!({ "seq": chunk.seq() }))]),
            "miscount" => {
                self.host.counter("Not A Name").add(1);
                Verdict::Continue
            }
            _ => Verdict::Continue,
        }
    }

    fn on_end_invocation(&mut self, result: &InvocationResult<'_>) {
        self.host.log(Level::Info, &format!("{} after {}", result.outcome().as_str(), result.chunks_in()));
        assert_ne!(self.does, "panic at the end");
    }
}

seam_plugin_api::export_plugin!(Probe, "probe");

fn kit(does: &str) -> Kit {
    Kit::of::<Probe>(json!({ "does": does })).unwrap()
}

#[test]
fn a_run_shows_what_came_out_and_why() {
    let run = kit("shout").run([ScriptedChunk::reasoning("hm"), "ab".into(), ScriptedChunk::content("c").in_choice(1)]);
    assert_eq!((run.content(), run.content_of(1), run.content_of(2)), ("AB", "C", ""));
    assert_eq!(run.text_of(ChunkKind::ReasoningDelta), "HM");
    assert_eq!(run.verdict("probe", 1), Some(&Verdict::Amend(NewChunk::content("AB"))));
    assert_eq!(run.verdict("probe", 3), None);
    assert_eq!(run.reports[0].verdicts.amended, 3);
    assert_eq!(run.out.iter().map(|chunk| chunk.seq).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn chunks_of_every_kind_reach_the_observer_and_come_out_as_they_were() {
    let sent = [
        ScriptedChunk::content("a"),
        ScriptedChunk::refusal("b"),
        ScriptedChunk::tool_call(0, "call-1", "search", "{"),
        ScriptedChunk::tool_arguments(0, "}"),
        ScriptedChunk::annotation(&json!(["c"])),
        ScriptedChunk::usage(&json!({ "input_tokens": 1 })),
        ScriptedChunk::error("d", &json!({ "code": 1 })),
        ScriptedChunk::opaque(&json!(null)),
        ScriptedChunk::finish("stop"),
    ];
    let run = kit("nothing").run(sent.clone());
    let out: Vec<ScriptedChunk> = run
        .out
        .iter()
        .map(|chunk| ScriptedChunk {
            kind: chunk.kind,
            choice: chunk.choice,
            text: chunk.text.clone(),
            payload: chunk.payload.clone(),
            signed: false,
        })
        .collect();
    assert_eq!(out, sent);
    assert_eq!(run.sent, sent);
    assert_eq!(run.verdicts_of("probe"), vec![Verdict::Continue; 9]);
}

#[test]
fn a_stop_is_shown_with_what_was_discarded() {
    let run = kit("stop").run(["a", "stop", "never sent"]);
    let stop = run.stop.unwrap();
    assert_eq!((stop.reason.as_str(), stop.chunk_index, stop.seq, stop.discarded), ("asked to", 2, 1, 1));
    assert_eq!(run.discarded, [1]);
    let verdict = Stop { reason: "asked to".to_owned(), chunk_index: 2, accumulated_content_length: 1 };
    assert_eq!(run.verdicts.last().unwrap().verdict, Ok(Verdict::Stop(verdict)));
    assert!(run.log.iter().any(|line| line.message == "stopped after 2"));
}

#[test]
fn a_strip_is_shown_as_the_seams_own_envelope() {
    let run = kit("take back").run(["ab", "oops"]);
    assert_eq!(run.content(), "aoops");
    let seam: Vec<_> = run.envelopes_on("seam").collect();
    assert_eq!(seam.len(), 1);
    assert_eq!(
        (seam[0].kind.as_str(), &seam[0].payload),
        ("content.reset", &json!({ "choice": 0, "clearedDeltaLength": 1 }))
    );
}

#[test]
fn envelopes_are_shown_with_their_numbers() {
    let run = kit("tell").run(["a", "b"]);
    let told: Vec<_> = run.envelopes_on("told").map(|envelope| (envelope.ordinal, envelope.payload.clone())).collect();
    assert_eq!(told, [(0, json!({ "seq": 0 })), (1, json!({ "seq": 1 }))]);
}

#[test]
fn a_fault_is_shown_with_its_chunk_and_place() {
    let run = kit("panic").run(["a", "b"]);
    assert_eq!(run.content(), "ab");
    assert_eq!(run.faults.len(), 1);
    let fault = &run.faults[0];
    assert_eq!((fault.seq, fault.fault.kind, fault.action), (Some(0), FaultKind::Panic, OnFault::Skip));
    assert!(fault.fault.place.as_deref().unwrap().contains("kit.rs"));
    assert!(run.verdicts[0].verdict.is_err());
    assert!(run.verdicts_of("probe").is_empty());
}

#[test]
fn the_policy_decides_about_faults_and_held_chunks() {
    let strict = Policy { on_fault: OnFault::Stop, ..Policy::default() };
    let run = kit("panic").policy(strict).run(["a", "b"]);
    assert_eq!((run.content(), run.stop.as_ref().unwrap().reason.as_str()), ("", "observer_fault"));
    assert_eq!(kit("hold").run(["a", "b"]).content(), "ab");
    let discards = Policy { on_end_held: OnEndHeld::Discard, ..Policy::default() };
    let run = kit("hold").policy(discards).run(["a", "b"]);
    assert_eq!((run.content(), run.discarded.as_slice()), ("", [0, 1].as_slice()));
}

#[test]
fn faults_of_a_factory_and_of_the_end_belong_to_no_chunk() {
    let run = kit("panic in factory").run(["a"]);
    assert_eq!((run.content(), run.faults[0].seq, run.reports.len()), ("a", None, 0));
    let run = kit("panic at the end").run(["a"]);
    assert_eq!((run.content(), run.faults[0].seq), ("a", None));
    assert!(run.reports[0].fault.is_none() && run.reports[0].end_fault.is_some());
}

#[test]
fn a_broken_off_run_lets_nothing_held_out_and_tells_the_outcome() {
    let run = kit("hold").run_broken_off(["a"], Outcome::ClientGone);
    assert!(run.out.is_empty() && run.discarded.is_empty());
    assert_eq!(run.log.last().unwrap().message, "client_gone after 1");
}

#[test]
fn services_are_recorded_for_each_run_on_its_own() {
    let kit = kit("nothing");
    assert_eq!(kit.configure_log().next().unwrap().message, "configured to nothing");
    for _ in 0..2 {
        let run = kit.run(["a", "b"]);
        assert_eq!((run.counter("chunks"), run.counter("configured"), run.counter("other")), (2, 0, 0));
        assert_eq!(run.histograms["arrival"], [0.0, 1e6]);
        assert_eq!(run.log.len(), 2);
    }
}

#[test]
fn a_metric_of_another_form_is_dropped_and_logged() {
    let run = kit("miscount").run(["a"]);
    assert_eq!(run.counters.keys().collect::<Vec<_>>(), ["chunks", "configured"]);
    assert!(run.log.iter().any(|line| line.level == Level::Warn && line.message.starts_with(r#""Not A Name""#)));
}

#[test]
fn plugins_stand_in_the_order_in_which_they_were_added() {
    let kit = kit("stop").and::<Probe>(r#"{ "does": "shout" }"#).unwrap();
    let run = kit.run(["a", "stop"]);
    assert_eq!(run.content(), "A", "the first sees the text before the second shouts it");
    assert_eq!(run.counter("chunks"), 3);
    assert_eq!(run.reports.len(), 2);
}

#[test]
fn only_observers_of_the_call_class_are_made() {
    let table = json!({ "does": "shout", "call_class": "utility" });
    let kit = Kit::of::<Probe>(&table).unwrap();
    assert_eq!(kit.run(["a"]).content(), "a");
    assert_eq!(kit.call_class(CallClass::Utility).run(["a"]).content(), "A");
}

#[test]
fn the_factory_is_told_what_the_test_says() {
    let kit = kit("nothing")
        .call_class(CallClass::Converse)
        .model("m")
        .provider("p", "f")
        .seed(7)
        .ids("t", "i")
        .system_prompt("s")
        .messages(&json!([1]))
        .tools(["x", "y"])
        .correlation("tenant", "z");
    let run = kit.run(["a"]);
    assert_eq!(run.log[0].message, r#"converse t i m p f s [1] ["x", "y"] [("tenant", "z")] 7"#);
}

#[test]
fn a_bad_table_is_refused_with_every_fault() {
    let refused = Kit::of::<Probe>(json!({ "does": "x", "call_class": "other" })).unwrap_err();
    assert_eq!(refused.to_string(), "call_class: is unknown\nis bad");
    assert!(matches!(Kit::of::<Probe>("{}"), Err(KitError::Refused(faults)) if faults.len() == 1));
    let panics = Kit::of::<Probe>(json!({ "does": "panic in configure" })).unwrap_err();
    assert!(panics.to_string().starts_with("the plugin is at fault: panic: "), "{panics}");
}

#[test]
fn a_text_is_cut_everywhere() {
    let mut cuts = Vec::new();
    kit("nothing").run_text_at_every_cut("né🙂", |run| {
        assert_eq!(run.content(), "né🙂");
        assert_eq!(run.sent.last().unwrap().kind, ChunkKind::Finish);
        cuts.push(run.pieces().join("|"));
    });
    for expected in ["né🙂", "n|é🙂", "né|🙂", "n|é|🙂", "|né🙂", "né🙂|"] {
        assert!(cuts.iter().any(|cut| cut == expected), "{expected} is missing");
    }
    kit("shout").assert_same_at_every_cut("né", "NÉ");
}

#[test]
#[should_panic(expected = r#"what came out (left) of ["ab"]"#)]
fn another_output_fails_with_the_pieces() {
    kit("shout").assert_same_at_every_cut("ab", "ab");
}

#[test]
#[should_panic(expected = "a fault: ")]
fn a_fault_fails_whatever_came_out() {
    kit("panic").assert_same_at_every_cut("ab", "ab");
}
