//! The observer: a tally for each choice and one for the stream, and the events that are made of them.

use seam_plugin_api::prelude::*;
use seam_plugin_api::serde_json::{self, Value, json};

use crate::tally::{Tally, TextKind};

/// The channel that every event goes out on.
pub const CHANNEL: &str = "metrics";

/// Nearly every answer has one choice; room for a few saves the chunk that brings another from an allocation.
const USUAL_CHOICES: usize = 4;

/// What the plugin counts in the daemon's metrics, once for each invocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meters {
    chunks: Counter,
    characters: Counter,
    /// In the order of [`TextKind::ALL`].
    characters_of_kind: [Counter; TextKind::ALL.len()],
    time_to_first_chunk: Histogram,
    mean_time_between_chunks: Histogram,
    longest_time_between_chunks: Histogram,
    characters_per_second: Histogram,
}

impl Meters {
    pub(crate) fn new(host: Host) -> Self {
        let names = ["content_characters", "reasoning_characters", "refusal_characters", "tool_argument_characters"];
        Self {
            chunks: host.counter("chunks"),
            characters: host.counter("characters"),
            characters_of_kind: names.map(|name| host.counter(name)),
            time_to_first_chunk: host.histogram("time_to_first_chunk_seconds"),
            mean_time_between_chunks: host.histogram("mean_time_between_chunks_seconds"),
            longest_time_between_chunks: host.histogram("longest_time_between_chunks_seconds"),
            characters_per_second: host.histogram("characters_per_second"),
        }
    }

    fn record(&self, stream: &Tally) {
        self.chunks.add(stream.chunks());
        self.characters.add(stream.all_characters());
        for (counter, kind) in self.characters_of_kind.iter().zip(TextKind::ALL) {
            counter.add(stream.characters(kind));
        }
        let samples = [
            (self.time_to_first_chunk, stream.time_to_first_chunk()),
            (self.mean_time_between_chunks, stream.mean_gap()),
            (self.longest_time_between_chunks, stream.longest_gap()),
            (self.characters_per_second, stream.characters_per_second()),
        ];
        for (histogram, sample) in samples {
            if let Some(sample) = sample {
                histogram.record(sample);
            }
        }
    }
}

/// Measures the stream of one invocation.
pub struct StreamMeter {
    every: Option<u64>,
    meters: Meters,
    choices: Vec<Choice>,
    stream: Tally,
}

struct Choice {
    number: u32,
    tally: Tally,
    /// Its finish came, with a reason or without.
    has_ended: bool,
    /// Its summary was emitted; there is one for each choice.
    is_summarised: bool,
}

impl StreamMeter {
    pub(crate) fn new(every: Option<u64>, meters: Meters) -> Self {
        Self { every, meters, choices: Vec::with_capacity(USUAL_CHOICES), stream: Tally::default() }
    }

    /// Counts a chunk with text; progress is due with every n-th.
    fn count(&mut self, kind: TextKind, chunk: &Chunk<'_>, arrival_nanos: u64) -> Verdict {
        let characters = chunk.text().chars().count() as u64;
        self.choice(chunk.choice()).tally.add(kind, characters, arrival_nanos);
        self.stream.add(kind, characters, arrival_nanos);
        if !self.every.is_some_and(|every| self.stream.chunks().is_multiple_of(every)) {
            return Verdict::Continue;
        }
        let mut payload = self.stream.counts();
        payload["elapsed_seconds"] = json!(arrival_nanos as f64 / 1e9);
        emit(vec![event("stream.progress", payload)])
    }

    /// The summary of the choice that ends here, and of those that ended before without a reason: the blocks of one answer
    /// end one by one, and the answer's reason comes at its end.
    fn summarise(&mut self, chunk: &Chunk<'_>) -> Verdict {
        self.choice(chunk.choice()).has_ended = true;
        if chunk.text().is_empty() {
            return Verdict::Continue;
        }
        let ended = self.choices.iter_mut().filter(|choice| choice.has_ended);
        emit(ended.filter_map(|choice| choice.summary("finished", Some(chunk.text()))).collect())
    }

    /// The summaries of every choice that has not come to its end: with an error none will.
    fn summarise_all(&mut self) -> Verdict {
        emit(self.choices.iter_mut().filter_map(|choice| choice.summary("error", None)).collect())
    }

    fn choice(&mut self, number: u32) -> &mut Choice {
        let known = self.choices.iter().position(|choice| choice.number == number);
        let at = known.unwrap_or_else(|| {
            self.choices.push(Choice { number, tally: Tally::default(), has_ended: false, is_summarised: false });
            self.choices.len() - 1
        });
        &mut self.choices[at]
    }
}

impl Choice {
    fn summary(&mut self, outcome: &str, finish_reason: Option<&str>) -> Option<Event> {
        if std::mem::replace(&mut self.is_summarised, true) {
            return None;
        }
        let mut payload = self.tally.summary();
        payload["choice"] = json!(self.number);
        payload["outcome"] = json!(outcome);
        payload["finish_reason"] = json!(finish_reason);
        Some(event("stream.summary", payload))
    }
}

impl StreamObserver for StreamMeter {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Verdict {
        match (TextKind::of(chunk.kind()), chunk.kind()) {
            (Some(kind), _) => self.count(kind, chunk, context.arrival_nanos()),
            (None, ChunkKind::Finish) => self.summarise(chunk),
            (None, ChunkKind::Error) => self.summarise_all(),
            (None, ChunkKind::Usage) => emit(usage(chunk).into_iter().collect()),
            _ => Verdict::Continue,
        }
    }

    fn on_end_invocation(&mut self, _: &InvocationResult<'_>) {
        self.meters.record(&self.stream);
    }
}

/// The provider's counts as they are.
fn usage(chunk: &Chunk<'_>) -> Option<Event> {
    let payload = serde_json::from_str::<Value>(chunk.payload()?).ok()?;
    Some(event("stream.usage", payload))
}

fn event(kind: &str, payload: Value) -> Event {
    Event::new(CHANNEL, kind, payload)
}

fn emit(events: Vec<Event>) -> Verdict {
    if events.is_empty() { Verdict::Continue } else { Verdict::Emit(events) }
}
