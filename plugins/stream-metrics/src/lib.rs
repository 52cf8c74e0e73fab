//! Emits what a stream cost and how fast it came on channel metrics.
