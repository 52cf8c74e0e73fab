//! The names of the members that are looked for in each object of the protocol, with their places in `Fields`.

pub(super) mod top {
    pub(in super::super) const CANDIDATES: usize = 0;
    pub(in super::super) const USAGE: usize = 1;
    pub(in super::super) const FEEDBACK: usize = 2;
    pub(in super::super) const ERROR: usize = 3;
    pub(in super::super) const MODEL: usize = 4;
    pub(in super::super) const ID: usize = 5;

    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        match name {
            "candidates" => Some(CANDIDATES),
            "usageMetadata" => Some(USAGE),
            "promptFeedback" => Some(FEEDBACK),
            "error" => Some(ERROR),
            "modelVersion" => Some(MODEL),
            "responseId" => Some(ID),
            _ => None,
        }
    }
}

pub(super) mod candidate {
    pub(in super::super) const CONTENT: usize = 0;
    pub(in super::super) const INDEX: usize = 1;
    pub(in super::super) const FINISH: usize = 2;
    /// The first of the members that are annotations.
    pub(in super::super) const ANNOTATIONS: usize = 3;

    /// The members that are annotations, in the order of their slots.
    pub(in super::super) const ANNOTATION_NAMES: [&str; 5] =
        ["groundingMetadata", "citationMetadata", "urlContextMetadata", "logprobsResult", "finishMessage"];

    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        match name {
            "content" => Some(CONTENT),
            "index" => Some(INDEX),
            "finishReason" => Some(FINISH),
            _ => ANNOTATION_NAMES.iter().position(|known| *known == name).map(|position| ANNOTATIONS + position),
        }
    }
}

pub(super) mod content {
    pub(in super::super) const PARTS: usize = 0;

    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        (name == "parts").then_some(PARTS)
    }
}

pub(super) mod part {
    pub(in super::super) const TEXT: usize = 0;
    pub(in super::super) const THOUGHT: usize = 1;
    pub(in super::super) const SIGNATURE: usize = 2;
    pub(in super::super) const CALL: usize = 3;
    pub(in super::super) const SERVER_CALL: usize = 4;
    pub(in super::super) const CODE: usize = 5;
    pub(in super::super) const RESULT: usize = 6;

    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        match name {
            "text" => Some(TEXT),
            "thought" => Some(THOUGHT),
            "thoughtSignature" => Some(SIGNATURE),
            "functionCall" => Some(CALL),
            "toolCall" => Some(SERVER_CALL),
            "executableCode" => Some(CODE),
            "codeExecutionResult" => Some(RESULT),
            _ => None,
        }
    }
}

/// What a part holds: a function call, a call that the provider makes itself, code that it runs, or the code's output.
pub(super) mod held {
    pub(in super::super) const ID: usize = 0;
    pub(in super::super) const NAME: usize = 1;
    pub(in super::super) const ARGS: usize = 2;
    pub(in super::super) const PARTIAL: usize = 3;
    pub(in super::super) const GOES_ON: usize = 4;

    pub(in super::super) fn call(name: &str) -> Option<usize> {
        match name {
            "id" => Some(ID),
            "name" => Some(NAME),
            "args" => Some(ARGS),
            "partialArgs" => Some(PARTIAL),
            "willContinue" => Some(GOES_ON),
            _ => None,
        }
    }

    pub(in super::super) fn server_call(name: &str) -> Option<usize> {
        match name {
            "id" => Some(ID),
            "toolType" => Some(NAME),
            "args" => Some(ARGS),
            _ => None,
        }
    }

    pub(in super::super) fn code(name: &str) -> Option<usize> {
        match name {
            "id" => Some(ID),
            "code" => Some(ARGS),
            _ => None,
        }
    }

    pub(in super::super) fn result(name: &str) -> Option<usize> {
        (name == "output").then_some(ARGS)
    }
}

/// One value of streamed arguments.
pub(super) mod partial {
    pub(in super::super) const PATH: usize = 0;
    pub(in super::super) const GOES_ON: usize = 1;
    /// The first of the members that are values.
    pub(in super::super) const VALUES: usize = 2;

    /// The members that are values, in the order of their slots.
    pub(in super::super) const VALUE_NAMES: [&str; 4] = ["stringValue", "numberValue", "boolValue", "nullValue"];

    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        match name {
            "jsonPath" => Some(PATH),
            "willContinue" => Some(GOES_ON),
            _ => VALUE_NAMES.iter().position(|known| *known == name).map(|position| VALUES + position),
        }
    }
}
