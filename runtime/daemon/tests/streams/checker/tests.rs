//! The checker is strict: the project's own streams keep its rules, and a stream that breaks one is found out.

use seam_wire::Protocol::{self, AnthropicMessages, Gemini, OpenAiChat, OpenAiCompletions, OpenAiResponses};

use super::{Standing, read};
use crate::corpus::{Source, streams};
use crate::frames;

const PROTOCOLS: [Protocol; 5] = [OpenAiChat, OpenAiCompletions, OpenAiResponses, AnthropicMessages, Gemini];

fn fixture(protocol: Protocol, name: &str) -> Source {
    streams(protocol).into_iter().find(|source| source.name == name).unwrap()
}

/// The rules that a fixture breaks, after a change of its text that must be one.
fn broken_by(protocol: Protocol, name: &str, from: &str, to: &str) -> Vec<&'static str> {
    let source = fixture(protocol, name);
    let text = String::from_utf8(source.bytes).unwrap();
    let changed = text.replacen(from, to, 1);
    assert_ne!(text, changed, "{name} has {from:?}");
    let reading = read(protocol, &frames::read(source.framing, changed.as_bytes()));
    reading.broken.into_keys().collect()
}

#[test]
fn well_formed_fixtures_break_no_rule_and_end() {
    let well_formed = [
        (OpenAiChat, "two-choices-logprobs.sse"),
        (OpenAiChat, "calls-cut-in-escapes.sse"),
        (OpenAiCompletions, "text-usage.sse"),
        (OpenAiResponses, "reasoning-parts-call.sse"),
        (OpenAiResponses, "custom-and-mcp-calls.sse"),
        (AnthropicMessages, "thinking-signed-then-call.sse"),
    ];
    for (protocol, name) in well_formed {
        let reading = read(protocol, &fixture(protocol, name).frames());
        assert_eq!(reading.broken, Default::default(), "{name}");
        assert_eq!(reading.standing, Standing::Over, "{name}");
    }
    for name in ["two-candidates.sse", "thoughts-and-calls.array"] {
        let reading = read(Gemini, &fixture(Gemini, name).frames());
        assert_eq!((reading.broken, reading.standing), (Default::default(), Standing::Complete), "{name}");
    }
}

#[test]
fn a_broken_rule_is_found_out() {
    let cases = [
        (
            OpenAiChat,
            "two-choices-logprobs.sse",
            "\"finish_reason\":\"stop\"",
            "\"finish_reason\":null",
            "every choice is finished before [DONE]",
        ),
        (OpenAiChat, "calls-cut-in-escapes.sse", "\"id\":\"call_b2\"", "\"id\":\"\"", "a call begins with id and name"),
        (OpenAiChat, "no-end-marker.sse", "\"delta\":{}", "\"delta\":", "data is JSON"),
        (
            OpenAiCompletions,
            "crlf.sse",
            "\"finish_reason\":\"stop\"",
            "\"finish_reason\":null",
            "every choice is finished before [DONE]",
        ),
        (
            AnthropicMessages,
            "text.sse",
            "\"type\":\"content_block_stop\"",
            "\"type\":\"ping\"",
            "every block has stopped before the reason",
        ),
        (
            AnthropicMessages,
            "thinking-signed-then-call.sse",
            "\"type\":\"content_block_start\",\"index\":2",
            "\"type\":\"content_block_start\",\"index\":3",
            "blocks are numbered without a gap",
        ),
        (AnthropicMessages, "text.sse", "event: ping", "event: message_start", "an event's name is its type"),
        (OpenAiResponses, "refusal.sse", "\"sequence_number\":5", "\"sequence_number\":6", "numbers have no gap"),
        (
            OpenAiResponses,
            "refusal.sse",
            "\"delta\":\"at.\"",
            "\"delta\":\"it.\"",
            "a text that is done says what its deltas said",
        ),
        (
            OpenAiResponses,
            "reasoning-parts-call.sse",
            "\"type\":\"response.content_part.added\"",
            "\"type\":\"response.unknown\"",
            "a part that goes on is open",
        ),
        (Gemini, "thoughts-and-calls.sse", "\"args\":{}", "\"args\":\"x\"", "arguments are an object"),
    ];
    for (protocol, name, from, to, rule) in cases {
        let broken = broken_by(protocol, name, from, to);
        assert!(broken.contains(&rule), "{name} with {to}: {broken:?}");
    }
}

#[test]
fn few_of_the_fixtures_break_a_rule() {
    for protocol in PROTOCOLS {
        let all: Vec<Source> = streams(protocol);
        let kept = all.iter().filter(|source| read(protocol, &source.frames()).broken.is_empty()).count();
        assert!(kept * 10 >= all.len() * 6, "{protocol:?}: {kept} of {} keep every rule", all.len());
    }
}
