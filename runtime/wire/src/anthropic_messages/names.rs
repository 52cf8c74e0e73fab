//! What the protocol's members are called.

/// Members of an event, and of a message.
pub(super) mod top {
    pub(crate) const TYPE: usize = 0;
    pub(crate) const INDEX: usize = 1;
    pub(crate) const DELTA: usize = 2;
    pub(crate) const BLOCK: usize = 3;
    pub(crate) const MESSAGE: usize = 4;
    pub(crate) const USAGE: usize = 5;
    pub(crate) const ERROR: usize = 6;
    pub(crate) const ID: usize = 7;
    pub(crate) const MODEL: usize = 8;
    pub(crate) const CONTENT: usize = 9;
    pub(crate) const STOP_REASON: usize = 10;
    pub(crate) const STOP_DETAILS: usize = 11;
    pub(crate) const COUNT: usize = 12;

    pub(crate) fn slot(name: &str) -> Option<usize> {
        match name {
            "type" => Some(TYPE),
            "index" => Some(INDEX),
            "delta" => Some(DELTA),
            "content_block" => Some(BLOCK),
            "message" => Some(MESSAGE),
            "usage" => Some(USAGE),
            "error" => Some(ERROR),
            "id" => Some(ID),
            "model" => Some(MODEL),
            "content" => Some(CONTENT),
            "stop_reason" => Some(STOP_REASON),
            "stop_details" => Some(STOP_DETAILS),
            _ => None,
        }
    }
}

/// Members of a content block, and of a `delta`.
pub(super) mod block {
    pub(crate) const TYPE: usize = 0;
    pub(crate) const TEXT: usize = 1;
    pub(crate) const THINKING: usize = 2;
    pub(crate) const SIGNATURE: usize = 3;
    pub(crate) const CITATIONS: usize = 4;
    pub(crate) const ID: usize = 5;
    pub(crate) const NAME: usize = 6;
    pub(crate) const INPUT: usize = 7;
    pub(crate) const CONTENT: usize = 8;
    pub(crate) const ENCRYPTED_CONTENT: usize = 9;
    pub(crate) const PARTIAL_JSON: usize = 10;
    pub(crate) const CITATION: usize = 11;
    pub(crate) const STOP_REASON: usize = 12;
    pub(crate) const STOP_DETAILS: usize = 13;
    pub(crate) const COUNT: usize = 14;

    pub(crate) fn slot(name: &str) -> Option<usize> {
        match name {
            "type" => Some(TYPE),
            "text" => Some(TEXT),
            "thinking" => Some(THINKING),
            "signature" => Some(SIGNATURE),
            "citations" => Some(CITATIONS),
            "id" => Some(ID),
            "name" => Some(NAME),
            "input" => Some(INPUT),
            "content" => Some(CONTENT),
            "encrypted_content" => Some(ENCRYPTED_CONTENT),
            "partial_json" => Some(PARTIAL_JSON),
            "citation" => Some(CITATION),
            "stop_reason" => Some(STOP_REASON),
            "stop_details" => Some(STOP_DETAILS),
            _ => None,
        }
    }
}

/// Members of `stop_details`.
pub(super) mod details {
    pub(crate) const EXPLANATION: usize = 0;
    pub(crate) const COUNT: usize = 1;

    pub(crate) fn slot(name: &str) -> Option<usize> {
        (name == "explanation").then_some(EXPLANATION)
    }
}
