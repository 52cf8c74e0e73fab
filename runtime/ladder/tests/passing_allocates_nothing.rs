//! A chunk that every observer lets through costs no allocation: ten observers behind the real ABI entries, counted.
//! In a file of its own, as the counting allocator serves the whole program.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up has failed")]
#![expect(unsafe_code, reason = "an allocator is an unsafe trait; this one counts and hands everything on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use seam_ladder::{Amended, Envelope, FaultReport, Flow, Ladder, Policy, Pulse, Rung, Sink, Strip};
use seam_plugin_api::abi::{Invocation, ObserverHandle, PluginLibrary, Services};
use seam_plugin_api::prelude::*;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is the system allocator's precondition.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(start, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde")]
#[schemars(crate = "seam_plugin_api::schemars")]
struct Nothing {}

struct Reader;

impl Plugin for Reader {
    type Config = Nothing;

    fn configure(_: Nothing, _: Host) -> Result<Self, Vec<ConfigFault>> {
        Ok(Self)
    }

    fn registrations(&self) -> Vec<Registration> {
        vec![Registration::new(When::Any, "reader", |_: &FactoryContext<'_>| Self)]
    }
}

impl StreamObserver for Reader {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Verdict {
        assert!(context.seen() > chunk.seq() || context.delivered_length() > 0);
        Verdict::Continue
    }
}

seam_plugin_api::export_plugin!(Reader, "reader");

/// A host whose services do nothing.
struct Silent;

impl Services for Silent {
    type Counter = ();
    type Histogram = ();
    fn log(&self, _: Level, _: &str) {}
    fn counter(&self, _: &str) -> &'static () {
        &()
    }
    fn count((): &(), _: u64) {}
    fn histogram(&self, _: &str) -> &'static () {
        &()
    }
    fn record((): &(), _: f64) {}
}

/// Counts what comes out.
#[derive(Default)]
struct Passed(u64);

impl Sink for Passed {
    fn pass(&mut self, _: &Chunk<'_>) {
        self.0 += 1;
    }
    fn amended(&mut self, _: &Amended<'_>) {}
    fn discard(&mut self, _: u64) {}
    fn envelope(&mut self, _: &Envelope<'_>) {}
    fn strip(&mut self, _: &Strip<'_>) {}
    fn fault(&mut self, _: &FaultReport<'_>) {}
}

fn invocation() -> Invocation {
    Invocation::new(CallClass::Synthesize)
}

fn ladder_of_ten() -> Ladder<ObserverHandle> {
    let (host, invocation) = (Host::of(&Silent), invocation());
    let plugin = PluginLibrary::linked::<Reader>().configure("{}", host).unwrap();
    let rung = |_| Rung {
        observer: plugin.make_observer(0, &invocation, host).unwrap(),
        observer_id: "reader".into(),
        plugin: "reader".into(),
        policy: Policy::default(),
    };
    Ladder::new((0..10).map(rung).collect(), Arc::new(invocation.clone()), Arc::new(Pulse::default()))
}

/// Allocations during 100 chunks that fit into the room which the first one made.
fn count(ladder: &mut Ladder<ObserverHandle>, first: u64, kind: ChunkKind, passed: &mut Passed) -> u64 {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for seq in first..first + 100 {
        assert_eq!(ladder.push(&Chunk::new(seq, 0, kind, "word ", None), seq, passed), Flow::Open);
    }
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn a_chunk_that_passes_ten_observers_allocates_nothing() {
    let (mut ladder, mut passed) = (ladder_of_ten(), Passed::default());
    assert_eq!(ladder.push(&Chunk::new(0, 0, ChunkKind::ContentDelta, "first ", None), 0, &mut passed), Flow::Open);
    assert_eq!(count(&mut ladder, 1, ChunkKind::ContentDelta, &mut passed), 0);
    assert_eq!(count(&mut ladder, 101, ChunkKind::ReasoningDelta, &mut passed), 0);
    assert_eq!(passed.0, 201);
    assert_eq!(ladder.delivered_length(), 506);
    assert!(ALLOCATIONS.load(Ordering::Relaxed) > 0, "the allocator counts");
}
