//! Load for the whole-daemon figures: a provider that is fast, clients that measure, and what the operating system
//! says of a process. Linux only, for it reads `/proc`.
//!
//! ```text
//!   steady, leave, hold ── POST model "fake…" ──▶ proxy under test ──▶ source
//!     ▲  each chunk's text is "%06d:%015d ": its number, and when it left the source   │
//!     └─────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! - [`model`] is what the source is asked for, [`stream`] what it sends, [`source`] the source itself.
//! - [`connection`] is one client connection; [`steady`] keeps streams open and counts, [`leave`] leaves in the
//!   middle, [`hold`] holds streams open, read or unread.
//! - [`proc`] asks the operating system for processor time and memory.
//!
//! Both ends run on a thread of their own and share the machine with what is measured: only ratios of runs in turn
//! mean something.

pub mod arguments;
pub mod connection;
pub mod hold;
pub mod leave;
pub mod model;
pub mod proc;
pub mod source;
pub mod steady;
pub mod stream;
