//! The measured plugin number 9.

#[macro_use]
mod measured;

measured_plugin!(9);
