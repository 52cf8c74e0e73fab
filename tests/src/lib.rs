//! End-to-end tests, the scripted provider and the whole-daemon figures.
