//! Workers: threads that each serve a share of the connections on a loop of their own. A stream's client, its ladder and
//! its provider all live on one worker, so that a chunk never changes threads.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::server::serve_connection;
use super::service::Gateway;
use crate::upstream::Pool;

/// How often idle provider connections are looked over: well under their limit.
const SWEEP: Duration = Duration::from_secs(10);

/// The workers of a daemon.
pub struct Workers {
    workers: Vec<Worker>,
    threads: Vec<JoinHandle<()>>,
}

struct Worker {
    connections: UnboundedSender<TcpStream>,
    open: Arc<AtomicUsize>,
}

impl Workers {
    /// Starts `count` workers.
    ///
    /// # Errors
    /// Where the system gives no thread or no event queue.
    pub fn start(count: usize, gateway: &Gateway) -> std::io::Result<Self> {
        let mut workers = Vec::with_capacity(count);
        let mut threads = Vec::with_capacity(count);
        for nth in 0..count {
            let (connections, arriving) = unbounded_channel();
            let open = Arc::new(AtomicUsize::new(0));
            let gateway = Gateway { pool: Pool::default(), ..gateway.clone() };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let counter = Arc::clone(&open);
            let thread = std::thread::Builder::new()
                .name(format!("worker-{nth}"))
                .spawn(move || runtime.block_on(work(arriving, gateway, counter)))?;
            workers.push(Worker { connections, open });
            threads.push(thread);
        }
        Ok(Self { workers, threads })
    }

    /// Hands a connection to the worker that has the fewest.
    pub fn assign(&self, connection: TcpStream) {
        if let Some(worker) = self.workers.iter().min_by_key(|worker| worker.open.load(Ordering::Relaxed)) {
            worker.open.fetch_add(1, Ordering::Relaxed);
            // A worker that is gone takes its connections with it; the client sees a closed connection.
            let _ = worker.connections.send(connection);
        }
    }

    /// How many connections are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.workers.iter().map(|worker| worker.open.load(Ordering::Relaxed)).sum()
    }

    /// Takes no more connections and waits until those that are open have ended. That may take for ever: of a worker that is
    /// stuck in a plugin, or of a client that does not read.
    pub async fn finish(self) {
        drop(self.workers);
        let waited = tokio::task::spawn_blocking(move || {
            for thread in self.threads {
                // A worker that panicked has nothing left to wait for.
                let _ = thread.join();
            }
        });
        // Only ever cancelled with the runtime.
        let _ = waited.await;
    }
}

async fn work(mut arriving: UnboundedReceiver<TcpStream>, gateway: Gateway, open: Arc<AtomicUsize>) {
    let gateway = Arc::new(gateway);
    let mut connections = tokio::task::JoinSet::new();
    let mut sweep = tokio::time::interval(SWEEP);
    loop {
        tokio::select! {
            arrived = arriving.recv() => match arrived {
                Some(connection) => {
                    let (gateway, open) = (Arc::clone(&gateway), Arc::clone(&open));
                    connections.spawn(async move {
                        let _counted = Counted(open);
                        serve_connection(connection, gateway).await;
                    });
                }
                None => break,
            },
            Some(_) = connections.join_next() => {}
            _ = sweep.tick() => gateway.pool.sweep(),
        }
    }
    while connections.join_next().await.is_some() {}
}

/// An open connection in its worker's count.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
