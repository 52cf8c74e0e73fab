//! How far the daemon is in ending: what every connection and every stream looks at.

use tokio::sync::watch;

/// A stage of the daemon's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Serving.
    Running,
    /// No new streams; those that run have the drain time.
    Draining,
    /// The drain time is over: what still runs is given a well-formed end.
    Cut,
}

/// The daemon's stage, for everybody who has to know. A clone sees each change once.
#[derive(Clone)]
pub struct Phases {
    seen: watch::Receiver<Phase>,
}

impl Phases {
    /// A stage that starts with [`Phase::Running`], and the sender that moves it on.
    #[must_use]
    pub fn new() -> (watch::Sender<Phase>, Self) {
        let (sender, seen) = watch::channel(Phase::Running);
        (sender, Self { seen })
    }

    /// The present stage.
    #[must_use]
    pub fn now(&self) -> Phase {
        *self.seen.borrow()
    }

    /// Whether the stage has changed since this clone last looked; costs one load of an atomic.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.seen.has_changed().unwrap_or(true)
    }

    /// The next stage, when it comes. Never returns once there is nobody left to change it.
    pub async fn next(&mut self) -> Phase {
        if self.seen.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        *self.seen.borrow_and_update()
    }

    /// Waits for [`Phase::Cut`].
    pub async fn cut(&mut self) {
        while self.now() != Phase::Cut {
            self.next().await;
        }
    }
}
