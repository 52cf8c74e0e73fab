//! The measured plugin number 8.

#[macro_use]
mod measured;

measured_plugin!(8);
