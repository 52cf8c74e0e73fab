//! How many bytes are held: an allocator that counts.
#![expect(unsafe_code, reason = "counting what is held takes an allocator of one's own")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

fn add(bytes: isize) {
    // A thread that is going away is not the one that is measured.
    let _ = LIVE.try_with(|live| live.set(live.get() + bytes));
}

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size().cast_signed());
        // SAFETY: the caller's promise is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(-layout.size().cast_signed());
        // SAFETY: the caller's promise is the system allocator's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size.cast_signed() - layout.size().cast_signed());
        // SAFETY: the caller's promise is the system allocator's.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What this thread holds more than it did at the start.
pub(crate) struct Held(isize);

impl Held {
    pub(crate) fn start() -> Self {
        Self(LIVE.get())
    }

    fn bytes(&self) -> isize {
        LIVE.get() - self.0
    }

    /// Panics if it is more than `bound` bytes.
    pub(crate) fn at_most(&self, bound: usize, what: &str) {
        let held = self.bytes();
        assert!(held <= bound.cast_signed(), "{what} holds {held} bytes; it may hold {bound}");
    }
}
