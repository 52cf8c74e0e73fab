//! The sentinel: why and where a stream was stopped.

use std::sync::Arc;

use seam_plugin_api::serde_json::{Value, json};
use seam_plugin_api::{Outcome, StopView};

/// The reason of a stop that a fault caused.
pub const OBSERVER_FAULT: &str = "observer_fault";

/// What is known of the stop that ended a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The reason that the observer gave, or [`OBSERVER_FAULT`].
    pub reason: String,
    /// The observer that stopped the stream.
    pub observer_id: Arc<str>,
    /// That observer's plugin.
    pub plugin: Arc<str>,
    /// As the observer gave it; after a fault: how many chunks it had seen.
    pub chunk_index: u64,
    /// As the observer gave it; after a fault: the length delivered in the chunk's choice, in Unicode scalar values.
    pub accumulated_content_length: u64,
    /// The chunk in front of which the stream ended.
    pub seq: u64,
    /// What was delivered over all choices when everything had settled, in Unicode scalar values.
    pub delivered_length: u64,
    /// How many chunks came in and did not go out.
    pub discarded: u64,
    /// Whether a fault of the observer caused it.
    pub by_fault: bool,
}

impl Stop {
    /// How an invocation ended that ended with this stop.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        if self.by_fault { Outcome::ObserverFault } else { Outcome::Stopped }
    }

    /// The sentinel as clients get it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "reason": self.reason,
            "observer_id": &*self.observer_id,
            "plugin": &*self.plugin,
            "chunk_index": self.chunk_index,
            "accumulated_content_length": self.accumulated_content_length,
            "seq": self.seq,
            "delivered_length": self.delivered_length,
            "discarded": self.discarded,
        })
    }

    /// The stop as observers are told of it.
    pub(crate) fn view(&self) -> StopView<'_> {
        let numbers = (self.chunk_index, self.accumulated_content_length, self.seq);
        StopView::new(&self.reason, &self.observer_id, &self.plugin, numbers)
    }
}
