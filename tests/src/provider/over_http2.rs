//! Scripts over HTTP/2: hyper speaks the protocol, the script is played by a task of its own behind a queue of one.

use super::Desk;
use super::call::{Call, CallEnd, Request};
use super::play::{Answer, play};
use super::script::{BodyFraming, Finish, Script};
use crate::os::monotonic_nanos;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc, oneshot};

type Piece = io::Result<Bytes>;
type Response = hyper::Response<Queue>;

/// Answers the requests of one connection until either side ends it.
pub(super) async fn serve<S>(stream: S, desk: &Arc<Desk>, connection: u64) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let cut = Arc::new(Notify::new());
    let service = hyper::service::service_fn(|request| answer(request, Arc::clone(desk), connection, Arc::clone(&cut)));
    let serving =
        hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        biased;
        () = cut.notified() => Ok(()),
        served = serving => served.map_err(io::Error::other),
    }
}

async fn answer(
    request: hyper::Request<Incoming>,
    desk: Arc<Desk>,
    connection: u64,
    cut: Arc<Notify>,
) -> io::Result<Response> {
    let (script, call) = desk.receive(read_request(request, connection).await?);
    let (head_sender, head) = oneshot::channel();
    let (pieces, receiver) = mpsc::channel(1);
    // Dropped with the answer, before or after its head: that is how the script learns that the client left.
    let body = Queue(receiver);
    tokio::spawn(run(script, call, head_sender, pieces, cut));
    match head.await {
        Ok(head) => Ok(head.map(|()| body)),
        Err(_) => Err(io::Error::other("the script ended before a head")),
    }
}

async fn read_request(request: hyper::Request<Incoming>, connection: u64) -> io::Result<Request> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let header = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    };
    Ok(Request {
        method: parts.method.to_string(),
        target: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        headers: parts.headers.iter().map(header).collect(),
        head: Bytes::new(),
        body,
        received_at: monotonic_nanos(),
        connection,
    })
}

async fn run(
    script: Script,
    call: Call,
    head: oneshot::Sender<hyper::Response<()>>,
    pieces: mpsc::Sender<Piece>,
    cut: Arc<Notify>,
) {
    let mut answer = Http2Answer { head: Some(head), pieces: pieces.clone(), call: call.clone() };
    let played = tokio::select! {
        biased;
        () = pieces.closed() => None,
        played = play(&script, &mut answer) => played.ok(),
    };
    match played {
        None => call.set_client_gone(),
        Some(Finish::End) => call.set_end(CallEnd::Finished),
        Some(Finish::Reset) => {
            call.set_end(CallEnd::Broken);
            // The receiver may be gone; then there is nobody left to be told.
            let _ = pieces.send(Err(io::ErrorKind::ConnectionReset.into())).await;
        }
        Some(Finish::Cut | Finish::Stall) => {
            call.set_end(CallEnd::Broken);
            cut.notify_one();
        }
    }
}

struct Http2Answer {
    head: Option<oneshot::Sender<hyper::Response<()>>>,
    pieces: mpsc::Sender<Piece>,
    call: Call,
}

impl Answer for Http2Answer {
    async fn head(&mut self, status: u16, headers: &[(String, String)], framing: BodyFraming) -> io::Result<()> {
        let mut head = hyper::Response::builder().status(status);
        for (name, value) in headers {
            head = head.header(name, value);
        }
        if let BodyFraming::Length(length) = framing {
            head = head.header("content-length", length);
        }
        let head = head.body(()).map_err(io::Error::other)?;
        let sender = self.head.take().ok_or_else(|| io::Error::other("a second head"))?;
        sender.send(head).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    async fn chunk(&mut self, bytes: &Bytes) -> io::Result<()> {
        self.pieces.send(Ok(bytes.clone())).await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        self.call.add_sent(bytes.len());
        Ok(())
    }

    async fn raw(&mut self, bytes: &Bytes) -> io::Result<()> {
        self.chunk(bytes).await
    }

    /// The body ends when its last sender is dropped.
    async fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The body of an answer: what the script sent and hyper has not taken yet.
struct Queue(mpsc::Receiver<Piece>);

impl Body for Queue {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let piece = ready!(self.0.poll_recv(context));
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }
}
