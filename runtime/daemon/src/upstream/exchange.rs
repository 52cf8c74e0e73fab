//! One call to a provider: the request out, the answer's head, and the source of its bytes.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, HOST};
use http::{HeaderMap, Request, Response, StatusCode, Uri};
use http_body::Body as _;
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::Sleep;

use super::UpstreamError;
use super::coding::{Decoding, UnknownCoding};
use super::nudge::Nudge;
use super::pool::{Connection, Http1, Pool};
use super::provider::HttpProvider;
use super::recorded::Playback;

/// The head of a provider's answer, and where its body comes from.
pub struct Answer {
    /// The status as the provider sent it.
    pub status: StatusCode,
    /// The headers as the provider sent them.
    pub headers: HeaderMap,
    /// The body.
    pub source: Source,
}

/// The body of a provider's answer. Dropping it ends the call at once.
pub struct Source {
    kind: Kind,
    /// Undoes what the provider compressed, where the body is to be observed.
    decoding: Option<Decoding>,
}

enum Kind {
    Http(Box<HttpSource>),
    Recorded(Box<Playback>),
}

struct HttpSource {
    provider: Arc<HttpProvider>,
    pool: Pool,
    /// `None` over HTTP/2, whose connection drives itself, and after the body's end.
    http1: Option<Http1>,
    body: Incoming,
    /// Wakes the task that reads, when the connection has something.
    nudge: Nudge,
    silence: Silence,
}

/// Watches for a provider that says nothing. The timer is set once per limit, not once per read: it may ring before the
/// limit is reached, never after.
struct Silence {
    timer: Pin<Box<Sleep>>,
    last: Instant,
    began: bool,
}

impl Source {
    pub(super) fn recorded(playback: Playback) -> Self {
        Self { kind: Kind::Recorded(Box::new(playback)), decoding: None }
    }

    /// The next bytes, or `None` at the end. `now` is the time of this poll: the caller has read the clock already.
    pub fn poll_data(&mut self, cx: &mut Context<'_>, now: Instant) -> Poll<Option<Result<Bytes, UpstreamError>>> {
        loop {
            let Some(decoding) = &mut self.decoding else { return self.kind.poll_data(cx, now) };
            match decoding.next() {
                Ok(None) => {}
                Ok(Some(data)) => return Poll::Ready(Some(Ok(data))),
                Err(error) => return Poll::Ready(Some(Err(self.kind.corrupt(&error)))),
            }
            let fed = match ready!(self.kind.poll_data(cx, now)) {
                Some(Ok(read)) => decoding.feed(read),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    let rest = decoding.finish().map_err(|error| self.kind.corrupt(&error));
                    return Poll::Ready(rest.transpose());
                }
            };
            if let Err(error) = fed {
                return Poll::Ready(Some(Err(self.kind.corrupt(&error))));
            }
        }
    }
}

impl Kind {
    fn poll_data(&mut self, cx: &mut Context<'_>, now: Instant) -> Poll<Option<Result<Bytes, UpstreamError>>> {
        match self {
            Self::Http(source) => source.poll_data(cx, now),
            Self::Recorded(playback) => playback.poll_data(cx).map(|data| data.map(Ok)),
        }
    }

    fn provider(&self) -> String {
        match self {
            Self::Http(source) => source.provider.name.clone(),
            Self::Recorded(_) => String::new(),
        }
    }

    fn corrupt(&self, error: &std::io::Error) -> UpstreamError {
        UpstreamError::Broken { provider: self.provider(), reason: format!("its compressed body is corrupt: {error}") }
    }
}

impl Answer {
    /// The answer with its body as it was before the provider compressed it.
    ///
    /// # Errors
    /// It is compressed in a way that is not known.
    pub fn decoded(mut self) -> Result<Self, UpstreamError> {
        let decoding = Decoding::of(&self.headers)
            .map_err(|UnknownCoding(coding)| UpstreamError::Coding { provider: self.source.kind.provider(), coding })?;
        if matches!(self.source.kind, Kind::Http(_)) {
            self.source.decoding = Some(decoding);
        }
        self.headers.remove(CONTENT_ENCODING);
        Ok(self)
    }
}

impl HttpSource {
    fn poll_data(&mut self, cx: &mut Context<'_>, now: Instant) -> Poll<Option<Result<Bytes, UpstreamError>>> {
        loop {
            let polled = match &mut self.http1 {
                Some(http1) => poll_driven(http1, &mut self.body, &mut self.nudge, cx),
                None => Pin::new(&mut self.body).poll_frame(cx),
            };
            return match polled {
                Poll::Pending => self.silence.poll(cx, now, &self.provider).map(|error| Some(Err(error))),
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    self.silence.broken(now, &self.provider);
                    Poll::Ready(Some(Ok(data)))
                }
                Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(self.provider.broken(&error)))),
                Poll::Ready(None) => {
                    if let Some(http1) = self.http1.take() {
                        self.pool.put(&self.provider, http1);
                    }
                    Poll::Ready(None)
                }
            };
        }
    }
}

/// How often a connection is driven on for one poll that yields nothing, before the other tasks have their turn.
const MOST_DRIVES: usize = 8;

/// Polls a body together with the connection that it comes over. The body is filled by nothing but this very drive, so
/// it needs no waker of its own.
fn poll_driven(
    http1: &mut Http1,
    body: &mut Incoming,
    nudge: &mut Nudge,
    cx: &mut Context<'_>,
) -> Poll<Option<Result<hyper::body::Frame<Bytes>, hyper::Error>>> {
    let mut unheard = Context::from_waker(Waker::noop());
    for _ in 0..MOST_DRIVES {
        nudge.work(cx);
        // What ends the connection shows in the body.
        let _ = http1.drive(&mut nudge.driving());
        if let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(&mut unheard) {
            return Poll::Ready(frame);
        }
        if nudge.rest() {
            return Poll::Pending;
        }
    }
    cx.waker().wake_by_ref();
    Poll::Pending
}

impl Silence {
    /// The provider was asked at `asked` and has sent no byte of a body yet.
    fn since(asked: Instant, provider: &HttpProvider) -> Self {
        let limit = asked + provider.first_byte_timeout;
        Self { timer: Box::pin(tokio::time::sleep_until(limit.into())), last: asked, began: false }
    }

    /// Notes that the provider said something.
    fn broken(&mut self, now: Instant, provider: &HttpProvider) {
        self.last = now;
        if !std::mem::replace(&mut self.began, true) {
            // The limit from here on is another, and may be the shorter one.
            self.timer.as_mut().reset((now + provider.idle_timeout).into());
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, now: Instant, provider: &HttpProvider) -> Poll<UpstreamError> {
        let limit = if self.began { provider.idle_timeout } else { provider.first_byte_timeout };
        while self.timer.as_mut().poll(cx).is_ready() {
            if now.saturating_duration_since(self.last) >= limit {
                return Poll::Ready(provider.silent(self.began));
            }
            self.timer.as_mut().reset((self.last + limit).into());
        }
        Poll::Pending
    }
}

impl HttpProvider {
    /// Sends a request and waits for the head of its answer. Dropping the future ends the call at once. The first byte's
    /// time runs from when there is a connection; a head without a body does not end it.
    pub(super) async fn send(
        self: &Arc<Self>,
        pool: &Pool,
        request: Request<Full<Bytes>>,
    ) -> Result<Answer, UpstreamError> {
        let connection = pool.take(self).await?;
        let asked = Instant::now();
        let response = self.send_patiently(pool, connection, request);
        match tokio::time::timeout(self.first_byte_timeout, response).await {
            Ok(response) => response.map(|(http1, response)| self.answer(pool, http1, response, asked)),
            Err(_) => Err(self.silent(false)),
        }
    }

    async fn send_patiently(
        self: &Arc<Self>,
        pool: &Pool,
        connection: Connection,
        request: Request<Full<Bytes>>,
    ) -> Result<Head, UpstreamError> {
        match connection {
            Connection::Http1(http1) => match self.over_http1(http1, request).await {
                Ok(head) => Ok(head),
                Err(Unsent::Failed(error)) => Err(error),
                // The provider had closed the connection while it waited: nothing was sent, so nothing happens twice.
                Err(Unsent::Again(request)) => match pool.open(self).await? {
                    Connection::Http1(http1) => {
                        self.over_http1(http1, *request).await.map_err(|unsent| unsent.into_error(self))
                    }
                    Connection::Http2(requests) => self.over_http2(requests, *request).await,
                },
            },
            Connection::Http2(requests) => self.over_http2(requests, request).await,
        }
    }

    async fn over_http1(&self, mut http1: Http1, mut request: Request<Full<Bytes>>) -> Result<Head, Unsent> {
        let uri = request.uri().clone();
        *request.uri_mut() = origin_form(&uri);
        let mut sent = std::pin::pin!(http1.requests.try_send_request(request));
        let response = poll_fn(|cx| {
            if let Poll::Ready(response) = sent.as_mut().poll(cx) {
                return Poll::Ready(response);
            }
            let _ = http1.drive(cx);
            sent.as_mut().poll(cx)
        })
        .await;
        match response {
            Ok(response) => Ok((Some(http1), response)),
            Err(mut error) => match error.take_message() {
                Some(mut request) if http1.used => {
                    *request.uri_mut() = uri;
                    Err(Unsent::Again(Box::new(request)))
                }
                _ => Err(Unsent::Failed(self.broken(error.error()))),
            },
        }
    }

    async fn over_http2(
        &self,
        mut requests: hyper::client::conn::http2::SendRequest<Full<Bytes>>,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Head, UpstreamError> {
        // HTTP/2 says it in `:authority` (RFC 9113, 8.3.1).
        request.headers_mut().remove(HOST);
        let response = requests.send_request(request).await.map_err(|error| self.broken(&error))?;
        Ok((None, response))
    }

    fn answer(
        self: &Arc<Self>,
        pool: &Pool,
        http1: Option<Http1>,
        response: Response<Incoming>,
        asked: Instant,
    ) -> Answer {
        let (head, body) = response.into_parts();
        let source = HttpSource {
            nudge: Nudge::new(),
            silence: Silence::since(asked, self),
            provider: Arc::clone(self),
            pool: pool.clone(),
            http1,
            body,
        };
        Answer {
            status: head.status,
            headers: head.headers,
            source: Source { kind: Kind::Http(Box::new(source)), decoding: None },
        }
    }

    /// The error for a provider that says nothing.
    fn silent(&self, began: bool) -> UpstreamError {
        let provider = self.name.clone();
        if began {
            UpstreamError::IdleTimeout { provider, limit: self.idle_timeout }
        } else {
            UpstreamError::FirstByteTimeout { provider, limit: self.first_byte_timeout }
        }
    }

    /// The error for a provider that broke off or broke the protocol.
    fn broken(&self, error: &hyper::Error) -> UpstreamError {
        let mut reason = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(inner) = source {
            reason.push_str(": ");
            reason.push_str(&inner.to_string());
            source = inner.source();
        }
        UpstreamError::Broken { provider: self.name.clone(), reason }
    }
}

/// The path and query alone: what HTTP/1.1 sends to anything but a proxy (RFC 9112, 3.2.1).
fn origin_form(uri: &Uri) -> Uri {
    uri.path_and_query().cloned().map_or_else(Uri::default, Uri::from)
}

/// The head of an answer, and its connection if that has to be driven.
type Head = (Option<Http1>, Response<Incoming>);

/// A request that got no answer.
enum Unsent {
    /// It never left: it may go over another connection.
    Again(Box<Request<Full<Bytes>>>),
    /// It may have left.
    Failed(UpstreamError),
}

impl Unsent {
    fn into_error(self, provider: &HttpProvider) -> UpstreamError {
        match self {
            Self::Failed(error) => error,
            Self::Again(_) => UpstreamError::Broken {
                provider: provider.name.clone(),
                reason: "it closed a new connection before a request could be sent".into(),
            },
        }
    }
}
