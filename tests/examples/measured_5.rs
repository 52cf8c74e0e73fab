//! The measured plugin number 5.

#[macro_use]
mod measured;

measured_plugin!(5);
