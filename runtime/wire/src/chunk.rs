//! What a frame decodes to, and what may be put in a chunk's place.

use seam_plugin_api::ChunkKind;

use crate::json::{self, Span};

/// One decoded unit of a frame: a borrowed view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The provider's choice index.
    pub choice: u32,
    /// What the chunk carries.
    pub kind: ChunkKind,
    /// Its text; may be empty.
    pub text: &'a str,
    /// Its JSON document, if it has any.
    pub payload: Option<&'a str>,
    /// Whether the provider signed what the chunk carries: it takes a changed one back in no later request.
    pub signed: bool,
}

/// What takes a chunk's place. The choice stays the chunk's own.
///
/// A `content_delta` may carry tool calls beside its text, for where an answer has more to say than it has chunks (an
/// answer that is not streamed has one of content). Its payload is then an object with a member `tool_calls`, an array:
///
/// ```json
/// {"tool_calls":[{"index":0,"id":"call_1","name":"search","arguments":"{\"q\":\"x\"}"}]}
/// ```
///
/// `index`, `id` and `name` are those of a `tool_call_delta`'s payload; `name` must be there and say something.
/// `arguments` is JSON text in a string. If the array is empty, or one element of it is anything else, none of it
/// counts. The chunk stays content: observers that come later see its text as such, and the calls only in its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body<'a> {
    /// What the new chunk carries; may differ from the old one's.
    pub kind: ChunkKind,
    /// Its text; may be empty.
    pub text: &'a str,
    /// Its JSON, if it has any. What is no valid document counts as absent.
    pub payload: Option<&'a str>,
}

/// What happens to one chunk when its frame is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit<'a> {
    /// It goes out as it came in.
    Keep,
    /// Another chunk goes out in its place: its text in the member of its kind, and a tool call, or those beside content,
    /// in the protocol's own form. Such a call gets an index that no other call of its choice has and, where it brings
    /// none, an id; a finish reason `stop` that comes with or after it becomes `tool_calls`.
    Replace(Body<'a>),
    /// It does not go out.
    Remove,
}

/// The chunks of one frame or body. Made to be used again for the next frame, so that decoding allocates nothing once
/// it has grown; a frame whose chunks are held keeps its own (`std::mem::take`).
#[derive(Debug, Default)]
pub struct Decoded {
    pub(crate) entries: Vec<Entry>,
    /// The choices that the frame names, in order.
    pub(crate) choices: Vec<u32>,
    /// Members of objects that a later member of the same name hides, each with the comma after it.
    pub(crate) hidden: Vec<Span>,
    pub(crate) shape: Shape,
    /// A choice repeats its whole text beside the piece of it.
    pub(crate) repeats: bool,
    /// It is the end of the answer.
    pub(crate) ends: bool,
    /// It begins an answer, although another may have ended before.
    pub(crate) begins: bool,
    /// Which event it is, in the protocol's own code.
    pub(crate) event: u8,
    scratch: String,
}

/// How the data was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    /// There is no data, or none that says anything.
    #[default]
    Empty,
    /// The end marker of the protocol.
    End,
    /// One opaque chunk over the whole data, which is JSON.
    OpaqueJson,
    /// One opaque chunk over the whole data, which is not JSON.
    OpaqueText,
    /// An object in which something was recognised.
    Chunks,
}

/// One chunk, as ranges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: ChunkKind,
    pub(crate) choice: u32,
    pub(crate) text: Piece,
    pub(crate) payload: Piece,
    pub(crate) place: Place,
    pub(crate) signed: bool,
}

/// Where a chunk's text or payload is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Piece {
    #[default]
    Absent,
    /// Within the frame's data.
    Data(Span),
    /// Within the scratch.
    Scratch(Span),
}

/// Where in the data a chunk was found, in the protocol's own terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The protocol's code for the kind of place.
    pub(crate) slot: u8,
    /// Which container of the data holds it: a choice's position among the objects of its array.
    pub(crate) container: u32,
    /// The value that carries it.
    pub(crate) value: Span,
}

impl Decoded {
    /// Forgets the chunks and keeps the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.choices.clear();
        self.hidden.clear();
        self.scratch.clear();
        self.shape = Shape::Empty;
        self.repeats = false;
        self.ends = false;
        self.begins = false;
        self.event = 0;
    }

    /// How many chunks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the frame is the end marker of the protocol (`[DONE]`), which carries no chunk.
    #[must_use]
    pub fn is_end_marker(&self) -> bool {
        self.shape == Shape::End
    }

    /// Whether the frame is the end of the answer, with chunks or without.
    pub(crate) fn is_end(&self) -> bool {
        self.ends || self.is_end_marker()
    }

    /// The chunk at a position, or `None` past the last one. `data` must be what was decoded: the frame's
    /// [`data`](crate::Frame::data) or the body.
    #[must_use]
    pub fn chunk<'a>(&'a self, position: usize, data: &'a [u8]) -> Option<Chunk<'a>> {
        let entry = self.entries.get(position)?;
        Some(Chunk {
            choice: entry.choice,
            kind: entry.kind,
            text: self.piece(entry.text, data).unwrap_or_default(),
            payload: self.piece(entry.payload, data),
            signed: entry.signed,
        })
    }

    /// The chunks in order; `data` as for [`chunk`](Self::chunk).
    pub fn chunks<'a>(&'a self, data: &'a [u8]) -> impl Iterator<Item = Chunk<'a>> {
        (0..self.len()).filter_map(move |position| self.chunk(position, data))
    }

    pub(crate) fn piece<'a>(&'a self, piece: Piece, data: &'a [u8]) -> Option<&'a str> {
        match piece {
            Piece::Absent => None,
            // The data was checked to be UTF-8 when it was decoded; only other data than that could fail here.
            Piece::Data(span) => Some(std::str::from_utf8(span.of(data)).unwrap_or_default()),
            Piece::Scratch(span) => Some(span.of_str(&self.scratch)),
        }
    }

    /// The piece that is what a string in the data spells: the data itself if nothing is escaped.
    pub(crate) fn unescaped(&mut self, data: &str, string: Span) -> Piece {
        let inside = string.inside_quotes();
        let text = inside.of_str(data);
        if memchr::memchr(b'\\', text.as_bytes()).is_none() {
            return Piece::Data(inside);
        }
        self.write(|scratch| json::unescape(text, scratch))
    }

    /// A piece of the scratch, written by `write`.
    pub(crate) fn write(&mut self, write: impl FnOnce(&mut String)) -> Piece {
        let start = self.scratch.len();
        write(&mut self.scratch);
        Piece::Scratch(Span::new(start, self.scratch.len()))
    }

    /// Makes every piece independent of the data, of which `text` is the readable form, and every payload a strict
    /// document.
    pub(crate) fn detach(&mut self, text: &str) {
        for position in 0..self.entries.len() {
            let Entry { text: own, payload, .. } = self.entries[position];
            let own = match own {
                Piece::Data(span) => self.write(|scratch| scratch.push_str(span.of_str(text))),
                other => other,
            };
            let strict = self.piece(payload, text.as_bytes()).map(json::strict);
            let payload = strict.map_or(Piece::Absent, |strict| self.write(|scratch| scratch.push_str(&strict)));
            let entry = &mut self.entries[position];
            (entry.text, entry.payload) = (own, payload);
        }
    }

    /// Makes the whole data one opaque chunk.
    pub(crate) fn set_opaque(&mut self, choice: u32, shape: Shape, payload: Piece) {
        self.entries.clear();
        self.shape = shape;
        let place = Place::default();
        self.entries.push(Entry {
            kind: ChunkKind::Opaque,
            choice,
            text: Piece::Absent,
            payload,
            place,
            signed: false,
        });
    }

    /// Makes data that is not a JSON document one opaque chunk, with its text as a JSON string.
    pub(crate) fn set_opaque_text(&mut self, data: &[u8]) {
        self.clear();
        let payload = self.write(|scratch| json::write_string(&String::from_utf8_lossy(data), scratch));
        self.set_opaque(0, Shape::OpaqueText, payload);
    }
}
