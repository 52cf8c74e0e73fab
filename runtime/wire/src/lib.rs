//! Provider wires: bytes to frames to chunks and back, byte for byte.
