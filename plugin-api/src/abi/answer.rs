//! What an observer answered, read from its reply with every part checked.

use serde::de::IgnoredAny;

use super::code;
use super::fault::Fault;
use super::raw::{RawBody, RawEvent, RawReleased, RawText, Reply};
use crate::chunk::ChunkKind;

/// What an observer answered, borrowed from it until its next call.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer<'a> {
    /// See [`Verdict::Continue`](crate::Verdict::Continue).
    Continue,
    /// See [`Verdict::Amend`](crate::Verdict::Amend).
    Amend(BodyView<'a>),
    /// See [`Verdict::Emit`](crate::Verdict::Emit).
    Emit(Vec<EventView<'a>>),
    /// See [`Verdict::Stop`](crate::Verdict::Stop).
    Stop {
        /// The reason given.
        reason: &'a str,
        /// The observer's own count.
        chunk_index: u64,
        /// The observer's own count.
        accumulated_content_length: u64,
    },
    /// See [`Verdict::Buffer`](crate::Verdict::Buffer).
    Buffer,
    /// See [`Verdict::Release`](crate::Verdict::Release).
    Release {
        /// The first held chunks, in order.
        chunks: Vec<ReleasedView<'a>>,
        /// What is taken back of the delivered text.
        strip_accumulated: Option<u64>,
    },
    /// The observer was at fault. After a panic nothing but its drop may follow; the handle sees to that.
    Fault(Fault),
}

/// The part of a chunk that an observer may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyView<'a> {
    /// What it carries.
    pub kind: ChunkKind,
    /// Its text.
    pub text: &'a str,
    /// Its JSON: one valid document.
    pub payload: Option<&'a str>,
}

/// One event of an `emit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventView<'a> {
    /// The channel as the observer named it.
    pub channel: &'a str,
    /// The author's word for the event.
    pub kind: &'a str,
    /// One valid JSON document.
    pub payload: &'a str,
}

/// One chunk of a `release`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleasedView<'a> {
    /// Which held chunk.
    pub seq: u64,
    /// What goes on in its place.
    pub amended: Option<BodyView<'a>>,
}

/// How many events or released chunks one answer may have: far more than any has, and an end for a length that is none.
pub(crate) const MOST_ITEMS: usize = 1 << 20;

/// The parts of an answer, each checked.
///
/// # Safety
/// What the reply points to must be readable for `'a`.
#[cold]
pub(super) unsafe fn read_reply<'a>(code: u8, reply: &Reply) -> Result<Answer<'a>, Fault> {
    // SAFETY: readable for 'a, by the caller's promise; so here and in what is called from here.
    unsafe {
        Ok(match code {
            code::AMEND => Answer::Amend(read_body(&reply.body)?),
            code::EMIT => {
                let events = read_list(reply.events, reply.events_length, "the list of events")?;
                Answer::Emit(events.iter().map(|event| read_event(event)).collect::<Result<_, _>>()?)
            }
            code::STOP => Answer::Stop {
                reason: read_text(reply.reason, "the reason of a stop")?,
                chunk_index: reply.chunk_index,
                accumulated_content_length: reply.accumulated_content_length,
            },
            code::RELEASE => {
                let released = read_list(reply.released, reply.released_length, "the list of released chunks")?;
                Answer::Release {
                    chunks: released.iter().map(|chunk| read_released(chunk)).collect::<Result<_, _>>()?,
                    strip_accumulated: (reply.strips != 0).then_some(reply.strip_accumulated),
                }
            }
            unknown => return Err(Fault::malformed(format!("{unknown} is not the code of a verdict"))),
        })
    }
}

/// # Safety
/// See [`read_reply`].
unsafe fn read_text<'a>(raw: RawText, what: &str) -> Result<&'a str, Fault> {
    // SAFETY: by the caller's promise.
    unsafe { raw.read() }.ok_or_else(|| Fault::malformed(format!("{what} is not valid UTF-8")))
}

/// # Safety
/// See [`read_reply`].
unsafe fn read_json<'a>(raw: RawText, what: &str) -> Result<Option<&'a str>, Fault> {
    // SAFETY: by the caller's promise.
    let json: &'a str = unsafe { read_text(raw, what) }?;
    if json.is_empty() {
        return Ok(None);
    }
    match serde_json::from_str::<IgnoredAny>(json) {
        Ok(_) => Ok(Some(json)),
        Err(error) => Err(Fault::malformed(format!("{what} is not JSON: {error}"))),
    }
}

/// # Safety
/// See [`read_reply`].
unsafe fn read_body<'a>(raw: &RawBody) -> Result<BodyView<'a>, Fault> {
    let unknown = || Fault::malformed(format!("{} is not a chunk kind", raw.kind));
    let kind = ChunkKind::from_code(raw.kind).ok_or_else(unknown)?;
    // SAFETY: by the caller's promise.
    let text = unsafe { read_text(raw.text, "the text of an amended chunk") }?;
    // SAFETY: as above.
    let payload = unsafe { read_json(raw.payload, "the payload of an amended chunk") }?;
    Ok(BodyView { kind, text, payload })
}

/// # Safety
/// See [`read_reply`].
unsafe fn read_event<'a>(raw: &RawEvent) -> Result<EventView<'a>, Fault> {
    // SAFETY: by the caller's promise.
    let channel = unsafe { read_text(raw.channel, "the channel of an event") }?;
    // SAFETY: as above.
    let kind = unsafe { read_text(raw.kind, "the kind of an event") }?;
    // SAFETY: as above.
    let payload = unsafe { read_json(raw.payload, "the payload of an event") }?.unwrap_or("null");
    Ok(EventView { channel, kind, payload })
}

/// # Safety
/// See [`read_reply`].
unsafe fn read_released<'a>(raw: &RawReleased) -> Result<ReleasedView<'a>, Fault> {
    // SAFETY: by the caller's promise.
    let amended = if raw.amended == 0 { None } else { Some(unsafe { read_body(&raw.body) }?) };
    Ok(ReleasedView { seq: raw.seq, amended })
}

/// # Safety
/// If `start` is not null, `length` items must be readable there for `'a`.
unsafe fn read_list<'a, T>(start: *const T, length: usize, what: &str) -> Result<&'a [T], Fault> {
    if length == 0 {
        return Ok(&[]);
    }
    if start.is_null() || !start.is_aligned() {
        return Err(Fault::malformed(format!("{what} lies nowhere")));
    }
    if length > MOST_ITEMS {
        return Err(Fault::malformed(format!("{what} has {length} items, more than {MOST_ITEMS}")));
    }
    // SAFETY: not null, aligned, far shorter than `isize::MAX` bytes, readable for 'a by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(start, length) })
}

#[cfg(test)]
mod tests;
