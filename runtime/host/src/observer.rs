//! An observer of a loaded plugin, as a ladder drives it.

use std::sync::Arc;
use std::sync::LazyLock;
use std::time::Instant;

use seam_ladder::Observer;
use seam_plugin_api::abi::{Answer, Fault, ObserverHandle};
use seam_plugin_api::{Chunk, Context, InvocationResult};

use crate::generation::{InvocationHold, LoadedPlugin};

/// Of how many calls of an observer one is timed, and for how many it then stands. Reading a clock twice costs as much
/// as ten calls that answer `continue`, so not every call can be timed; which ones are depends on the invocation's seed,
/// so that a plugin whose calls differ by their place in the stream is met at every place. The estimate is right on
/// average over many invocations; over a short stream it is a guess.
pub const SAMPLED: u64 = 64;

/// One observer of one invocation. It keeps its generation alive.
pub struct LoadedObserver {
    /// Gone only while this is closed or dropped.
    handle: Option<ObserverHandle>,
    /// Calls until the next timed one.
    until_timed: u64,
    /// The plugin's place in its generation.
    plugin: usize,
    hold: Arc<InvocationHold>,
}

impl LoadedObserver {
    pub(crate) fn new(handle: ObserverHandle, plugin: usize, hold: Arc<InvocationHold>, seed: u64) -> Self {
        Self { handle: Some(handle), until_timed: scatter(seed) % SAMPLED, plugin, hold }
    }

    fn plugin(&self) -> Option<&LoadedPlugin> {
        self.hold.generation().plugins().get(self.plugin)
    }

    #[cold]
    fn on_chunk_timed(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Answer<'_> {
        self.until_timed = SAMPLED - 1;
        let Some(handle) = &mut self.handle else { return Answer::Continue };
        let begin = Instant::now();
        let answer = handle.on_chunk(chunk, context);
        let nanos = nanos_since(begin).saturating_sub(*CLOCK_NANOS);
        if let Some(plugin) = self.hold.generation().plugins().get(self.plugin) {
            plugin.stats().add_nanos(nanos.saturating_mul(SAMPLED));
        }
        answer
    }
}

impl Observer for LoadedObserver {
    #[inline(always)]
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Answer<'_> {
        if self.until_timed == 0 {
            return self.on_chunk_timed(chunk, context);
        }
        self.until_timed -= 1;
        match &mut self.handle {
            Some(handle) => handle.on_chunk(chunk, context),
            None => Answer::Continue,
        }
    }

    fn on_end_invocation(&mut self, result: &InvocationResult<'_>) -> Result<(), Fault> {
        self.handle.as_mut().map_or(Ok(()), |handle| handle.on_end_invocation(result))
    }

    /// The fault is the caller's to count: it is part of the ladder's report.
    fn close(mut self) -> Result<(), Fault> {
        self.handle.take().map_or(Ok(()), ObserverHandle::close)
    }
}

impl Drop for LoadedObserver {
    /// An observer that was not closed: the ladder never began, or was given up. Its fault is counted here.
    fn drop(&mut self) {
        let Some(Err(fault)) = self.handle.take().map(ObserverHandle::close) else { return };
        if let Some(plugin) = self.plugin() {
            plugin.note_fault("an observer of it was at fault when it was dropped", &fault);
        }
    }
}

impl std::fmt::Debug for LoadedObserver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedObserver").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

/// What reading the clock twice takes of every time measured with it.
static CLOCK_NANOS: LazyLock<u64> = LazyLock::new(|| (0..32).map(|_| nanos_since(Instant::now())).min().unwrap_or(0));

fn nanos_since(begin: Instant) -> u64 {
    u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// A number whose low bits depend on every bit of another one (the finaliser of splitmix64).
const fn scatter(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_stream_is_timed_for_some_seed() {
        let mut met = [0_u32; SAMPLED as usize];
        for seed in 0..64_000_u64 {
            met[(scatter(seed << 32) % SAMPLED) as usize] += 1;
        }
        assert!(met.iter().all(|times| (800..1200).contains(times)), "{met:?}");
    }
}
