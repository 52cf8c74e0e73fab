//! One request that reached the provider, and what became of it.

use crate::http1;
use crate::os::monotonic_nanos;
use crate::patience::within;
use bytes::Bytes;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;

/// A request as the provider got it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Headers in the order in which they came; over HTTP/2 without the pseudo-headers.
    pub headers: Vec<(String, String)>,
    /// The head to the byte; empty over HTTP/2.
    pub head: Bytes,
    /// The whole body, without its transfer coding.
    pub body: Bytes,
    /// When the last byte of the body had been read, on the monotonic clock, in nanoseconds.
    pub received_at: u64,
    /// Which of the provider's connections it came on, counted from 0.
    pub connection: u64,
}

impl Request {
    /// The value of the first header `name`, in whatever case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        http1::find(&self.headers, name)
    }

    /// The body as JSON; null when it is none.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// How a call was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// The script came to its proper end.
    Finished,
    /// The script cut or reset the connection.
    Broken,
    /// The client left before that.
    ClientGone {
        /// When the provider saw it, on the monotonic clock, in nanoseconds.
        at: u64,
    },
}

/// One call. Clones are the same call.
#[derive(Clone, Debug)]
pub struct Call {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    request: Request,
    sent: AtomicU64,
    end: watch::Sender<Option<CallEnd>>,
}

impl Call {
    pub(super) fn new(request: Request) -> Self {
        let shared = Shared { request, sent: AtomicU64::new(0), end: watch::Sender::new(None) };
        Self { shared: Arc::new(shared) }
    }

    /// What was asked.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.shared.request
    }

    /// How many bytes of the answer the operating system (HTTP/2: the protocol's queue) has taken so far.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::Relaxed)
    }

    /// How the call was over, if it is.
    #[must_use]
    pub fn end(&self) -> Option<CallEnd> {
        *self.shared.end.borrow()
    }

    /// Waits until the call is over.
    ///
    /// # Errors
    /// When it is not within the harness's patience.
    pub async fn over(&self) -> io::Result<CallEnd> {
        let mut end = self.shared.end.subscribe();
        let over = within("the call to be over", end.wait_for(Option::is_some)).await?;
        over.ok().and_then(|end| *end).ok_or_else(|| io::Error::other("the provider ended before the call was over"))
    }

    /// Waits until the provider has seen that its client left in the middle, and answers when that was, on the
    /// monotonic clock, in nanoseconds.
    ///
    /// # Errors
    /// When the client does not leave within the harness's patience, or the call was over otherwise.
    pub async fn client_gone(&self) -> io::Result<u64> {
        match self.over().await? {
            CallEnd::ClientGone { at } => Ok(at),
            other => Err(io::Error::other(format!("the client was to leave, but the call was over: {other:?}"))),
        }
    }

    pub(super) fn add_sent(&self, bytes: usize) {
        self.shared.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The first end counts: a client that leaves after the proper end has not left in the middle.
    pub(super) fn set_end(&self, end: CallEnd) {
        self.shared.end.send_if_modified(|known| {
            let first = known.is_none();
            known.get_or_insert(end);
            first
        });
    }

    pub(super) fn set_client_gone(&self) {
        self.set_end(CallEnd::ClientGone { at: monotonic_nanos() });
    }
}
