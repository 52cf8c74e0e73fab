//! The author's kit: runs a plugin through the real ladder, behind the very same ABI entries as in the daemon, in a plain
//! unit test. No daemon, no network, no file.
//!
//! ```text
//!   Kit::of::<MyPlugin>(its table) ── policy, call class, seed …
//!        │
//!        ├─ run(chunks) ──► configure once, a fresh observer per run ──► ladder ──► Run
//!        │                                                               what came out, verdicts, envelopes,
//!        └─ assert_same_at_every_cut(text, expected)                     stop, faults, log, counters
//! ```
//!
//! A provider may cut its text anywhere: between the two halves of a pattern, before a single character, into a piece
//! per character. What an observer makes of the text must not depend on it, so most tests of one are
//! [`Kit::assert_same_at_every_cut`]:
//!
//! ```
//! use seam_plugin_api::prelude::*;
//! use seam_plugin_testkit::{Kit, KitError};
//!
//! # #[derive(Deserialize, JsonSchema)]
//! # #[serde(crate = "seam_plugin_api::serde", deny_unknown_fields)]
//! # #[schemars(crate = "seam_plugin_api::schemars")]
//! # struct Config { letter: char }
//! # struct Stars(char);
//! # impl Plugin for Stars {
//! #     type Config = Config;
//! #     fn configure(config: Config, _: Host) -> Result<Self, Vec<ConfigFault>> {
//! #         if config.letter == '*' { return Err(vec![ConfigFault::new("letter", "must not be the star itself")]); }
//! #         Ok(Self(config.letter))
//! #     }
//! #     fn registrations(&self) -> Vec<Registration> {
//! #         let letter = self.0;
//! #         vec![Registration::new(When::CallClass(CallClass::Synthesize), "stars", move |_: &FactoryContext<'_>| Stars(letter))]
//! #     }
//! # }
//! # impl StreamObserver for Stars {
//! #     fn on_chunk(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Verdict {
//! #         if chunk.kind() != ChunkKind::ContentDelta || !chunk.text().contains(self.0) { return Verdict::Continue; }
//! #         Verdict::amend_text(chunk, chunk.text().replace(self.0, "*"))
//! #     }
//! # }
//! # seam_plugin_api::export_plugin!(Stars, "stars");
//! // `Stars` is a plugin that puts a star in the place of a letter; `export_plugin!(Stars)` stands in its library.
//! // Each of these functions carries `#[test]` in an author's crate.
//! fn stars_whatever_the_cut() -> Result<(), KitError> {
//!     let kit = Kit::of::<Stars>(r#"{ "letter": "e" }"#)?;
//!     kit.assert_same_at_every_cut("never a secret", "n*v*r a s*cr*t");
//!     Ok(())
//! }
//!
//! fn leaves_other_chunks_alone() -> Result<(), KitError> {
//!     let run = Kit::of::<Stars>(r#"{ "letter": "e" }"#)?.run(["no ", "letters"]);
//!     assert_eq!(run.verdicts_of("stars")[0], Verdict::Continue);
//!     assert_eq!(run.content(), "no l*tt*rs");
//!     assert!(run.out[1].amended && run.faults.is_empty() && run.stop.is_none());
//!     Ok(())
//! }
//!
//! fn refuses_the_star() {
//!     let refused = Kit::of::<Stars>(r#"{ "letter": "*" }"#).err();
//!     assert_eq!(refused.map(|error| error.to_string()).as_deref(), Some("letter: must not be the star itself"));
//! }
//! # fn main() -> Result<(), KitError> { stars_whatever_the_cut()?; leaves_other_chunks_alone()?; refuses_the_star(); Ok(()) }
//! ```
//!
//! The files, in the order of a run: `kit.rs` configures and drives, `chunk.rs` is what is sent, `cuts.rs` where text is
//! cut, `services.rs` what the plugin logs and counts, `run.rs` what comes of it.

#![forbid(unsafe_code)]

mod chunk;
mod cuts;
mod kit;
mod run;
mod services;

pub use chunk::ScriptedChunk;
pub use kit::{Kit, KitError};
pub use run::{Answered, ObserverFault, OutChunk, Run, SentEnvelope};
pub use seam_ladder::{Hold, OnEndHeld, OnFault, Policy, RungReport, Stop, VerdictCounts};
pub use services::LogLine;
