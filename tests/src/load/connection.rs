//! One connection of the load: asks for a stream and reads its lines, without a copy more than it needs, because
//! on a small machine it shares the processor with what it measures.

use super::stream::Line;
use crate::http1::{Dechunker, Decoded, Head};
use bytes::{Buf, BytesMut};
use serde_json::json;
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What is asked, and of whom.
#[derive(Clone, Debug)]
pub struct Target {
    /// The proxy, or the source itself.
    pub address: SocketAddr,
    /// The model, which says the shape of the answer.
    pub model: String,
    /// How many chunks, where the model's name does not say.
    pub chunks: u64,
}

/// A connection, kept for one answer after the other.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    raw: BytesMut,
    text: Vec<u8>,
    dechunker: Dechunker,
}

impl Connection {
    /// Connects to the target.
    ///
    /// # Errors
    /// When nobody listens there.
    pub async fn open(target: &Target) -> io::Result<Self> {
        let stream = TcpStream::connect(target.address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, raw: BytesMut::new(), text: Vec::new(), dechunker: Dechunker::default() })
    }

    /// Asks for a stream. `user` tells this request from others at the source.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn ask(&mut self, target: &Target, user: &str) -> io::Result<()> {
        let body = json!({
            "model": target.model,
            "stream": true,
            "max_tokens": target.chunks,
            "stream_options": {"include_usage": true},
            "user": user,
            "messages": [{"role": "user", "content": "Tell me a short story about a fox and a river."}],
        })
        .to_string();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             authorization: Bearer sk-load\r\naccept: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
            target.address,
            body.len(),
        );
        self.dechunker = Dechunker::default();
        self.text.clear();
        self.stream.write_all(request.as_bytes()).await
    }

    /// Reads the head of the answer.
    ///
    /// # Errors
    /// When the connection ends, or the answer is no chunked stream with status 200.
    pub async fn head(&mut self) -> io::Result<()> {
        let head = loop {
            if let Some(head) = Head::take(&mut self.raw)? {
                break head;
            }
            self.fill().await?;
        };
        if !head.first_line.contains(" 200 ") {
            return Err(io::Error::other(head.first_line));
        }
        if head.header("transfer-encoding").is_none() {
            return Err(io::Error::other("the answer is not chunked"));
        }
        Ok(())
    }

    async fn fill(&mut self) -> io::Result<()> {
        self.raw.reserve(64 * 1024);
        match self.stream.read_buf(&mut self.raw).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Shows `see` every line that has come, of which it awaits one at least. Answers whether the body goes on.
    ///
    /// # Errors
    /// When the connection ends in the middle of the body, or the body is malformed.
    pub async fn lines(&mut self, mut see: impl FnMut(Line<'_>)) -> io::Result<bool> {
        let mut goes_on = self.decode()?;
        while goes_on && memchr::memchr(b'\n', &self.text).is_none() {
            self.fill().await?;
            goes_on = self.decode()?;
        }
        let mut start = 0;
        while let Some(length) = memchr::memchr(b'\n', &self.text[start..]) {
            let line = &self.text[start..start + length];
            see(Line::parse(line.strip_suffix(b"\r").unwrap_or(line)));
            start += length + 1;
        }
        self.text.drain(..start);
        Ok(goes_on)
    }

    /// Moves what has come from its coding into the text. Answers whether the body goes on.
    fn decode(&mut self) -> io::Result<bool> {
        let mut done = 0;
        let goes_on = loop {
            let rest = &self.raw[done..];
            let (taken, decoded) = self.dechunker.step(rest)?;
            done += taken;
            match decoded {
                Decoded::Payload(range) => self.text.extend_from_slice(&rest[range]),
                Decoded::Nothing => {}
                Decoded::Incomplete => break true,
                Decoded::Finished => break false,
            }
        };
        self.raw.advance(done);
        Ok(goes_on)
    }
}
