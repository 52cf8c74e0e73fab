//! What a plugin author compiles against: observers, verdicts, and the stable ABI underneath.
mod chunk;
pub use chunk::ChunkKind;
