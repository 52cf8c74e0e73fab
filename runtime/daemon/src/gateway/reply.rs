//! Replies that seamd makes itself: errors in the protocol of the client, each saying whose fault it was.

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};

use super::body::ReplyBody;
use crate::upstream::UpstreamError;

/// Whose fault an error was, in the words that OpenAI's clients know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blame {
    Client,
    Provider,
    Plugin,
    Seamd,
}

impl Blame {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "invalid_request_error",
            Self::Provider => "provider_error",
            Self::Plugin => "plugin_error",
            Self::Seamd => "server_error",
        }
    }
}

/// An error as JSON.
pub(super) fn error(status: StatusCode, blame: Blame, code: &str, message: &str) -> Response<ReplyBody> {
    json(status, seam_wire::error_body(message, blame.as_str(), code))
}

/// The error for a provider that gave no answer.
pub(super) fn upstream_error(error: &UpstreamError) -> Response<ReplyBody> {
    let blame = if matches!(error, UpstreamError::NoSuchStream { .. }) { Blame::Client } else { Blame::Provider };
    self::error(error.status(), blame, error.code(), &error.to_string())
}

/// A JSON document.
pub(super) fn json(status: StatusCode, body: String) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
