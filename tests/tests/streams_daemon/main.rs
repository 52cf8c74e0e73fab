//! Streams through the real daemon: between a provider that does exactly what a script says and a client on the socket
//! itself.
//!
//! - `passing`: bytes pass unchanged and at once.
//! - `forwarding`: what of a request and of an answer is passed on, and what is not.
//! - `requests`: what clients may ask, and how.
//! - `leaving`: clients that leave, or do not read.
//! - `provider_faults`: providers that answer with errors, break off, garble, stall or are not there.
//! - `provider_connections`: connections to providers: kept, found closed, encrypted, HTTP/2.
//! - `mislabelled`: answers under another label than their content's, and names that are no names.
//! - `observers`: what observers are shown, and which of them.
//! - `plugins`: the four plugins of this repository on the streams of the demo.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold, as they do")]

#[path = "../bench/mod.rs"]
mod bench;
mod scene;

mod forwarding;
mod leaving;
mod mislabelled;
mod observers;
mod passing;
mod plugins;
mod provider_connections;
mod provider_faults;
mod requests;
