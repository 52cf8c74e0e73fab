//! From events to chunks. A text that was streamed in pieces is known again where it is repeated, and not shown twice; what
//! was not shown before is shown wherever it stands, or it would get past the observers.

use std::collections::BTreeMap;

use super::Slot;
use super::names::{About, Lane, event};
use super::texts::{self, Address, Whole};
use crate::answer::{Arrival, Document, Form};
use crate::chunk::{Decoded, Entry, Piece, Place};
use crate::edits::TextEdits;
use crate::fields::Fields;
use crate::json::{self, Kind, Malformed, Scanner, Span, is_text};
use crate::usage;
use seam_plugin_api::ChunkKind;

/// What has come in so far.
#[derive(Debug, Default)]
pub(super) struct Arriving {
    /// Each text, to know it again.
    texts: BTreeMap<Address, Arrived>,
    last_output: u32,
    arrival: Arrival,
}

#[derive(Debug, Default)]
struct Arrived {
    text: TextEdits,
    /// Its end was told to the observers.
    ended: bool,
}

/// The members of an event.
pub(super) type EventFields = Fields<{ event::COUNT }>;

/// An event that was read: what it is about and where its members are.
pub(super) struct Read {
    pub(super) about: About,
    pub(super) fields: EventFields,
    /// The whole document.
    pub(super) whole: Span,
    /// The response that it is or has.
    pub(super) response: Option<Span>,
}

impl Read {
    /// Reads the members of a document; answers whether it is a loose one as well.
    pub(super) fn of(document: &Document<'_>, decoded: &mut Decoded) -> Result<(Option<Self>, bool), Malformed> {
        let text = document.text;
        let mut scanner = Scanner::new(text);
        if scanner.kind()? != Kind::Object {
            scanner.skip()?;
            scanner.end()?;
            return Ok((None, scanner.is_loose()));
        }
        let mut fields = EventFields::new();
        let whole = fields.read(&mut scanner, text, event::slot, decoded)?;
        scanner.end()?;
        let about = about(document, &fields);
        let response = match document.form {
            Form::Body => Some(whole),
            Form::Stream => fields.of_kind(event::RESPONSE, text, Kind::Object),
        };
        Ok((Some(Self { about, fields, whole, response }), scanner.is_loose()))
    }

    /// The output index that the event names; 0 if it names none.
    pub(super) fn output(&self, text: &str) -> u32 {
        self.number(event::OUTPUT, text)
    }

    /// The position of the text in its item.
    pub(super) fn index(&self, lane: Lane, text: &str) -> u32 {
        match lane {
            Lane::Summary => self.number(event::SUMMARY, text),
            Lane::Command => self.number(event::COMMAND_INDEX, text),
            Lane::Text | Lane::Refusal | Lane::Reasoning => self.number(event::CONTENT, text),
            _ => 0,
        }
    }

    /// Which text a piece or an end of that lane is of.
    pub(super) fn address(&self, lane: Lane, text: &str) -> Address {
        Address { output: self.output(text), lane, index: self.index(lane, text) }
    }

    fn number(&self, slot: usize, text: &str) -> u32 {
        self.fields.value(slot).and_then(|value| value.of_str(text).parse().ok()).unwrap_or(0)
    }

    /// The texts that stand in it as a whole.
    pub(super) fn wholes(&self, text: &str) -> Vec<Whole> {
        let output = self.output(text);
        let object = |slot| self.fields.of_kind(slot, text, Kind::Object);
        let mut found = Vec::new();
        match self.about {
            About::TextDone(lane) => {
                let value = self.fields.text(event::whole(lane), text);
                let address = self.address(lane, text);
                found.extend(value.map(|value| Whole { address, value, holder: self.whole }));
            }
            About::PartAdded | About::PartDone => {
                let slot = if self.fields.value(event::SUMMARY).is_some() { event::SUMMARY } else { event::CONTENT };
                let index = self.number(slot, text);
                found.extend(object(event::PART).and_then(|part| texts::of_part(text, part, output, index)));
            }
            About::ItemAdded | About::ItemDone => {
                if let Some(item) = object(event::ITEM) {
                    texts::of_item(text, item, output, &mut found);
                }
            }
            About::Over | About::Created | About::Begun => {
                found = self.response.map(|response| texts::of_response(text, response)).unwrap_or_default();
            }
            _ => {}
        }
        found
    }
}

/// The type that the event says, or that its name does where the data says none.
fn about(document: &Document<'_>, fields: &EventFields) -> About {
    if document.form == Form::Body {
        return About::Over;
    }
    if let Some(value) = fields.text(event::TYPE, document.text) {
        return About::of(value.inside_quotes().of_str(document.text));
    }
    if fields.of_kind(event::ERROR, document.text, Kind::Object).is_some() {
        return About::Error;
    }
    document.event.and_then(|name| std::str::from_utf8(name).ok()).map_or(About::Other, About::of)
}

/// Where the chunks of one document go.
struct Target<'a> {
    text: &'a str,
    decoded: &'a mut Decoded,
}

impl Target<'_> {
    fn push(&mut self, kind: ChunkKind, slot: Slot, choice: u32, container: u32, value: Span, pieces: (Piece, Piece)) {
        let place = Place { slot: slot.code(), container, value };
        let (text, payload) = pieces;
        self.decoded.entries.push(Entry { kind, choice, text, payload, place, signed: false });
    }

    /// A chunk of a lane, with the text that a string or the rest of one spells.
    fn push_text(&mut self, slot: Slot, address: Address, value: Span, shown: Piece) {
        let kind = address.lane.kind();
        let payload = match kind {
            ChunkKind::ToolCallDelta => {
                self.decoded.write(|out| out.push_str(&format!("{{\"index\":{}}}", address.output)))
            }
            _ => Piece::Absent,
        };
        self.push(kind, slot, address.output, address.index, value, (shown, payload));
    }

    fn push_finish(&mut self, output: u32, slot: Slot, value: Span, reason: Piece) {
        self.push(ChunkKind::Finish, slot, output, 0, value, (reason, Piece::Absent));
    }

    /// A whole event that carries nothing which another kind has.
    fn push_opaque(&mut self, output: u32, whole: Span) {
        self.push(ChunkKind::Opaque, Slot::Event, output, 0, whole, (Piece::Absent, Piece::Data(whole)));
    }

    fn push_annotation(&mut self, name: &str, output: u32, slot: Slot, value: Span) {
        let raw = value.of_str(self.text);
        let payload = self.decoded.write(|out| {
            for piece in ["{\"", name, "\":", raw, "}"] {
                out.push_str(piece);
            }
        });
        self.push(ChunkKind::Annotation, slot, output, 0, value, (Piece::Absent, payload));
    }

    fn spelt(&self, value: Span) -> String {
        let mut spelt = String::new();
        json::unescape(value.inside_quotes().of_str(self.text), &mut spelt);
        spelt
    }
}

impl Arriving {
    pub(super) const fn arrival(&self) -> Arrival {
        self.arrival
    }

    /// Reads the chunks of a document.
    pub(super) fn read(&mut self, document: &Document<'_>, decoded: &mut Decoded) -> Result<bool, Malformed> {
        let (read, loose) = Read::of(document, decoded)?;
        let Some(read) = read else { return Ok(loose) };
        let text = document.text;
        if read.fields.value(event::OUTPUT).is_some() {
            self.last_output = self.last_output.max(read.output(text));
            decoded.choices.push(read.output(text));
        }
        let mut target = Target { text, decoded };
        if read.about == About::Created {
            // After a fallback some gateways send another answer behind the end of one.
            *self = Self::default();
            target.decoded.begins = true;
        }
        self.read_event(&mut target, &read);
        if document.form == Form::Stream && matches!(read.about, About::Over | About::Error) {
            self.arrival.over = true;
            target.decoded.ends = true;
        }
        // Also where nothing else was found: which event it is must be known when it goes out.
        if target.decoded.entries.is_empty() {
            target.push_opaque(read.output(text), read.whole);
        }
        target.decoded.event = read.about.code();
        Ok(loose)
    }

    fn read_event(&mut self, target: &mut Target<'_>, read: &Read) {
        let text = target.text;
        match read.about {
            About::Delta(lane) => self.read_delta(target, read, read.address(lane, text)),
            About::TextDone(lane) => {
                self.read_wholes(target, read);
                self.end_text(target, read.address(lane, text), read.whole);
            }
            About::PartAdded | About::PartDone | About::Created | About::Begun => self.read_wholes(target, read),
            About::ItemAdded => self.read_item(target, read),
            About::ItemDone => {
                self.read_item_done(target, read);
            }
            About::Annotation => {
                if let Some(annotation) = read.fields.of_kind(event::ANNOTATION, text, Kind::Object) {
                    target.push_annotation("annotation", read.output(text), Slot::Annotation, annotation);
                }
            }
            About::Over => self.read_over(target, read),
            About::Error => self.read_error(target, read),
            About::Other => {}
        }
    }

    fn read_delta(&mut self, target: &mut Target<'_>, read: &Read, address: Address) {
        let text = target.text;
        if let Some(delta) = read.fields.text(event::DELTA, text) {
            let shown = target.decoded.unescaped(text, delta);
            if let Some(piece) = target.decoded.piece(shown, text.as_bytes()) {
                self.texts.entry(address).or_default().text.came(piece);
            }
            target.push_text(Slot::Delta(address.lane), address, delta, shown);
        }
        let logprobs = read.fields.of_kind(event::LOGPROBS, text, Kind::Array);
        if let Some(logprobs) = logprobs.filter(|value| !json::elements_of(text, *value).is_empty()) {
            target.push_annotation("logprobs", address.output, Slot::Logprobs, logprobs);
        }
    }

    /// Shows what was not shown before of the texts that stand in an event as a whole.
    fn read_wholes(&mut self, target: &mut Target<'_>, read: &Read) {
        for whole in read.wholes(target.text) {
            self.read_whole(target, whole);
        }
    }

    fn read_whole(&mut self, target: &mut Target<'_>, Whole { address, value, .. }: Whole) {
        let arrived = self.texts.entry(address).or_default();
        let spelt = target.spelt(value);
        if arrived.text.is_repeated_by(&spelt) {
            return;
        }
        let known = if arrived.text.begins(&spelt) { arrived.text.length() } else { 0 };
        if known == 0 {
            arrived.text = TextEdits::default();
        }
        let rest = &spelt[known..];
        arrived.text.came(rest);
        let shown = target.decoded.write(|out| out.push_str(rest));
        let slot = if known == 0 { Slot::Whole(address.lane) } else { Slot::Rest(address.lane) };
        target.push_text(slot, address, value, shown);
    }

    /// Tells the observers that a text has come to its end, once.
    fn end_text(&mut self, target: &mut Target<'_>, address: Address, whole: Span) {
        let arrived = self.texts.entry(address).or_default();
        if !std::mem::replace(&mut arrived.ended, true) {
            target.push_finish(address.output, Slot::TextEnd, whole, Piece::Absent);
        }
    }

    /// An item that begins: a call with its id and name.
    fn read_item(&mut self, target: &mut Target<'_>, read: &Read) {
        let text = target.text;
        let output = read.output(text);
        if let Some(item) = read.fields.of_kind(event::ITEM, text, Kind::Object) {
            let member = |name| json::member_of(text, item, name).filter(|value| is_text(text, *value));
            if let Some(name) =
                member("name").filter(|_| member("call_id").is_some() || member("server_label").is_some())
            {
                let id = member("call_id").or_else(|| member("id"));
                let payload = target.decoded.write(|out| write_call(out, output, id, name, text));
                target.push(ChunkKind::ToolCallDelta, Slot::Call, output, 0, item, (Piece::Absent, payload));
            }
        }
        self.read_wholes(target, read);
    }

    fn read_item_done(&mut self, target: &mut Target<'_>, read: &Read) {
        self.read_wholes(target, read);
        let output = read.output(target.text);
        let mut open = false;
        for (_, arrived) in self.texts.iter_mut().filter(|(address, _)| address.output == output) {
            open |= !std::mem::replace(&mut arrived.ended, true);
        }
        if open {
            target.push_finish(output, Slot::TextEnd, read.whole, Piece::Absent);
        }
    }

    /// The whole response: what was not shown of its texts, its reason, its usage, its error.
    fn read_over(&mut self, target: &mut Target<'_>, read: &Read) {
        let Some(response) = read.response else { return };
        let text = target.text;
        for whole in texts::of_response(text, response) {
            self.last_output = self.last_output.max(whole.address.output);
            self.read_whole(target, whole);
        }
        let member = |name| json::member_of(text, response, name);
        let object = |name| member(name).filter(|value| json::kind_of(text, *value) == Kind::Object);
        let error = object("error").or_else(|| read.fields.of_kind(event::ERROR, text, Kind::Object));
        if let Some(reason) = reason_of(text, response).filter(|_| error.is_none()) {
            let shown = target.decoded.unescaped(text, reason);
            target.push_finish(self.last_output, Slot::Finish, reason, shown);
        }
        if let Some(usage) = object("usage").filter(|usage| usage::is_value(text, *usage)) {
            let payload = target.decoded.write(|out| usage::write_payload(text, usage, out));
            target.push(ChunkKind::Usage, Slot::Usage, 0, 0, usage, (Piece::Absent, payload));
        }
        self.arrival.complete |= error.is_none();
        if let Some(error) = error {
            self.push_error(target, error);
        }
    }

    /// An `error` event: flat, or with an object as other wires of the provider have it.
    fn read_error(&mut self, target: &mut Target<'_>, read: &Read) {
        let error = read.fields.of_kind(event::ERROR, target.text, Kind::Object).unwrap_or(read.whole);
        self.push_error(target, error);
    }

    fn push_error(&mut self, target: &mut Target<'_>, error: Span) {
        self.arrival.failed = true;
        let text = target.text;
        let message = json::member_of(text, error, "message").filter(|message| is_text(text, *message));
        let message = message.map_or(Piece::Absent, |message| target.decoded.unescaped(text, message));
        target.push(ChunkKind::Error, Slot::Error, 0, 0, error, (message, Piece::Data(error)));
    }
}

/// Why a response is over: the reason that it is incomplete, or its status.
fn reason_of(text: &str, response: Span) -> Option<Span> {
    let details = json::member_of(text, response, "incomplete_details");
    let reason = details.and_then(|details| json::member_of(text, details, "reason"));
    reason.or_else(|| json::member_of(text, response, "status")).filter(|reason| is_text(text, *reason))
}

fn write_call(out: &mut String, output: u32, id: Option<Span>, name: Span, text: &str) {
    out.push_str(&format!("{{\"index\":{output}"));
    if let Some(id) = id {
        out.push_str(",\"id\":");
        out.push_str(id.of_str(text));
    }
    out.push_str(",\"name\":");
    out.push_str(name.of_str(text));
    out.push('}');
}
