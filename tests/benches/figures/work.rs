//! What a measured observer does with a chunk: the same in a library and in this process.

/// A little work that depends on the chunk, different for each `N`, and that can panic, so that no compiler can take the
/// guard around it away.
pub(crate) struct Work<const N: usize> {
    lengths: Vec<u64>,
}

impl<const N: usize> Work<N> {
    /// A new observer's state.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self { lengths: vec![0; 11 + N] }
    }

    /// Looks at a chunk; whether there is anything to object to, which there never is.
    pub(crate) fn look(&mut self, seq: u64, text: &str) -> bool {
        let slot = (seq as usize + N) % (10 + N);
        self.lengths[slot] = self.lengths[slot].wrapping_add(text.len() as u64 ^ N as u64);
        self.lengths[slot] == u64::MAX - N as u64
    }
}
