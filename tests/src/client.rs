//! A client of the daemon on the socket itself: it sees the answer in the pieces in which it came, may stop reading
//! and may leave at any moment (by being dropped, or by [`Response::reset`]).

use crate::http1::{Framing, Head, Part};
use crate::os::monotonic_nanos;
use crate::patience::within;
use crate::sse::{Event, Splitter};
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, UnixStream};

/// The most that one read takes.
const READ: usize = 64 * 1024;

trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

/// A connection on which a request can be sent.
pub struct Client {
    stream: Box<dyn Socket>,
    control: Option<socket2::Socket>,
    host: String,
    buffer: BytesMut,
    reads: u64,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("host", &self.host).field("reads", &self.reads).finish_non_exhaustive()
    }
}

impl Client {
    /// Connects to `address`.
    ///
    /// # Errors
    /// When nobody listens there.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = within("the connection", TcpStream::connect(address)).await??;
        Self::over_tcp(stream, address)
    }

    /// Connects with a receive buffer of about `bytes`, so that whoever sends is soon held up when nobody reads.
    ///
    /// # Errors
    /// When nobody listens there.
    pub async fn connect_with_receive_buffer(address: SocketAddr, bytes: u32) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(bytes)?;
        let stream = within("the connection", socket.connect(address)).await??;
        Self::over_tcp(stream, address)
    }

    /// Connects to a socket in the file system.
    ///
    /// # Errors
    /// When nobody listens there.
    pub async fn connect_unix(path: &Path) -> io::Result<Self> {
        let stream = within("the connection", UnixStream::connect(path)).await??;
        Ok(Self::over(Box::new(stream), None, "localhost".to_owned()))
    }

    fn over_tcp(stream: TcpStream, address: SocketAddr) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let control = socket2::SockRef::from(&stream).try_clone()?;
        Ok(Self::over(Box::new(stream), Some(control), address.to_string()))
    }

    fn over(stream: Box<dyn Socket>, control: Option<socket2::Socket>, host: String) -> Self {
        Self { stream, control, host, buffer: BytesMut::new(), reads: 0 }
    }

    /// Writes these bytes as they are.
    ///
    /// # Errors
    /// When the other end is gone or takes nothing.
    pub async fn send_raw(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        within("the request to be taken", self.stream.write_all(bytes.as_ref())).await?
    }

    /// Writes a request: `host` and `content-length` are added, everything else is the caller's.
    ///
    /// # Errors
    /// When the other end is gone or takes nothing.
    pub async fn send(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> io::Result<()> {
        let body = body.as_ref();
        let mut request = format!("{method} {target} HTTP/1.1\r\nhost: {}\r\n", self.host);
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("content-length: {}\r\n\r\n", body.len());
        let mut request = request.into_bytes();
        request.extend_from_slice(body);
        self.send_raw(request).await
    }

    /// Waits for the head of an answer.
    ///
    /// # Errors
    /// When the connection ends before there is one, or it is malformed, or it does not come in time.
    pub async fn receive(mut self) -> io::Result<Response> {
        let head = within("the head of an answer", self.read_head()).await??;
        let status = head
            .first_line
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, head.first_line.clone()))?;
        let framing = match status {
            204 | 304 => Framing::Length(0),
            _ => head.framing()?.unwrap_or(Framing::UntilClose),
        };
        Ok(Response {
            status,
            received_at: monotonic_nanos(),
            head,
            client: self,
            framing,
            ended: false,
            events: Splitter::default(),
            ready: VecDeque::new(),
        })
    }

    async fn read_head(&mut self) -> io::Result<Head> {
        loop {
            match Head::take(&mut self.buffer)? {
                // An interim answer is not the answer.
                Some(head) if head.first_line.contains(" 100 ") => {}
                Some(head) => return Ok(head),
                None if self.read().await? == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                None => {}
            }
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        // Room for whatever has come, so that what came together is read together.
        self.buffer.reserve(READ);
        let read = self.stream.read_buf(&mut self.buffer).await?;
        self.reads += 1;
        Ok(read)
    }

    /// Sends a request and waits for the head of its answer.
    ///
    /// # Errors
    /// As [`Client::send`] and [`Client::receive`].
    pub async fn request(
        mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> io::Result<Response> {
        self.send(method, target, headers, body).await?;
        self.receive().await
    }

    /// Posts JSON and waits for the head of the answer.
    ///
    /// # Errors
    /// As [`Client::send`] and [`Client::receive`].
    pub async fn post(self, target: &str, body: &serde_json::Value) -> io::Result<Response> {
        let headers = [("content-type", "application/json")];
        self.request("POST", target, &headers, body.to_string()).await
    }

    /// Gets `target` and waits for the head of the answer.
    ///
    /// # Errors
    /// As [`Client::send`] and [`Client::receive`].
    pub async fn get(self, target: &str) -> io::Result<Response> {
        self.request("GET", target, &[], "").await
    }

    /// Leaves with a TCP reset rather than an orderly end.
    ///
    /// # Errors
    /// When the socket does not allow it.
    pub fn reset(self) -> io::Result<()> {
        match &self.control {
            Some(control) => control.set_linger(Some(Duration::ZERO)),
            None => Ok(()),
        }
    }

    /// Ends the sending direction alone.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn finish_sending(&mut self) -> io::Result<()> {
        self.stream.shutdown().await
    }

    /// Waits until the other end closes the connection; what it sent before is given back.
    ///
    /// # Errors
    /// When it resets the connection instead, or does not close it in time.
    pub async fn closed(mut self) -> io::Result<Bytes> {
        let reading = async {
            while self.read().await? > 0 {}
            io::Result::Ok(())
        };
        within("the connection to be closed", reading).await??;
        Ok(self.buffer.freeze())
    }
}

/// A piece of a body, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Payload, without the chunked coding. Never parts of two HTTP chunks in one piece.
    pub bytes: Bytes,
    /// Which read of the connection brought its last byte: pieces of equal number came together.
    pub read: u64,
    /// When it was read, on the monotonic clock, in nanoseconds.
    pub at: u64,
}

/// An answer, of which the body is still to be read.
#[derive(Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The head.
    pub head: Head,
    /// When the head had been read, on the monotonic clock, in nanoseconds.
    pub received_at: u64,
    client: Client,
    framing: Framing,
    ended: bool,
    events: Splitter,
    ready: VecDeque<Event>,
}

impl Response {
    /// The value of the first header `name`, in whatever case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    /// The next piece of the body; nothing once the body is properly over.
    ///
    /// # Errors
    /// Of kind [`io::ErrorKind::UnexpectedEof`] when the connection ends in the middle of the body,
    /// [`io::ErrorKind::ConnectionReset`] when it is reset, [`io::ErrorKind::InvalidData`] when the body is
    /// malformed, [`io::ErrorKind::TimedOut`] when nothing comes within the harness's patience.
    pub async fn next_piece(&mut self) -> io::Result<Option<Piece>> {
        within("the next piece of the body", self.read_piece()).await?
    }

    async fn read_piece(&mut self) -> io::Result<Option<Piece>> {
        while !self.ended {
            match self.framing.next(&mut self.client.buffer)? {
                Part::Data(bytes) => {
                    return Ok(Some(Piece { bytes, read: self.client.reads, at: monotonic_nanos() }));
                }
                Part::End => self.ended = true,
                Part::Incomplete if self.client.read().await? > 0 => {}
                Part::Incomplete if self.framing.ends_at_close() => self.ended = true,
                Part::Incomplete => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        Ok(None)
    }

    /// Every piece up to the end.
    ///
    /// # Errors
    /// As [`Response::next_piece`].
    pub async fn pieces(&mut self) -> io::Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        while let Some(piece) = self.next_piece().await? {
            pieces.push(piece);
        }
        Ok(pieces)
    }

    /// The whole rest of the body.
    ///
    /// # Errors
    /// As [`Response::next_piece`].
    pub async fn body(&mut self) -> io::Result<Bytes> {
        let mut body = BytesMut::new();
        while let Some(piece) = self.next_piece().await? {
            body.extend_from_slice(&piece.bytes);
        }
        Ok(body.freeze())
    }

    /// The whole rest of the body as text.
    ///
    /// # Errors
    /// As [`Response::next_piece`], and when it is no UTF-8.
    pub async fn text(&mut self) -> io::Result<String> {
        let body = self.body().await?;
        String::from_utf8(body.into()).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// The whole rest of the body as JSON.
    ///
    /// # Errors
    /// As [`Response::next_piece`], and when it is no JSON.
    pub async fn json(&mut self) -> io::Result<serde_json::Value> {
        let body = self.body().await?;
        serde_json::from_slice(&body).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// The next server-sent event (comments count as events); nothing once the body is over. An event that the end
    /// of the body cut short is given as it is, see [`Event::whole`].
    ///
    /// # Errors
    /// As [`Response::next_piece`].
    pub async fn next_event(&mut self) -> io::Result<Option<Event>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            match self.next_piece().await? {
                Some(piece) => self.ready.extend(self.events.push(&piece.bytes)),
                None => return Ok(self.events.rest()),
            }
        }
    }

    /// Every event up to the end.
    ///
    /// # Errors
    /// As [`Response::next_piece`].
    pub async fn events(&mut self) -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        while let Some(event) = self.next_event().await? {
            events.push(event);
        }
        Ok(events)
    }

    /// Whether the body is over.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The connection, for the next request.
    ///
    /// # Errors
    /// When the body has not been read to its end.
    pub fn reuse(self) -> io::Result<Client> {
        if self.ended {
            return Ok(self.client);
        }
        Err(io::Error::other("the body has not been read to its end"))
    }

    /// Leaves with a TCP reset rather than an orderly end.
    ///
    /// # Errors
    /// When the socket does not allow it.
    pub fn reset(self) -> io::Result<()> {
        self.client.reset()
    }
}
