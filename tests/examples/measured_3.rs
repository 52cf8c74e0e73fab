//! The measured plugin number 3.

#[macro_use]
mod measured;

measured_plugin!(3);
