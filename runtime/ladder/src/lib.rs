//! The verdict machine of one invocation: queues, release, strip, stop, faults. No I/O, no async, no clock.
//!
//! ```text
//!              ┌─────────────── Ladder ────────────────┐
//!              │  rung 0         rung 1         rung n │        ┌ pass      as it came in
//!   push ──────┼─► on_chunk ──►  on_chunk ──►  on_chunk┼──► Sink┤ amended   replaced, one for one
//!   (chunk)    │    │  ▲          │  ▲          │  ▲   │        └ discard   taken back by a stop or an end
//!              │    ▼  │          ▼  │          ▼  │   │
//!              │   queue         queue         queue   │     at once, beside the chunks:
//!   end ───────┼─►  settled front to back, rung by rung┼──► envelope, strip, fault
//!              └───────────────────┬───────────────────┘
//!   close ── on_end_invocation ────┴──► a RungReport for each rung, and the Stop if one ended the stream
//! ```
//!
//! **Order.** Each rung has one queue. A verdict settles the chunk that it answers or leaves it held; after each verdict
//! the settled chunks at the front of that queue go on, one after the other, each as far as it gets before the next one
//! starts. While a chunk is held, later ones wait behind it however they were answered. So no chunk ever overtakes
//! another, and every `seq` that was pushed comes out exactly once (as it was, amended or discarded) in ascending order.
//!
//! **The way of a chunk** through the files: [`Ladder::push`] (`ladder.rs`) shows it to one observer after the other
//! (`observer.rs`); an answer other than `continue` is judged (`judge.rs`) against the rung's [`Policy`] (`policy.rs`)
//! and its queue (`queue.rs`); what leaves the last rung is kept as delivered text (`texts.rs`), counted (`outflow.rs`)
//! and handed to the [`Sink`] (`sink.rs`). `stop.rs` and `report.rs` hold what is said afterwards, `pulse.rs` what can
//! be watched meanwhile.
//!
//! A chunk that ten observers answer `continue` costs ten calls, ten relaxed stores and a copy of its text: nothing is
//! allocated but the growing delivered text, nothing is locked, no clock is read.

#![forbid(unsafe_code)]

mod judge;
mod ladder;
mod observer;
mod outflow;
mod policy;
mod pulse;
mod queue;
mod report;
mod sink;
mod stop;
mod texts;

pub use ladder::{Flow, Ladder};
pub use observer::{Observer, Rung};
pub use policy::{Hold, OnEndHeld, OnFault, Policy};
pub use pulse::{Beat, Pulse};
pub use report::{RungReport, VerdictCounts};
pub use sink::{Amended, Envelope, FaultReport, SEAM_CHANNEL, Sink, Strip};
pub use stop::{OBSERVER_FAULT, Stop};
