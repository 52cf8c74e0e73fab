//! Start-up and reload: one path from the files to a snapshot, and the swap.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use seam_host::{GenerationUse, Generations, Loaded, Loader, PluginSpec, Reason, Rejection};
use tokio::sync::watch;

use crate::config::{self, Config, LoadError, Report, Source};
use crate::files::FileStates;
use crate::metrics::Metrics;
use crate::snapshot::Snapshot;
use crate::upstream::Provider;

/// Why there is no new snapshot. Nothing has changed.
#[derive(Debug)]
pub enum Refusal {
    /// The configuration file cannot be read.
    Unreadable(String),
    /// The configuration, a provider or a plugin has faults: all of them, each at its place.
    Faults(Box<Report>),
    /// Something of the system failed.
    System(String),
}

impl Refusal {
    /// Every fault in words, plain.
    #[must_use]
    pub fn to_text(&self, colour: bool) -> String {
        match self {
            Self::Unreadable(message) | Self::System(message) => message.clone(),
            Self::Faults(report) if colour => report.to_styled(),
            Self::Faults(report) => report.to_string(),
        }
    }

    /// Every fault for machines.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Unreadable(message) | Self::System(message) => serde_json::json!([{ "message": message }]),
            Self::Faults(report) => serde_json::json!(report),
        }
    }

    /// In one line, for the log.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Unreadable(message) | Self::System(message) => message.clone(),
            Self::Faults(report) => {
                let faults: Vec<String> = report
                    .faults()
                    .iter()
                    .map(|fault| {
                        format!("{}:{}:{}: {}", report.file().display(), fault.line, fault.column, fault.message)
                    })
                    .collect();
                faults.join("; ")
            }
        }
    }
}

impl From<LoadError> for Refusal {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Faulty(report) => Self::Faults(Box::new(report)),
            LoadError::Unreadable { path, source } => {
                Self::Unreadable(format!("cannot read the configuration file {}: {source}", path.display()))
            }
        }
    }
}

/// A snapshot, and what its operator should know of it.
pub struct Made {
    /// The snapshot. Nothing runs with it yet.
    pub snapshot: Snapshot,
    /// What does not keep it from running, each in one line: plugins that it is without, and what those that it has warn of.
    pub warnings: Vec<String>,
}

impl Made {
    /// The snapshot, its warnings in the log.
    #[must_use]
    pub fn with_warnings_logged(self) -> Snapshot {
        for warning in &self.warnings {
            tracing::warn!("{warning}");
        }
        self.snapshot
    }
}

/// Reads a configuration and makes everything that it names: what start-up, `seamd check` and a reload all do.
///
/// # Errors
/// Every fault of the file, of its providers and of its plugins at once.
pub fn make_snapshot(file: &Path, loader: &Loader, previous: Option<&Snapshot>) -> Result<Made, Refusal> {
    let loaded = config::load(file)?;
    snapshot_of(loaded.config, &loaded.source, loader, previous)
}

/// Makes everything that a configuration names.
///
/// # Errors
/// Every fault of its providers and of its plugins at once.
pub fn snapshot_of(
    config: Config,
    source: &Source,
    loader: &Loader,
    previous: Option<&Snapshot>,
) -> Result<Made, Refusal> {
    let mut report = source.report();
    if let Some(previous) = previous {
        refuse_what_needs_a_restart(&previous.config, &config, &mut report);
    }
    let providers = make_providers(&config, previous, &mut report);
    let specs: Vec<PluginSpec> = config.plugins.iter().map(plugin_spec).collect();
    match loader.load(&specs) {
        Ok(loaded) if report.is_empty() => {
            let warnings = warnings(&loaded);
            Ok(Made { snapshot: Snapshot::new(Arc::new(config), loaded.generation, providers), warnings })
        }
        Ok(_) => Err(Refusal::Faults(Box::new(report))),
        Err(rejections) => {
            for rejection in &rejections {
                add_rejection(&mut report, rejection);
            }
            Err(Refusal::Faults(Box::new(report)))
        }
    }
}

fn warnings(loaded: &Loaded) -> Vec<String> {
    let skipped = loaded.skipped.iter().map(|rejection| format!("skipped {rejection}"));
    let warned = loaded.generation.plugins().iter().flat_map(|plugin| {
        plugin
            .warnings()
            .iter()
            .map(|warning| format!("plugin {} ({}): {warning}", plugin.name(), plugin.path().display()))
    });
    skipped.chain(warned).collect()
}

fn make_providers(config: &Config, previous: Option<&Snapshot>, report: &mut Report) -> Vec<Arc<Provider>> {
    let mut made = Vec::with_capacity(config.providers.len());
    for (nth, provider) in config.providers.iter().enumerate() {
        let known = previous.and_then(|snapshot| snapshot.providers.iter().find(|known| known.name() == provider.name));
        match Provider::make(provider, known) {
            Ok(provider) => made.push(provider),
            Err(error) => {
                report.add_fault(&format!("provider[{nth}]"), format!("provider {:?}: {error}", provider.name))
            }
        }
    }
    made
}

/// What a reload cannot change is refused, not passed over: the file must say what runs.
fn refuse_what_needs_a_restart(running: &Config, wanted: &Config, report: &mut Report) {
    let mut same = |is_same: bool, key: &str| {
        if !is_same {
            report.add_fault(key, "cannot be changed by a reload; restart seamd, or put the old value back");
        }
    };
    same(running.server.listen == wanted.server.listen, "server.listen");
    same(running.server.admin == wanted.server.admin, "server.admin");
    same(running.server.workers == wanted.server.workers, "server.workers");
    same(running.server.state_dir == wanted.server.state_dir, "server.state_dir");
    same(running.log.level == wanted.log.level, "log.level");
    same(running.log.format == wanted.log.format, "log.format");
}

fn add_rejection(report: &mut Report, rejection: &Rejection) {
    match &rejection.reason {
        Reason::Config(faults) => {
            for fault in faults {
                let message = format!("{} (plugin {})", fault.message, rejection.plugin);
                report.add_plugin_fault(rejection.index, &fault.path, message);
            }
        }
        _ => report.add_plugin_load_fault(rejection.index, rejection.to_string()),
    }
}

fn plugin_spec(plugin: &config::Plugin) -> PluginSpec {
    PluginSpec {
        name: plugin.name.clone(),
        path: plugin.path.clone(),
        config: serde_json::Value::Object(plugin.config.clone()).to_string(),
        call_classes: plugin.call_class.clone(),
        policy: plugin.policy,
        on_load_error: plugin.on_load_error,
    }
}

/// Swaps snapshots: the one place where a running daemon's configuration changes.
pub struct Control {
    file: PathBuf,
    loader: Arc<Loader>,
    snapshot: Arc<ArcSwap<Snapshot>>,
    /// The generations that are still in use.
    generations: Generations,
    metrics: Arc<Metrics>,
    /// The files as they were last read, whatever came of it. Locked during a reload: one at a time.
    read: Mutex<FileStates>,
    /// The number of the present generation, for whoever waits for the next.
    installed: watch::Sender<u64>,
}

impl Control {
    /// Control over a daemon whose first snapshot stands; its files were read at `began` or later.
    #[must_use]
    pub fn new(
        file: PathBuf,
        loader: Arc<Loader>,
        snapshot: Arc<ArcSwap<Snapshot>>,
        metrics: Arc<Metrics>,
        began: SystemTime,
    ) -> Self {
        let first = snapshot.load();
        let generations = Generations::new(Arc::clone(&first.generation));
        let number = first.generation.number();
        metrics.generation(number);
        let read = Mutex::new(FileStates::default().as_read(&first.config.files(), began));
        Self { file, loader, snapshot, generations, metrics, read, installed: watch::Sender::new(number) }
    }

    /// What is served at present.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// The generations that are still in use, the oldest first.
    #[must_use]
    pub fn generations(&self) -> Vec<GenerationUse> {
        self.generations.alive()
    }

    /// The number of the present generation, and of each that comes after it.
    #[must_use]
    pub fn installed(&self) -> watch::Receiver<u64> {
        self.installed.subscribe()
    }

    /// Whether the files of the present configuration are others than those that were last read. Waits for a reload that
    /// is under way.
    #[must_use]
    pub fn files_have_changed(&self) -> bool {
        let read = self.read.lock();
        *read != FileStates::now(&self.snapshot.load().config.files())
    }

    /// Takes up the configuration and its plugins again. Streams under way keep what they began with; new ones get the
    /// new. Blocks while files are read and plugins configured. Gives the number of the new generation.
    ///
    /// # Errors
    /// Every fault; everything is then as it was.
    pub fn reload(&self, why: &str) -> Result<u64, Refusal> {
        let mut read = self.read.lock();
        let began = SystemTime::now();
        *read = FileStates::now(&self.snapshot.load().config.files());
        match make_snapshot(&self.file, &self.loader, Some(&self.snapshot.load())) {
            Ok(made) => {
                let snapshot = made.with_warnings_logged();
                let number = snapshot.generation.number();
                *read = read.as_read(&snapshot.config.files(), began);
                self.generations.install(Arc::clone(&snapshot.generation));
                self.snapshot.store(Arc::new(snapshot));
                self.metrics.reload("accepted");
                self.metrics.generation(number);
                tracing::info!(why, generation = number, "reload accepted");
                self.installed.send_replace(number);
                Ok(number)
            }
            Err(refusal) => {
                self.metrics.reload("refused");
                tracing::error!(why, reason = refusal.summary(), "reload refused; everything stays as it was");
                Err(refusal)
            }
        }
    }
}
