//! Runs a case through the ladder and writes down what happens.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use seam_ladder::{Amended, Envelope, FaultReport, Flow, Ladder, Observer, Pulse, Rung, Sink, Strip};
use seam_plugin_api::abi::{Answer, BodyView, EventView, Fault, Invocation, ReleasedView};
use seam_plugin_api::{CallClass, Chunk, Context, InvocationResult, Outcome};

use crate::script::{Body, CHOICES, Case, Happening, Player, Reply, Sentinel, Shown, Summary, Told, arrival};

type Record = Rc<RefCell<Vec<Happening>>>;

/// A player as the ladder drives it.
struct Recorded {
    rung: usize,
    player: Player,
    reply: Reply,
    pulse: Arc<Pulse>,
    record: Record,
}

impl Observer for Recorded {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Answer<'_> {
        let beat = self.pulse.beat();
        assert_eq!((beat.rung(), beat.seq()), (Some(self.rung), chunk.seq()), "the pulse shows the call");
        assert_eq!(context.value("model"), Some(seam_plugin_api::Value::Text("m-1")));
        let shown = Shown {
            rung: self.rung,
            seq: chunk.seq(),
            choice: chunk.choice(),
            body: body(chunk),
            seen: context.seen(),
            held_chunks: context.held_chunks(),
            held_length: context.held_length(),
            delivered: context.delivered().to_owned(),
            delivered_length: context.delivered_length(),
            arrival: context.arrival_nanos(),
            signed: context.is_signed(),
        };
        self.record.borrow_mut().push(Happening::Shown(shown.clone()));
        self.reply = self.player.answer(&shown);
        self.reply.answer()
    }

    fn on_end_invocation(&mut self, result: &InvocationResult<'_>) -> Result<(), Fault> {
        let told = Told {
            outcome: result.outcome(),
            chunks_in: result.chunks_in(),
            chunks_out: result.chunks_out(),
            delivered_length: result.delivered_length(),
            usage: result.usage().map(str::to_owned),
            stop: result.stop().map(|stop| {
                let rung = number(stop.observer_id());
                (stop.reason().to_owned(), rung, stop.chunk_index, stop.accumulated_content_length, stop.seq)
            }),
        };
        self.record.borrow_mut().push(Happening::Told { rung: self.rung, told });
        Ok(())
    }
}

impl Reply {
    fn answer(&self) -> Answer<'_> {
        match self {
            Self::Continue => Answer::Continue,
            Self::Amend(body) => Answer::Amend(body.view()),
            Self::Emit(channels) => {
                let events = channels.iter().map(|channel| EventView { channel, kind: "k", payload: r#"{"v":1}"# });
                Answer::Emit(events.collect())
            }
            Self::Stop(reason, chunk_index, accumulated) => {
                Answer::Stop { reason, chunk_index: *chunk_index, accumulated_content_length: *accumulated }
            }
            Self::Buffer => Answer::Buffer,
            Self::Release(chunks, strip) => {
                let released =
                    chunks.iter().map(|(seq, body)| ReleasedView { seq: *seq, amended: body.as_ref().map(Body::view) });
                Answer::Release { chunks: released.collect(), strip_accumulated: *strip }
            }
            Self::Fault(kind) => Answer::Fault(Fault::new(*kind, "played")),
        }
    }
}

impl Body {
    fn view(&self) -> BodyView<'_> {
        BodyView { kind: self.kind, text: &self.text, payload: self.payload.as_deref() }
    }
}

fn body(chunk: &Chunk<'_>) -> Body {
    Body { kind: chunk.kind(), text: chunk.text().to_owned(), payload: chunk.payload().map(str::to_owned) }
}

/// The rung that an observer id of a case names.
fn number(observer_id: &str) -> usize {
    observer_id.strip_prefix("o-").unwrap().parse().unwrap()
}

/// A sink that writes down what comes, and which `seq` came out or was discarded, in order.
struct Writer {
    record: Record,
    discards: Vec<u64>,
    settled: Vec<u64>,
}

impl Writer {
    fn write(&self, happening: Happening) {
        self.record.borrow_mut().push(happening);
    }
}

impl Sink for Writer {
    fn pass(&mut self, chunk: &Chunk<'_>) {
        self.settled.push(chunk.seq());
        self.write(Happening::Pass { seq: chunk.seq(), choice: chunk.choice(), body: body(chunk) });
    }

    fn amended(&mut self, amended: &Amended<'_>) {
        self.settled.push(amended.seq);
        let BodyView { kind, text, payload } = amended.body;
        let body = Body { kind, text: text.to_owned(), payload: payload.map(str::to_owned) };
        let Amended { seq, choice, original, .. } = *amended;
        self.write(Happening::Amended { seq, choice, original, body });
    }

    fn discard(&mut self, seq: u64) {
        self.settled.push(seq);
        self.discards.push(seq);
    }

    fn envelope(&mut self, envelope: &Envelope<'_>) {
        assert_eq!(envelope.plugin, "p");
        self.write(Happening::Envelope {
            channel: envelope.channel.to_owned(),
            kind: envelope.kind.to_owned(),
            payload: envelope.payload.to_owned(),
            rung: number(envelope.observer_id),
            seq: envelope.seq,
            ordinal: envelope.ordinal,
        });
    }

    fn strip(&mut self, strip: &Strip<'_>) {
        let Strip { choice, cleared, seq, .. } = *strip;
        self.write(Happening::Strip { choice, cleared, rung: number(strip.observer_id), seq });
    }

    fn fault(&mut self, report: &FaultReport<'_>) {
        let rung = number(report.observer_id);
        self.write(Happening::Fault { rung, seq: report.seq, kind: report.fault.kind, action: report.action });
    }
}

fn invocation() -> Arc<Invocation> {
    Arc::new(Invocation { model: "m-1".to_owned(), ..Invocation::new(CallClass::Synthesize) })
}

fn ladder(case: &Case, pulse: &Arc<Pulse>, record: &Record) -> Ladder<Recorded> {
    let rung = |(rung, scripted): (usize, &crate::script::Scripted)| Rung {
        observer: Recorded {
            rung,
            player: Player::new(scripted.moves.clone()),
            reply: Reply::Continue,
            pulse: Arc::clone(pulse),
            record: Rc::clone(record),
        },
        observer_id: format!("o-{rung}").into(),
        plugin: "p".into(),
        policy: scripted.policy,
    };
    Ladder::new(case.rungs.iter().enumerate().map(rung).collect(), invocation(), Arc::clone(pulse))
}

/// What the ladder does with a case.
pub(crate) fn run(case: &Case) -> Summary {
    let (pulse, record) = (Arc::new(Pulse::default()), Record::default());
    let mut ladder = ladder(case, &pulse, &record);
    let mut sink = Writer { record: Rc::clone(&record), discards: Vec::new(), settled: Vec::new() };
    for (seq, sent) in (0..).zip(&case.chunks) {
        let Body { kind, text, payload } = &sent.body;
        let chunk = Chunk::new(seq, sent.choice, *kind, text, payload.as_deref());
        let flow = if sent.signed {
            ladder.push_signed(&chunk, arrival(seq), &mut sink)
        } else {
            ladder.push(&chunk, arrival(seq), &mut sink)
        };
        assert_eq!(pulse.current(), None, "nothing is called between chunks");
        assert_eq!(flow == Flow::Stopped, ladder.stop().is_some());
        if flow == Flow::Stopped {
            let before = record.borrow().len();
            assert_eq!(ladder.push(&chunk, 0, &mut sink), Flow::Stopped);
            assert_eq!(record.borrow().len(), before, "nothing is shown to anyone after a stop");
            break;
        }
    }
    if case.ends {
        ladder.end(&mut sink);
        ladder.end(&mut sink);
    }
    if case.ends || ladder.stop().is_some() {
        let every: Vec<u64> = (0..ladder.chunks_in()).collect();
        assert_eq!(sink.settled, every, "each chunk comes out or is discarded once, in ascending order");
        assert_eq!(ladder.chunks_in(), ladder.chunks_out() + ladder.discarded());
    }
    let summary = close(&mut ladder, sink.discards);
    drop(ladder);
    Summary { happenings: record.take(), ..summary }
}

fn close(ladder: &mut Ladder<Recorded>, discards: Vec<u64>) -> Summary {
    let outcome = ladder.stop().map_or(Outcome::Completed, seam_ladder::Stop::outcome);
    let reports = ladder.close(outcome);
    assert!(ladder.close(outcome).is_empty(), "a second close does nothing");
    let account = |report: &seam_ladder::RungReport| {
        let verdicts = report.verdicts.by_name().map(|(_, count)| count);
        let fault = report.fault.as_ref().map(|fault| fault.kind);
        let counted = verdicts.iter().sum::<u64>() + u64::from(fault.is_some());
        assert_eq!(counted, report.chunks_seen, "every chunk that was seen was answered by a verdict or a fault");
        (report.chunks_seen, verdicts, report.discarded_at_end, fault)
    };
    let sentinel = |stop: &seam_ladder::Stop| -> Sentinel {
        let rung = number(&stop.observer_id);
        let (index, accumulated) = (stop.chunk_index, stop.accumulated_content_length);
        (stop.reason.clone(), rung, index, accumulated, stop.seq, stop.delivered_length, stop.discarded, stop.by_fault)
    };
    Summary {
        happenings: Vec::new(),
        discards,
        sentinel: ladder.stop().map(sentinel),
        accounts: reports.iter().map(account).collect(),
        delivered: CHOICES.map(|choice| ladder.delivered(choice).to_owned()).collect(),
        chunks_in: ladder.chunks_in(),
        chunks_out: ladder.chunks_out(),
    }
}
