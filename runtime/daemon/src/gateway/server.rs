//! Connections of clients: accepted, set up, served.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream};

use super::phase::{Phase, Phases};
use super::sending::Sending;
use super::service::Gateway;
use super::worker::Workers;

/// Connections that the kernel may queue: a burst of clients is not refused.
const BACKLOG: i32 = 4096;

/// How long a request's head may take to arrive: a client that dawdles holds a connection, and nothing more.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// What one connection buffers at most in each direction: bounds what a client that does not read can make seamd keep.
const CONNECTION_BUFFER: usize = 64 * 1024;

/// What the kernel may hold unsent for one connection before it takes no more: without it a client that does not read
/// draws megabytes out of the provider.
const UNSENT_LIMIT: u32 = 64 * 1024;

/// How long to wait after a failed accept, usually for want of file descriptors, before the next one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// How often it is told that connections can't be accepted.
const COMPLAINT_PAUSE: Duration = Duration::from_secs(10);

/// Binds the address that clients connect to.
///
/// # Errors
/// Whatever the system says against it.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Accepts connections and deals them out to the workers.
pub struct Acceptor {
    /// Where they come in.
    pub listener: TcpListener,
    /// Who serves them.
    pub workers: Workers,
    /// Until when.
    pub phases: Phases,
}

impl Acceptor {
    /// Accepts until the daemon is to end; gives back the workers, which may still have connections to serve.
    pub async fn run(mut self) -> Workers {
        let mut complaints = Complaints::default();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted.and_then(|(connection, _)| connection.into_std()) {
                    Ok(connection) => self.workers.assign(connection),
                    Err(error) => {
                        complaints.tell(&error);
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                phase = self.phases.next() => if phase != Phase::Running { return self.workers },
            }
        }
    }
}

/// Connections that could not be accepted: told at once and then seldom, as there are dozens a second while the process is
/// out of file descriptors.
#[derive(Default)]
struct Complaints {
    told: Option<Instant>,
    untold: u64,
}

impl Complaints {
    fn tell(&mut self, error: &io::Error) {
        if self.told.is_some_and(|told| told.elapsed() < COMPLAINT_PAUSE) {
            self.untold += 1;
            return;
        }
        self.told = Some(Instant::now());
        let untold = std::mem::take(&mut self.untold);
        tracing::warn!(%error, untold, "a connection could not be accepted");
    }
}

/// Serves a connection to its end.
pub(super) async fn serve_connection(connection: std::net::TcpStream, gateway: Arc<Gateway>) {
    let connection = match prepare(connection) {
        Ok(connection) => connection,
        Err(error) => return tracing::debug!(%error, "a connection could not be set up"),
    };
    let mut phases = gateway.phases.clone();
    let send_timeout = gateway.snapshot.load().config.server.send_timeout;
    let service = service_fn(move |request| {
        let gateway = Arc::clone(&gateway);
        // On the heap, so that what it took to make an answer is given back while the answer streams.
        Box::pin(async move { Ok::<_, Infallible>(gateway.handle(request).await) })
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(CONNECTION_BUFFER)
        // A piece is small and its framing smaller: one copy of both costs less than a list of three for the kernel.
        .writev(false)
        .serve_connection(Sending::new(connection, send_timeout), service);
    let mut connection = pin!(connection);
    if phases.now() != Phase::Running {
        connection.as_mut().graceful_shutdown();
    }
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended early");
                }
                return;
            }
            // The next turn of the loop polls the connection, and so its answer, which sees a cut.
            phase = phases.next() => if phase != Phase::Running { connection.as_mut().graceful_shutdown() },
        }
    }
}

fn prepare(connection: std::net::TcpStream) -> io::Result<TcpStream> {
    // Without it a chunk waits for the client's delayed acknowledgement of the one before.
    connection.set_nodelay(true)?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    SockRef::from(&connection).set_tcp_notsent_lowat(UNSENT_LIMIT)?;
    TcpStream::from_std(connection)
}
