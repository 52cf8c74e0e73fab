//! Turns tool calls that a model wrote as text into proper tool calls.
