//! A waker that keeps quiet while its task is at work anyway.
//!
//! A task that drives a connection and reads from it in one go causes wake-ups of itself: taking a piece out of the
//! body's channel makes room in it, which the connection waits for. Each would have the whole task polled once more for
//! nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use parking_lot::Mutex;

/// The waker of one exchange.
pub(super) struct Nudge {
    shared: Arc<Shared>,
    /// The waker that `shared` is; made once.
    waker: Waker,
    /// The task that `shared` wakes; compared without a lock.
    task: Waker,
    /// Whether the task is at work, as this side knows it.
    at_work: bool,
}

struct Shared {
    /// The task that reads.
    task: Mutex<Waker>,
    /// Whether that task is at work: a wake-up is then noted and nothing else.
    at_work: AtomicBool,
    /// Whether there was a wake-up since the connection was last driven.
    noted: AtomicBool,
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.noted.store(true, Ordering::SeqCst);
        // Either this sees that the task has stopped working, or the task sees the note when it stops.
        if !self.at_work.load(Ordering::SeqCst) {
            self.task.lock().wake_by_ref();
        }
    }
}

impl Nudge {
    pub(super) fn new() -> Self {
        let task = Waker::noop().clone();
        let shared = Arc::new(Shared {
            task: Mutex::new(task.clone()),
            at_work: AtomicBool::new(false),
            noted: AtomicBool::new(false),
        });
        Self { waker: Waker::from(Arc::clone(&shared)), shared, task, at_work: false }
    }

    /// The task of `cx` works, until it [`rests`](Self::rest). Between two pieces that it is given it need not rest: it
    /// comes back for more by itself.
    pub(super) fn work(&mut self, cx: &Context<'_>) {
        if !self.task.will_wake(cx.waker()) {
            self.task.clone_from(cx.waker());
            self.shared.task.lock().clone_from(cx.waker());
        }
        if !std::mem::replace(&mut self.at_work, true) {
            self.shared.at_work.store(true, Ordering::SeqCst);
        }
    }

    /// The waker to drive the connection with. What was noted before is forgotten: the drive looks at everything.
    pub(super) fn driving(&self) -> Context<'_> {
        if self.shared.noted.load(Ordering::Relaxed) {
            self.shared.noted.swap(false, Ordering::SeqCst);
        }
        Context::from_waker(&self.waker)
    }

    /// The task stops working; whether it can rest. It cannot if something was noted since the last drive.
    pub(super) fn rest(&mut self) -> bool {
        self.at_work = false;
        self.shared.at_work.store(false, Ordering::SeqCst);
        !self.shared.noted.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    struct Counting(AtomicUsize);

    impl Wake for Counting {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_wake_up_at_work_is_noted_and_one_at_rest_wakes() {
        let task = Arc::new(Counting(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&task));
        let mut nudge = Nudge::new();
        nudge.work(&Context::from_waker(&waker));
        nudge.driving().waker().wake_by_ref();
        assert!(!nudge.rest(), "there is something to look at");
        assert_eq!(task.0.load(Ordering::SeqCst), 0);

        nudge.work(&Context::from_waker(&waker));
        let driving = nudge.driving().waker().clone();
        assert!(nudge.rest());
        driving.wake();
        assert_eq!(task.0.load(Ordering::SeqCst), 1);
    }
}
