//! Connections to providers that wait for their next call. One pool per worker, as every task of a worker runs on it.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;

use super::UpstreamError;
use super::connect::{Dialled, Stream};
use super::provider::HttpProvider;

/// How long an idle connection is kept: under the minute after which common load balancers close theirs, so that a call
/// seldom meets one that is just being closed.
const IDLE_LIMIT: Duration = Duration::from_secs(50);

type Requests = http1::SendRequest<Full<Bytes>>;
type Driver = Pin<Box<http1::Connection<TokioIo<Stream>, Full<Bytes>>>>;

/// An HTTP/1.1 connection: the half that takes requests and the half that has to be driven.
pub(super) struct Http1 {
    pub(super) requests: Requests,
    /// `None` once the connection has ended.
    driver: Option<Driver>,
    /// Whether a call has gone over it before: a failure may then be the provider's having closed it meanwhile.
    pub(super) used: bool,
}

impl Http1 {
    /// Drives the connection as far as it goes; ready once it has ended. What ended it, whoever waits for an answer or
    /// its body learns there.
    pub(super) fn drive(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(driver) = &mut self.driver {
            if driver.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.driver = None;
        }
        Poll::Ready(())
    }

    /// Whether another call can go over it, as far as can be told without waiting.
    fn is_open(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        self.drive(&mut cx).is_pending() && self.requests.is_ready()
    }
}

/// What a call goes over.
pub(super) enum Connection {
    Http1(Http1),
    Http2(http2::SendRequest<Full<Bytes>>),
}

struct Idle {
    connection: Http1,
    since: Instant,
}

#[derive(Default)]
struct Idles {
    http1: Vec<Idle>,
    http2: Option<http2::SendRequest<Full<Bytes>>>,
}

/// The connections of one worker.
#[derive(Clone, Default)]
pub struct Pool {
    /// By the provider's id; a provider that a reload changed has another one.
    providers: Arc<Mutex<HashMap<u64, Idles>>>,
}

impl Pool {
    /// A connection that is open, or a new one.
    pub(super) async fn take(&self, provider: &HttpProvider) -> Result<Connection, UpstreamError> {
        match self.idle(provider) {
            Some(connection) => Ok(connection),
            None => self.open(provider).await,
        }
    }

    /// An idle connection, the one that was used last.
    fn idle(&self, provider: &HttpProvider) -> Option<Connection> {
        let mut providers = self.providers.lock();
        let idles = providers.get_mut(&provider.id)?;
        if let Some(http2) = &idles.http2 {
            if !http2.is_closed() {
                return Some(Connection::Http2(http2.clone()));
            }
            idles.http2 = None;
        }
        while let Some(mut idle) = idles.http1.pop() {
            if idle.since.elapsed() < IDLE_LIMIT && idle.connection.is_open() {
                return Some(Connection::Http1(idle.connection));
            }
        }
        None
    }

    /// A new connection.
    pub(super) async fn open(&self, provider: &HttpProvider) -> Result<Connection, UpstreamError> {
        let address = provider.endpoint.address();
        let refused = |reason: String| UpstreamError::Connect {
            provider: provider.name.clone(),
            address: address.clone(),
            reason,
        };
        let limit = provider.connect_timeout;
        let dialled = match tokio::time::timeout(limit, provider.endpoint.dial()).await {
            Ok(result) => result.map_err(|error| refused(error.to_string()))?,
            Err(_) => return Err(UpstreamError::ConnectTimeout { provider: provider.name.clone(), address, limit }),
        };
        self.shake_hands(provider, dialled).await.map_err(|error| refused(error.to_string()))
    }

    async fn shake_hands(&self, provider: &HttpProvider, dialled: Dialled) -> hyper::Result<Connection> {
        let io = TokioIo::new(dialled.stream);
        if !dialled.http2 {
            let (requests, driver) = http1::handshake(io).await?;
            return Ok(Connection::Http1(Http1 { requests, driver: Some(Box::pin(driver)), used: false }));
        }
        let (requests, driver) = http2::handshake(TokioExecutor::new(), io).await?;
        // Many calls share it, so it has a task of its own, which ends when the connection does.
        tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(%error, "an HTTP/2 connection to a provider ended");
            }
        });
        self.providers.lock().entry(provider.id).or_default().http2 = Some(requests.clone());
        Ok(Connection::Http2(requests))
    }

    /// Takes a connection back after a call, if another one can go over it.
    pub(super) fn put(&self, provider: &HttpProvider, mut connection: Http1) {
        if !connection.is_open() {
            return;
        }
        connection.used = true;
        let mut providers = self.providers.lock();
        let idles = &mut providers.entry(provider.id).or_default().http1;
        if idles.len() < provider.pool_idle {
            idles.push(Idle { connection, since: Instant::now() });
        }
    }

    /// Closes what has waited too long.
    pub fn sweep(&self) {
        let mut providers = self.providers.lock();
        providers.retain(|_, idles| {
            idles.http1.retain_mut(|idle| idle.since.elapsed() < IDLE_LIMIT && idle.connection.is_open());
            if idles.http2.as_ref().is_some_and(http2::SendRequest::is_closed) {
                idles.http2 = None;
            }
            !idles.http1.is_empty() || idles.http2.is_some()
        });
    }
}
