//! From data to chunks. One pass checks the JSON; what was found in a candidate is then told in the contract's order,
//! whatever the order of its parts.

use super::calls::CallNumbers;
use super::names::{candidate, content, held, part, partial, top};
use super::usage::Usage;
use super::{Gemini, Slot};
use crate::chunk::{Decoded, Entry, Piece, Place};
use crate::fields::{Fields, slot};
use crate::json::{self, Kind, Malformed, Member, Scanner, Span, is_text};
use seam_plugin_api::ChunkKind;
use std::fmt::Write as _;

/// The reason of a candidate that goes on: the name of the value that is not sent.
const NO_REASON: &str = "\"FINISH_REASON_UNSPECIFIED\"";

/// Where the chunks of one candidate go.
struct Target<'a> {
    text: &'a str,
    decoded: &'a mut Decoded,
    container: u32,
    choice: u32,
}

impl Target<'_> {
    fn push(&mut self, kind: ChunkKind, slot: Slot, value: Span, text: Piece, payload: Piece) {
        let place = Place { slot: slot as u8, container: self.container, value };
        self.decoded.entries.push(Entry { kind, choice: self.choice, text, payload, place, signed: false });
    }

    /// A chunk whose text is the string at `value`.
    fn push_text(&mut self, kind: ChunkKind, slot: Slot, value: Span) {
        let text = self.decoded.unescaped(self.text, value);
        self.push(kind, slot, value, text, Piece::Absent);
    }

    /// What a string spells, or the JSON that stands there.
    fn shown(&mut self, value: Span) -> Piece {
        if is_text(self.text, value) { self.decoded.unescaped(self.text, value) } else { Piece::Data(value) }
    }

    /// An annotation chunk: the value under its name.
    fn push_annotation(&mut self, name: &str, slot: Slot, value: Span) {
        let raw = value.of_str(self.text);
        let payload = self.decoded.write(|out| {
            for piece in ["{\"", name, "\":", raw, "}"] {
                out.push_str(piece);
            }
        });
        self.push(ChunkKind::Annotation, slot, value, Piece::Absent, payload);
    }
}

impl Gemini {
    /// Answers whether the document is a loose one.
    pub(super) fn read_document(&mut self, text: &str, decoded: &mut Decoded) -> Result<bool, Malformed> {
        let mut scanner = Scanner::new(text);
        if scanner.kind()? != Kind::Object {
            let value = scanner.skip()?;
            scanner.end()?;
            read_wrapped_error(text, value, decoded);
            return Ok(scanner.is_loose());
        }
        let mut fields = Fields::<6>::new();
        let mut usage = Usage::default();
        scanner.members(|scanner, key| {
            let slot = slot(text, key, top::slot);
            let value = match (slot, scanner.kind()?) {
                (Some(top::CANDIDATES), Kind::Array) => {
                    // An earlier `candidates` is hidden by this one.
                    decoded.entries.clear();
                    decoded.choices.clear();
                    read_candidates(scanner, text, decoded)?
                }
                (Some(top::USAGE), Kind::Object) => {
                    usage = Usage::read(scanner, text, decoded)?;
                    usage.object
                }
                _ => scanner.skip()?,
            };
            fields.set(slot, Member { key, value }, decoded);
            Ok(())
        })?;
        scanner.end()?;
        if fields.of_kind(top::CANDIDATES, text, Kind::Array).is_none() {
            decoded.entries.clear();
            decoded.choices.clear();
        }
        self.number_calls(text, decoded);
        self.note_names(text, fields.value(top::MODEL), fields.value(top::ID));
        let usage = fields.of_kind(top::USAGE, text, Kind::Object).map(|_| usage);
        read_rest(text, &fields, usage, decoded);
        Ok(scanner.is_loose())
    }

    /// Gives each call of the document its number, and each value of streamed arguments its place among them, now that
    /// it is known which of them count.
    fn number_calls(&mut self, text: &str, decoded: &mut Decoded) {
        for position in 0..decoded.entries.len() {
            let Entry { choice, place, .. } = decoded.entries[position];
            let numbers = &mut self.state(choice).numbers;
            let slot = Slot::from_code(place.slot);
            match slot {
                Slot::Call | Slot::ServerCall | Slot::Code => {
                    decoded.entries[position].payload = call_payload(text, slot, place.value, numbers, decoded);
                }
                Slot::Partial => {
                    let shown = decoded.write(|out| numbers.streamed.show(text, place.value, out));
                    let payload = decoded.write(|out| write_number(numbers.current(), out));
                    let entry = &mut decoded.entries[position];
                    (entry.text, entry.payload) = (shown, payload);
                }
                Slot::CallEnd => {
                    let shown = decoded.write(|out| numbers.streamed.show_end(out));
                    let payload = decoded.write(|out| write_number(numbers.current(), out));
                    let entry = &mut decoded.entries[position];
                    (entry.text, entry.payload) = (shown, payload);
                }
                _ => {}
            }
        }
    }
}

/// The payload of a call's chunk: its number, and what names it.
fn call_payload(text: &str, slot: Slot, value: Span, numbers: &mut CallNumbers, decoded: &mut Decoded) -> Piece {
    // Members that are hidden were noted when the chunk was found.
    let noted = decoded.hidden.len();
    let fields = Fields::<5>::within(text, value, held_slot(slot), decoded);
    decoded.hidden.truncate(noted);
    let id = fields.text(held::ID, text).map(|id| id.of_str(text));
    let name = fields.text(held::NAME, text).map(|name| name.of_str(text));
    let name = if slot == Slot::Code { Some("\"code_execution\"") } else { name };
    let whole = slot != Slot::Call || fields.value(held::ARGS).is_some();
    let number = numbers.next(name.is_some(), whole);
    decoded.write(|out| {
        write_number(number, out);
        out.pop();
        for (key, value) in [(",\"id\":", id), (",\"name\":", name)] {
            if let Some(value) = value {
                out.push_str(key);
                out.push_str(value);
            }
        }
        out.push('}');
    })
}

fn write_number(number: u32, out: &mut String) {
    // Writing to a string can't fail.
    let _ = write!(out, "{{\"index\":{number}}}");
}

/// The names of the members of what a part holds.
pub(super) const fn held_slot(slot: Slot) -> fn(&str) -> Option<usize> {
    match slot {
        Slot::ServerCall => held::server_call,
        Slot::Code => held::code,
        Slot::Result => held::result,
        _ => held::call,
    }
}

fn read_candidates(scanner: &mut Scanner<'_>, text: &str, decoded: &mut Decoded) -> Result<Span, Malformed> {
    let mut container = 0;
    scanner.elements(|scanner| {
        if scanner.kind()? != Kind::Object {
            return scanner.skip().map(drop);
        }
        read_candidate(scanner, text, container, decoded)?;
        container += 1;
        Ok(())
    })
}

fn read_candidate(
    scanner: &mut Scanner<'_>,
    text: &str,
    container: u32,
    decoded: &mut Decoded,
) -> Result<(), Malformed> {
    let start = decoded.entries.len();
    let mut fields = Fields::<8>::new();
    scanner.members(|scanner, key| {
        let slot = slot(text, key, candidate::slot);
        let value = if slot == Some(candidate::CONTENT) {
            // An earlier `content` is hidden by this one.
            decoded.entries.truncate(start);
            read_content(scanner, text, container, decoded)?
        } else {
            scanner.skip()?
        };
        fields.set(slot, Member { key, value }, decoded);
        Ok(())
    })?;
    let index = fields.value(candidate::INDEX).and_then(|index| index.of_str(text).parse().ok()).unwrap_or(container);
    decoded.choices.push(index);
    let entries = decoded.entries.get_mut(start..).unwrap_or_default();
    entries.iter_mut().for_each(|entry| entry.choice = index);
    entries.sort_by_key(|entry| rank(entry.kind));
    let mut target = Target { text, decoded, container, choice: index };
    for (position, name) in candidate::ANNOTATION_NAMES.iter().enumerate() {
        let value = fields.value(candidate::ANNOTATIONS + position).filter(|value| says_anything(text, *value));
        if let (Some(value), Some(slot)) = (value, Slot::ANNOTATIONS.get(position)) {
            target.push_annotation(name, *slot, value);
        }
    }
    let reason = fields.text(candidate::FINISH, text).filter(|reason| reason.of_str(text) != NO_REASON);
    if let Some(reason) = reason {
        target.push_text(ChunkKind::Finish, Slot::Finish, reason);
    }
    Ok(())
}

/// Where a chunk of a part stands among those of its candidate.
const fn rank(kind: ChunkKind) -> u8 {
    match kind {
        ChunkKind::ReasoningDelta => 0,
        ChunkKind::ContentDelta => 1,
        ChunkKind::ToolCallDelta => 2,
        _ => 3,
    }
}

fn read_content(
    scanner: &mut Scanner<'_>,
    text: &str,
    container: u32,
    decoded: &mut Decoded,
) -> Result<Span, Malformed> {
    if scanner.kind()? != Kind::Object {
        return scanner.skip();
    }
    let start = decoded.entries.len();
    let mut fields = Fields::<1>::new();
    scanner.members(|scanner, key| {
        let slot = slot(text, key, content::slot);
        let value = if slot == Some(content::PARTS) {
            // An earlier `parts` is hidden by this one.
            decoded.entries.truncate(start);
            read_parts(scanner, text, container, decoded)?
        } else {
            scanner.skip()?
        };
        fields.set(slot, Member { key, value }, decoded);
        Ok(())
    })
}

fn read_parts(scanner: &mut Scanner<'_>, text: &str, container: u32, decoded: &mut Decoded) -> Result<Span, Malformed> {
    let mut target = Target { text, decoded, container, choice: 0 };
    if scanner.kind()? != Kind::Array {
        return scanner.skip();
    }
    scanner.elements(|scanner| {
        if scanner.kind()? != Kind::Object {
            let span = scanner.skip()?;
            read_part(&mut target, span, &Fields::new(), says_anything(text, span));
            return Ok(());
        }
        let mut fields = Fields::<7>::new();
        let mut unknown = false;
        let span = scanner.members(|scanner, key| {
            let slot = slot(text, key, part::slot);
            let value = scanner.skip()?;
            unknown |= slot.is_none() && says_anything(text, value);
            fields.set(slot, Member { key, value }, target.decoded);
            Ok(())
        })?;
        read_part(&mut target, span, &fields, unknown);
        Ok(())
    })
}

/// One part. Code that the provider runs is a call as any other; what it printed is part of what the reader is told. A
/// part of which nothing is known is opaque, so that it is neither lost nor let past.
fn read_part(target: &mut Target<'_>, span: Span, fields: &Fields<7>, unknown: bool) {
    let text = target.text;
    let before = target.decoded.entries.len();
    if let Some(value) = fields.text(part::TEXT, text) {
        let thought = fields.value(part::THOUGHT).is_some_and(|thought| thought.of_str(text) == "true");
        let kind = if thought { ChunkKind::ReasoningDelta } else { ChunkKind::ContentDelta };
        target.push_text(kind, Slot::Text, value);
    }
    let held = [(part::CALL, Slot::Call), (part::SERVER_CALL, Slot::ServerCall), (part::CODE, Slot::Code)];
    for (field, slot) in held {
        if let Some(value) = fields.of_kind(field, text, Kind::Object) {
            read_call(target, slot, value);
        }
    }
    if let Some(result) = fields.of_kind(part::RESULT, text, Kind::Object) {
        let fields = Fields::<5>::within(text, result, held::result, target.decoded);
        if let Some(output) = fields.text(held::ARGS, text) {
            target.push_text(ChunkKind::ContentDelta, Slot::Result, output);
        }
    }
    if unknown && target.decoded.entries.len() == before {
        target.push(ChunkKind::Opaque, Slot::Part, span, Piece::Absent, Piece::Data(span));
    }
}

/// A call. What names it is told once all calls are known. Code is shown as the arguments of the call that runs it.
fn read_call(target: &mut Target<'_>, slot: Slot, value: Span) {
    let text = target.text;
    let fields = Fields::<5>::within(text, value, held_slot(slot), target.decoded);
    let is_said = |args: &Span| match json::kind_of(text, *args) {
        Kind::Null => false,
        Kind::String => is_text(text, *args),
        _ => slot != Slot::Code,
    };
    let args = fields.value(held::ARGS).filter(is_said);
    let is_named = fields.text(held::NAME, text).is_some() || fields.text(held::ID, text).is_some();
    if args.is_some() || is_named && slot != Slot::Code {
        let shown = match args {
            Some(code) if slot == Slot::Code => target.decoded.write(|out| {
                for piece in ["{\"code\":", code.of_str(text), "}"] {
                    out.push_str(piece);
                }
            }),
            Some(args) => target.shown(args),
            None => Piece::Absent,
        };
        target.push(ChunkKind::ToolCallDelta, slot, value, shown, Piece::Absent);
    }
    if slot == Slot::Call {
        read_streamed(target, value, &fields, is_named || args.is_some());
    }
}

/// The values of arguments that are streamed, and the end of them: a call that does not go on, with values or with
/// nothing at all.
fn read_streamed(target: &mut Target<'_>, value: Span, fields: &Fields<5>, begins: bool) {
    let text = target.text;
    let partial = fields.of_kind(held::PARTIAL, text, Kind::Array);
    if let Some(partial) = partial {
        // A value of a document that was scanned before.
        let _ = Scanner::within(text, partial).elements(|scanner| {
            if scanner.kind()? != Kind::Object {
                return scanner.skip().map(drop);
            }
            let element = Fields::<6>::new().read(scanner, text, partial::slot, target.decoded)?;
            target.push(ChunkKind::ToolCallDelta, Slot::Partial, element, Piece::Absent, Piece::Absent);
            Ok(())
        });
    }
    let goes_on = fields.value(held::GOES_ON).is_some_and(|value| value.of_str(text) == "true");
    if !goes_on && (partial.is_some() || !begins) {
        target.push(ChunkKind::ToolCallDelta, Slot::CallEnd, value, Piece::Absent, Piece::Absent);
    }
}

/// What stands beside the candidates: a prompt that is refused, token counts, an error.
fn read_rest(text: &str, fields: &Fields<6>, usage: Option<Usage>, decoded: &mut Decoded) {
    let mut target = Target { text, decoded, container: 0, choice: 0 };
    if let Some(feedback) = fields.of_kind(top::FEEDBACK, text, Kind::Object) {
        let reason = json::member_of(text, feedback, "blockReason").filter(|reason| is_text(text, *reason));
        if let Some(reason) = reason {
            target.push_text(ChunkKind::Finish, Slot::Blocked, reason);
        }
    }
    if let Some(usage) = usage.filter(|usage| usage.says_anything) {
        let payload = target.decoded.write(|out| usage.write_payload(text, out));
        target.push(ChunkKind::Usage, Slot::Usage, usage.object, Piece::Absent, payload);
    }
    if let Some(error) = fields.value(top::ERROR).filter(|value| says_anything(text, *value)) {
        read_error(&mut target, error);
    }
}

fn read_error(target: &mut Target<'_>, value: Span) {
    let text = target.text;
    let message = match json::kind_of(text, value) {
        Kind::String => Some(value),
        _ => json::member_of(text, value, "message").filter(|message| is_text(text, *message)),
    };
    let message = message.map_or(Piece::Absent, |message| target.decoded.unescaped(text, message));
    target.push(ChunkKind::Error, Slot::Error, value, message, Piece::Data(value));
}

/// An error as it comes where an array of answers was asked for: the only element of one.
fn read_wrapped_error(text: &str, value: Span, decoded: &mut Decoded) {
    let elements = json::elements_of(text, value);
    if let [element] = elements[..]
        && let Some(error) = json::member_of(text, element, "error")
        && json::kind_of(text, error) == Kind::Object
    {
        read_error(&mut Target { text, decoded, container: 0, choice: 0 }, error);
    }
}

/// Whether a value carries anything: not null, and no empty string, object or array.
fn says_anything(text: &str, value: Span) -> bool {
    match text.as_bytes().get(value.start) {
        Some(b'"') => value.end - value.start > 2,
        Some(b'{') => text.get(value.start + 1..value.end - 1).is_some_and(|inside| !inside.trim_ascii().is_empty()),
        Some(b'[') => text.get(value.start + 1..value.end - 1).is_some_and(|inside| !inside.trim_ascii().is_empty()),
        first => first != Some(&b'n'),
    }
}
