//! Observers that play a script, and the record of everything that happens around them. Shared by the ladder's run and
//! the model's; it knows nothing of either.

use proptest::prelude::*;
use seam_ladder::{Hold, OnEndHeld, OnFault, Policy};
use seam_plugin_api::abi::FaultKind;
use seam_plugin_api::{ChunkKind, Outcome};

/// The replaceable part of a chunk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Body {
    pub(crate) kind: ChunkKind,
    pub(crate) text: String,
    pub(crate) payload: Option<String>,
}

/// A chunk as the provider sends it; its number is its place in the list.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) choice: u32,
    pub(crate) body: Body,
    /// Whether it may be amended to itself alone.
    pub(crate) signed: bool,
}

/// What one observer does with one chunk. How many characters or chunks it means is worked out when it is played.
#[derive(Clone, Debug)]
pub(crate) enum Move {
    Continue,
    Amend(Body),
    /// To what it is already.
    AmendToItself,
    Emit(Vec<String>),
    Stop,
    Buffer,
    ReleaseAll(Strip),
    ReleaseFirst {
        count: usize,
        amended: Vec<Option<Body>>,
        spoilt: Spoilt,
        strip: Strip,
    },
    Fault(FaultKind),
}

/// How much of the delivered text a release takes back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Strip {
    Nothing,
    Zero,
    Some(u64),
    Everything,
    TooMuch,
}

/// What is wrong with the names of a release.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spoilt {
    Nothing,
    WrongName,
    OutOfOrder,
    OneTooMany,
    SkipsFirst,
}

/// What an observer is shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown {
    pub(crate) rung: usize,
    pub(crate) seq: u64,
    pub(crate) choice: u32,
    pub(crate) body: Body,
    pub(crate) seen: u64,
    pub(crate) held_chunks: u64,
    pub(crate) held_length: u64,
    pub(crate) delivered: String,
    pub(crate) delivered_length: u64,
    pub(crate) arrival: u64,
    pub(crate) signed: bool,
}

/// An answer, owned.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Continue,
    Amend(Body),
    Emit(Vec<String>),
    Stop(String, u64, u64),
    Buffer,
    Release(Vec<(u64, Option<Body>)>, Option<u64>),
    Fault(FaultKind),
}

/// Everything that can happen, in the order in which it does. Discards are compared on their own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Happening {
    Shown(Shown),
    Pass { seq: u64, choice: u32, body: Body },
    Amended { seq: u64, choice: u32, original: ChunkKind, body: Body },
    Envelope { channel: String, kind: String, payload: String, rung: usize, seq: u64, ordinal: u64 },
    Strip { choice: u32, cleared: u64, rung: usize, seq: u64 },
    Fault { rung: usize, seq: u64, kind: FaultKind, action: OnFault },
    Told { rung: usize, told: Told },
}

/// How an observer is told the end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) outcome: Outcome,
    pub(crate) chunks_in: u64,
    pub(crate) chunks_out: u64,
    pub(crate) delivered_length: u64,
    pub(crate) usage: Option<String>,
    pub(crate) stop: Option<(String, usize, u64, u64, u64)>,
}

/// What is known of a stop: reason, rung, the observer's two numbers, seq, delivered length, discarded, by fault.
pub(crate) type Sentinel = (String, usize, u64, u64, u64, u64, u64, bool);

/// What is known of a rung at the end: seen, verdicts by kind, dropped at the end, fault.
pub(crate) type Account = (u64, [u64; 6], u64, Option<FaultKind>);

/// What a whole run comes to.
#[derive(Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) happenings: Vec<Happening>,
    pub(crate) discards: Vec<u64>,
    pub(crate) sentinel: Option<Sentinel>,
    pub(crate) accounts: Vec<Account>,
    pub(crate) delivered: Vec<String>,
    pub(crate) chunks_in: u64,
    pub(crate) chunks_out: u64,
}

/// One rung of a case.
#[derive(Clone, Debug)]
pub(crate) struct Scripted {
    pub(crate) moves: Vec<Move>,
    pub(crate) policy: Policy,
}

/// One case.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) rungs: Vec<Scripted>,
    pub(crate) chunks: Vec<Sent>,
    /// Whether the stream comes to its end before the invocation does.
    pub(crate) ends: bool,
}

/// The choices that chunks of a case have.
pub(crate) const CHOICES: std::ops::Range<u32> = 0..3;

/// When chunk `seq` arrived.
pub(crate) const fn arrival(seq: u64) -> u64 {
    1_000 + seq * 7
}

/// An observer that plays its moves, one for each chunk, and lets everything through when it has none left.
#[derive(Debug)]
pub(crate) struct Player {
    moves: std::vec::IntoIter<Move>,
    held: Vec<u64>,
}

impl Player {
    pub(crate) fn new(moves: Vec<Move>) -> Self {
        Self { moves: moves.into_iter(), held: Vec::new() }
    }

    pub(crate) fn answer(&mut self, shown: &Shown) -> Reply {
        match self.moves.next().unwrap_or(Move::Continue) {
            Move::Continue => Reply::Continue,
            Move::Amend(body) => Reply::Amend(body),
            Move::AmendToItself => Reply::Amend(shown.body.clone()),
            Move::Emit(channels) => Reply::Emit(channels),
            Move::Stop => Reply::Stop(format!("seen {}", shown.seen), shown.seen, shown.delivered_length + 100),
            Move::Buffer => {
                self.held.push(shown.seq);
                Reply::Buffer
            }
            Move::ReleaseAll(strip) => {
                self.held.clear();
                Reply::Release(Vec::new(), strip.amount(shown))
            }
            Move::ReleaseFirst { count, amended, spoilt, strip } => {
                self.held.push(shown.seq);
                let count = count.clamp(1, self.held.len());
                let bodies = amended.into_iter().chain(std::iter::repeat(None));
                let mut chunks: Vec<_> = self.held.drain(..count).zip(bodies).collect();
                spoilt.spoil(&mut chunks);
                Reply::Release(chunks, strip.amount(shown))
            }
            Move::Fault(kind) => Reply::Fault(kind),
        }
    }
}

impl Strip {
    fn amount(self, shown: &Shown) -> Option<u64> {
        match self {
            Self::Nothing => None,
            Self::Zero => Some(0),
            Self::Some(amount) => Some(amount.min(shown.delivered_length)),
            Self::Everything => Some(shown.delivered_length),
            Self::TooMuch => Some(shown.delivered_length + 1),
        }
    }
}

impl Spoilt {
    fn spoil(self, chunks: &mut Vec<(u64, Option<Body>)>) {
        match self {
            Self::Nothing => {}
            Self::WrongName => chunks[0].0 += 1_000,
            Self::OutOfOrder => chunks.reverse(),
            Self::OneTooMany => chunks.push((chunks[chunks.len() - 1].0 + 1, None)),
            Self::SkipsFirst if chunks.len() > 1 => drop(chunks.remove(0)),
            Self::SkipsFirst => {}
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b ", "é", "漢", "🙂", "word", ""]), 0..4)
        .prop_map(|parts| parts.concat())
}

fn kind() -> impl Strategy<Value = ChunkKind> {
    prop_oneof![4 => Just(ChunkKind::ContentDelta), 3 => prop::sample::select(ChunkKind::ALL.to_vec())]
}

fn body() -> impl Strategy<Value = Body> {
    let payload = prop::option::weighted(0.3, prop::sample::select(vec![r#"{"a":1}"#.to_owned(), "null".to_owned()]));
    (kind(), text(), payload).prop_map(|(kind, text, payload)| Body { kind, text, payload })
}

fn strip() -> impl Strategy<Value = Strip> {
    prop_oneof![
        6 => Just(Strip::Nothing),
        1 => Just(Strip::Zero),
        3 => (1u64..6).prop_map(Strip::Some),
        1 => Just(Strip::Everything),
        1 => Just(Strip::TooMuch),
    ]
}

fn spoilt() -> impl Strategy<Value = Spoilt> {
    let all = vec![Spoilt::WrongName, Spoilt::OutOfOrder, Spoilt::OneTooMany, Spoilt::SkipsFirst];
    prop_oneof![9 => Just(Spoilt::Nothing), 1 => prop::sample::select(all)]
}

fn channels() -> impl Strategy<Value = Vec<String>> {
    let channel =
        prop_oneof![30 => Just("metrics"), 1 => prop::sample::select(vec!["Metrics", "seam", "", "a b", "_"])];
    prop::collection::vec(channel.prop_map(str::to_owned), 0..3)
}

fn a_move() -> impl Strategy<Value = Move> {
    let faults = vec![FaultKind::Panic, FaultKind::Violation, FaultKind::HoldOverBound, FaultKind::Malformed];
    let release = (1usize..6, prop::collection::vec(prop::option::of(body()), 0..4), spoilt(), strip())
        .prop_map(|(count, amended, spoilt, strip)| Move::ReleaseFirst { count, amended, spoilt, strip });
    prop_oneof![
        20 => Just(Move::Continue),
        8 => body().prop_map(Move::Amend),
        2 => Just(Move::AmendToItself),
        5 => channels().prop_map(Move::Emit),
        1 => Just(Move::Stop),
        20 => Just(Move::Buffer),
        5 => strip().prop_map(Move::ReleaseAll),
        9 => release,
        1 => prop::sample::select(faults).prop_map(Move::Fault),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    let hold = prop_oneof![
        3 => Just(Hold::default()),
        1 => (0u64..8).prop_map(|chunks| Hold { chunks, ..Hold::default() }),
        2 => (0u64..16).prop_map(|text| Hold { text, ..Hold::default() }),
    ];
    (prop::sample::select(OnFault::ALL.to_vec()), prop::sample::select(OnEndHeld::ALL.to_vec()), hold)
        .prop_map(|(on_fault, on_end_held, hold)| Policy { on_fault, on_end_held, hold })
}

/// Any case: up to five observers, up to twenty chunks.
pub(crate) fn case() -> impl Strategy<Value = Case> {
    let scripted =
        (prop::collection::vec(a_move(), 0..20), policy()).prop_map(|(moves, policy)| Scripted { moves, policy });
    let sent =
        (CHOICES, body(), prop::bool::weighted(0.2)).prop_map(|(choice, body, signed)| Sent { choice, body, signed });
    (prop::collection::vec(scripted, 0..6), prop::collection::vec(sent, 0..20), prop::bool::weighted(0.9))
        .prop_map(|(rungs, chunks, ends)| Case { rungs, chunks, ends })
}
