//! The measured plugin number 0.

#[macro_use]
mod measured;

measured_plugin!(0);
