//! Dials a provider: TCP without delay, TLS where the URL says so.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Where a provider is and how it is spoken to.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    /// Host name or address, without brackets.
    pub(super) host: String,
    /// TCP port.
    pub(super) port: u16,
    /// `None`: in the clear.
    pub(super) tls: Option<Arc<rustls::ClientConfig>>,
    /// Whether HTTP/2 is spoken in the clear without asking.
    pub(super) http2_in_the_clear: bool,
}

/// A connection and the protocol that was agreed on it.
pub(super) struct Dialled {
    pub(super) stream: Stream,
    pub(super) http2: bool,
}

/// A connection, with or without TLS.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Endpoint {
    /// Host and port as a person writes them.
    pub(super) fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Opens a connection.
    pub(super) async fn dial(&self) -> io::Result<Dialled> {
        let tcp = TcpStream::connect((self.host.as_str(), self.port)).await?;
        // Without it the kernel waits for the peer's delayed acknowledgement before it sends the next small piece.
        tcp.set_nodelay(true)?;
        let Some(tls) = &self.tls else {
            return Ok(Dialled { stream: Stream::Plain(tcp), http2: self.http2_in_the_clear });
        };
        let name = ServerName::try_from(self.host.clone())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let stream = TlsConnector::from(Arc::clone(tls)).connect(name, tcp).await?;
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok(Dialled { stream: Stream::Tls(Box::new(stream)), http2 })
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }
}
