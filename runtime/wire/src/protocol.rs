//! The protocols there are.

use crate::answer::{Answer, Failure};
use crate::anthropic_messages;
use crate::gemini;
use crate::openai_chat;
use crate::openai_completions;
use crate::openai_responses;
use crate::request::Request;

/// A provider's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// OpenAI Chat Completions and its dialects.
    OpenAiChat,
    /// OpenAI Completions.
    OpenAiCompletions,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    AnthropicMessages,
    /// Gemini, `generateContent` and `streamGenerateContent`.
    Gemini,
}

impl Protocol {
    /// The state of one answer.
    pub(crate) fn answer(self) -> Box<dyn Answer> {
        match self {
            Self::OpenAiChat => Box::new(openai_chat::OpenAiChat::new()),
            Self::OpenAiCompletions => Box::new(openai_completions::OpenAiCompletions::new()),
            Self::OpenAiResponses => Box::new(openai_responses::OpenAiResponses::new()),
            Self::AnthropicMessages => Box::new(anthropic_messages::AnthropicMessages::new()),
            Self::Gemini => Box::new(gemini::Gemini::new()),
        }
    }

    /// Reads what seamd needs to know of a request.
    ///
    /// # Errors
    /// Why the body is not a request, in words that follow "the request's body".
    pub fn read_request(self, body: &[u8]) -> Result<Request, String> {
        match self {
            Self::OpenAiChat => openai_chat::request::read(body),
            Self::OpenAiCompletions => openai_completions::request::read(body),
            Self::OpenAiResponses => openai_responses::request::read(body),
            Self::AnthropicMessages => anthropic_messages::request::read(body),
            Self::Gemini => gemini::request::read(body),
        }
    }

    /// The body of an error answer: what the protocol's clients read a message, type and code from. `status` is the
    /// answer's.
    #[must_use]
    pub fn error_body(self, status: u16, failure: &Failure<'_>) -> String {
        match self {
            Self::OpenAiChat => openai_chat::error_body(status, failure),
            Self::OpenAiCompletions => openai_chat::error_body(status, failure),
            Self::OpenAiResponses => openai_chat::error_body(status, failure),
            Self::AnthropicMessages => anthropic_messages::error_body(status, failure),
            Self::Gemini => gemini::error_body(status, failure),
        }
    }
}
