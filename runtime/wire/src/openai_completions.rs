//! OpenAI Completions and its dialects: a choice holds its text itself, streamed or whole.
//!
//! ```text
//!   {"id":"cmpl-1","object":"text_completion","choices":[{"index":0,"text":"Hi","logprobs":null,"finish_reason":null}]}
//! ```
//!
//! All but that is as in Chat Completions, whose reading and writing is used: [`openai_chat`](crate::openai_chat). What is
//! said here is what differs.
//!
//! The protocol has a form for text and for nothing else. What an observer puts in a text's place goes out so:
//!
//! - A refusal is text: it is all that these clients show a person.
//! - Reasoning is `reasoning` of the choice, and annotations are `annotations`: members that clients pass over.
//! - A tool call has no form. It is neither put into the text, which would say what the observer took out of it, nor
//!   dropped: it goes into `tool_calls` of the choice, as chat writes it. The finish reason stays as it was, since
//!   `tool_calls` is none that the protocol has.
//!
//! With `echo`, the prompt that the text begins with is content like the rest. What is only true of the text that came in
//! (`logprobs` with its `text_offset`, vLLM's `prompt_logprobs` and token ids) leaves with the text that was altered.

//!
//! Older llama.cpp servers answer on this path in a shape of their own, without `choices`: see [`native`].

mod native;
pub(crate) mod request;

use crate::answer::{Answer, Arrival, Document, Event, Failure, Piece, Rendered, Stop};
use crate::chunk::Decoded;
use crate::json::Malformed;
use crate::openai_chat::OpenAiChat;

/// One answer in the Completions protocol.
#[derive(Debug)]
pub(crate) struct OpenAiCompletions {
    shared: OpenAiChat,
    /// It came in llama.cpp's own shape.
    is_native: bool,
}

impl OpenAiCompletions {
    /// The state of one answer.
    pub(crate) fn new() -> Self {
        Self { shared: OpenAiChat::of_completions(), is_native: false }
    }
}

impl Answer for OpenAiCompletions {
    fn read(&mut self, document: &Document<'_>, decoded: &mut Decoded) -> Result<bool, Malformed> {
        let loose = self.shared.read(document, decoded)?;
        if decoded.entries.is_empty() && decoded.choices.is_empty() && native::read(document.text, decoded) {
            self.is_native = true;
            self.shared.note_arrived(decoded);
        }
        Ok(loose)
    }

    fn arrival(&self) -> Arrival {
        self.shared.arrival()
    }

    fn passed(&mut self, data: &[u8], decoded: &Decoded) {
        self.shared.passed(data, decoded);
    }

    fn needs_rewrite(&self, data: &[u8], decoded: &Decoded) -> bool {
        !native::is_native(decoded) && self.shared.needs_rewrite(data, decoded)
    }

    fn rewrite(&mut self, document: &Document<'_>, decoded: &Decoded, pieces: &[Piece<'_>]) -> Rendered {
        if !native::is_native(decoded) {
            return self.shared.rewrite(document, decoded, pieces);
        }
        native::rewrite(&mut self.shared, document, decoded, pieces)
    }

    fn end_stopped(&mut self, stop: &Stop<'_>) -> Vec<Event> {
        if self.is_native { native::end_stopped(stop) } else { self.shared.end_stopped(stop) }
    }

    fn end_error(&mut self, failure: &Failure<'_>) -> Vec<Event> {
        self.shared.end_error(failure)
    }

    fn stop_body(&mut self, left: &str, stop: &Stop<'_>) -> String {
        if self.is_native { native::stop_body(left, stop) } else { self.shared.stop_body(left, stop) }
    }

    fn keepalive(&mut self) -> Option<Event> {
        // These clients expect no event that says nothing.
        if self.is_native { None } else { self.shared.keepalive() }
    }
}

#[cfg(test)]
mod tests;
