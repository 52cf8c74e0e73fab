//! The harness of the end-to-end tests and of the whole-daemon figures.
//!
//! ```text
//!   client ───────▶ daemon (the real seamd, a child process) ───────▶ provider
//!   raw HTTP/1.1,   its TOML in a folder of its own,                  plays a script: exact bytes,
//!   sees each       actual addresses read from its ready line         exact cuts, waits, stalls, resets
//!   piece arrive
//!
//!   load::client ─▶ nginx │ seamd (what is measured)  ──────────────▶ load::source
//!   many streams                                                      as fast as it can, or paced
//!        └──────────▶ figures: a value beside its bar, in target/figures.json
//! ```
//!
//! - [`http1`] is the little HTTP/1.1 that both ends share: heads, lengths, chunked bodies.
//! - [`provider`] is the other end of the daemon: it does exactly what a test's script says, and tells when its
//!   client left.
//! - [`client`] is this end of it; [`sse`] cuts what it read into events.
//! - [`daemon`] runs `seamd`; [`plugins`] finds the built plugins beside it; [`process`] ends what was started.
//! - [`figures`] records what was measured; [`load`] (on Linux) makes the load and measures.
//! - [`os`] holds the crate's system calls and its only unsafe code.
//!
//! Nothing here sleeps for a fixed time in the hope that something has happened by then: what can be awaited is
//! awaited, what can only be polled is polled with growing pauses, and every wait ends after [`patience::PATIENCE`] with an error that names what did not happen.

pub mod client;
pub mod daemon;
pub mod figures;
pub mod http1;
mod lines;
#[cfg(target_os = "linux")]
pub mod load;
pub mod os;
pub mod patience;
pub mod plugins;
pub mod process;
pub mod provider;
pub mod sse;
