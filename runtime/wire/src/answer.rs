//! What a protocol knows how to do with one answer. Everything that the protocols share (frames, text encodings, opaque
//! data, the bytes around what was changed) is done around this by [`Wire`](crate::Wire).

use std::fmt;

use seam_plugin_api::ChunkKind;

use crate::chunk::{Body, Decoded, Edit, Entry};
use crate::json::{self, Malformed};

/// Whether the JSON is an event of a stream or a whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Stream,
    Body,
}

/// The data of one event, or a whole answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Document<'a> {
    pub(crate) text: &'a str,
    /// The name of the event, where it has one.
    pub(crate) event: Option<&'a [u8]>,
    pub(crate) form: Form,
}

/// One answer in one protocol, from its first document to its end.
///
/// It keeps two views apart: what came in ([`read`](Self::read)) and what went out ([`passed`](Self::passed),
/// [`rewrite`](Self::rewrite)). Documents are read in arrival order, each once; the same documents, but for those that
/// are dropped, go out in the same order, later.
pub(crate) trait Answer: fmt::Debug + Send {
    /// Reads the chunks of a document into `decoded`, which is empty; answers whether the document is a loose one (see
    /// [`json::Scanner::is_loose`]). If nothing is recognised, `decoded` stays empty but for its choices.
    fn read(&mut self, document: &Document<'_>, decoded: &mut Decoded) -> Result<bool, Malformed>;

    /// What has come in so far.
    fn arrival(&self) -> Arrival;

    /// A document goes out as it came. `data` is what was read.
    fn passed(&mut self, data: &[u8], decoded: &Decoded);

    /// Whether a document none of whose chunks is edited must be rewritten nevertheless, because of what was changed
    /// before it.
    fn needs_rewrite(&self, data: &[u8], decoded: &Decoded) -> bool;

    /// Makes the edits of a document and takes note of what goes out by it. Every byte that no edit concerns stays.
    fn rewrite(&mut self, document: &Document<'_>, decoded: &Decoded, pieces: &[Piece<'_>]) -> Rendered;

    /// The events that end a stopped stream well.
    fn end_stopped(&mut self, stop: &Stop<'_>) -> Vec<Event>;

    /// The events that end a stream with an error.
    fn end_error(&mut self, failure: &Failure<'_>) -> Vec<Event>;

    /// A whole answer that was stopped, from what was left of it (no JSON object if nothing was): the finish reason and
    /// the sentinel are put in.
    fn stop_body(&mut self, left: &str, stop: &Stop<'_>) -> String;

    /// An event that says nothing and resets the client's timers; `None` where a comment does.
    fn keepalive(&mut self) -> Option<Event>;
}

/// An event that is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its name, in protocols that name their events.
    pub(crate) name: Option<&'static str>,
    /// Its data: JSON, or the protocol's end marker.
    pub(crate) data: String,
}

impl Event {
    /// An event without a name.
    pub(crate) fn unnamed(data: impl Into<String>) -> Self {
        Self { name: None, data: data.into() }
    }

    /// An event whose name says its type.
    pub(crate) fn named(name: &'static str, data: impl Into<String>) -> Self {
        Self { name: Some(name), data: data.into() }
    }
}

/// What a document became.
#[derive(Debug, Default)]
pub(crate) struct Rendered {
    /// Events that go before it.
    pub(crate) before: Vec<Event>,
    /// The document; none if nothing of it is left.
    pub(crate) data: Option<String>,
    /// Events that come after it.
    pub(crate) after: Vec<Event>,
}

/// One chunk with what goes out in its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) entry: Entry,
    /// As it came in.
    pub(crate) before: Body<'a>,
    /// As it goes out; `None` if it does not.
    pub(crate) after: Option<Body<'a>>,
}

impl<'a> Piece<'a> {
    /// Every chunk of a document with its edit; missing ones are [`Edit::Keep`].
    pub(crate) fn all(decoded: &'a Decoded, edits: &[Edit<'a>], data: &'a [u8]) -> Vec<Self> {
        let edit = |position| edits.get(position).copied().unwrap_or(Edit::Keep);
        (0..decoded.len()).filter_map(|position| Self::new(decoded, position, edit(position), data)).collect()
    }

    fn new(decoded: &'a Decoded, position: usize, edit: Edit<'a>, data: &'a [u8]) -> Option<Self> {
        let chunk = decoded.chunk(position, data)?;
        let before = Body { kind: chunk.kind, text: chunk.text, payload: chunk.payload };
        let after = match edit {
            Edit::Keep => Some(before),
            Edit::Replace(body) => Some(Body { payload: body.payload.filter(|json| json::is_document(json)), ..body }),
            Edit::Remove => None,
        };
        Some(Self { entry: *decoded.entries.get(position)?, before, after })
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.after != Some(self.before)
    }

    /// What goes out if it is of the kind that came in.
    pub(crate) fn same_kind(&self) -> Option<Body<'a>> {
        self.after.filter(|after| after.kind == self.before.kind)
    }

    /// What goes out if it is of another kind.
    pub(crate) fn other_kind(&self) -> Option<Body<'a>> {
        self.after.filter(|after| after.kind != self.before.kind)
    }
}

/// Whether chunks of this kind carry text that a person or a tool reads.
pub(crate) const fn is_text_kind(kind: ChunkKind) -> bool {
    matches!(
        kind,
        ChunkKind::ContentDelta | ChunkKind::ReasoningDelta | ChunkKind::RefusalDelta | ChunkKind::ToolCallDelta
    )
}

/// What a provider has sent so far, whatever becomes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The protocol's end of the answer: what comes after it adds nothing.
    pub over: bool,
    /// Nothing of the answer is missing; true as well once it is over.
    pub complete: bool,
    /// An error came inside the answer.
    pub failed: bool,
}

/// The arrival of an answer that is complete when each of its choices has its finish reason.
#[derive(Debug, Default)]
pub(crate) struct Finishes {
    failed: bool,
    /// Each choice that was seen, in ascending order, and whether its finish was.
    choices: Vec<(u32, bool)>,
}

impl Finishes {
    /// Takes note of the chunks of a document.
    #[inline]
    pub(crate) fn note(&mut self, decoded: &Decoded) {
        for entry in &decoded.entries {
            self.note_chunk(entry.choice, entry.kind);
        }
    }

    #[inline]
    fn note_chunk(&mut self, choice: u32, kind: ChunkKind) {
        match kind {
            ChunkKind::Usage | ChunkKind::Opaque | ChunkKind::Annotation => return,
            ChunkKind::Error => return self.failed = true,
            _ => {}
        }
        let finished = kind == ChunkKind::Finish;
        match self.choices.binary_search_by_key(&choice, |(known, _)| *known) {
            Ok(at) => self.choices[at].1 |= finished,
            Err(at) => self.choices.insert(at, (choice, finished)),
        }
    }

    pub(crate) fn arrival(&self) -> Arrival {
        let complete = !self.choices.is_empty() && self.choices.iter().all(|(_, finished)| *finished);
        Arrival { over: false, complete, failed: self.failed }
    }
}

/// What a stopped stream's end says.
#[derive(Clone, Copy)]
pub struct Stop<'a> {
    /// The sentinel: one JSON document.
    pub sentinel: &'a str,
    /// The answer text that was delivered in a choice.
    pub delivered: &'a dyn Fn(u32) -> &'a str,
}

impl fmt::Debug for Stop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop").field("sentinel", &self.sentinel).finish_non_exhaustive()
    }
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blame {
    /// The client asked for what can't be.
    Client,
    /// The provider failed.
    Provider,
    /// A plugin failed and must not be skipped.
    Plugin,
    /// The daemon itself can't.
    Seamd,
}

/// An error that ends a stream, or stands in place of an answer, as the client is told it.
#[derive(Clone, Copy, Debug)]
pub struct Failure<'a> {
    /// What happened and whose fault it was.
    pub message: &'a str,
    /// Whose fault it was.
    pub blame: Blame,
    /// The machine-readable code.
    pub code: &'a str,
}
