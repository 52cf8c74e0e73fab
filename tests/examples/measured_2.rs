//! The measured plugin number 2.

#[macro_use]
mod measured;

measured_plugin!(2);
