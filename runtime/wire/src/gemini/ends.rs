//! What the seam says itself: events of its own, and the ends of a stream or body.

use super::Gemini;
use super::candidate::{candidate_json, has_finish};
use super::render::{error_json, opaque_json, usage_json};
use crate::answer::{Blame, Failure, Stop};
use crate::chunk::Body;
use crate::json::{self, Kind};
use crate::splice::{Object, Patches};
use seam_plugin_api::ChunkKind;

/// The provider's reason for an answer that its filters ended.
const STOPPED: &str = "\"SAFETY\"";

impl Gemini {
    /// One event that ends every candidate that the client saw begin and not finish (candidate 0 if it saw none at all)
    /// with reason `SAFETY`, and carries the sentinel as `seam.stop`. It has no content, as the provider's own has none:
    /// the clients keep such a turn out of the conversation that they send back.
    pub(super) fn stopped_event(&self, stop: &Stop<'_>) -> String {
        let open: Vec<u32> = if self.candidates.values().any(|state| state.opened) {
            let open = self.candidates.iter().filter(|(_, state)| state.opened && !state.finished);
            open.map(|(choice, _)| *choice).collect()
        } else {
            vec![0]
        };
        let candidates: Vec<String> = open.into_iter().map(stopped_candidate).collect();
        self.envelope(&format!("\"candidates\":[{}],\"seam\":{{\"stop\":{}}}", candidates.join(","), stop.sentinel))
    }

    /// Each candidate of what is left that has no finish reason gets `SAFETY`, and the sentinel stands under `seam.stop`.
    /// A prompt that was refused has no candidate, and gets none.
    pub(super) fn stopped_body(&self, left: &str, stop: &Stop<'_>) -> String {
        let seam = format!("{{\"stop\":{}}}", stop.sentinel);
        if left.len() <= "{}".len() {
            return self.envelope(&format!("\"candidates\":[{}],\"seam\":{seam}", stopped_candidate(0)));
        }
        let mut patches = Patches::default();
        let mut top = Object::new(left, json::document_span(left));
        let candidates = top.value_of_kind("candidates", Kind::Array);
        let objects = candidates.map(|candidates| json::elements_of(left, candidates)).unwrap_or_default();
        for span in objects.iter().copied().filter(|span| json::kind_of(left, *span) == Kind::Object) {
            if !has_finish(left, span) {
                let mut candidate = Object::new(left, span);
                candidate.set("finishReason", STOPPED, &mut patches);
                candidate.write(&mut patches);
            }
        }
        if objects.is_empty() && top.value("promptFeedback").is_none() {
            top.set("candidates", &format!("[{}]", stopped_candidate(0)), &mut patches);
        }
        top.set("seam", &seam, &mut patches);
        top.write(&mut patches);
        patches.apply(left)
    }

    /// An event or body of the seam's own, under the names that the answer has.
    fn envelope(&self, rest: &str) -> String {
        format!("{{{rest}{}}}", self.seen.members)
    }

    /// A whole event for one chunk that has no place in what came in.
    pub(super) fn synthesise(&mut self, choice: u32, body: &Body<'_>) -> String {
        match body.kind {
            ChunkKind::Opaque => opaque_json(body),
            ChunkKind::Error => format!("{{\"error\":{}}}", error_json(body)),
            ChunkKind::Usage => self.envelope(&format!("\"usageMetadata\":{}", usage_json(body))),
            _ => {
                let candidate = self.candidate_of(choice, body);
                self.envelope(&format!("\"candidates\":[{candidate}]"))
            }
        }
    }

    /// A candidate that holds one chunk.
    pub(super) fn candidate_of(&mut self, choice: u32, body: &Body<'_>) -> String {
        let state = self.state(choice);
        // What it came in need not have named the candidate.
        state.opened = true;
        candidate_json(choice, state, body)
    }
}

fn stopped_candidate(index: u32) -> String {
    format!("{{\"finishReason\":{STOPPED},\"index\":{index}}}")
}

/// The error object of every API of Google. The clients look for it in each event of a stream, and take one whose `code`
/// is a number from 400 on; the member must be the first. `status` is 0 inside a stream, which has none of its own.
pub(crate) fn error_body(status: u16, failure: &Failure<'_>) -> String {
    let code = match (status, failure.blame) {
        (400.., _) => status,
        (_, Blame::Client) => 400,
        (_, Blame::Provider) => 502,
        (_, Blame::Plugin) => 500,
        (_, Blame::Seamd) => 503,
    };
    let [message, reason] = [failure.message, failure.code].map(json::string);
    let kind = "type.googleapis.com/google.rpc.ErrorInfo";
    let details = format!("[{{\"@type\":\"{kind}\",\"reason\":{reason},\"domain\":\"seamd\"}}]");
    let status = status_name(code);
    format!("{{\"error\":{{\"code\":{code},\"message\":{message},\"status\":\"{status}\",\"details\":{details}}}}}")
}

/// Google's word for an HTTP status.
const fn status_name(code: u16) -> &'static str {
    match code {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        400..499 => "INVALID_ARGUMENT",
        501 => "UNIMPLEMENTED",
        502 | 503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    }
}
