//! Redacts personal data and secrets from answers while they stream.

#![forbid(unsafe_code)]

mod automaton;
mod checks;
pub mod kinds;
mod plain;
mod recogniser;
pub mod redactor;
pub mod stream;
#[cfg(test)]
mod reference;
