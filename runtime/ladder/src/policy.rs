//! What an operator decides for each plugin: on a fault, at the end of the stream, and how much may be held.

/// How one rung is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// What a fault of the observer does to the stream.
    pub on_fault: OnFault,
    /// What becomes of chunks that are still held when the stream ends.
    pub on_end_held: OnEndHeld,
    /// How much may wait in the observer's queue.
    pub hold: Hold,
}

/// What a fault of an observer does to the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnFault {
    /// The observer is taken out of this ladder; what it held goes on unchanged. The default: most observers add
    /// something to a stream, and a stream without it is worth more than none.
    #[default]
    Skip,
    /// The stream stops with reason `observer_fault`. For observers without which nothing may get out.
    Stop,
}

impl OnFault {
    /// Both, in the order of their mention.
    pub const ALL: [Self; 2] = [Self::Skip, Self::Stop];

    /// The name in configuration, logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Stop => "stop",
        }
    }
}

/// What becomes of chunks that are still held when the stream ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnEndHeld {
    /// They go on unchanged. The default: an observer that only waits for more must not swallow the end of an answer.
    #[default]
    Release,
    /// They are discarded and counted. For observers that must not let through what they have not judged.
    Discard,
}

impl OnEndHeld {
    /// Both, in the order of their mention.
    pub const ALL: [Self; 2] = [Self::Release, Self::Discard];

    /// The name in configuration, logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Discard => "discard",
        }
    }
}

/// How much may wait in one observer's queue: held chunks and the settled ones behind them. More than that is a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Chunks.
    pub chunks: u64,
    /// Text of those chunks, in Unicode scalar values. Their payloads count as well, so that the bound is one on memory;
    /// what observers are told that they hold is the text alone. Bounds two chunks or more: one that waits alone may have
    /// any length.
    pub text: u64,
}

impl Default for Hold {
    /// 1024 chunks and 65,536 characters: a provider's chunk is a token or a few, so this holds a whole paragraph many
    /// times over, while ten thousand streams that all hold as much as they may still fit into a few gigabytes.
    fn default() -> Self {
        Self { chunks: 1024, text: 65_536 }
    }
}
