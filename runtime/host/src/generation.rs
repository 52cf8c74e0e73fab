//! An immutable set of configured plugins, and which of them makes observers for an invocation.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use seam_ladder::{OnFault, Policy, Rung};
use seam_plugin_api::abi::{Description, Fault, Invocation, PluginHandle};
use seam_plugin_api::{CallClass, Host, When};

use crate::library::MappedLibrary;
use crate::observer::LoadedObserver;
use crate::stats::PluginStats;

/// Plugins with their configuration. It never changes; an invocation keeps the one that it started with, and whoever
/// lets go of it last drops its plugins, on that thread.
pub struct Generation {
    number: u64,
    plugins: Vec<LoadedPlugin>,
    invocations: AtomicU64,
}

impl Generation {
    pub(crate) fn new(number: u64, plugins: Vec<LoadedPlugin>) -> Self {
        Self { number, plugins, invocations: AtomicU64::new(0) }
    }

    /// Its number: 1 for the first that was loaded, each later one higher.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its plugins, in the order of the ladder.
    #[must_use]
    pub fn plugins(&self) -> &[LoadedPlugin] {
        &self.plugins
    }

    /// How many invocations have observers of it right now.
    #[must_use]
    pub fn invocations(&self) -> u64 {
        self.invocations.load(Ordering::Relaxed)
    }

    /// Makes the observers of an invocation: plugins in their order, within a plugin its registrations in theirs. A
    /// factory at fault is counted and logged; with `on_fault = "skip"` its observer is left out.
    ///
    /// # Errors
    /// A factory at fault of a plugin with `on_fault = "stop"`, and the observers that were made before: they are to be
    /// told the end of the invocation like any others.
    pub fn rungs(self: &Arc<Self>, invocation: &Invocation) -> Result<Vec<Rung<LoadedObserver>>, FactoryFault> {
        let hold = Arc::new(InvocationHold::new(Arc::clone(self)));
        let mut rungs: Vec<Rung<LoadedObserver>> = Vec::new();
        for (place, plugin) in self.plugins.iter().enumerate() {
            let before = rungs.len();
            for registration in plugin.registrations.iter().filter(|own| own.runs_for(invocation.call_class)) {
                let seed = invocation.seed.wrapping_add(rungs.len() as u64);
                match plugin.make_observer(registration, invocation) {
                    Ok(handle) => rungs.push(Rung {
                        observer: LoadedObserver::new(handle, place, Arc::clone(&hold), seed),
                        observer_id: Arc::clone(&registration.observer_id),
                        plugin: Arc::clone(&plugin.name),
                        policy: plugin.policy,
                    }),
                    Err(fault) if plugin.policy.on_fault == OnFault::Skip => {
                        plugin.note_factory_fault(registration, invocation, &fault);
                    }
                    Err(fault) => {
                        plugin.note_factory_fault(registration, invocation, &fault);
                        let (plugin, observer_id) = (Arc::clone(&plugin.name), Arc::clone(&registration.observer_id));
                        return Err(FactoryFault { plugin, observer_id, fault, made: rungs });
                    }
                }
            }
            if rungs.len() > before {
                plugin.stats.add_invocation();
            }
        }
        Ok(rungs)
    }
}

impl std::fmt::Debug for Generation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generation")
            .field("number", &self.number)
            .field("plugins", &self.plugins)
            .finish_non_exhaustive()
    }
}

/// A factory that was at fault where no stream may go without its observer.
#[derive(Debug)]
pub struct FactoryFault {
    /// The plugin.
    pub plugin: Arc<str>,
    /// The observer that it did not make.
    pub observer_id: Arc<str>,
    /// The fault.
    pub fault: Fault,
    /// The observers of the invocation that were made before.
    pub made: Vec<Rung<LoadedObserver>>,
}

impl std::fmt::Display for FactoryFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "plugin {} did not make its observer {}: {}", self.plugin, self.observer_id, self.fault)
    }
}

impl std::error::Error for FactoryFault {}

/// What an invocation's observers share: their generation, in which they count as one.
pub(crate) struct InvocationHold(Arc<Generation>);

impl InvocationHold {
    fn new(generation: Arc<Generation>) -> Self {
        generation.invocations.fetch_add(1, Ordering::Relaxed);
        Self(generation)
    }

    pub(crate) fn generation(&self) -> &Generation {
        &self.0
    }
}

impl Drop for InvocationHold {
    fn drop(&mut self) {
        self.0.invocations.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One plugin of a generation.
pub struct LoadedPlugin {
    pub(crate) name: Arc<str>,
    pub(crate) path: PathBuf,
    pub(crate) sha256: String,
    pub(crate) library: Arc<MappedLibrary>,
    pub(crate) library_reused: bool,
    pub(crate) since: SystemTime,
    pub(crate) warnings: Vec<String>,
    pub(crate) policy: Policy,
    pub(crate) registrations: Vec<LoadedRegistration>,
    pub(crate) stats: Arc<PluginStats>,
    /// Gone only while this is dropped.
    pub(crate) handle: Option<PluginHandle>,
}

/// One registration of a plugin, narrowed by its operator.
#[derive(Clone, Debug)]
pub struct LoadedRegistration {
    /// Its place among the plugin's registrations.
    pub(crate) index: usize,
    pub(crate) observer_id: Arc<str>,
    pub(crate) when: When,
    pub(crate) call_classes: Option<Arc<[CallClass]>>,
    pub(crate) host: Host,
}

impl LoadedRegistration {
    /// The observer's id.
    #[must_use]
    pub fn observer_id(&self) -> &str {
        &self.observer_id
    }

    /// Whether its observer is made for invocations of this class: the plugin and its operator both say so.
    #[must_use]
    pub fn runs_for(&self, class: CallClass) -> bool {
        let registered = match self.when {
            When::Any => true,
            When::CallClass(own) => own == class,
        };
        registered && self.call_classes.as_ref().is_none_or(|classes| classes.contains(&class))
    }
}

impl LoadedPlugin {
    /// Its name in this daemon.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that it was loaded from. What is mapped is a copy: the file may have changed since.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The SHA-256 of what is mapped, in hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// What it says of itself.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.library.description
    }

    /// Whether its library was mapped already and only configured anew.
    #[must_use]
    pub fn library_reused(&self) -> bool {
        self.library_reused
    }

    /// When it was configured.
    #[must_use]
    pub fn since(&self) -> SystemTime {
        self.since
    }

    /// What does not stop it from running but an operator should know, each in one line.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// How its observers are treated.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Its registrations, in their order.
    #[must_use]
    pub fn registrations(&self) -> &[LoadedRegistration] {
        &self.registrations
    }

    /// Its counts, which go on over generations.
    #[must_use]
    pub fn stats(&self) -> &Arc<PluginStats> {
        &self.stats
    }

    fn make_observer(
        &self,
        registration: &LoadedRegistration,
        invocation: &Invocation,
    ) -> Result<seam_plugin_api::abi::ObserverHandle, Fault> {
        let gone = || Fault::new(seam_plugin_api::abi::FaultKind::Violation, "the plugin is being dropped");
        let handle = self.handle.as_ref().ok_or_else(gone)?;
        handle.make_observer(registration.index, invocation, registration.host)
    }

    fn note_factory_fault(&self, registration: &LoadedRegistration, invocation: &Invocation, fault: &Fault) {
        self.stats.add_fault(fault.kind);
        tracing::warn!(
            target: "seam_host",
            plugin = %self.name,
            observer = %registration.observer_id,
            invocation = invocation.invocation_id,
            %fault,
            "a plugin did not make an observer"
        );
    }

    /// Counts and logs a fault that nobody else is told of.
    pub(crate) fn note_fault(&self, what: &str, fault: &Fault) {
        self.stats.add_fault(fault.kind);
        tracing::warn!(target: "seam_host", plugin = %self.name, %fault, "{what}");
    }
}

impl Drop for LoadedPlugin {
    fn drop(&mut self) {
        if let Some(Err(fault)) = self.handle.take().map(PluginHandle::close) {
            self.note_fault("a plugin was at fault when it was dropped", &fault);
        }
    }
}

impl std::fmt::Debug for LoadedPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedPlugin").field("name", &self.name).field("sha256", &self.sha256).finish_non_exhaustive()
    }
}

/// The generation that new invocations start with, and the earlier ones that some still run with.
#[derive(Debug)]
pub struct Generations {
    current: ArcSwap<Generation>,
    /// In the order of installation. Those that are gone are taken out with the next installation.
    installed: Mutex<Vec<Weak<Generation>>>,
}

/// A generation that is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct GenerationUse {
    /// Its number.
    pub number: u64,
    /// How many invocations have observers of it.
    pub invocations: u64,
    /// Whether new invocations start with it.
    pub current: bool,
}

impl Generations {
    /// Begins with a generation.
    #[must_use]
    pub fn new(first: Arc<Generation>) -> Self {
        Self { installed: Mutex::new(vec![Arc::downgrade(&first)]), current: ArcSwap::new(first) }
    }

    /// The generation that an invocation starts with now.
    #[must_use]
    pub fn current(&self) -> Arc<Generation> {
        self.current.load_full()
    }

    /// Lets new invocations start with another generation; answers with the one before. Invocations that run keep theirs.
    pub fn install(&self, generation: Arc<Generation>) -> Arc<Generation> {
        let mut installed = self.installed.lock();
        installed.retain(|weak| weak.strong_count() > 0);
        installed.push(Arc::downgrade(&generation));
        self.current.swap(generation)
    }

    /// The generations that are still there, in the order of installation.
    #[must_use]
    pub fn alive(&self) -> Vec<GenerationUse> {
        let current = self.current().number();
        let installed: Vec<Arc<Generation>> = self.installed.lock().iter().filter_map(Weak::upgrade).collect();
        installed
            .iter()
            .map(|generation| GenerationUse {
                number: generation.number(),
                invocations: generation.invocations(),
                current: generation.number() == current,
            })
            .collect()
    }
}
