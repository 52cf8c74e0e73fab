//! A provider on loopback that does exactly what a script says.
//!
//! ```text
//!   test ── answer(Script) ──▶ Desk ◀── receive ── connection (http1 raw │ http2 by hyper) ◀── daemon
//!    ▲                          │                       │ play: head, chunks, waits at gates, cut, reset
//!    └──── next_call() ─────────┴── Call: request, bytes sent, how it was over, when the client left
//! ```
//!
//! It runs on a thread of its own, so a test may block as it likes.

mod call;
mod over_http1;
mod over_http2;
mod play;
mod script;
mod tls;

pub use call::{Call, CallEnd, Request};
pub use script::{BodyFraming, Draft, Finish, Gate, Script, Step};

use crate::patience::within;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tls::Identity;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

/// The provider. It ends, with all its connections, when it is dropped.
#[derive(Debug)]
pub struct Provider {
    address: SocketAddr,
    certificate: Option<String>,
    desk: Arc<Desk>,
    calls: tokio::sync::Mutex<mpsc::UnboundedReceiver<Call>>,
    // Dropping the sender is what ends the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// How the provider is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1 in the clear.
    Http1,
    /// HTTP/1.1 in TLS.
    Http1Tls,
    /// HTTP/2 in TLS, agreed on by ALPN.
    Http2Tls,
    /// HTTP/2 in the clear, with prior knowledge.
    Http2,
}

impl Provider {
    /// A provider that speaks HTTP/1.1 in the clear, on a free port.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn start() -> io::Result<Self> {
        Self::start_with(Protocol::Http1)
    }

    /// A provider that speaks `protocol`, on a free port.
    ///
    /// # Errors
    /// When no port, thread or certificate can be had.
    pub fn start_with(protocol: Protocol) -> io::Result<Self> {
        Self::start_on(protocol, SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    /// A provider on that very address: one that comes (back) after the daemon first looked for it.
    ///
    /// # Errors
    /// When the address is taken, or no thread or certificate can be had.
    pub fn start_on(protocol: Protocol, address: SocketAddr) -> io::Result<Self> {
        let identity = match protocol {
            Protocol::Http1 | Protocol::Http2 => None,
            Protocol::Http1Tls => Some(Identity::make(&[b"http/1.1"])?),
            Protocol::Http2Tls => Some(Identity::make(&[b"h2"])?),
        };
        let certificate = identity.as_ref().map(|identity| identity.certificate.clone());
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (sender, calls) = mpsc::unbounded_channel();
        let desk = Arc::new(Desk::new(sender));
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let front = Front { protocol, identity, desk: Arc::clone(&desk) };
        let thread = std::thread::Builder::new()
            .name("provider".to_owned())
            .spawn(move || runtime.block_on(front.run(listener, stopped)))?;
        Ok(Self {
            address,
            certificate,
            desk,
            calls: tokio::sync::Mutex::new(calls),
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What goes into `base_url`: scheme, host and port. With TLS the host is `localhost`, which is what the
    /// certificate is for (and 127.0.0.1).
    #[must_use]
    pub fn base_url(&self) -> String {
        match self.certificate {
            None => format!("http://{}", self.address),
            Some(_) => format!("https://localhost:{}", self.address.port()),
        }
    }

    /// The certificate to trust, in PEM; nothing without TLS.
    #[must_use]
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// Answers the next request that has no answer yet by this script. Scripts are used in order, once each.
    pub fn answer(&self, script: Script) {
        self.desk.scripts().queue.push_back(script);
    }

    /// Answers every request for which no script is queued by this one.
    pub fn answer_always(&self, script: Script) {
        self.answer_with(move |_| script.clone());
    }

    /// Answers every request for which no script is queued by what `choose` says.
    pub fn answer_with(&self, choose: impl Fn(&Request) -> Script + Send + 'static) {
        self.desk.scripts().otherwise = Some(Box::new(choose));
    }

    /// Waits for the next request that no earlier `next_call` has answered for, in order of arrival.
    ///
    /// # Errors
    /// When none comes within the harness's patience.
    pub async fn next_call(&self) -> io::Result<Call> {
        let next = async { self.calls.lock().await.recv().await };
        within("the provider to be called", next).await?.ok_or_else(|| io::Error::other("the provider has ended"))
    }

    /// Every request so far, in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        let received = lock(&self.desk.received);
        received.iter().map(|call| call.request().clone()).collect()
    }

    /// Every call so far, in order of arrival.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.desk.received).clone()
    }

    /// How many connections were accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.desk.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of that thread was printed there; the test has its own assertions.
            let _ = thread.join();
        }
    }
}

/// An address of loopback on which nobody listens: for providers that cannot be reached.
///
/// # Errors
/// When no port can be had.
pub fn unused_address() -> io::Result<SocketAddr> {
    std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()
}

/// Where scripts lie ready and calls are written down.
struct Desk {
    scripts: Mutex<Scripts>,
    received: Mutex<Vec<Call>>,
    announce: mpsc::UnboundedSender<Call>,
    connections: AtomicU64,
}

/// Makes up an answer to a request.
type Chooser = Box<dyn Fn(&Request) -> Script + Send>;

#[derive(Default)]
struct Scripts {
    queue: VecDeque<Script>,
    otherwise: Option<Chooser>,
}

impl Scripts {
    fn choose(&mut self, request: &Request) -> Script {
        if let Some(script) = self.queue.pop_front() {
            return script;
        }
        match &self.otherwise {
            Some(choose) => choose(request),
            None => Script::json(500, r#"{"error":{"message":"the test gave no script"}}"#),
        }
    }
}

impl Desk {
    fn new(announce: mpsc::UnboundedSender<Call>) -> Self {
        Self { scripts: Mutex::default(), received: Mutex::default(), announce, connections: AtomicU64::new(0) }
    }

    fn scripts(&self) -> MutexGuard<'_, Scripts> {
        lock(&self.scripts)
    }

    fn receive(&self, request: Request) -> (Script, Call) {
        let script = self.scripts().choose(&request);
        let call = Call::new(request);
        lock(&self.received).push(call.clone());
        // Nobody may be listening: a test that only looks at `requests`.
        let _ = self.announce.send(call.clone());
        (script, call)
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Desk").finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The accepting side, on the provider's thread.
struct Front {
    protocol: Protocol,
    identity: Option<Identity>,
    desk: Arc<Desk>,
}

impl Front {
    async fn run(self, listener: std::net::TcpListener, stopped: oneshot::Receiver<()>) {
        let Ok(listener) = TcpListener::from_std(listener) else {
            return;
        };
        let front = Arc::new(self);
        tokio::select! {
            _ = stopped => {}
            () = front.accept(listener) => {}
        }
    }

    async fn accept(self: Arc<Self>, listener: TcpListener) {
        while let Ok((stream, _)) = listener.accept().await {
            let connection = self.desk.connections.fetch_add(1, Ordering::Relaxed);
            let front = Arc::clone(&self);
            tokio::spawn(async move {
                // A connection that fails is what many scripts are about; what it meant is in its calls.
                let _ = front.serve(stream, connection).await;
            });
        }
    }

    async fn serve(&self, stream: TcpStream, connection: u64) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let socket = socket2::SockRef::from(&stream).try_clone()?;
        match (self.protocol, &self.identity) {
            (Protocol::Http2, _) => over_http2::serve(stream, &self.desk, connection).await,
            (Protocol::Http2Tls, Some(identity)) => {
                let stream = identity.accept(stream).await?;
                over_http2::serve(stream, &self.desk, connection).await
            }
            (_, Some(identity)) => {
                let stream = identity.accept(stream).await?;
                over_http1::serve(stream, socket, &self.desk, connection).await
            }
            (_, None) => over_http1::serve(stream, socket, &self.desk, connection).await,
        }
    }
}
