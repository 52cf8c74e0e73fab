//! Watches the configuration and the files that it names, and has them taken up when they have come to rest.
//!
//! An event says no more than that it is worth while to look: what has changed is told by the files themselves, so that
//! neither a missed event nor a folder that others write to all the time makes a difference.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::sync::watch;

use crate::control::Control;
use crate::files::{FileStates, folders};

/// The shortest time from a look that found nothing to the next one: what a folder that others write to all the time may
/// cost.
const PAUSE: Duration = Duration::from_millis(100);

/// A watch over the files of a daemon's present configuration.
pub struct Watch {
    control: Arc<Control>,
    watcher: RecommendedWatcher,
    /// Folders that are watched, or would be if they could.
    folders: BTreeSet<PathBuf>,
    events: Receiver<()>,
    /// Another configuration may name other files.
    generations: watch::Receiver<u64>,
}

impl Watch {
    /// Begins to watch.
    ///
    /// # Errors
    /// Where the system has no watches to give.
    pub fn begin(control: Arc<Control>) -> notify::Result<Self> {
        // One place in the queue: an event that finds it taken has nothing to add.
        let (sender, events) = channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if !matches!(&event, Ok(event) if is_reading(&event.kind)) {
                let _ = sender.try_send(());
            }
        })?;
        let generations = control.installed();
        let mut watch = Self { control, watcher, folders: BTreeSet::new(), events, generations };
        watch.follow();
        Ok(watch)
    }

    /// Takes up each change once the files have not changed for `reload.settle`, for ever.
    pub async fn run(mut self) {
        // What changed between start-up and the first watch had no event.
        let mut look = true;
        loop {
            if look {
                self.look().await;
            }
            look = tokio::select! {
                event = self.events.recv() => event.is_some(),
                installed = self.generations.changed() => installed.is_ok(),
            };
            if !look {
                return;
            }
        }
    }

    async fn look(&mut self) {
        // First, so that nothing changes unseen between the look and the watch.
        self.follow();
        if !self.has_work().await {
            tokio::time::sleep(PAUSE).await;
            return;
        }
        self.wait_for_rest().await;
        if !self.has_work().await {
            return;
        }
        let control = Arc::clone(&self.control);
        // The outcome is in the log and in the metrics; there is nobody else to tell.
        let _ = tokio::task::spawn_blocking(move || control.reload("files changed").is_ok()).await;
    }

    async fn has_work(&self) -> bool {
        let control = Arc::clone(&self.control);
        let changed =
            tokio::task::spawn_blocking(move || control.snapshot().config.reload.watch && control.files_have_changed());
        changed.await.unwrap_or(false)
    }

    async fn wait_for_rest(&self) {
        let config = Arc::clone(&self.control.snapshot().config);
        let files = config.files();
        let mut before = FileStates::now(&files);
        loop {
            tokio::time::sleep(config.reload.settle).await;
            let now = FileStates::now(&files);
            if now == before {
                return;
            }
            before = now;
        }
    }

    /// Watches the folders of the present configuration's files: a file that is replaced by another of the same name is
    /// seen in its folder alone. One that is watched already may have been removed and made anew, so each is asked for
    /// again.
    fn follow(&mut self) {
        let wanted = folders(&self.control.snapshot().config.files());
        for gone in self.folders.difference(&wanted) {
            // A folder that was removed is no longer watched anyway.
            let _ = self.watcher.unwatch(gone);
        }
        for folder in &wanted {
            let watched = self.watcher.watch(folder, RecursiveMode::NonRecursive);
            if let (Err(error), false) = (watched, self.folders.contains(folder)) {
                tracing::warn!(
                    folder = %folder.display(),
                    %error,
                    "a folder cannot be watched; run `seamd reload` after a change in it"
                );
            }
        }
        self.folders = wanted;
    }
}

fn is_reading(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if *access != AccessKind::Close(AccessMode::Write))
}
