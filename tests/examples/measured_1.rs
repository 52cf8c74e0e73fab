//! The measured plugin number 1.

#[macro_use]
mod measured;

measured_plugin!(1);
