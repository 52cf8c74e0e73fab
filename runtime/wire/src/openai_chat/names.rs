//! The names of the members that are looked for in each object of the protocol, with their places in `Fields`.

pub(super) mod top {
    pub(in super::super) const CHOICES: usize = 0;
    pub(in super::super) const USAGE: usize = 1;
    pub(in super::super) const ERROR: usize = 2;
    pub(in super::super) const CITATIONS: usize = 3;
    pub(in super::super) const ID: usize = 4;
    pub(in super::super) const MODEL: usize = 5;
    pub(in super::super) const CREATED: usize = 6;
    pub(in super::super) const OBFUSCATION: usize = 7;
    pub(in super::super) const ALL: usize = 8;

    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        match name {
            "choices" => Some(CHOICES),
            "usage" => Some(USAGE),
            "error" => Some(ERROR),
            "citations" => Some(CITATIONS),
            "id" => Some(ID),
            "model" => Some(MODEL),
            "created" => Some(CREATED),
            "obfuscation" => Some(OBFUSCATION),
            _ => None,
        }
    }
}

pub(super) mod choice {
    pub(in super::super) const INDEX: usize = 0;
    pub(in super::super) const DELTA: usize = 1;
    pub(in super::super) const MESSAGE: usize = 2;
    pub(in super::super) const FINISH: usize = 3;
    pub(in super::super) const LOGPROBS: usize = 4;
    pub(in super::super) const USAGE: usize = 5;
    pub(in super::super) const ERROR: usize = 6;
    pub(in super::super) const TEXT: usize = 7;
    /// How many there are that are read; what comes after them is only true of the text that came in.
    pub(in super::super) const READ: usize = 8;
    pub(in super::super) const ALL: usize = READ + DEPENDENT.len();
    /// Offsets into the text, and the tokens that it was made of.
    pub(in super::super) const DEPENDENT: [&str; 4] =
        ["content_filter_offsets", "token_ids", "prompt_token_ids", "prompt_logprobs"];

    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        match name {
            "index" => Some(INDEX),
            "text" => Some(TEXT),
            "delta" => Some(DELTA),
            "message" => Some(MESSAGE),
            "finish_reason" => Some(FINISH),
            "logprobs" => Some(LOGPROBS),
            "usage" => Some(USAGE),
            "error" => Some(ERROR),
            "content_filter_offsets" => Some(READ),
            "token_ids" => Some(READ + 1),
            "prompt_token_ids" => Some(READ + 2),
            "prompt_logprobs" => Some(READ + 3),
            _ => None,
        }
    }
}

pub(super) mod holder {
    pub(in super::super) const REASONING_CONTENT: usize = 0;
    pub(in super::super) const REASONING: usize = 1;
    pub(in super::super) const DETAILS: usize = 2;
    pub(in super::super) const CONTENT: usize = 3;
    pub(in super::super) const REFUSAL: usize = 4;
    pub(in super::super) const TOOL_CALLS: usize = 5;
    pub(in super::super) const FUNCTION_CALL: usize = 6;
    pub(in super::super) const ANNOTATIONS: usize = 7;
    pub(in super::super) const TOKEN_ID: usize = 8;
    pub(in super::super) const ALL: usize = 9;

    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        match name {
            "content" => Some(CONTENT),
            "token_id" => Some(TOKEN_ID),
            _ => beside(name),
        }
    }

    /// The members of a choice of Completions, which holds its text itself.
    pub(in super::super) fn flat_slot(name: &str) -> Option<usize> {
        match name {
            "text" => Some(CONTENT),
            _ => beside(name),
        }
    }

    fn beside(name: &str) -> Option<usize> {
        match name {
            "reasoning_content" => Some(REASONING_CONTENT),
            "reasoning" => Some(REASONING),
            "reasoning_details" => Some(DETAILS),
            "refusal" => Some(REFUSAL),
            "tool_calls" => Some(TOOL_CALLS),
            "function_call" => Some(FUNCTION_CALL),
            "annotations" => Some(ANNOTATIONS),
            _ => None,
        }
    }
}

pub(super) mod call {
    pub(in super::super) const INDEX: usize = 0;
    pub(in super::super) const ID: usize = 1;
    pub(in super::super) const FUNCTION: usize = 2;
    pub(in super::super) const NAME: usize = 3;
    pub(in super::super) const ARGUMENTS: usize = 4;
    pub(in super::super) const CUSTOM: usize = 5;
    pub(in super::super) const INPUT: usize = 6;

    /// The fields of a call and of the function in it; a custom tool's are called otherwise. Each name has a place of its
    /// own: what one says must not hide what another says.
    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        match name {
            "index" => Some(INDEX),
            "id" => Some(ID),
            "function" => Some(FUNCTION),
            "custom" => Some(CUSTOM),
            "name" => Some(NAME),
            "arguments" => Some(ARGUMENTS),
            "input" => Some(INPUT),
            _ => None,
        }
    }
}

pub(super) mod part {
    pub(in super::super) const TYPE: usize = 0;
    pub(in super::super) const TEXT: usize = 1;
    pub(in super::super) const THINKING: usize = 2;
    pub(in super::super) const REFUSAL: usize = 3;
    pub(in super::super) const SUMMARY: usize = 4;
    pub(in super::super) const SIGNATURE: usize = 5;
    pub(in super::super) const FORMAT: usize = 6;

    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        match name {
            "type" => Some(TYPE),
            "text" => Some(TEXT),
            "thinking" => Some(THINKING),
            "refusal" => Some(REFUSAL),
            "summary" => Some(SUMMARY),
            "signature" => Some(SIGNATURE),
            "format" => Some(FORMAT),
            _ => None,
        }
    }
}
