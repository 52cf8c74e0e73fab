//! Provider wires: bytes to frames to chunks, and back.
//!
//! ```text
//!   bytes ──SseDecoder──► SseFrame ──OpenAiChat::decode──► Decoded (chunks)
//!                            │                                │  the ladder edits chunks
//!            no edit: raw ◄──┤                                ▼
//!   bytes ◄──────────────────┴──OpenAiChat::render──────── edits
//! ```
//!
//! - [`SseDecoder`] cuts reads into frames that keep their bytes; every byte belongs to exactly one frame.
//! - [`OpenAiChat`] knows one provider protocol: it reads chunks out of a frame's data, writes an edited frame with only
//!   that change, and ends a stream in its protocol. Only this crate knows provider JSON; a further protocol is a further
//!   module beside it.
//!
//! There is no I/O here, nothing waits, and there is no clock: the same bytes give the same chunks and the same bytes.

#![forbid(unsafe_code)]

mod chunk;
mod json;
mod openai_chat;
mod openai_request;
mod splice;
mod sse;

pub use chunk::{Body, Chunk, Decoded, Edit};
pub use openai_chat::{OpenAiChat, error_body};
pub use openai_request::{ChatRequest, models_body};
pub use sse::{FrameTooLarge, SseDecoder, SseFrame};
