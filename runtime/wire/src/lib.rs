//! Provider wires: bytes to frames to chunks, and back.
//!
//! ```text
//!   bytes ──FrameDecoder──► Frame ──Wire::decode──► Decoded (chunks)
//!                            │                          │  the ladder edits chunks
//!            no edit: raw ◄──┤                          ▼
//!   bytes ◄──────────────────┴────Wire::render─────── edits
//! ```
//!
//! - [`FrameDecoder`] cuts reads into frames that keep their bytes; every byte belongs to exactly one frame.
//! - [`Wire`] is one answer in one [`Protocol`]: it reads chunks out of a frame's data, writes an edited frame with only
//!   that change, and ends a stream in its protocol. Each protocol has a file of its own that knows its JSON, and
//!   nothing else does.
//!
//! There is no I/O here, nothing waits, and there is no clock: the same bytes give the same chunks and the same bytes.

#![forbid(unsafe_code)]

mod answer;
mod anthropic_messages;
mod chunk;
mod edits;
mod endpoint;
mod fields;
mod framing;
mod gemini;
mod json;
mod json_array;
mod openai_chat;
mod openai_completions;
mod openai_responses;
mod protocol;
mod request;
mod splice;
mod sse;
mod usage;
mod wire;

pub use answer::{Arrival, Blame, Failure, Stop};
pub use chunk::{Body, Chunk, Decoded, Edit};
pub use endpoint::{Asked, Endpoint, path_below_version};
pub use framing::{FrameDecoder, Framing};
pub use json_array::JsonArrayDecoder;
pub use protocol::Protocol;
pub use request::{Request, models_body};
pub use sse::{Frame, FrameTooLarge, SseDecoder};
pub use wire::Wire;
