//! Every recorded stream and every fixture of every protocol, through the seam in every way. No daemon, no network.
//!
//! ```text
//!   corpus     the streams                     cuts       where each is cut into reads
//!   observers  what is done with their chunks  drive      the seam around them
//!   frames     what came and left, as events   oracle     where text is in each protocol
//!   checker    what a strict client reads      ways       what must hold, for each way
//! ```
//!
//! The reading side (`frames`, `oracle`, `checker`) is written from the protocols' documentation and shares no code with the
//! wire.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold")]

mod arguments;
mod checker;
mod corpus;
mod cuts;
mod drive;
mod frames;
mod observers;
mod oracle;
mod report;
mod ways;

/// The tests of one protocol.
macro_rules! protocol {
    ($name:ident, $protocol:ident) => {
        mod $name {
            use crate::drive::End;
            use crate::ways;
            use seam_wire::Protocol::$protocol as PROTOCOL;

            #[test]
            fn what_no_plugin_sees_leaves_as_the_very_bytes() {
                ways::untouched(PROTOCOL);
            }

            #[test]
            fn a_whole_answer_that_nobody_changes_leaves_as_the_very_bytes() {
                ways::bodies_untouched(PROTOCOL);
            }

            #[test]
            fn what_is_held_until_the_finish_leaves_as_the_very_bytes() {
                ways::held(PROTOCOL, true);
            }

            #[test]
            fn what_is_held_to_the_end_leaves_as_the_very_bytes() {
                ways::held(PROTOCOL, false);
            }

            #[test]
            fn what_is_amended_to_itself_is_the_same_json() {
                ways::itself(PROTOCOL);
            }

            #[test]
            fn what_is_upper_cased_is_so_everywhere_and_nothing_else_is_changed() {
                ways::upper_cased(PROTOCOL);
            }

            #[test]
            fn a_redacted_word_is_nowhere() {
                ways::redacted(PROTOCOL);
            }

            #[test]
            fn content_that_becomes_a_tool_call_is_one_of_the_protocol() {
                ways::turned_to_calls(PROTOCOL);
            }

            #[test]
            fn a_stop_at_any_chunk_ends_well() {
                ways::stopped(PROTOCOL);
            }

            #[test]
            fn a_stop_at_any_chunk_of_a_whole_answer_leaves_one() {
                ways::bodies_stopped(PROTOCOL);
            }

            #[test]
            fn a_stream_cut_behind_any_frame_ends_with_an_error() {
                ways::broken_off(PROTOCOL, End::Finish);
            }

            #[test]
            fn a_connection_that_breaks_behind_any_frame_ends_with_an_error() {
                ways::broken_off(PROTOCOL, End::Broken);
            }

            #[test]
            fn a_shutdown_behind_any_frame_ends_with_an_error() {
                ways::broken_off(PROTOCOL, End::Shutdown);
            }
        }
    };
}

protocol!(openai_chat, OpenAiChat);
protocol!(openai_completions, OpenAiCompletions);
protocol!(openai_responses, OpenAiResponses);
protocol!(anthropic_messages, AnthropicMessages);
protocol!(gemini, Gemini);
