//! Redacts personal data and secrets from answers while they stream.
//!
//! ```text
//!   chunk ─► observer ─► lane (one text: a field of a choice, the arguments of a call)
//!                          │  arguments: JSON fragments, read as the texts that they spell
//!                          ▼
//!                        stream: all attempts at a match, side by side, byte by byte
//!                          │  redactor: kinds and patterns, compiled once and shared
//!                          │    recogniser = automaton + left border + check; prose passes untouched
//!                          ▼
//!            what is settled, what is taken out ─► continue, amend, buffer, release
//! ```
//!
//! **What is promised.** However an answer is cut into chunks, what leaves is the redaction of the whole of each text,
//! and at no time has anything left that is not a beginning of it: no part of a match is ever sent. Held back is only
//! the text from the first position where a match may still begin or go on. A match whose kind is certain is replaced
//! at once and the rest of it swallowed as it comes, so even a long key is never held.
//!
//! **What is held up.** A chunk that ends inside a word waits for the next one, as the word may begin an email address;
//! so does a number that may begin a card. A chunk without a match leaves as the bytes that came in.
//!
//! **What cannot be promised by the plugin alone.** If the stream is cut off without a finish, the daemon settles held
//! chunks unchanged, and if the plugin is at fault, the stream goes on without it. Where neither may happen, set both of
//! these beside the plugin's `path`:
//!
//! ```toml
//! on_fault = "stop"
//! on_end_held = "discard"
//! ```
//!
//! **Signed text.** The thinking of Anthropic's models is signed, and a later request that brings it back changed is
//! refused. A match in it ends the stream (reason `redaction_in_signed_text`), unless `signed = "pass"` says to leave
//! such text alone.
//!
//! A text that waits while eight chunks of another text go by (reasoning that ended in mid-word, when the answer flows)
//! is let go as if it had ended. Should it go on after all and turn out a match, the rest of the match is taken out.
//! The same goes for all texts at an error that the provider sends inside the stream.

#![forbid(unsafe_code)]

use std::sync::Arc;

use seam_plugin_api::prelude::*;

mod arguments;
mod automaton;
mod checks;
pub mod config;
pub mod kinds;
mod lane;
mod observer;
mod plain;
mod recogniser;
pub mod redactor;
#[cfg(test)]
mod reference;
pub mod stream;

use config::{Config, FieldName, Signed};
use observer::Redacting;
use redactor::Redactor;

/// The plugin, configured.
#[derive(Debug)]
pub struct Redaction {
    redactor: Arc<Redactor>,
    fields: Arc<[FieldName]>,
    signed: Signed,
}

impl Plugin for Redaction {
    type Config = Config;

    fn configure(config: Config, _: Host) -> Result<Self, Vec<ConfigFault>> {
        let fields = config.fields.as_slice().into();
        let signed = config.signed;
        Ok(Self { redactor: Arc::new(config.compile()?), fields, signed })
    }

    fn registrations(&self) -> Vec<Registration> {
        let (redactor, fields, signed) = (Arc::clone(&self.redactor), Arc::clone(&self.fields), self.signed);
        let make = move |_: &FactoryContext<'_>| Redacting::new(Arc::clone(&redactor), Arc::clone(&fields), signed);
        vec![Registration::new(When::Any, "redaction", make)]
    }
}

seam_plugin_api::export_plugin!(Redaction, "redaction");
