//! The measured plugin number 7.

#[macro_use]
mod measured;

measured_plugin!(7);
