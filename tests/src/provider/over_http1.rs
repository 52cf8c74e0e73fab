//! Scripts over HTTP/1.1, on the socket itself: so the framing can be broken, and the end of the peer is seen at
//! once rather than at the next write.

use super::Desk;
use super::call::{Call, CallEnd, Request};
use super::play::{Answer, play};
use super::script::{BodyFraming, Finish};
use crate::http1::{Framing, Head, Part};
use crate::os::monotonic_nanos;
use bytes::{Bytes, BytesMut};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Answers the requests of one connection, one after the other, until either side ends it. `socket` is a second
/// handle on the connection below any TLS.
pub(super) async fn serve<S>(stream: S, socket: socket2::Socket, desk: &Desk, connection: u64) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut buffer = BytesMut::new();
    while let Some(request) = read_request(&mut reader, &mut buffer, connection).await? {
        let (script, call) = desk.receive(request);
        let mut answer = Http1Answer { writer: &mut writer, framing: BodyFraming::UntilClose, call: &call };
        let played = tokio::select! {
            biased;
            () = client_leaves(&mut reader, &mut buffer) => None,
            played = play(&script, &mut answer) => played.ok(),
        };
        let until_close = answer.framing == BodyFraming::UntilClose;
        match played {
            // A failed write says the same as a failed read.
            None => {
                call.set_client_gone();
                return Ok(());
            }
            Some(Finish::End) => call.set_end(CallEnd::Finished),
            Some(Finish::Reset) => {
                call.set_end(CallEnd::Broken);
                return socket.set_linger(Some(Duration::ZERO));
            }
            Some(Finish::Cut | Finish::Stall) => {
                let cut = socket.shutdown(std::net::Shutdown::Both);
                // Told afterwards, so that whoever waits for it finds the connection ended.
                call.set_end(CallEnd::Broken);
                return cut;
            }
        }
        if until_close {
            return writer.shutdown().await;
        }
    }
    Ok(())
}

/// The next request, or nothing when the client ended the connection between two.
async fn read_request(
    reader: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
    connection: u64,
) -> io::Result<Option<Request>> {
    let head = loop {
        if let Some(head) = Head::take(buffer)? {
            break head;
        }
        if read(reader, buffer).await? == 0 {
            return Ok(None);
        }
    };
    let mut framing = head.framing()?.unwrap_or(Framing::Length(0));
    let mut body = BytesMut::new();
    loop {
        match framing.next(buffer)? {
            Part::Data(bytes) => body.extend_from_slice(&bytes),
            Part::End => break,
            Part::Incomplete => {
                if read(reader, buffer).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }
    let mut line = head.first_line.split(' ');
    Ok(Some(Request {
        method: line.next().unwrap_or_default().to_owned(),
        target: line.next().unwrap_or_default().to_owned(),
        headers: head.headers,
        head: head.bytes,
        body: body.freeze(),
        received_at: monotonic_nanos(),
        connection,
    }))
}

async fn read(reader: &mut (impl AsyncRead + Unpin), buffer: &mut BytesMut) -> io::Result<usize> {
    buffer.reserve(16 * 1024);
    reader.read_buf(buffer).await
}

/// Ends when the client does. What it sends meanwhile is kept for the next request.
async fn client_leaves(reader: &mut (impl AsyncRead + Unpin), buffer: &mut BytesMut) {
    while let Ok(1..) = read(reader, buffer).await {}
}

struct Http1Answer<'a, W> {
    writer: &'a mut W,
    framing: BodyFraming,
    call: &'a Call,
}

impl<W: AsyncWrite + Unpin> Http1Answer<'_, W> {
    async fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = self.writer.write(bytes).await?;
            self.call.add_sent(written);
            bytes = &bytes[written..];
        }
        self.writer.flush().await
    }
}

impl<W: AsyncWrite + Unpin> Answer for Http1Answer<'_, W> {
    async fn head(&mut self, status: u16, headers: &[(String, String)], framing: BodyFraming) -> io::Result<()> {
        self.framing = framing;
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &match framing {
            BodyFraming::Chunked => "transfer-encoding: chunked\r\n\r\n".to_owned(),
            BodyFraming::Length(length) => format!("content-length: {length}\r\n\r\n"),
            BodyFraming::UntilClose => "connection: close\r\n\r\n".to_owned(),
        };
        self.write(head.as_bytes()).await
    }

    async fn chunk(&mut self, bytes: &Bytes) -> io::Result<()> {
        if self.framing != BodyFraming::Chunked {
            return self.write(bytes).await;
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.write(&chunk).await
    }

    async fn raw(&mut self, bytes: &Bytes) -> io::Result<()> {
        self.write(bytes).await
    }

    async fn end(&mut self) -> io::Result<()> {
        if self.framing == BodyFraming::Chunked {
            return self.write(b"0\r\n\r\n").await;
        }
        Ok(())
    }
}

fn reason(status: u16) -> &'static str {
    hyper::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Unknown")
}
