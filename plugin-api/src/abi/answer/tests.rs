//! Replies that no plugin of this crate would give: what a plugin in another language, or a broken one, may hand over.

use proptest::prelude::*;

use super::super::fault::FaultKind;
use super::*;

/// What a reply is read as. Everything that the tests point to is `'static`.
fn read(code: u8, reply: &Reply) -> Result<Answer<'static>, String> {
    // SAFETY: the tests point to statics and leaked memory, or to nothing that is ever read.
    let read = unsafe { read_reply(code, reply) };
    read.map_err(|fault| {
        assert_eq!(fault.kind, FaultKind::Malformed);
        fault.message
    })
}

fn raw(bytes: &'static [u8]) -> RawText {
    RawText { start: bytes.as_ptr(), length: bytes.len() }
}

const NOWHERE: RawText = RawText { start: std::ptr::null(), length: 7 };

fn amend(kind: u8, text: RawText, payload: RawText) -> Reply {
    Reply { body: RawBody { kind, text, payload }, ..Reply::EMPTY }
}

fn emit(events: &[RawEvent]) -> Reply {
    Reply { events: events.as_ptr(), events_length: events.len(), ..Reply::EMPTY }
}

fn release(released: &[RawReleased]) -> Reply {
    Reply { released: released.as_ptr(), released_length: released.len(), ..Reply::EMPTY }
}

#[test]
fn every_malformed_part_is_named() {
    let (text, json, noise) = (raw(b"text"), raw(b"{}"), raw(b"caf\xe9"));
    let event = RawEvent { channel: text, kind: text, payload: json };
    let body = RawBody { kind: 0, text, payload: json };
    let read = |code, reply: Reply| read(code, &reply).expect_err("it is refused");
    let events = |event: RawEvent| read(code::EMIT, emit(&[event]));
    let released = |body| read(code::RELEASE, release(&[RawReleased { seq: 1, amended: 1, body }]));
    let faults = [
        read(code::REFUSED, Reply::EMPTY),
        read(77, Reply::EMPTY),
        read(code::AMEND, amend(9, text, json)),
        read(code::AMEND, amend(255, text, json)),
        read(code::AMEND, amend(0, noise, json)),
        read(code::AMEND, amend(0, NOWHERE, json)),
        read(code::AMEND, amend(0, text, noise)),
        read(code::AMEND, amend(0, text, raw(b"{\"a\":"))),
        read(code::AMEND, amend(0, text, raw(b"{} {}"))),
        read(code::AMEND, amend(0, text, NOWHERE)),
        read(code::STOP, Reply { reason: noise, ..Reply::EMPTY }),
        read(code::STOP, Reply { reason: NOWHERE, ..Reply::EMPTY }),
        events(RawEvent { channel: noise, ..event }),
        events(RawEvent { kind: noise, ..event }),
        events(RawEvent { payload: raw(b"nul"), ..event }),
        released(RawBody { kind: 200, ..body }),
        released(RawBody { text: noise, ..body }),
        released(RawBody { payload: raw(b"'"), ..body }),
    ];
    insta::assert_snapshot!(faults.join("\n"));
}

#[test]
fn a_text_of_an_absurd_length_is_not_read() {
    let endless = RawText { start: b"text".as_ptr(), length: usize::MAX };
    read(code::AMEND, &amend(0, endless, RawText::EMPTY)).expect_err("it is refused");
}

#[test]
fn a_list_that_lies_nowhere_is_not_read() {
    let event = RawEvent { channel: raw(b"c"), kind: raw(b"k"), payload: raw(b"1") };
    let good = emit(std::slice::from_ref(&event));
    let unaligned = good.events.wrapping_byte_add(1);
    let faults = [
        read(code::EMIT, &Reply { events: std::ptr::null(), ..good }).unwrap_err(),
        read(code::EMIT, &Reply { events: unaligned, ..good }).unwrap_err(),
        read(code::EMIT, &Reply { events_length: usize::MAX, ..good }).unwrap_err(),
        read(code::EMIT, &Reply { events_length: MOST_ITEMS + 1, ..good }).unwrap_err(),
        read(code::RELEASE, &Reply { released_length: 3, ..good }).unwrap_err(),
        read(code::RELEASE, &Reply { released: std::ptr::dangling(), released_length: usize::MAX / 56, ..good })
            .unwrap_err(),
    ];
    insta::assert_snapshot!(faults.join("\n"));
}

#[test]
fn what_is_absent_is_read_as_absent() {
    let body = BodyView { kind: ChunkKind::ContentDelta, text: "", payload: None };
    assert_eq!(read(code::AMEND, &Reply::EMPTY), Ok(Answer::Amend(body)));
    assert_eq!(read(code::EMIT, &Reply::EMPTY), Ok(Answer::Emit(Vec::new())));
    let nothing = Answer::Release { chunks: Vec::new(), strip_accumulated: None };
    assert_eq!(read(code::RELEASE, &Reply::EMPTY), Ok(nothing));
    let event = RawEvent { channel: raw(b"c"), kind: raw(b"k"), payload: RawText::EMPTY };
    let read = read(code::EMIT, &emit(&[event]));
    assert_eq!(read, Ok(Answer::Emit(vec![EventView { channel: "c", kind: "k", payload: "null" }])));
}

proptest! {
    /// Whatever lies in a text: it is the same text or a fault, and never anything in between.
    #[test]
    fn bytes_are_text_or_a_fault(bytes: Vec<u8>, kind: u8) {
        let text = RawText { start: bytes.as_ptr(), length: bytes.len() };
        let reply = amend(kind, text, RawText::EMPTY);
        // SAFETY: `bytes` outlives what is read.
        let read = unsafe { read_reply(code::AMEND, &reply) };
        match (std::str::from_utf8(&bytes), ChunkKind::from_code(kind)) {
            (Ok(text), Some(kind)) => prop_assert_eq!(read, Ok(Answer::Amend(BodyView { kind, text, payload: None }))),
            _ => prop_assert_eq!(read.unwrap_err().kind, FaultKind::Malformed),
        }
    }
}
