//! What came of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use seam_ladder::{Amended, Envelope, FaultReport, OnFault, RungReport, Sink, Stop, Strip};
use seam_plugin_api::abi::{Answer, BodyView, EventView, Fault, ReleasedView};
use seam_plugin_api::{Chunk, ChunkKind, Event, NewChunk, Release, Released, Verdict};
use serde_json::Value;

use crate::chunk::ScriptedChunk;
use crate::services::LogLine;

/// Everything that came of a run.
#[derive(Debug, Default)]
pub struct Run {
    /// What was sent in.
    pub sent: Vec<ScriptedChunk>,
    /// What came out, in order.
    pub out: Vec<OutChunk>,
    /// The chunks that were discarded, by number.
    pub discarded: Vec<u64>,
    /// Each answer of each observer, in the order in which they were asked.
    pub verdicts: Vec<Answered>,
    /// What was published, in order; with the seam's own `content.reset` on channel `seam`.
    pub envelopes: Vec<SentEnvelope>,
    /// The stop, if one ended the stream.
    pub stop: Option<Stop>,
    /// Faults, in order: of factories, in the stream, at the end.
    pub faults: Vec<ObserverFault>,
    /// What the plugins logged.
    pub log: Vec<LogLine>,
    /// What they counted, by name.
    pub counters: BTreeMap<String, u64>,
    /// What they recorded, by name.
    pub histograms: BTreeMap<String, Vec<f64>>,
    /// The observers' accounts, in the order of the ladder.
    pub reports: Vec<RungReport>,
    pub(crate) delivered: BTreeMap<u32, String>,
}

/// A chunk that came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutChunk {
    /// Its number.
    pub seq: u64,
    /// Its choice.
    pub choice: u32,
    /// What it carries now.
    pub kind: ChunkKind,
    /// Its text.
    pub text: String,
    /// Its JSON, if it has any.
    pub payload: Option<String>,
    /// Whether an observer replaced it.
    pub amended: bool,
}

/// An observer's answer to one chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The observer's plugin.
    pub plugin: Arc<str>,
    /// The observer.
    pub observer_id: Arc<str>,
    /// The chunk.
    pub seq: u64,
    /// The verdict as it was answered, or the fault in its place. One that breaks the contract is a verdict here and a
    /// fault in [`Run::faults`].
    pub verdict: Result<Verdict, Fault>,
}

/// An envelope that was published.
#[derive(Clone, Debug, PartialEq)]
pub struct SentEnvelope {
    /// Its channel.
    pub channel: String,
    /// The author's word for the event.
    pub kind: String,
    /// What it says.
    pub payload: Value,
    /// The observer.
    pub observer_id: String,
    /// The observer's plugin.
    pub plugin: String,
    /// The chunk that was answered.
    pub seq: u64,
    /// Its number within the run, from 0.
    pub ordinal: u64,
}

/// A fault of an observer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObserverFault {
    /// The observer's plugin.
    pub plugin: String,
    /// The observer.
    pub observer_id: String,
    /// The chunk; `None` for a fault of the factory, of `on_end_invocation` or of the observer's `Drop`.
    pub seq: Option<u64>,
    /// What happened.
    pub fault: Fault,
    /// What the policy makes of a fault in the stream.
    pub action: OnFault,
}

impl Run {
    /// The answer text delivered in choice 0, after strips.
    #[must_use]
    pub fn content(&self) -> &str {
        self.content_of(0)
    }

    /// The answer text delivered in a choice, after strips.
    #[must_use]
    pub fn content_of(&self, choice: u32) -> &str {
        self.delivered.get(&choice).map_or("", String::as_str)
    }

    /// The text of every chunk of a kind that came out, one after the other, in all choices. Strips take nothing from it:
    /// for the answer text see [`Self::content`].
    #[must_use]
    pub fn text_of(&self, kind: ChunkKind) -> String {
        self.out.iter().filter(|chunk| chunk.kind == kind).map(|chunk| chunk.text.as_str()).collect()
    }

    /// The verdicts of an observer, one for each chunk that it was shown; a fault ends the list.
    #[must_use]
    pub fn verdicts_of(&self, observer_id: &str) -> Vec<Verdict> {
        let own = self.verdicts.iter().filter(|answered| *answered.observer_id == *observer_id);
        own.filter_map(|answered| answered.verdict.clone().ok()).collect()
    }

    /// What an observer answered to a chunk, if it was shown it and was not at fault.
    #[must_use]
    pub fn verdict(&self, observer_id: &str, seq: u64) -> Option<&Verdict> {
        let is_it = |answered: &&Answered| *answered.observer_id == *observer_id && answered.seq == seq;
        self.verdicts.iter().find(is_it)?.verdict.as_ref().ok()
    }

    /// The envelopes on a channel.
    pub fn envelopes_on<'a>(&'a self, channel: &'a str) -> impl Iterator<Item = &'a SentEnvelope> {
        self.envelopes.iter().filter(move |envelope| envelope.channel == channel)
    }

    /// A counter's sum during the run; 0 for one that nobody asked for.
    #[must_use]
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or_default()
    }

    /// The texts that were sent in, for the message of an assertion about a cut.
    #[must_use]
    pub fn pieces(&self) -> Vec<&str> {
        self.sent.iter().filter(|chunk| chunk.kind != ChunkKind::Finish).map(|chunk| chunk.text.as_str()).collect()
    }
}

/// Writes a run down while it happens.
#[derive(Default)]
pub(crate) struct Recording {
    pub(crate) run: Run,
    /// Plugin and observer of each rung.
    pub(crate) names: Vec<(Arc<str>, Arc<str>)>,
}

impl Sink for Recording {
    fn pass(&mut self, chunk: &Chunk<'_>) {
        self.run.out.push(OutChunk {
            seq: chunk.seq(),
            choice: chunk.choice(),
            kind: chunk.kind(),
            text: chunk.text().to_owned(),
            payload: chunk.payload().map(str::to_owned),
            amended: false,
        });
    }

    fn amended(&mut self, amended: &Amended<'_>) {
        let NewChunk { kind, text, payload } = new_chunk(&amended.body);
        self.run.out.push(OutChunk { seq: amended.seq, choice: amended.choice, kind, text, payload, amended: true });
    }

    fn discard(&mut self, seq: u64) {
        self.run.discarded.push(seq);
    }

    fn envelope(&mut self, envelope: &Envelope<'_>) {
        self.run.envelopes.push(SentEnvelope {
            channel: envelope.channel.to_owned(),
            kind: envelope.kind.to_owned(),
            payload: json(envelope.payload),
            observer_id: envelope.observer_id.to_owned(),
            plugin: envelope.plugin.to_owned(),
            seq: envelope.seq,
            ordinal: envelope.ordinal,
        });
    }

    /// Said by the seam's own envelope, which follows.
    fn strip(&mut self, _: &Strip<'_>) {}

    fn fault(&mut self, report: &FaultReport<'_>) {
        self.run.faults.push(ObserverFault {
            plugin: report.plugin.to_owned(),
            observer_id: report.observer_id.to_owned(),
            seq: Some(report.seq),
            fault: report.fault.clone(),
            action: report.action,
        });
    }

    fn verdict(&mut self, rung: usize, chunk: &Chunk<'_>, answer: &Answer<'_>) {
        let Some((plugin, observer_id)) = self.names.get(rung).cloned() else { return };
        self.run.verdicts.push(Answered { plugin, observer_id, seq: chunk.seq(), verdict: verdict(answer) });
    }
}

/// An answer as the author wrote it.
fn verdict(answer: &Answer<'_>) -> Result<Verdict, Fault> {
    Ok(match answer {
        Answer::Continue => Verdict::Continue,
        Answer::Amend(body) => Verdict::Amend(new_chunk(body)),
        Answer::Emit(events) => Verdict::Emit(events.iter().map(event).collect()),
        Answer::Stop { reason, chunk_index, accumulated_content_length } => Verdict::Stop(seam_plugin_api::Stop {
            reason: (*reason).to_owned(),
            chunk_index: *chunk_index,
            accumulated_content_length: *accumulated_content_length,
        }),
        Answer::Buffer => Verdict::Buffer,
        Answer::Release { chunks, strip_accumulated } => Verdict::Release(Release {
            chunks: chunks.iter().map(released).collect(),
            strip_accumulated: *strip_accumulated,
        }),
        Answer::Fault(fault) => return Err(fault.clone()),
    })
}

fn new_chunk(body: &BodyView<'_>) -> NewChunk {
    NewChunk { kind: body.kind, text: body.text.to_owned(), payload: body.payload.map(str::to_owned) }
}

fn released(view: &ReleasedView<'_>) -> Released {
    Released { seq: view.seq, amended: view.amended.as_ref().map(new_chunk) }
}

fn event(view: &EventView<'_>) -> Event {
    Event::new(view.channel, view.kind, json(view.payload))
}

/// What crosses the ABI as JSON was checked there.
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
