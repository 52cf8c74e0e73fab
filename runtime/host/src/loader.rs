//! From what an operator says of plugins to a generation of them, or to everything that is wrong.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use seam_plugin_api::abi::{ConfigureError, Description, PluginHandle, RegistrationInfo};
use seam_plugin_api::{CallClass, is_name};

use crate::copies::Copies;
use crate::generation::{Generation, LoadedPlugin, LoadedRegistration};
use crate::inspect::{Inspected, Inspection, inspect_file};
use crate::library::{Found, find_or_map};
use crate::reason::{Reason, Rejection};
use crate::services::PluginServices;
use crate::spec::{OnLoadError, PluginSpec};
use crate::stats::StatsTable;

/// Loads plugins into this process. It may load on one thread while streams run on others.
pub struct Loader {
    copies: Copies,
    services: PluginServices,
    stats: StatsTable,
    generations: AtomicU64,
}

/// What was loaded.
#[derive(Debug)]
pub struct Loaded {
    /// The plugins. Nothing runs with them until the generation is installed.
    pub generation: Arc<Generation>,
    /// Plugins with `on_load_error = "skip"` that the generation is without.
    pub skipped: Vec<Rejection>,
}

/// Names that plugins of the list have, and which plugin has them.
type Names = HashMap<String, usize>;

impl Loader {
    /// A loader that maps libraries from copies in a fresh folder below `private_dir`, by default below the system's
    /// temporary folder. Only this process's user can enter it; it goes with the loader, and what processes that are
    /// gone left there goes now.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new(private_dir: Option<PathBuf>) -> io::Result<Self> {
        Ok(Self {
            copies: Copies::new(private_dir)?,
            services: PluginServices::default(),
            stats: StatsTable::default(),
            generations: AtomicU64::new(0),
        })
    }

    /// The services that plugins are handed, for their metrics to be exposed.
    #[must_use]
    pub fn services(&self) -> &PluginServices {
        &self.services
    }

    /// What the plugins did, over all generations.
    #[must_use]
    pub fn stats(&self) -> &StatsTable {
        &self.stats
    }

    /// Loads and configures plugins, in the order of their ladder. A library whose bytes are known is not mapped again.
    ///
    /// # Errors
    /// Everything that is wrong with any plugin of the list, if one is among them without which nothing may be loaded.
    pub fn load(&self, specs: &[PluginSpec]) -> Result<Loaded, Vec<Rejection>> {
        let (mut plugins, mut rejections, mut names) = (Vec::new(), Vec::new(), Names::new());
        for (index, spec) in specs.iter().enumerate() {
            match self.load_plugin(index, spec, &mut names) {
                Ok(plugin) => plugins.push(plugin),
                Err(rejected) => rejections.extend(rejected),
            }
        }
        if rejections.iter().any(|rejection| specs[rejection.index].on_load_error == OnLoadError::Refuse) {
            return Err(rejections);
        }
        let number = self.generations.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Loaded { generation: Arc::new(Generation::new(number, plugins)), skipped: rejections })
    }

    /// Looks at a file and, if it may be loaded, maps it and has it say what it is. That runs code of it; it is not
    /// configured.
    ///
    /// # Errors
    /// Why it cannot be a plugin here.
    pub fn describe(&self, path: &Path) -> Result<(Inspection, Description), Reason> {
        let inspected = inspect_file(path)?;
        let found = find_or_map(&inspected, &self.copies)?;
        Ok((inspected.inspection, found.library.description.clone()))
    }

    fn load_plugin(&self, index: usize, spec: &PluginSpec, names: &mut Names) -> Result<LoadedPlugin, Vec<Rejection>> {
        let inspected = inspect_file(&spec.path);
        let own_name = inspected.as_ref().ok().map(|inspected| inspected.inspection.name.clone());
        let known_name = spec.name.clone().or(own_name);
        let mut reasons: Vec<Reason> =
            known_name.as_ref().and_then(|name| check_name(name, index, names).err()).into_iter().collect();
        let name = known_name.unwrap_or_else(|| file_name(&spec.path));
        let loaded = inspected.map_err(|refusal| vec![refusal.into()]).and_then(|it| self.configure(&name, spec, &it));
        match loaded {
            Ok(plugin) if reasons.is_empty() => return Ok(plugin),
            Ok(_) => {}
            Err(more) => reasons.extend(more),
        }
        let reject = |reason| Rejection { index, plugin: name.clone(), path: spec.path.clone(), reason };
        Err(reasons.into_iter().map(reject).collect())
    }

    /// From the bytes of a library to a configured plugin.
    fn configure(&self, name: &str, spec: &PluginSpec, inspected: &Inspected) -> Result<LoadedPlugin, Vec<Reason>> {
        let Found { library, was_mapped } = find_or_map(inspected, &self.copies).map_err(|reason| vec![reason])?;
        let handle = library.entries.configure(&spec.config, self.services.host(name, None)).map_err(|error| {
            vec![match error {
                ConfigureError::Refused(faults) => Reason::Config(faults),
                ConfigureError::Fault(fault) => Reason::Configure(fault),
            }]
        })?;
        check_observer_ids(handle.registrations())?;
        let registrations = self.registrations(name, &handle, spec.call_classes.as_deref());
        let mut warnings = inspected.inspection.warnings.clone();
        warnings.extend(warn_of_no_observer(&registrations));
        Ok(LoadedPlugin {
            name: name.into(),
            path: spec.path.clone(),
            sha256: inspected.inspection.sha256.clone(),
            library,
            library_reused: was_mapped,
            since: SystemTime::now(),
            warnings,
            policy: spec.policy,
            registrations,
            stats: self.stats.of(name),
            handle: Some(handle),
        })
    }

    fn registrations(
        &self,
        plugin: &str,
        handle: &PluginHandle,
        call_classes: Option<&[CallClass]>,
    ) -> Vec<LoadedRegistration> {
        let call_classes: Option<Arc<[CallClass]>> = call_classes.map(Arc::from);
        let load = |(index, own): (usize, &RegistrationInfo)| LoadedRegistration {
            index,
            observer_id: own.observer_id.as_str().into(),
            when: own.when,
            call_classes: call_classes.clone(),
            host: self.services.host(plugin, Some(&own.observer_id)),
        };
        handle.registrations().iter().enumerate().map(load).collect()
    }
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").field("copies", &self.copies.folder()).finish_non_exhaustive()
    }
}

/// Takes a name for a plugin, if it is one and free.
fn check_name(name: &str, index: usize, names: &mut Names) -> Result<(), Reason> {
    if !is_name(name) {
        return Err(Reason::BadName(name.to_owned()));
    }
    match names.get(name) {
        Some(earlier) => Err(Reason::NameTaken(*earlier)),
        None => {
            names.insert(name.to_owned(), index);
            Ok(())
        }
    }
}

/// What a plugin of which nothing else is known is called.
fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn check_observer_ids(registrations: &[RegistrationInfo]) -> Result<(), Vec<Reason>> {
    let mut reasons = Vec::new();
    for (index, own) in registrations.iter().enumerate() {
        let id = &own.observer_id;
        if !is_name(id) {
            reasons.push(Reason::BadObserverId(id.clone()));
        } else if registrations[..index].iter().any(|earlier| earlier.observer_id == *id) {
            reasons.push(Reason::ObserverIdTaken(id.clone()));
        }
    }
    if reasons.is_empty() { Ok(()) } else { Err(reasons) }
}

/// A plugin that never runs is allowed, but hardly meant.
fn warn_of_no_observer(registrations: &[LoadedRegistration]) -> Option<String> {
    let runs = |own: &LoadedRegistration| CallClass::ALL.into_iter().any(|class| own.runs_for(class));
    let never = !registrations.iter().any(runs);
    never.then(|| "it makes no observer for any call class".to_owned())
}
