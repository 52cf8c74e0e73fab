//! A panic at every place where an author's code runs: it comes back as a fault, what panicked is dropped and is never
//! called again.

use std::any::Any;
use std::sync::Mutex;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{Answer, ConfigureError, Exported, Fault, FaultKind, ObserverHandle, PluginHandle, PluginLibrary};
use super::super::{ValueSource, Values};
use super::{host, make};
use crate::{
    Chunk, ChunkKind, ConfigFault, Context, Ending, FactoryContext, Host, InvocationResult, Outcome, Plugin, Progress,
    Registration, StreamObserver, Value, Verdict, When,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
enum At {
    Nowhere,
    Configure,
    Registrations,
    Factory,
    Chunk,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
enum With {
    Literal,
    String,
    Number,
    /// Panics itself when it is dropped, and its payload does so as well, and so on.
    Bomb,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
struct Table {
    at: At,
    with: With,
    /// Whether the observer, the plugin and what its factories keep panic when they are dropped.
    drops: [bool; 3],
    /// Whose record the calls belong to.
    record: usize,
}

/// What was called and dropped, by record: tests run at once.
static CALLS: Mutex<Vec<(usize, &'static str)>> = Mutex::new(Vec::new());

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        std::panic::panic_any(Self);
    }
}

/// Something that panics when it is dropped, if it should.
struct Kept(bool, Table, &'static str);

impl Drop for Kept {
    fn drop(&mut self) {
        self.1.note(self.2);
        assert!(!self.0, "dropping a {}", self.2);
    }
}

impl Table {
    fn note(&self, what: &'static str) {
        CALLS.lock().unwrap().push((self.record, what));
    }

    fn calls(&self) -> Vec<&'static str> {
        CALLS.lock().unwrap().iter().filter(|(record, _)| *record == self.record).map(|(_, what)| *what).collect()
    }

    fn json(&self) -> String {
        let Self { at, with, drops, record } = self;
        format!(r#"{{"at":"{at:?}","with":"{with:?}","drops":{drops:?},"record":{record}}}"#)
    }

    fn enter(&self, at: At, what: &'static str) {
        self.note(what);
        if self.at == at {
            match self.with {
                With::Literal => panic!("it is {what}"),
                With::String => panic!("{}", format!("it is {what}\nin two lines")),
                With::Number => std::panic::panic_any(7_u8),
                With::Bomb => std::panic::panic_any(Bomb),
            }
        }
    }
}

struct Author {
    table: Table,
    _kept: Kept,
}

struct Observed {
    table: Table,
    _kept: Kept,
}

impl Plugin for Author {
    type Config = Table;

    fn configure(table: Table, _: Host) -> Result<Self, Vec<ConfigFault>> {
        table.enter(At::Configure, "configure");
        Ok(Self { table, _kept: Kept(table.drops[1], table, "plugin") })
    }

    fn registrations(&self) -> Vec<Registration> {
        let table = self.table;
        table.enter(At::Registrations, "registrations");
        let register = |id| {
            let kept = Kept(table.drops[2], table, "factory");
            Registration::new(When::Any, id, move |_: &FactoryContext<'_>| {
                let Kept(_, table, _) = &kept;
                table.enter(At::Factory, "make");
                Observed { table: *table, _kept: Kept(table.drops[0], *table, "observer") }
            })
        };
        vec![register("one"), register("two")]
    }
}

impl StreamObserver for Observed {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Verdict {
        self.table.enter(At::Chunk, "chunk");
        Verdict::amend_text(chunk, "seen")
    }

    fn on_end_invocation(&mut self, _: &InvocationResult<'_>) {
        self.table.enter(At::End, "end");
    }
}

impl Exported for Author {
    const NAME: &'static str = "author";
    const VERSION: &'static str = "1.2.3";
    const DESCRIPTION: &'static str = "";
    const LICENCE: &'static str = "";
}

struct NoValues;

impl Values for NoValues {
    fn value(&self, _: &str) -> Option<Value<'_>> {
        None
    }
}

fn table(at: At, with: With, drops: [bool; 3]) -> Table {
    static RECORDS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    Table { at, with, drops, record: RECORDS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) }
}

fn configure(table: &Table) -> Result<PluginHandle, Fault> {
    PluginLibrary::linked::<Author>().configure(&table.json(), host()).map_err(|error| match error {
        ConfigureError::Fault(fault) => fault,
        ConfigureError::Refused(faults) => panic!("{faults:?}"),
    })
}

fn show(observer: &mut ObserverHandle) -> Result<String, Fault> {
    let chunk = Chunk::new(0, 0, ChunkKind::ContentDelta, "text", None);
    match observer.on_chunk(&chunk, &Context::new(Progress::default(), ValueSource::of(&NoValues))) {
        Answer::Fault(fault) => Err(fault),
        Answer::Amend(body) => Ok(body.text.to_owned()),
        other => Ok(format!("{other:?}")),
    }
}

fn end(observer: &mut ObserverHandle) -> Result<(), Fault> {
    let ending = Ending {
        outcome: Outcome::Completed,
        chunks_in: 1,
        chunks_out: 1,
        delivered_length: 4,
        usage: None,
        stop: None,
    };
    observer.on_end_invocation(&InvocationResult::new(ending, ValueSource::of(&NoValues)))
}

/// The fault's message; its place must be in this file.
fn message(fault: &Fault) -> String {
    assert_eq!(fault.kind, FaultKind::Panic);
    let place = fault.place.as_deref().expect("the place is known");
    let (file, numbers) = place.split_once(".rs:").expect("a file and a place in it");
    assert!(file.ends_with("panics") && numbers.split(':').all(|number| number.parse::<u32>().is_ok()), "{place}");
    fault.message.clone()
}

#[test]
fn without_a_panic_everything_is_called_and_dropped_once() {
    let table = table(At::Nowhere, With::Literal, [false; 3]);
    let plugin = configure(&table).unwrap();
    let mut observer = make(&plugin).unwrap();
    assert_eq!(show(&mut observer).unwrap(), "seen");
    end(&mut observer).unwrap();
    observer.close().unwrap();
    plugin.close().unwrap();
    let expected = ["configure", "registrations", "make", "chunk", "end", "observer", "plugin", "factory", "factory"];
    assert_eq!(table.calls(), expected);
}

#[test]
fn a_panic_in_configure_is_a_fault() {
    let table = table(At::Configure, With::Literal, [false; 3]);
    let fault = configure(&table).err().unwrap();
    assert_eq!(message(&fault), "it is configure");
    assert_eq!(table.calls(), ["configure"]);
}

/// The plugin exists already and panics once more when it is dropped: two panics, one after the other.
#[test]
fn a_panic_in_registrations_drops_the_plugin_even_if_that_panics_too() {
    let table = table(At::Registrations, With::String, [false, true, false]);
    let fault = configure(&table).err().unwrap();
    assert_eq!(message(&fault), "it is registrations in two lines");
    assert_eq!(table.calls(), ["configure", "registrations", "plugin"]);
}

#[test]
fn a_panic_in_a_factory_is_a_fault_and_the_next_call_is_made() {
    let table = table(At::Factory, With::Literal, [false; 3]);
    let plugin = configure(&table).unwrap();
    for _ in 0..2 {
        assert_eq!(message(&make(&plugin).err().unwrap()), "it is make");
    }
    plugin.close().unwrap();
}

#[test]
fn an_observer_that_panicked_is_dropped_at_once_and_never_called_again() {
    let table = table(At::Chunk, With::Literal, [false; 3]);
    let plugin = configure(&table).unwrap();
    let mut observer = make(&plugin).unwrap();
    assert_eq!(message(&show(&mut observer).unwrap_err()), "it is chunk");
    let until_now = ["configure", "registrations", "make", "chunk", "observer"];
    assert_eq!(table.calls(), until_now);
    assert_eq!(show(&mut observer).unwrap(), "Continue");
    end(&mut observer).unwrap();
    observer.close().unwrap();
    assert_eq!(table.calls(), until_now);
}

#[test]
fn a_panic_at_the_end_is_a_fault_and_drops_the_observer() {
    let table = table(At::End, With::Literal, [false; 3]);
    let plugin = configure(&table).unwrap();
    let mut observer = make(&plugin).unwrap();
    assert_eq!(message(&end(&mut observer).unwrap_err()), "it is end");
    end(&mut observer).unwrap();
    drop(observer);
    assert_eq!(table.calls(), ["configure", "registrations", "make", "end", "observer"]);
}

#[test]
fn of_a_panic_in_a_chunk_and_one_in_the_drop_after_it_the_first_is_told() {
    let table = table(At::Chunk, With::Literal, [true, false, false]);
    let plugin = configure(&table).unwrap();
    let mut observer = make(&plugin).unwrap();
    assert_eq!(message(&show(&mut observer).unwrap_err()), "it is chunk");
    observer.close().unwrap();
}

#[test]
fn a_panic_when_an_observer_is_dropped_is_told_by_close_and_lost_with_drop() {
    let table = table(At::Nowhere, With::Literal, [true, false, false]);
    let plugin = configure(&table).unwrap();
    assert_eq!(message(&make(&plugin).unwrap().close().unwrap_err()), "dropping a observer");
    drop(make(&plugin).unwrap());
}

/// The plugin and both of its factories panic: each is dropped, none twice, and the process lives.
#[test]
fn panics_when_a_plugin_is_dropped_keep_nothing_from_being_dropped() {
    let table = table(At::Nowhere, With::Literal, [false, true, true]);
    let plugin = configure(&table).unwrap();
    assert!(message(&plugin.close().unwrap_err()).starts_with("dropping a "));
    assert_eq!(table.calls(), ["configure", "registrations", "plugin", "factory", "factory"]);
    drop(configure(&table).unwrap());
}

#[test]
fn a_payload_that_is_not_text_is_named_as_such() {
    let table = table(At::Chunk, With::Number, [false; 3]);
    let plugin = configure(&table).unwrap();
    let fault = show(&mut make(&plugin).unwrap()).unwrap_err();
    assert_eq!(message(&fault), "a panic whose payload is not text");
}

/// The place is that of the author's panic, not that of the payload's drop.
#[test]
fn a_payload_that_panics_when_it_is_dropped_is_caught_as_well() {
    for at in [At::Configure, At::Registrations, At::Factory, At::Chunk, At::End] {
        let table = table(at, With::Bomb, [false; 3]);
        let run = || -> Result<(), Fault> {
            let plugin = configure(&table)?;
            let mut observer = make(&plugin)?;
            show(&mut observer)?;
            end(&mut observer)
        };
        let fault = run().unwrap_err();
        assert_eq!(message(&fault), "a panic whose payload is not text");
        let line = |name: &str| {
            let found = include_str!("panics.rs").lines().position(|line| line.contains(name));
            found.map(|at| format!(":{}:", at + 1)).unwrap()
        };
        assert!(fault.place.as_ref().unwrap().contains(&line("With::Bomb => std::panic")), "{at:?}: {fault}");
    }
}

#[test]
fn a_panic_that_the_author_catches_is_nobodys_fault() {
    let caught =
        std::panic::catch_unwind(|| super::super::guard::guarded(|| std::panic::catch_unwind(|| panic!("own"))));
    assert!(caught.unwrap().is_ok_and(|own: Result<(), Box<dyn Any + Send>>| own.is_err()));
}

/// An observer that lives as long as its thread is dropped when the thread's own values go, the guard's among them.
#[test]
fn an_observer_that_goes_with_its_thread_may_panic() {
    thread_local! {
        static LAST: std::cell::RefCell<Option<ObserverHandle>> = const { std::cell::RefCell::new(None) };
    }
    let table = table(At::Nowhere, With::Literal, [true, false, false]);
    let plugin = configure(&table).unwrap();
    let observer = make(&plugin).unwrap();
    // Of a thread's values the one that was used first is dropped last: the guard's place is gone when this one goes.
    std::thread::spawn(move || {
        LAST.with(|last| last.replace(Some(observer)));
        let _ = super::super::guard::guarded(|| std::panic::panic_any(7_u8));
    })
    .join()
    .unwrap();
    assert_eq!(table.calls(), ["configure", "registrations", "make", "observer"]);
}

/// A plugin whose table has no schema.
struct Unschemed;

#[derive(Deserialize)]
struct NoSchema {}

impl JsonSchema for NoSchema {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NoSchema".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        panic!("there is none")
    }
}

impl Plugin for Unschemed {
    type Config = NoSchema;

    fn configure(_: NoSchema, _: Host) -> Result<Self, Vec<ConfigFault>> {
        Ok(Self)
    }

    fn registrations(&self) -> Vec<Registration> {
        Vec::new()
    }
}

impl Exported for Unschemed {
    const NAME: &'static str = "unschemed";
    const VERSION: &'static str = "1.0.0";
    const DESCRIPTION: &'static str = "";
    const LICENCE: &'static str = "";
}

/// It is asked before any plugin is configured, so before there is a daemon to log to.
#[test]
fn a_panic_in_the_schema_is_a_fault_of_the_description() {
    let fault = PluginLibrary::linked::<Unschemed>().describe().unwrap_err();
    assert_eq!(message(&fault), "there is none");
}

#[test]
fn the_schema_is_part_of_the_description() {
    let description = PluginLibrary::linked::<Author>().describe().unwrap();
    assert_eq!((description.name.as_str(), description.version.as_str()), ("author", "1.2.3"));
    assert_eq!(description.panic, "unwind");
    assert!(description.config_schema.contains("\"record\""), "{}", description.config_schema);
}
