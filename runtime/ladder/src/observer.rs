//! What a ladder asks of an observer, and what it is given with each.

use std::sync::Arc;

use seam_plugin_api::abi::{Answer, Fault, ObserverHandle};
use seam_plugin_api::{Chunk, Context, InvocationResult};

use crate::policy::Policy;

/// One observer of one invocation, as the ladder drives it. Calls are static: a ladder is made for one type.
pub trait Observer {
    /// Answers one chunk. An answer of [`Answer::Fault`] takes the observer out of the ladder, or stops the stream.
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Answer<'_>;

    /// Told once how the invocation ended; not after a panic.
    ///
    /// # Errors
    /// A panic of the observer.
    fn on_end_invocation(&mut self, result: &InvocationResult<'_>) -> Result<(), Fault>;

    /// Drops the observer, after everything else.
    ///
    /// # Errors
    /// A panic in its `Drop`.
    fn close(self) -> Result<(), Fault>
    where
        Self: Sized,
    {
        drop(self);
        Ok(())
    }
}

impl Observer for ObserverHandle {
    #[inline]
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Answer<'_> {
        Self::on_chunk(self, chunk, context)
    }

    fn on_end_invocation(&mut self, result: &InvocationResult<'_>) -> Result<(), Fault> {
        Self::on_end_invocation(self, result)
    }

    fn close(self) -> Result<(), Fault> {
        Self::close(self)
    }
}

/// One place in a ladder: an observer, whose it is, and how it is treated.
#[derive(Clone, Debug)]
pub struct Rung<O> {
    /// The observer, made fresh for this invocation.
    pub observer: O,
    /// The id under which its plugin registered it.
    pub observer_id: Arc<str>,
    /// The plugin's name in the daemon's configuration.
    pub plugin: Arc<str>,
    /// What the operator decided for it.
    pub policy: Policy,
}
