//! One text of an answer: a field of a choice, or the arguments of one of its tool calls. It knows what is settled and
//! what the settled parts become.

use std::collections::VecDeque;

use crate::arguments::Arguments;
use crate::redactor::Redactor;
use crate::stream::{Edit, Stream, Within};

/// A field of an answer that carries text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Field {
    Content,
    Reasoning,
    Refusal,
    /// The arguments of the tool call with this index. Comes last in order.
    ToolCall(u64),
}

/// How many chunks of another text may come before one that waits for its continuation is let go.
const PATIENCE: usize = 8;

/// See the module.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) choice: u32,
    pub(crate) field: Field,
    reader: Reader,
    /// What was taken out, from the first chunk on that is still held.
    edits: VecDeque<Edit>,
    /// When its first chunk came, in chunks of the invocation; 0 before that.
    first: u64,
    /// When its last chunks came; the newest is at `arrivals[newest]`.
    arrivals: [u64; PATIENCE],
    newest: usize,
}

#[derive(Debug)]
enum Reader {
    Text(Stream),
    Arguments(Box<Arguments>),
}

impl Lane {
    /// A text that has not begun.
    pub(crate) fn new(choice: u32, field: Field) -> Self {
        let reader = match field {
            Field::ToolCall(_) => Reader::Arguments(Box::default()),
            _ => Reader::Text(Stream::default()),
        };
        Self { choice, field, reader, edits: VecDeque::new(), first: 0, arrivals: [0; PATIENCE], newest: 0 }
    }

    /// Takes the next piece, which came with chunk number `now`; answers which bytes of the text it is.
    pub(crate) fn push(&mut self, redactor: &Redactor, text: &str, now: u64) -> (u64, u64) {
        if self.first == 0 {
            self.first = now;
        }
        self.newest = (self.newest + 1) % PATIENCE;
        self.arrivals[self.newest] = now;
        let from = self.length();
        match &mut self.reader {
            Reader::Text(stream) => {
                stream.push(redactor, text);
                if stream.has_edits() {
                    self.edits.extend(stream.take_edits());
                }
            }
            Reader::Arguments(arguments) => {
                arguments.push(redactor, text);
                self.edits.extend(arguments.take_edits());
            }
        }
        (from, self.length())
    }

    /// The text ends here.
    pub(crate) fn finish(&mut self, redactor: &Redactor) {
        match &mut self.reader {
            Reader::Text(stream) => {
                stream.finish(redactor);
                self.edits.extend(stream.take_edits());
            }
            Reader::Arguments(arguments) => {
                arguments.finish(redactor);
                self.edits.extend(arguments.take_edits());
            }
        }
    }

    /// The text may go on, but what waits for that waits no longer. If it goes on as a match, the rest is taken out.
    pub(crate) fn let_go(&mut self, redactor: &Redactor) {
        match &mut self.reader {
            Reader::Text(stream) => {
                stream.let_go(redactor);
                self.edits.extend(stream.take_edits());
            }
            Reader::Arguments(arguments) => {
                arguments.let_go(redactor);
                self.edits.extend(arguments.take_edits());
            }
        }
    }

    /// Whether `other` has gone on for so long without this text that it need not be waited for.
    pub(crate) fn is_abandoned_for(&self, other: &Self) -> bool {
        let longest_ago = other.arrivals[(other.newest + 1) % PATIENCE];
        longest_ago > self.last()
    }

    /// When its first chunk came, in chunks of the invocation.
    pub(crate) const fn first(&self) -> u64 {
        self.first
    }

    /// When its newest chunk came.
    pub(crate) const fn last(&self) -> u64 {
        self.arrivals[self.newest]
    }

    /// How much is settled, in bytes.
    pub(crate) fn settled(&self) -> u64 {
        match &self.reader {
            Reader::Text(stream) => stream.settled(),
            Reader::Arguments(arguments) => arguments.settled(),
        }
    }

    /// Whether a part of it waits for its continuation.
    pub(crate) fn is_waiting(&self) -> bool {
        self.settled() < self.length()
    }

    fn length(&self) -> u64 {
        match &self.reader {
            Reader::Text(stream) => stream.length(),
            Reader::Arguments(arguments) => arguments.length(),
        }
    }

    /// Whether something is taken out of a range.
    pub(crate) fn is_edited(&self, range: (u64, u64)) -> bool {
        self.edits.iter().any(|edit| edit.start < range.1 && range.0 < edit.end)
    }

    /// Appends what becomes of a settled range; `text` is what it says.
    pub(crate) fn render(&self, redactor: &Redactor, range: (u64, u64), text: &str, out: &mut String) {
        render(redactor, self.edits.iter(), range, text, out);
    }

    /// Forgets the edits in front of `to`, all of whose text has gone on.
    pub(crate) fn forget(&mut self, to: u64) {
        while self.edits.front().is_some_and(|edit| edit.end <= to) {
            self.edits.pop_front();
        }
    }
}

/// What becomes of a whole JSON document; `None` if it stays as it is.
pub(crate) fn redact_document(redactor: &Redactor, document: &str) -> Option<String> {
    let edits = Arguments::edits_of(redactor, document);
    (!edits.is_empty()).then(|| {
        let mut out = String::with_capacity(document.len());
        render(redactor, edits.iter(), (0, document.len() as u64), document, &mut out);
        out
    })
}

/// Appends what edits make of a range of a text; `text` is what the range says.
fn render<'a>(
    redactor: &Redactor,
    edits: impl Iterator<Item = &'a Edit>,
    range: (u64, u64),
    text: &str,
    out: &mut String,
) {
    let mut at = range.0;
    for edit in edits.filter(|edit| edit.start < range.1 && range.0 < edit.end) {
        let slice = text.get((at - range.0) as usize..(edit.start.max(at) - range.0) as usize);
        out.push_str(slice.unwrap_or_default());
        if let Some(kind) = edit.label.filter(|_| edit.start >= range.0) {
            put_label(redactor, kind, edit.within, out);
        }
        at = edit.end.min(range.1);
    }
    out.push_str(text.get((at - range.0) as usize..).unwrap_or_default());
}

fn put_label(redactor: &Redactor, kind: u16, within: Within, out: &mut String) {
    let Some(label) = redactor.labels.get(usize::from(kind)) else { return };
    match within {
        Within::Text => out.push_str(&label.plain),
        Within::JsonString => out.push_str(&label.escaped),
        Within::Json => out.extend(["\"", &label.escaped, "\""]),
    }
}
