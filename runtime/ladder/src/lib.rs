//! The verdict machine of one invocation: queues, release, strip, stop, faults.
