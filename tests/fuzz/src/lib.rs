//! Coverage-guided fuzzing of the wire: what must hold of any bytes whatever.
//!
//! ```text
//!   input = plan (24 bytes: cuts, edits, how it ends) + the stream of a provider
//!             │
//!             ▼
//!   framing   every byte in exactly one frame, cut anywhere
//!   decoding  no panic, bounded memory, the same chunks however it was cut, unedited bytes out
//!   rendering JSON stays JSON, framing stays framing, decode(render(edits)) says the edited text
//! ```
//!
//! A [`Target`] is one property over one input. `make fuzz` drives each with libFuzzer, which looks for inputs that
//! reach new code; the corpus in `corpus/` is what it has found, and the tests of this crate run all of it, without an
//! engine, as ordinary tests do.

mod case;
mod decoding;
mod driving;
mod edits;
mod framing;
mod memory;
mod rendering;
mod seeds;

pub use seeds::{Seed, seeds};

use seam_wire::{Framing, Protocol};

/// A property that must hold of any input.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What it is called on the command line.
    pub name: &'static str,
    /// The folder of its inputs, below `corpus/`; targets that read the same form share one.
    pub corpus: &'static str,
    property: Property,
}

#[derive(Clone, Copy, Debug)]
enum Property {
    Framing(Framing),
    Decoding(Protocol),
    Rendering(Protocol),
}

impl Target {
    const fn new(name: &'static str, corpus: &'static str, property: Property) -> Self {
        Self { name, corpus, property }
    }

    /// Panics if the property does not hold of the input.
    pub fn run(&self, input: &[u8]) {
        match self.property {
            Property::Framing(framing) => framing::check(framing, input),
            Property::Decoding(protocol) => decoding::check(protocol, input),
            Property::Rendering(protocol) => rendering::check(protocol, input),
        }
    }
}

/// Every target there is.
pub const TARGETS: [Target; 12] = [
    Target::new("sse", "sse", Property::Framing(Framing::Sse)),
    Target::new("json-array", "json-array", Property::Framing(Framing::JsonArray)),
    Target::new("chat-decode", "openai-chat", Property::Decoding(Protocol::OpenAiChat)),
    Target::new("chat-render", "openai-chat", Property::Rendering(Protocol::OpenAiChat)),
    Target::new("completions-decode", "openai-completions", Property::Decoding(Protocol::OpenAiCompletions)),
    Target::new("completions-render", "openai-completions", Property::Rendering(Protocol::OpenAiCompletions)),
    Target::new("responses-decode", "openai-responses", Property::Decoding(Protocol::OpenAiResponses)),
    Target::new("responses-render", "openai-responses", Property::Rendering(Protocol::OpenAiResponses)),
    Target::new("anthropic-decode", "anthropic-messages", Property::Decoding(Protocol::AnthropicMessages)),
    Target::new("anthropic-render", "anthropic-messages", Property::Rendering(Protocol::AnthropicMessages)),
    Target::new("gemini-decode", "gemini", Property::Decoding(Protocol::Gemini)),
    Target::new("gemini-render", "gemini", Property::Rendering(Protocol::Gemini)),
];

/// The target of a name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
