//! Hand-made entries that answer what no plugin of this crate would.

use super::super::{FaultSink, PairSink, RawText};
use super::*;
use crate::abi::ValueSource;
use crate::chunk::ChunkKind;
use crate::context::{FactoryContext, InvocationResult, Progress};

/// A code, and what is put into the reply with it.
type Scene = (u8, fn(&mut Reply));

/// An observer whose entries answer as they are told.
struct Scripted {
    answers: Vec<Scene>,
    freed: u8,
}

unsafe extern "C" fn on_chunk(
    instance: *mut (),
    _: &Chunk<'_>,
    _: &Context<'_>,
    reply: &mut Reply,
    _: &FaultSink,
) -> u8 {
    // SAFETY: `handle` put a `Scripted` there that outlives the handle.
    let scripted = unsafe { &mut *instance.cast::<Scripted>() };
    let (code, fill) = scripted.answers.remove(0);
    fill(reply);
    code
}

unsafe extern "C" fn on_end(_: *mut (), _: &InvocationResult<'_>, _: &FaultSink) -> u8 {
    code::FAULT
}

unsafe extern "C" fn free(instance: *mut (), _: &FaultSink) -> u8 {
    // SAFETY: as in `on_chunk`.
    unsafe { &mut *instance.cast::<Scripted>() }.freed += 1;
    code::CONTINUE
}

static OBSERVER: ObserverTable = ObserverTable { on_chunk, on_end_invocation: on_end, free };

fn handle(scripted: &mut Scripted) -> ObserverHandle {
    ObserverHandle::new(RawObserver { instance: std::ptr::from_mut(scripted).cast(), table: &raw const OBSERVER })
        .unwrap()
}

fn ask(handle: &mut ObserverHandle) -> Answer<'_> {
    struct Nothing;
    impl super::super::Values for Nothing {
        fn value(&self, _: &str) -> Option<crate::Value<'_>> {
            None
        }
    }
    let chunk = Chunk::new(0, 0, ChunkKind::ContentDelta, "text", None);
    handle.on_chunk(&chunk, &Context::new(Progress::default(), ValueSource::of(&Nothing)))
}

#[test]
fn an_answer_that_fills_nothing_in_is_not_read_as_the_one_before() {
    let reason = |reply: &mut Reply| reply.reason = RawText::of("first");
    let mut scripted = Scripted { answers: vec![(code::STOP, reason), (code::STOP, |_| ())], freed: 0 };
    let mut handle = handle(&mut scripted);
    assert!(matches!(ask(&mut handle), Answer::Stop { reason: "first", .. }));
    assert!(matches!(ask(&mut handle), Answer::Stop { reason: "", .. }));
}

#[test]
fn a_fault_without_a_word_is_malformed() {
    let mut scripted = Scripted { answers: vec![(code::FAULT, |_| ())], freed: 0 };
    let mut handle = handle(&mut scripted);
    let Answer::Fault(fault) = ask(&mut handle) else { panic!("a fault") };
    assert_eq!(fault.to_string(), "malformed: an entry reports a fault and says nothing of it");
}

#[test]
fn an_observer_is_freed_once_however_its_handle_goes() {
    let mut scripted = Scripted { answers: Vec::new(), freed: 0 };
    drop(handle(&mut scripted));
    assert_eq!(scripted.freed, 1);
    handle(&mut scripted).close().unwrap();
    assert_eq!(scripted.freed, 2);
}

#[test]
fn what_hands_over_nothing_is_at_fault() {
    let nothing = ObserverHandle::new(RawObserver::EMPTY).err().unwrap();
    assert_eq!(nothing.to_string(), "malformed: the factory handed over no observer");
    let instance = std::ptr::dangling_mut();
    let crooked = RawObserver { instance, table: (&raw const OBSERVER).wrapping_byte_add(1) };
    assert_eq!(ObserverHandle::new(crooked).err().unwrap().kind, FaultKind::Malformed);
    let nothing = PluginHandle::new(RawPlugin::EMPTY).err().unwrap();
    assert_eq!(nothing.to_string(), "malformed: configure handed over no plugin");
}

/// What a plugin says of its registrations: the function gets the index.
type Registers = fn(u64) -> (u8, RawRegistration);

unsafe extern "C" fn registration(plugin: *const (), index: u64, out: &mut RawRegistration) -> u8 {
    // SAFETY: `plugin` put a `Registers` there that outlives the handle.
    let (code, registration) = unsafe { &*plugin.cast::<Registers>() }(index);
    *out = registration;
    code
}

unsafe extern "C" fn make(_: *const (), _: u64, _: &FactoryContext<'_>, _: &mut RawObserver, _: &FaultSink) -> u8 {
    code::CONTINUE
}

unsafe extern "C" fn free_plugin(_: *mut (), _: &FaultSink) -> u8 {
    code::CONTINUE
}

static PLUGIN: PluginTable = PluginTable { registration, make_observer: make, free: free_plugin };

fn plugin(registers: &'static Registers) -> Result<PluginHandle, Fault> {
    PluginHandle::new(RawPlugin { plugin: std::ptr::from_ref(registers).cast_mut().cast(), table: &raw const PLUGIN })
}

fn fault(registers: &'static Registers) -> String {
    plugin(registers).err().map(|fault| fault.to_string()).unwrap_or_default()
}

#[test]
fn registrations_that_are_none_are_named() {
    const ENDLESS: Registers = |_| (code::CONTINUE, RawRegistration { observer_id: RawText::of("a"), call_class: 255 });
    const NO_TEXT: Registers = |_| {
        let observer_id = RawText { start: b"\xff".as_ptr(), length: 1 };
        (code::CONTINUE, RawRegistration { observer_id, call_class: 255 })
    };
    const MANY: Registers = |index| {
        let code = if index < MOST_REGISTRATIONS { code::CONTINUE } else { code::REFUSED };
        (code, RawRegistration { observer_id: RawText::of("a"), call_class: 255 })
    };
    const NO_CLASS: Registers = |_| (code::CONTINUE, RawRegistration { observer_id: RawText::of("a"), call_class: 4 });
    assert_eq!(fault(&MANY), "");
    let faults = [fault(&ENDLESS), fault(&NO_TEXT), fault(&NO_CLASS)];
    insta::assert_snapshot!(faults.join("\n"), @"
    violation: more than 1024 registrations
    malformed: registration 0: its observer id is not text
    malformed: registration 0: its call class is unknown
    ");
}

#[test]
fn a_factory_that_says_it_made_one_and_did_not_is_at_fault() {
    const ONE: Registers = |index| {
        let code = if index == 0 { code::CONTINUE } else { code::REFUSED };
        (code, RawRegistration { observer_id: RawText::of("a"), call_class: 255 })
    };
    let handle = plugin(&ONE).unwrap();
    let fault = super::super::tests::make(&handle).err().unwrap();
    assert_eq!(fault.to_string(), "malformed: the factory handed over no observer");
}

#[test]
fn what_is_put_into_a_sink_is_made_text() {
    // SAFETY: it is no text, which is what is tested: nothing here reads it as such.
    let noise = unsafe { abi_stable::std_types::RStr::from_raw_parts(b"caf\xe9".as_ptr(), 4) };
    let (_, pairs) = collect_pairs(|pairs: &PairSink| {
        // SAFETY: the sink is that of the call.
        unsafe { (pairs.put)(pairs.into, noise, noise) };
    });
    assert_eq!(pairs, [("caf\u{fffd}".to_owned(), "caf\u{fffd}".to_owned())]);
}

#[test]
fn a_table_that_is_refused_without_a_word_says_so() {
    let faults = refusal(Vec::new());
    assert_eq!(faults, [ConfigFault::new("", "it is refused, and the plugin does not say why")]);
}
