//! The measured plugin number 4.

#[macro_use]
mod measured;

measured_plugin!(4);
