//! Runs an observer through the real ladder, so that an author can prove it right.
