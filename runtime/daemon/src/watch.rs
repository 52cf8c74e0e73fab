//! Watches the configuration and the files that it names, and has them taken up when they have come to rest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{Receiver, channel};

use crate::control::Control;

/// What tells one state of a file from another without reading it; `None`: there is no file.
type State = Option<(u64, SystemTime, u64)>;

/// The watched files as they were when they were last looked at.
type States = BTreeMap<PathBuf, State>;

/// A watch over the files of a daemon's present configuration.
pub struct Watch {
    control: Arc<Control>,
    watcher: RecommendedWatcher,
    folders: Vec<PathBuf>,
    changes: Receiver<()>,
    states: States,
}

impl Watch {
    /// Begins to watch.
    ///
    /// # Errors
    /// Where the system has no more watches to give.
    pub fn begin(control: Arc<Control>) -> notify::Result<Self> {
        // One place in the queue: a change says that there is something to look at, and nothing else.
        let (sender, changes) = channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if !matches!(&event, Ok(event) if is_reading(&event.kind)) {
                let _ = sender.try_send(());
            }
        })?;
        let states = states(&control);
        let mut watch = Self { control, watcher, folders: Vec::new(), changes, states };
        watch.follow()?;
        Ok(watch)
    }

    /// Takes up each change once its files have been quiet for `reload.settle`, for ever.
    pub async fn run(mut self) {
        while self.changes.recv().await.is_some() {
            self.wait_for_rest().await;
            let now = states(&self.control);
            if now == self.states {
                continue;
            }
            self.states = now;
            if !self.control.snapshot().config.reload.watch {
                continue;
            }
            let control = Arc::clone(&self.control);
            // The outcome is in the log and in the metrics; there is nobody else to tell.
            let _ = tokio::task::spawn_blocking(move || control.reload("files changed").is_ok()).await;
            if let Err(error) = self.follow() {
                tracing::warn!(%error, "a folder cannot be watched; reload by hand after a change in it");
            }
        }
    }

    async fn wait_for_rest(&mut self) {
        let settle = self.control.snapshot().config.reload.settle;
        while let Ok(Some(())) = tokio::time::timeout(settle, self.changes.recv()).await {}
    }

    /// Watches the folders of the present configuration's files: a file that is replaced by another of the same name is
    /// seen in its folder alone.
    fn follow(&mut self) -> notify::Result<()> {
        let wanted = folders(&self.control);
        for gone in self.folders.iter().filter(|folder| !wanted.contains(folder)) {
            // A folder that was removed is no longer watched anyway.
            let _ = self.watcher.unwatch(gone);
        }
        let mut result = Ok(());
        for folder in wanted.iter().filter(|folder| !self.folders.contains(folder)) {
            result = result.and(self.watcher.watch(folder, RecursiveMode::NonRecursive));
        }
        self.folders = wanted;
        // What changed before the folder was watched is looked at with the next change, so look now.
        self.states = states(&self.control);
        result
    }
}

fn is_reading(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if *access != AccessKind::Close(AccessMode::Write))
}

fn folders(control: &Control) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        control.snapshot().config.files().iter().filter_map(|file| file.parent().map(Path::to_owned)).collect();
    folders.sort();
    folders.dedup();
    folders
}

fn states(control: &Control) -> States {
    control.snapshot().config.files().into_iter().map(|file| (file.clone(), state(&file))).collect()
}

fn state(file: &Path) -> State {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.len(), metadata.modified().ok()?, inode(&metadata)))
}

#[cfg(unix)]
fn inode(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &std::fs::Metadata) -> u64 {
    0
}
