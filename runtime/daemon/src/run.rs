//! `seamd run`: from a configuration file to a daemon that serves, and its end.

use std::io::Write;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use prometheus_client::registry::Registry;
use seam_host::Loader;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch::Sender;

use crate::admin::{Admin, AdminListener};
use crate::config;
use crate::control::{Control, Refusal, snapshot_of};
use crate::gateway::{Acceptor, Gateway, Invocations, Phase, Phases, Workers, bind};
use crate::metrics::{LogLines, Metrics, PluginMetrics};
use crate::snapshot::Snapshot;
use crate::telemetry::Telemetry;
use crate::upstream::Pool;
use crate::watch::Watch;

/// How long a stream that was given its end has to be taken by its client, before the process goes all the same.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The signals that a daemon listens to.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

/// Serves until it is told to end.
///
/// # Errors
/// What kept it from starting.
pub fn run(file: &Path, colour: bool) -> Result<(), Refusal> {
    let began = SystemTime::now();
    let loaded = config::load(file)?;
    let telemetry = Telemetry::begin(&loaded.config.log, colour)
        .map_err(|error| Refusal::System(format!("cannot begin the log: {error}")))?;
    let loader = Loader::new(loaded.config.server.state_dir.clone())
        .map_err(|error| Refusal::System(format!("cannot make the folder for private copies of plugins: {error}")))?;
    let loader = Arc::new(loader);
    let snapshot = snapshot_of(loaded.config, &loaded.source, &loader, None)?.with_warnings_logged();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Refusal::System(format!("the system gives no event queue: {error}")))?;
    let served = runtime.block_on(serve(file, snapshot, began, loader, &telemetry));
    // A reload that is stuck in a plugin is not waited for.
    runtime.shutdown_background();
    served
}

async fn serve(
    file: &Path,
    snapshot: Snapshot,
    began: SystemTime,
    loader: Arc<Loader>,
    telemetry: &Telemetry,
) -> Result<(), Refusal> {
    let config = Arc::clone(&snapshot.config);
    let signals = Signals::listen().map_err(|error| Refusal::System(format!("cannot listen to signals: {error}")))?;
    let cannot_bind = |key: &str, address: &dyn std::fmt::Display, error: std::io::Error| {
        Refusal::System(format!("cannot listen on {key} = \"{address}\": {error}"))
    };
    let server = &config.server;
    let listener = bind(server.listen).map_err(|error| cannot_bind("server.listen", &server.listen, error))?;
    let admin_listener =
        AdminListener::bind(&server.admin).await.map_err(|error| cannot_bind("server.admin", &server.admin, error))?;

    let mut registry = Registry::default();
    let metrics = Metrics::registered(&mut registry);
    loader.services().register(&mut registry);
    registry.register_collector(Box::new(PluginMetrics::new(Arc::clone(&loader))));
    registry.register_collector(Box::new(LogLines::new(telemetry.dropped())));
    let snapshot = Arc::new(ArcSwap::from_pointee(snapshot));
    let (stage, phases) = Phases::new();
    let invocations = Invocations::default();
    let control = Arc::new(Control::new(file.to_owned(), loader, Arc::clone(&snapshot), Arc::clone(&metrics), began));
    let gateway =
        Gateway { snapshot, pool: Pool::default(), invocations: invocations.clone(), metrics, phases: phases.clone() };
    let workers = Workers::start(server.workers, &gateway)
        .map_err(|error| Refusal::System(format!("cannot start a worker: {error}")))?;

    let address = listener.local_addr().map_err(|error| cannot_bind("server.listen", &server.listen, error))?;
    let admin_address = admin_listener.address().map_err(|error| cannot_bind("server.admin", &server.admin, error))?;
    let accepting = tokio::spawn(Acceptor { listener, workers, phases: phases.clone() }.run());
    let under_way = invocations.clone();
    let admin = Arc::new(Admin { control: Arc::clone(&control), invocations, phases, registry });
    tokio::spawn(admin.serve(admin_listener));
    begin_watch(&control);
    say_ready(&address.to_string(), &admin_address, control.snapshot().generation.number());

    let signals = until_told_to_end(signals, &control).await;
    // As it is now: a reload may have changed it.
    let drain_timeout = control.snapshot().config.server.drain_timeout;
    let at_most = humantime::format_duration(drain_timeout);
    tracing::info!(running = under_way.count(), %at_most, "told to end: no new streams, running ones may finish");
    match accepting_ends(&stage, accepting).await {
        Some(workers) => drain(workers, &stage, signals, drain_timeout).await,
        None => tracing::error!("the acceptor was gone before the end"),
    }
    Ok(())
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits to be told to end.
    async fn end(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

fn begin_watch(control: &Arc<Control>) {
    match Watch::begin(Arc::clone(control)) {
        Ok(watch) => drop(tokio::spawn(watch.run())),
        Err(error) => tracing::warn!(%error, "files cannot be watched; reload by hand after a change"),
    }
}

/// One line on standard output for whoever started the daemon and waits for it, with the addresses as they came to be.
fn say_ready(listen: &str, admin: &str, generation: u64) {
    let line = serde_json::json!({ "ready": true, "listen": listen, "admin": admin, "generation": generation });
    // Nobody has to read it.
    let _ = writeln!(std::io::stdout(), "{line}");
    tracing::info!(listen, admin, generation, "ready");
}

/// Reloads when asked to by a signal, until told to end.
async fn until_told_to_end(mut signals: Signals, control: &Arc<Control>) -> Signals {
    loop {
        tokio::select! {
            _ = signals.terminate.recv() => return signals,
            _ = signals.interrupt.recv() => return signals,
            _ = signals.hang_up.recv() => {
                let control = Arc::clone(control);
                // The outcome is in the log and in the metrics.
                drop(tokio::task::spawn_blocking(move || control.reload("SIGHUP").is_ok()));
            }
        }
    }
}

async fn accepting_ends(stage: &Sender<Phase>, accepting: tokio::task::JoinHandle<Workers>) -> Option<Workers> {
    stage.send_replace(Phase::Draining);
    accepting.await.ok()
}

/// Gives running streams their time, then their end.
async fn drain(workers: Workers, stage: &Sender<Phase>, mut signals: Signals, limit: Duration) {
    let mut finished = pin!(workers.finish());
    tokio::select! {
        () = &mut finished => return tracing::info!("every stream has ended"),
        () = tokio::time::sleep(limit) => tracing::warn!("the drain time is over: running streams are ended"),
        () = signals.end() => tracing::warn!("told to end again: running streams are ended"),
    }
    stage.send_replace(Phase::Cut);
    if tokio::time::timeout(LAST_WORDS, finished).await.is_err() {
        tracing::warn!("a client does not take the end of its stream, or a call into a plugin does not return");
    }
}
