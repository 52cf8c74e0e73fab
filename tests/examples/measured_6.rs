//! The measured plugin number 6.

#[macro_use]
mod measured;

measured_plugin!(6);
