//! What the seam says itself at the end of a stream or body.

use super::AnthropicMessages;
use super::made::block_stop;
use crate::answer::{Blame, Event, Failure, Stop};
use crate::json;
use crate::splice::{Object, Patches};

const STOPPED: &str = "\"refusal\"";

impl AnthropicMessages {
    /// The open blocks end, a `message_delta` says `refusal` and carries the sentinel as `seam.stop`, and the message
    /// ends; it begins before that if the client has seen nothing of it. Arguments of a call that were cut stay cut, as
    /// the provider leaves them when it stops at its own bounds.
    pub(super) fn stopped_events(&mut self, stop: &Stop<'_>) -> Vec<Event> {
        let mut events = Vec::new();
        if !self.client.started {
            events.push(self.message_start());
        }
        events.extend(self.client.take_open().into_iter().map(block_stop));
        let mut end = self.message_delta(STOPPED, None);
        end.data.pop();
        end.data.push_str(&format!(",\"seam\":{{\"stop\":{}}}}}", stop.sentinel));
        events.push(end);
        events.push(Event::named("message_stop", "{\"type\":\"message_stop\"}"));
        events
    }

    /// What is left of a message ends with `refusal`, and the sentinel stands under `seam.stop`.
    pub(super) fn stopped_body(&self, left: &str, stop: &Stop<'_>) -> String {
        let seam = format!("{{\"stop\":{}}}", stop.sentinel);
        if left.len() <= "{}".len() {
            return self.empty_message(STOPPED, &format!(",\"seam\":{seam}"));
        }
        let mut patches = Patches::default();
        let mut top = Object::new(left, json::document_span(left));
        top.set("stop_reason", STOPPED, &mut patches);
        top.set("stop_sequence", "null", &mut patches);
        top.set("seam", &seam, &mut patches);
        top.write(&mut patches);
        patches.apply(left)
    }

    /// The beginning of a message that has none of the provider's.
    pub(super) fn message_start(&self) -> Event {
        let message = self.empty_message("null", "");
        Event::named("message_start", format!("{{\"type\":\"message_start\",\"message\":{message}}}"))
    }

    /// A message without content, under the names that the answer has.
    fn empty_message(&self, stop_reason: &str, rest: &str) -> String {
        let id = self.arriving.id.as_deref().unwrap_or("\"msg_seam\"");
        let model = self.arriving.model.as_deref().unwrap_or("\"\"");
        let usage = format!("{{\"input_tokens\":0,\"output_tokens\":{}}}", self.arriving.output_tokens);
        format!(
            "{{\"id\":{id},\"type\":\"message\",\"role\":\"assistant\",\"model\":{model},\"content\":[],\
             \"stop_reason\":{stop_reason},\"stop_sequence\":null,\"usage\":{usage}{rest}}}"
        )
    }
}

/// The body of an error: its type is a word that the clients know, by the answer's status or, inside a stream (0), by
/// whose fault it was. The code and the fault stand beside it.
pub(crate) fn error_body(status: u16, failure: &Failure<'_>) -> String {
    let blame = match failure.blame {
        Blame::Client => "client",
        Blame::Provider => "provider",
        Blame::Plugin => "plugin",
        Blame::Seamd => "seamd",
    };
    let [kind, message, code, blame] =
        [error_type(status, failure.blame), failure.message, failure.code, blame].map(json::string);
    format!(
        "{{\"type\":\"error\",\"error\":{{\"type\":{kind},\"message\":{message},\"code\":{code},\"blame\":{blame}}}}}"
    )
}

fn error_type(status: u16, blame: Blame) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        504 => "timeout_error",
        400..500 => "invalid_request_error",
        0 if blame == Blame::Client => "invalid_request_error",
        _ => "api_error",
    }
}
