//! Replies that seamd makes itself: errors in the protocol of the client, each saying whose fault it was.

use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use http::{Method, Response, StatusCode};
use seam_wire::{Blame, Failure, Protocol};

use super::body::ReplyBody;
use crate::upstream::UpstreamError;

/// Why a request gets no answer of a provider.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    blame: Blame,
    code: &'static str,
    pub(super) message: String,
    /// The method that the path answers, where another was used.
    allow: Option<Method>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, blame: Blame, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, blame, code, message: message.into(), allow: None }
    }

    /// A path was asked with a method that it does not answer.
    pub(super) fn wrong_method(right: Method) -> Self {
        let message = format!("this path answers {right} alone");
        let refusal = Self::new(StatusCode::METHOD_NOT_ALLOWED, Blame::Client, "wrong_method", message);
        Self { allow: Some(right), ..refusal }
    }

    /// A provider gave no answer.
    pub(super) fn of_upstream(error: &UpstreamError) -> Self {
        let blame = if matches!(error, UpstreamError::NoSuchStream { .. }) { Blame::Client } else { Blame::Provider };
        Self::new(error.status(), blame, error.code(), error.to_string())
    }

    /// The refusal as the clients of a protocol read it.
    pub(super) fn reply(&self, protocol: Protocol) -> Response<ReplyBody> {
        let failure = Failure { message: &self.message, blame: self.blame, code: self.code };
        let mut response = json(self.status, protocol.error_body(self.status.as_u16(), &failure));
        let allow = self.allow.as_ref().and_then(|method| HeaderValue::from_str(method.as_str()).ok());
        if let Some(method) = allow {
            response.headers_mut().insert(ALLOW, method);
        }
        response
    }
}

/// A JSON document.
pub(super) fn json(status: StatusCode, body: String) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
