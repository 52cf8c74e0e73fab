//! The seam loop by itself: bytes in, bytes out, with observers that play a script. No daemon, no network.
//!
//! - `fidelity`: what no observer changes leaves as the very bytes that came, however they were cut.
//! - `holding`: frames behind a held chunk keep their order; what is held at the end.
//! - `stopping`, `ending`: every end is one proper end of the protocol.
//! - `whole`: answers that are not streamed.
//! - `rules`: the same for any stream, any observers and any cuts.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold")]

mod drive;
mod ending;
mod fidelity;
mod holding;
mod observer;
mod reading;
mod rules;
mod stopping;
mod streams;
mod whole;
