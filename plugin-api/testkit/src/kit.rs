//! Configures plugins and drives a ladder of their observers.

use std::fmt::Display;
use std::sync::{Arc, Mutex};

use seam_ladder::{Flow, Ladder, Policy, Pulse, Rung, Stop};
use seam_plugin_api::abi::{ConfigureError, Exported, Fault, Invocation, ObserverHandle, PluginHandle, PluginLibrary};
use seam_plugin_api::{CallClass, ChunkKind, ConfigFault, Host, Outcome, When};
use serde_json::Value;

use crate::chunk::ScriptedChunk;
use crate::cuts::cuts;
use crate::run::{ObserverFault, Recording, Run};
use crate::services::{LogLine, Recorder, lock};

/// How far apart the chunks of a run arrive: observers are told 0, then 1,000,000 nanoseconds, and so on.
const BETWEEN_CHUNKS_NANOS: u64 = 1_000_000;

/// One or more configured plugins and the invocation that their observers are made for. It can run any number of times;
/// each run makes fresh observers. Runs of one kit from several threads take turns.
pub struct Kit {
    plugins: Vec<Fitted>,
    invocation: Invocation,
    turn: Mutex<()>,
}

/// A configured plugin in a kit.
struct Fitted {
    name: Arc<str>,
    handle: PluginHandle,
    recorder: &'static Recorder,
    configure_log: Vec<LogLine>,
    policy: Policy,
}

/// Why a plugin was not configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KitError {
    /// Its table has these faults.
    Refused(Vec<ConfigFault>),
    /// It was at fault itself.
    Fault(Fault),
}

impl Display for KitError {
    /// Each fault of the table on a line of its own, as `key: what is wrong`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(faults) => {
                for (at, ConfigFault { path, message }) in faults.iter().enumerate() {
                    let (line, colon) = (if at == 0 { "" } else { "\n" }, if path.is_empty() { "" } else { ": " });
                    write!(f, "{line}{path}{colon}{message}")?;
                }
                Ok(())
            }
            Self::Fault(fault) => write!(f, "the plugin is at fault: {fault}"),
        }
    }
}

impl std::error::Error for KitError {}

impl Kit {
    /// A kit with one plugin, configured with a table: JSON text or a `serde_json::Value`. The policy is the daemon's
    /// default, the call class `synthesize`, the seed 0.
    ///
    /// # Errors
    /// The faults of the table, or a panic of the plugin.
    pub fn of<P: Exported>(table: impl Display) -> Result<Self, KitError> {
        Self { plugins: Vec::new(), invocation: invocation(), turn: Mutex::default() }.and::<P>(table)
    }

    /// The kit with one more plugin, whose observers come after those of the ones before. It may be the same one with
    /// another table.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn and<P: Exported>(mut self, table: impl Display) -> Result<Self, KitError> {
        let recorder = Recorder::leaked();
        let handle = PluginLibrary::linked::<P>().configure(&table.to_string(), Host::of(recorder)).map_err(
            |error| match error {
                ConfigureError::Refused(faults) => KitError::Refused(faults),
                ConfigureError::Fault(fault) => KitError::Fault(fault),
            },
        )?;
        let configure_log = recorder.take_log();
        // A run counts its own.
        drop((recorder.take_counters(), recorder.take_histograms()));
        self.plugins.push(Fitted { name: P::NAME.into(), handle, recorder, configure_log, policy: Policy::default() });
        Ok(self)
    }

    /// The policy of the plugin that was added last.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        if let Some(plugin) = self.plugins.last_mut() {
            plugin.policy = policy;
        }
        self
    }

    /// The call class of the invocation. Observers that are registered for another one are not made.
    #[must_use]
    pub fn call_class(mut self, call_class: CallClass) -> Self {
        self.invocation.call_class = call_class;
        self
    }

    /// The model that factories are told.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.invocation.model = model.into();
        self
    }

    /// The provider and its family that factories are told.
    #[must_use]
    pub fn provider(mut self, provider: impl Into<String>, family: impl Into<String>) -> Self {
        self.invocation.provider = provider.into();
        self.invocation.family = family.into();
        self
    }

    /// The seed of the invocation.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.invocation.seed = seed;
        self
    }

    /// The ids of turn and invocation.
    #[must_use]
    pub fn ids(mut self, turn_id: impl Into<String>, invocation_id: impl Into<String>) -> Self {
        self.invocation.turn_id = turn_id.into();
        self.invocation.invocation_id = invocation_id.into();
        self
    }

    /// The request's system prompt.
    #[must_use]
    pub fn system_prompt(mut self, system_prompt: impl Into<String>) -> Self {
        self.invocation.system_prompt = system_prompt.into();
        self
    }

    /// The request's messages: a JSON array.
    #[must_use]
    pub fn messages(mut self, messages: &Value) -> Self {
        self.invocation.messages = messages.to_string();
        self
    }

    /// The names of the tools that the request offers.
    #[must_use]
    pub fn tools<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.invocation.tool_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// One more correlation value of the request.
    #[must_use]
    pub fn correlation(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.invocation.correlation.push((name.into(), value.into()));
        self
    }

    /// What the plugins logged while they were configured.
    pub fn configure_log(&self) -> impl Iterator<Item = &LogLine> {
        self.plugins.iter().flat_map(|plugin| &plugin.configure_log)
    }

    /// Runs a list of chunks as a whole stream; a text stands for a piece of the answer. Nothing is added: an observer
    /// that waits for the `finish` chunk is to be sent one.
    pub fn run<C: Into<ScriptedChunk>>(&self, chunks: impl IntoIterator<Item = C>) -> Run {
        self.drive(chunks.into_iter().map(Into::into).collect(), None)
    }

    /// Runs a list of chunks after which the invocation breaks off, as it does when the client goes away: what is held
    /// then goes nowhere, and observers are told this outcome.
    pub fn run_broken_off<C: Into<ScriptedChunk>>(&self, chunks: impl IntoIterator<Item = C>, outcome: Outcome) -> Run {
        self.drive(chunks.into_iter().map(Into::into).collect(), Some(outcome))
    }

    /// Runs a text as one answer, followed by a `finish` chunk.
    pub fn run_text(&self, text: &str) -> Run {
        self.run_pieces(&[text])
    }

    /// Runs a text as one answer in every way in which it is cut: whole, each character alone, in two pieces at each
    /// place (the ends included, which makes an empty piece), and 64 times in random pieces, the same ones each time. A
    /// `finish` chunk follows each time. `check` is given each run; [`Run::pieces`] says how it was cut.
    pub fn run_text_at_every_cut(&self, text: &str, mut check: impl FnMut(&Run)) {
        for pieces in cuts(text) {
            check(&self.run_pieces(&pieces));
        }
    }

    /// Asserts that a text comes out as `expected` in every way in which it is cut (see
    /// [`Self::run_text_at_every_cut`]), and that no observer is at fault.
    ///
    /// # Panics
    /// With the pieces, where that does not hold.
    #[track_caller]
    pub fn assert_same_at_every_cut(&self, text: &str, expected: &str) {
        self.run_text_at_every_cut(text, |run| {
            assert!(run.faults.is_empty(), "cut into {:?}, a fault: {:?}", run.pieces(), run.faults);
            assert_eq!(run.content(), expected, "what came out (left) of {:?}", run.pieces());
        });
    }

    fn run_pieces(&self, pieces: &[&str]) -> Run {
        let content = pieces.iter().map(|piece| ScriptedChunk::content(*piece));
        self.run(content.chain([ScriptedChunk::new(ChunkKind::Finish, "stop")]))
    }

    /// The run itself: to the end of the stream, or broken off before it.
    fn drive(&self, sent: Vec<ScriptedChunk>, broken_off: Option<Outcome>) -> Run {
        let _turn = lock(&self.turn);
        let mut recording = Recording::default();
        let rungs =
            self.plugins.iter().flat_map(|plugin| self.rungs_of(plugin, &mut recording.run)).collect::<Vec<_>>();
        recording.names = rungs.iter().map(|rung| (Arc::clone(&rung.plugin), Arc::clone(&rung.observer_id))).collect();
        let mut ladder = Ladder::new(rungs, Arc::new(self.invocation.clone()), Arc::new(Pulse::default()));
        for (seq, chunk) in (0..).zip(&sent) {
            let (view, arrival) = (chunk.view(seq), seq * BETWEEN_CHUNKS_NANOS);
            let flow = if chunk.signed {
                ladder.push_signed(&view, arrival, &mut recording)
            } else {
                ladder.push(&view, arrival, &mut recording)
            };
            if flow == Flow::Stopped {
                break;
            }
        }
        if broken_off.is_none() {
            ladder.end(&mut recording);
        }
        let outcome = ladder.stop().map_or_else(|| broken_off.unwrap_or(Outcome::Completed), Stop::outcome);
        recording.run.reports = ladder.close(outcome);
        recording.run.stop = ladder.stop().cloned();
        recording.run.delivered =
            sent.iter().map(|chunk| (chunk.choice, ladder.delivered(chunk.choice).to_owned())).collect();
        recording.run.sent = sent;
        self.collect(recording.run)
    }

    /// Makes a plugin's observers for the invocation. A factory that panics leaves its observer out.
    fn rungs_of(&self, plugin: &Fitted, run: &mut Run) -> Vec<Rung<ObserverHandle>> {
        let mut rungs = Vec::new();
        for (index, registration) in plugin.handle.registrations().iter().enumerate() {
            let own = When::CallClass(self.invocation.call_class);
            if registration.when != When::Any && registration.when != own {
                continue;
            }
            match plugin.handle.make_observer(index, &self.invocation, Host::of(plugin.recorder)) {
                Ok(observer) => rungs.push(Rung {
                    observer,
                    observer_id: registration.observer_id.as_str().into(),
                    plugin: Arc::clone(&plugin.name),
                    policy: plugin.policy,
                }),
                Err(fault) => run.faults.push(ObserverFault {
                    plugin: plugin.name.to_string(),
                    observer_id: registration.observer_id.clone(),
                    seq: None,
                    fault,
                    action: plugin.policy.on_fault,
                }),
            }
        }
        rungs
    }

    /// Adds what the services and the accounts know.
    fn collect(&self, mut run: Run) -> Run {
        for report in &run.reports {
            let policy = self.plugins.iter().find(|plugin| plugin.name == report.plugin).map(|plugin| plugin.policy);
            run.faults.extend(report.end_fault.clone().map(|fault| ObserverFault {
                plugin: report.plugin.to_string(),
                observer_id: report.observer_id.to_string(),
                seq: None,
                fault,
                action: policy.unwrap_or_default().on_fault,
            }));
        }
        for plugin in &self.plugins {
            run.log.extend(plugin.recorder.take_log());
            for (name, count) in plugin.recorder.take_counters() {
                *run.counters.entry(name).or_default() += count;
            }
            for (name, samples) in plugin.recorder.take_histograms() {
                run.histograms.entry(name).or_default().extend(samples);
            }
        }
        run
    }
}

impl std::fmt::Debug for Kit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.plugins.iter().map(|plugin| &*plugin.name).collect();
        f.debug_struct("Kit").field("plugins", &names).field("invocation", &self.invocation).finish_non_exhaustive()
    }
}

/// An invocation that says so where a test says nothing.
fn invocation() -> Invocation {
    Invocation {
        turn_id: "turn-1".to_owned(),
        invocation_id: "invocation-1".to_owned(),
        model: "test-model".to_owned(),
        provider: "test".to_owned(),
        family: "openai".to_owned(),
        messages: "[]".to_owned(),
        ..Invocation::new(CallClass::Synthesize)
    }
}
