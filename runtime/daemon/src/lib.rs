//! A daemon between programs and language-model providers that runs every streamed chunk through native plugins.
//!
//! ```text
//!   seamd.toml ─ config ─► control ── make ──► Snapshot (config, generation, providers, routes)
//!                             │  ▲                 │ swapped whole
//!              watch, SIGHUP, admin                ▼
//!   client ◄──────────── gateway ◄── seam ◄── upstream ◄── provider
//!                 worker threads     bytes -> frames -> chunks -> ladder -> bytes
//! ```

#![forbid(unsafe_code)]

pub mod admin;
pub mod cli;
pub mod commands;
pub mod config;
pub mod control;
pub mod files;
pub mod gateway;
pub mod metrics;
pub mod run;
pub mod seam;
pub mod snapshot;
pub mod telemetry;
pub mod upstream;
pub mod watch;
