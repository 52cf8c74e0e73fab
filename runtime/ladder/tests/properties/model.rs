//! A second ladder, written from the contract and as simple as possible: owned values, lists that are searched and
//! copied, recursion, everything worked out anew each time. It shares no code with the ladder.

use std::collections::BTreeMap;

use seam_ladder::{OnEndHeld, OnFault, Policy};
use seam_plugin_api::abi::FaultKind;
use seam_plugin_api::{ChunkKind, Outcome};

use crate::script::{Account, Body, CHOICES, Case, Happening, Player, Reply, Sentinel, Shown, Summary, Told, arrival};

#[derive(Clone)]
struct Item {
    seq: u64,
    choice: u32,
    original: ChunkKind,
    body: Body,
    changed: bool,
    signed: bool,
    held: bool,
}

struct Place {
    player: Player,
    policy: Policy,
    queue: Vec<Item>,
    seen: u64,
    fault: Option<FaultKind>,
    verdicts: [u64; 6],
    dropped: u64,
}

#[derive(Default)]
struct Model {
    places: Vec<Place>,
    happenings: Vec<Happening>,
    delivered: BTreeMap<u32, Vec<char>>,
    sent: u64,
    out: u64,
    envelopes: u64,
    usage: Option<String>,
    lost: Vec<u64>,
    /// The last stop. Observers up to its rung see nothing any more.
    stop: Option<Sentinel>,
}

/// What the model says of a case.
pub(crate) fn run(case: &Case) -> Summary {
    let mut model = Model::default();
    for rung in &case.rungs {
        model.places.push(Place {
            player: Player::new(rung.moves.clone()),
            policy: rung.policy,
            queue: Vec::new(),
            seen: 0,
            fault: None,
            verdicts: [0; 6],
            dropped: 0,
        });
    }
    for (seq, sent) in case.chunks.iter().enumerate() {
        model.sent += 1;
        if sent.body.kind == ChunkKind::Usage && sent.body.payload.is_some() {
            model.usage.clone_from(&sent.body.payload);
        }
        let (seq, choice, body, signed) = (seq as u64, sent.choice, sent.body.clone(), sent.signed);
        model.offer(0, Item { seq, choice, original: body.kind, body, changed: false, signed, held: false });
        if model.stop.is_some() {
            break;
        }
    }
    if case.ends || model.stop.is_some() {
        model.end_stream();
    }
    model.end_invocation();
    model.summary()
}

impl Model {
    fn is_cut_off(&self, rung: usize) -> bool {
        self.stop.as_ref().is_some_and(|stop| rung <= stop.1)
    }

    /// A chunk reaches a rung, or comes out behind the last one.
    fn offer(&mut self, rung: usize, item: Item) {
        if rung == self.places.len() {
            self.come_out(item);
        } else if self.places[rung].fault.is_some() {
            self.offer(rung + 1, item);
        } else {
            let reply = self.ask(rung, &item);
            self.apply(rung, item, reply);
            self.let_settled_go_on(rung);
        }
    }

    fn let_settled_go_on(&mut self, rung: usize) {
        while self.places[rung].queue.first().is_some_and(|first| !first.held) {
            let first = self.places[rung].queue.remove(0);
            self.offer(rung + 1, first);
        }
    }

    fn come_out(&mut self, item: Item) {
        self.out += 1;
        let Item { seq, choice, original, body, changed, .. } = item;
        if body.kind == ChunkKind::ContentDelta {
            self.delivered.entry(choice).or_default().extend(body.text.chars());
        }
        self.happenings.push(if changed {
            Happening::Amended { seq, choice, original, body }
        } else {
            Happening::Pass { seq, choice, body }
        });
    }

    fn text(&self, choice: u32) -> String {
        self.delivered.get(&choice).into_iter().flatten().collect()
    }

    fn ask(&mut self, rung: usize, item: &Item) -> Reply {
        let delivered = self.text(item.choice);
        let place = &mut self.places[rung];
        place.seen += 1;
        let held: Vec<&Item> = place.queue.iter().filter(|waiting| waiting.held).collect();
        let shown = Shown {
            rung,
            seq: item.seq,
            choice: item.choice,
            body: item.body.clone(),
            seen: place.seen,
            held_chunks: held.len() as u64,
            held_length: held.iter().map(|item| characters(item)).sum(),
            delivered_length: delivered.chars().count() as u64,
            delivered,
            arrival: arrival(item.seq),
            signed: item.signed,
        };
        self.happenings.push(Happening::Shown(shown.clone()));
        place.player.answer(&shown)
    }

    fn apply(&mut self, rung: usize, item: Item, reply: Reply) {
        if let Reply::Stop(reason, chunk_index, accumulated) = reply {
            self.places[rung].verdicts[3] += 1;
            self.stop_at(rung, item, reason, (chunk_index, accumulated), false);
            return;
        }
        match self.judge(rung, &item, &reply) {
            Err(kind) => self.fail(rung, item, kind),
            Ok(queue) => {
                self.places[rung].queue = queue;
                self.publish(rung, &item, reply);
            }
        }
    }

    /// The queue as the reply leaves it, or what kind of fault the reply is.
    fn judge(&self, rung: usize, item: &Item, reply: &Reply) -> Result<Vec<Item>, FaultKind> {
        let mut queue = self.places[rung].queue.clone();
        queue.push(item.clone());
        let last = queue.len() - 1;
        match reply {
            Reply::Continue | Reply::Stop(..) => {}
            Reply::Amend(body) => change(&mut queue[last], body)?,
            Reply::Emit(channels) => {
                if channels.iter().any(|channel| channel != "metrics") {
                    return Err(FaultKind::Violation);
                }
            }
            Reply::Buffer => queue[last].held = true,
            Reply::Release(named, strip) => {
                queue[last].held = true;
                if strip.unwrap_or(0) > self.text(item.choice).chars().count() as u64 {
                    return Err(FaultKind::Violation);
                }
                release(&mut queue, named)?;
            }
            Reply::Fault(kind) => return Err(*kind),
        }
        let rest: Vec<&Item> = queue.iter().skip_while(|waiting| !waiting.held).collect();
        let hold = self.places[rung].policy.hold;
        let payload = |item: &&Item| item.body.payload.iter().flat_map(|payload| payload.chars()).count() as u64;
        let text: u64 = rest.iter().map(|item| characters(item) + payload(item)).sum();
        let over = rest.len() > 1 && text > hold.text;
        if rest.len() as u64 > hold.chunks || over {
            // A queue that was over its bound before this chunk came was one long chunk, or at fault then.
            return Err(FaultKind::HoldOverBound);
        }
        Ok(queue)
    }

    /// What an accepted reply does beside the queue.
    fn publish(&mut self, rung: usize, item: &Item, reply: Reply) {
        let (seq, choice) = (item.seq, item.choice);
        let verdict = match reply {
            Reply::Continue => 0,
            Reply::Amend(_) => 1,
            Reply::Emit(channels) => {
                for channel in channels {
                    self.envelope(rung, seq, channel, "k", r#"{"v":1}"#.to_owned());
                }
                2
            }
            Reply::Buffer => 4,
            Reply::Release(_, strip) => {
                let cleared = strip.unwrap_or(0);
                if cleared > 0 {
                    for _ in 0..cleared {
                        self.delivered.get_mut(&choice).unwrap().pop();
                    }
                    self.happenings.push(Happening::Strip { choice, cleared, rung, seq });
                    let payload = format!("{{\"choice\":{choice},\"clearedDeltaLength\":{cleared}}}");
                    self.envelope(rung, seq, "seam".to_owned(), "content.reset", payload);
                }
                5
            }
            Reply::Stop(..) | Reply::Fault(_) => unreachable!("handled before"),
        };
        self.places[rung].verdicts[verdict] += 1;
    }

    fn envelope(&mut self, rung: usize, seq: u64, channel: String, kind: &str, payload: String) {
        let ordinal = self.envelopes;
        self.envelopes += 1;
        self.happenings.push(Happening::Envelope { channel, kind: kind.to_owned(), payload, rung, seq, ordinal });
    }

    fn fail(&mut self, rung: usize, item: Item, kind: FaultKind) {
        let action = self.places[rung].policy.on_fault;
        self.happenings.push(Happening::Fault { rung, seq: item.seq, kind, action });
        self.places[rung].fault = Some(kind);
        match action {
            OnFault::Skip => {
                self.places[rung].queue.push(item);
                for waiting in &mut self.places[rung].queue {
                    waiting.held = false;
                }
            }
            OnFault::Stop => {
                let numbers = (self.places[rung].seen, self.text(item.choice).chars().count() as u64);
                self.stop_at(rung, item, "observer_fault".to_owned(), numbers, true);
            }
        }
    }

    /// The stream ends in front of the chunk: it, and what waits here and before here, is lost.
    fn stop_at(&mut self, rung: usize, item: Item, reason: String, numbers: (u64, u64), by_fault: bool) {
        self.stop = Some((reason, rung, numbers.0, numbers.1, item.seq, 0, 0, by_fault));
        self.lost.push(item.seq);
        for place in &mut self.places[..=rung] {
            self.lost.extend(place.queue.drain(..).map(|waiting| waiting.seq));
        }
    }

    /// Each observer that is not cut off, in order: what it holds goes on, or is dropped.
    fn end_stream(&mut self) {
        for rung in 0..self.places.len() {
            if self.is_cut_off(rung) {
                continue;
            }
            let place = &mut self.places[rung];
            if place.policy.on_end_held == OnEndHeld::Discard {
                let (dropped, stays): (Vec<Item>, Vec<Item>) = place.queue.drain(..).partition(|waiting| waiting.held);
                place.dropped += dropped.len() as u64;
                place.queue = stays;
                self.lost.extend(dropped.iter().map(|waiting| waiting.seq));
            }
            for waiting in &mut self.places[rung].queue {
                waiting.held = false;
            }
            self.let_settled_go_on(rung);
        }
        let (total, lost) = (self.total(), self.lost.len() as u64);
        if let Some(stop) = &mut self.stop {
            (stop.5, stop.6) = (total, lost);
        }
    }

    fn total(&self) -> u64 {
        self.delivered.values().map(|text| text.len() as u64).sum()
    }

    fn end_invocation(&mut self) {
        let told = Told {
            outcome: match &self.stop {
                None => Outcome::Completed,
                Some(stop) if stop.7 => Outcome::ObserverFault,
                Some(_) => Outcome::Stopped,
            },
            chunks_in: self.sent,
            chunks_out: self.out,
            delivered_length: self.total(),
            usage: self.usage.clone(),
            stop: self.stop.as_ref().map(|stop| (stop.0.clone(), stop.1, stop.2, stop.3, stop.4)),
        };
        for rung in 0..self.places.len() {
            if self.places[rung].fault != Some(FaultKind::Panic) {
                self.happenings.push(Happening::Told { rung, told: told.clone() });
            }
        }
    }

    fn summary(mut self) -> Summary {
        self.lost.sort_unstable();
        let account = |place: &Place| -> Account { (place.seen, place.verdicts, place.dropped, place.fault) };
        Summary {
            delivered: CHOICES.map(|choice| self.text(choice)).collect(),
            accounts: self.places.iter().map(account).collect(),
            happenings: self.happenings,
            discards: self.lost,
            sentinel: self.stop,
            chunks_in: self.sent,
            chunks_out: self.out,
        }
    }
}

fn characters(item: &Item) -> u64 {
    item.body.text.chars().count() as u64
}

fn change(item: &mut Item, body: &Body) -> Result<(), FaultKind> {
    if item.signed && item.body != *body {
        return Err(FaultKind::Violation);
    }
    item.body = body.clone();
    item.changed = true;
    Ok(())
}

/// Settles what a release names; the last item of the queue is the current chunk.
fn release(queue: &mut [Item], named: &[(u64, Option<Body>)]) -> Result<(), FaultKind> {
    let held: Vec<usize> = (0..queue.len()).filter(|at| queue[*at].held).collect();
    if named.len() > held.len() {
        return Err(FaultKind::Violation);
    }
    if named.is_empty() {
        for item in queue {
            item.held = false;
        }
        return Ok(());
    }
    for (at, (seq, body)) in held.into_iter().zip(named) {
        if queue[at].seq != *seq {
            return Err(FaultKind::Violation);
        }
        queue[at].held = false;
        if let Some(body) = body {
            change(&mut queue[at], body)?;
        }
    }
    Ok(())
}
