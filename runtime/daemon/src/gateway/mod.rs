//! The client's side of a seam: connections, requests, answers.
//!
//! ```text
//!   Acceptor ─► Worker (a thread with its own loop) ─► connection ─► Gateway::handle
//!                                                                      │ endpoint, request, ladder
//!                                                                      ▼
//!                                          Provider::call ─► StreamedAnswer: polls the provider's bytes
//!                                                            through the seam, in the client's own task
//! ```

mod answer;
mod body;
mod invocations;
mod origin;
mod phase;
mod quiet;
mod reply;
mod sending;
mod server;
mod service;
mod worker;

pub use body::ReplyBody;
pub use invocations::{InFlight, InvocationNotes, Invocations, Record};
pub use phase::{Phase, Phases};
pub use server::{Acceptor, bind};
pub use service::Gateway;
pub use worker::Workers;
