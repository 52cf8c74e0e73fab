//! Stops a stream as soon as its text matches a pattern.
