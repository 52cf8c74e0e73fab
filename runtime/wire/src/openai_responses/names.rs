//! What the protocol's events and members are called.

use seam_plugin_api::ChunkKind;

/// A kind of text that is streamed in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Lane {
    /// `output_text` of a message.
    Text,
    /// `refusal` of a message.
    Refusal,
    /// `reasoning_text` of a reasoning item.
    Reasoning,
    /// `summary_text` of a reasoning item.
    Summary,
    /// `arguments` of a function call.
    Arguments,
    /// `input` of a custom tool call.
    Input,
    /// `arguments` of an MCP call.
    McpArguments,
    /// `code` of a code interpreter call.
    Code,
    /// One of the `commands` of a shell call.
    Command,
    /// `diff` of an apply-patch call.
    Diff,
}

/// A lane with its names: the stem of its events, and the member that holds the whole text in the event that ends it.
const LANES: [(Lane, &str, &str); 10] = [
    (Lane::Text, "response.output_text", "text"),
    (Lane::Refusal, "response.refusal", "refusal"),
    (Lane::Reasoning, "response.reasoning_text", "text"),
    (Lane::Summary, "response.reasoning_summary_text", "text"),
    (Lane::Arguments, "response.function_call_arguments", "arguments"),
    (Lane::Input, "response.custom_tool_call_input", "input"),
    (Lane::McpArguments, "response.mcp_call_arguments", "arguments"),
    (Lane::Code, "response.code_interpreter_call_code", "code"),
    (Lane::Command, "response.shell_call_command", "command"),
    (Lane::Diff, "response.apply_patch_call_operation_diff", "diff"),
];

impl Lane {
    /// The lane with this code; the codes are made by `lane as u8`.
    pub(super) fn from_code(code: u8) -> Self {
        LANES.get(usize::from(code)).map_or(Self::Text, |(lane, ..)| *lane)
    }

    /// What a chunk of it is.
    pub(super) const fn kind(self) -> ChunkKind {
        match self {
            Self::Text => ChunkKind::ContentDelta,
            Self::Refusal => ChunkKind::RefusalDelta,
            Self::Reasoning | Self::Summary => ChunkKind::ReasoningDelta,
            _ => ChunkKind::ToolCallDelta,
        }
    }

    /// The types of the events that bring a piece of it and end it.
    pub(super) const fn types(self) -> (&'static str, &'static str) {
        match self {
            Self::Text => ("response.output_text.delta", "response.output_text.done"),
            Self::Refusal => ("response.refusal.delta", "response.refusal.done"),
            Self::Reasoning => ("response.reasoning_text.delta", "response.reasoning_text.done"),
            Self::Summary => ("response.reasoning_summary_text.delta", "response.reasoning_summary_text.done"),
            Self::Arguments => ("response.function_call_arguments.delta", "response.function_call_arguments.done"),
            Self::Input => ("response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"),
            Self::McpArguments => ("response.mcp_call_arguments.delta", "response.mcp_call_arguments.done"),
            Self::Code => ("response.code_interpreter_call_code.delta", "response.code_interpreter_call_code.done"),
            Self::Command => ("response.shell_call_command.delta", "response.shell_call_command.done"),
            Self::Diff => {
                ("response.apply_patch_call_operation_diff.delta", "response.apply_patch_call_operation_diff.done")
            }
        }
    }

    /// The member that says which text of the item is meant, where there may be several.
    pub(super) const fn index_member(self) -> Option<&'static str> {
        match self {
            Self::Text | Self::Refusal | Self::Reasoning => Some("content_index"),
            Self::Summary => Some("summary_index"),
            Self::Command => Some("command_index"),
            _ => None,
        }
    }

    /// The member that holds the whole text.
    pub(super) fn member(self) -> &'static str {
        LANES.iter().find(|(lane, ..)| *lane == self).map_or("text", |(.., member)| member)
    }
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// A piece of a text.
    Delta(Lane),
    /// The end of a text, which is repeated in it.
    TextDone(Lane),
    /// A part of an item begins.
    PartAdded,
    /// A part of an item ends; it repeats the part.
    PartDone,
    /// An item begins.
    ItemAdded,
    /// An item ends; it repeats the item.
    ItemDone,
    /// A citation of a text.
    Annotation,
    /// A response begins.
    Created,
    /// The response is under way.
    Begun,
    /// The response is over; it is repeated.
    Over,
    /// An error instead of an answer.
    Error,
    /// Anything else.
    Other,
}

impl About {
    /// The code of a piece of a text, which needs no look at its data when it passes.
    pub(super) const DELTA: u8 = 1;

    /// The code that is kept with what was decoded.
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Delta(_) => Self::DELTA,
            _ => 0,
        }
    }

    /// What an event of that type is about.
    pub(super) fn of(event_type: &str) -> Self {
        match event_type {
            "response.output_text.delta" => return Self::Delta(Lane::Text),
            "response.content_part.added" | "response.reasoning_summary_part.added" => return Self::PartAdded,
            "response.content_part.done" | "response.reasoning_summary_part.done" => return Self::PartDone,
            "response.output_item.added" => return Self::ItemAdded,
            "response.output_item.done" => return Self::ItemDone,
            "response.output_text.annotation.added" | "response.output_text_annotation.added" => {
                return Self::Annotation;
            }
            "response.created" => return Self::Created,
            "response.in_progress" | "response.queued" => return Self::Begun,
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                return Self::Over;
            }
            "error" => return Self::Error,
            _ => {}
        }
        let lane = |stem: &str| LANES.iter().find(|(_, own, _)| *own == stem).map(|(lane, ..)| *lane);
        match event_type.rsplit_once('.') {
            Some((stem, "delta")) => lane(stem).map_or(Self::Other, Self::Delta),
            Some((stem, "done")) => lane(stem).map_or(Self::Other, Self::TextDone),
            _ => Self::Other,
        }
    }
}

pub(super) mod event {
    pub(in super::super) const TYPE: usize = 0;
    pub(in super::super) const SEQUENCE: usize = 1;
    pub(in super::super) const OUTPUT: usize = 2;
    pub(in super::super) const CONTENT: usize = 3;
    pub(in super::super) const SUMMARY: usize = 4;
    pub(in super::super) const COMMAND_INDEX: usize = 5;
    pub(in super::super) const DELTA: usize = 6;
    pub(in super::super) const TEXT: usize = 7;
    pub(in super::super) const REFUSAL: usize = 8;
    pub(in super::super) const ARGUMENTS: usize = 9;
    pub(in super::super) const INPUT: usize = 10;
    pub(in super::super) const CODE: usize = 11;
    pub(in super::super) const COMMAND: usize = 12;
    pub(in super::super) const DIFF: usize = 13;
    pub(in super::super) const PART: usize = 14;
    pub(in super::super) const ITEM: usize = 15;
    pub(in super::super) const RESPONSE: usize = 16;
    pub(in super::super) const ANNOTATION: usize = 17;
    pub(in super::super) const LOGPROBS: usize = 18;
    pub(in super::super) const MESSAGE: usize = 19;
    pub(in super::super) const ERROR: usize = 20;
    /// How many there are.
    pub(in super::super) const COUNT: usize = 21;

    pub(in super::super) fn slot(name: &str) -> Option<usize> {
        Some(match name {
            "type" => TYPE,
            "sequence_number" => SEQUENCE,
            "output_index" => OUTPUT,
            "content_index" => CONTENT,
            "summary_index" => SUMMARY,
            "command_index" => COMMAND_INDEX,
            "delta" => DELTA,
            "text" => TEXT,
            "refusal" => REFUSAL,
            "arguments" => ARGUMENTS,
            "input" => INPUT,
            "code" => CODE,
            "command" => COMMAND,
            "diff" => DIFF,
            "part" => PART,
            "item" => ITEM,
            "response" => RESPONSE,
            "annotation" => ANNOTATION,
            "logprobs" => LOGPROBS,
            "message" => MESSAGE,
            "error" => ERROR,
            _ => return None,
        })
    }

    /// The member that holds a whole text.
    pub(in super::super) const fn whole(lane: super::Lane) -> usize {
        match lane {
            super::Lane::Text | super::Lane::Reasoning | super::Lane::Summary => TEXT,
            super::Lane::Refusal => REFUSAL,
            super::Lane::Arguments | super::Lane::McpArguments => ARGUMENTS,
            super::Lane::Input => INPUT,
            super::Lane::Code => CODE,
            super::Lane::Command => COMMAND,
            super::Lane::Diff => DIFF,
        }
    }
}
