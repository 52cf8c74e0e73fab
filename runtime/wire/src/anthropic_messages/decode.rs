//! From data to chunks. One pass checks the JSON; a message's blocks, which are whole, are looked at again.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::names::{block, details, top};
use super::{EventKind, Slot};
use crate::answer::{Arrival, Document, Form};
use crate::chunk::{Decoded, Entry, Piece, Place};
use crate::fields::{Fields, slot};
use crate::json::{self, Kind, Malformed, Member, Scanner, Span, is_text};
use crate::usage;
use seam_plugin_api::ChunkKind;

type TopFields = Fields<{ top::COUNT }>;
type BlockFields = Fields<{ block::COUNT }>;

/// Signed blocks that are open at once: no provider has more than one. Of more, the oldest are forgotten.
const MOST_SIGNED: usize = 16;

/// What came in so far.
#[derive(Debug, Default)]
pub(super) struct Arriving {
    /// The message's id and model, as JSON strings.
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    /// The last count of output tokens; the protocol's counts include the ones before.
    pub(super) output_tokens: u64,
    /// The last block that began.
    last_block: u32,
    /// The open blocks whose text is signed.
    signed: Vec<u32>,
    arrival: Arrival,
}

/// Where the chunks of a block or event go.
struct Target<'a> {
    text: &'a str,
    decoded: &'a mut Decoded,
    container: u32,
    choice: u32,
    signed: bool,
}

impl Target<'_> {
    fn push(&mut self, kind: ChunkKind, slot: Slot, value: Span, text: Piece, payload: Piece) {
        let place = Place { slot: slot as u8, container: self.container, value };
        let signed = self.signed && matches!(slot, Slot::Signed | Slot::Thinking | Slot::Compaction);
        self.decoded.entries.push(Entry { kind, choice: self.choice, text, payload, place, signed });
    }

    /// A chunk whose text is the string at `value`, if it says anything.
    fn push_text(&mut self, kind: ChunkKind, slot: Slot, value: Option<Span>) {
        if let Some(value) = value.filter(|value| is_text(self.text, *value)) {
            let text = self.decoded.unescaped(self.text, value);
            self.push(kind, slot, value, text, Piece::Absent);
        }
    }

    /// A chunk whose payload is the value under its name.
    fn push_annotation(&mut self, name: &str, slot: Slot, value: Span) {
        let raw = value.of_str(self.text);
        let payload = self.decoded.write(|out| {
            for piece in ["{\"", name, "\":", raw, "}"] {
                out.push_str(piece);
            }
        });
        self.push(ChunkKind::Annotation, slot, value, Piece::Absent, payload);
    }

    /// A chunk of a call: its number, which is that of its block, and what else is known of it here.
    fn push_call(&mut self, slot: Slot, value: Span, text: Piece, id: Option<Span>, name: Option<Span>) {
        let (data, choice) = (self.text, self.choice);
        let payload = self.decoded.write(|out| {
            out.push_str("{\"index\":");
            // Writing to a string can't fail.
            let _ = write!(out, "{choice}");
            for (member, value) in [(",\"id\":", id), (",\"name\":", name)] {
                if let Some(value) = value {
                    out.push_str(member);
                    out.push_str(value.of_str(data));
                }
            }
            out.push('}');
        });
        self.push(ChunkKind::ToolCallDelta, slot, value, text, payload);
    }

    /// An event that an observer can look at and not change.
    fn push_signed_event(&mut self) {
        self.signed = true;
        let whole = json::document_span(self.text);
        self.push(ChunkKind::Opaque, Slot::Signed, whole, Piece::Absent, Piece::Data(whole));
    }

    fn push_usage(&mut self, value: Option<Span>) {
        let text = self.text;
        let is_usage = |value: &Span| json::kind_of(text, *value) == Kind::Object && usage::is_value(text, *value);
        if let Some(value) = value.filter(is_usage) {
            let payload = self.decoded.write(|out| usage::write_payload(text, value, out));
            self.push(ChunkKind::Usage, Slot::Usage, value, Piece::Absent, payload);
        }
    }

    /// What the end of a message says of it: a refusal's reason, then the finish reason.
    fn push_end(&mut self, stop_details: Option<Span>, stop_reason: Option<Span>) {
        if let Some(object) = stop_details.filter(|value| json::kind_of(self.text, *value) == Kind::Object) {
            let fields = Fields::<{ details::COUNT }>::within(self.text, object, details::slot, self.decoded);
            self.push_text(ChunkKind::RefusalDelta, Slot::Explanation, fields.value(details::EXPLANATION));
        }
        self.push_text(ChunkKind::Finish, Slot::StopReason, stop_reason);
    }
}

impl Arriving {
    pub(super) const fn arrival(&self) -> Arrival {
        self.arrival
    }

    /// Reads a document; answers whether it is a loose one.
    pub(super) fn read(&mut self, document: &Document<'_>, decoded: &mut Decoded) -> Result<bool, Malformed> {
        let text = document.text;
        let mut scanner = Scanner::new(text);
        if scanner.kind()? != Kind::Object {
            scanner.skip()?;
            scanner.end()?;
            return Ok(scanner.is_loose());
        }
        let mut fields = TopFields::new();
        let mut inner = [BlockFields::new(), BlockFields::new()];
        scanner.members(|scanner, key| {
            let slot = slot(text, key, top::slot);
            let holder = match slot {
                Some(top::DELTA) => Some(0),
                Some(top::BLOCK) => Some(1),
                _ => None,
            };
            let value = match holder {
                Some(holder) if scanner.kind()? == Kind::Object => {
                    // An earlier one of that name is hidden by this one.
                    inner[holder] = BlockFields::new();
                    inner[holder].read(scanner, text, block::slot, decoded)?
                }
                _ => scanner.skip()?,
            };
            fields.set(slot, Member { key, value }, decoded);
            Ok(())
        })?;
        scanner.end()?;
        self.read_fields(document, &fields, &inner, decoded);
        Ok(scanner.is_loose())
    }

    fn read_fields(
        &mut self,
        document: &Document<'_>,
        fields: &TopFields,
        [delta, begun]: &[BlockFields; 2],
        decoded: &mut Decoded,
    ) {
        let text = document.text;
        let choice = fields.value(top::INDEX).and_then(|index| index.of_str(text).parse().ok()).unwrap_or(0);
        let mut kind = event_kind(document, fields, begun);
        if kind == EventKind::Delta && delta.value(block::SIGNATURE).is_some() {
            kind = EventKind::Signature;
        }
        decoded.event = kind as u8;
        let mut target = Target { text, decoded, container: 0, choice, signed: false };
        match kind {
            EventKind::Other => {}
            EventKind::Message => self.read_message(&mut target, fields),
            EventKind::MessageStart => self.read_message_start(&mut target, fields),
            EventKind::TextStart | EventKind::ThinkingStart | EventKind::CallStart | EventKind::OtherStart => {
                let object = fields.of_kind(top::BLOCK, text, Kind::Object).unwrap_or_default();
                self.begin_block(&mut target, kind, begun);
                read_block(&mut target, Form::Stream, kind, object, begun);
            }
            EventKind::Delta | EventKind::Signature => self.read_delta(&mut target, kind, delta),
            EventKind::BlockStop => {
                target.decoded.choices.push(choice);
                self.signed.retain(|signed| *signed != choice);
                let whole = json::document_span(text);
                target.push(ChunkKind::Finish, Slot::BlockStop, whole, Piece::Absent, Piece::Absent);
            }
            EventKind::MessageDelta => self.read_message_delta(&mut target, fields, delta),
            EventKind::MessageStop => {
                self.arrival = Arrival { over: true, complete: true, ..self.arrival };
                target.decoded.ends = true;
            }
            EventKind::Error => self.read_error(&mut target, fields),
        }
    }

    /// A message begins, possibly another than the one before: two answers may be spliced into one stream.
    fn read_message_start(&mut self, target: &mut Target<'_>, fields: &TopFields) {
        (self.last_block, self.output_tokens) = (0, 0);
        self.signed.clear();
        self.arrival.complete = self.arrival.over;
        let message = fields.of_kind(top::MESSAGE, target.text, Kind::Object);
        if let Some(message) = message {
            let fields = TopFields::within(target.text, message, top::slot, target.decoded);
            self.read_message(target, &fields);
        }
    }

    /// A whole message: each block of its content, then how it ended.
    fn read_message(&mut self, target: &mut Target<'_>, fields: &TopFields) {
        let text = target.text;
        note_string(&mut self.id, text, fields.value(top::ID));
        note_string(&mut self.model, text, fields.value(top::MODEL));
        let content = fields.of_kind(top::CONTENT, text, Kind::Array);
        for object in content.map(|content| json::elements_of(text, content)).unwrap_or_default() {
            let fields = BlockFields::within(text, object, block::slot, target.decoded);
            let kind = block_kind(text, &fields);
            target.choice = target.container;
            target.decoded.choices.push(target.choice);
            target.signed = has_signature(text, Form::Body, &fields);
            read_block(target, Form::Body, kind, object, &fields);
            self.last_block = target.container;
            target.container += 1;
        }
        target.choice = self.last_block;
        target.signed = false;
        let reason = fields.text(top::STOP_REASON, text);
        self.arrival.complete |= reason.is_some();
        target.push_end(fields.value(top::STOP_DETAILS), reason);
        self.read_usage(target, fields);
    }

    fn begin_block(&mut self, target: &mut Target<'_>, kind: EventKind, fields: &BlockFields) {
        let choice = target.choice;
        target.decoded.choices.push(choice);
        self.last_block = choice;
        self.signed.retain(|signed| *signed != choice);
        target.signed = has_signature(target.text, Form::Stream, fields);
        if target.signed && kind != EventKind::TextStart {
            if self.signed.len() == MOST_SIGNED {
                self.signed.remove(0);
            }
            self.signed.push(choice);
        }
    }

    /// A delta is told by its members, whatever its type is called: so is it by lenient clients.
    fn read_delta(&mut self, target: &mut Target<'_>, kind: EventKind, fields: &BlockFields) {
        let text = target.text;
        target.decoded.choices.push(target.choice);
        if kind == EventKind::Signature {
            return target.push_signed_event();
        }
        target.signed = self.signed.contains(&target.choice) || fields.text(block::ENCRYPTED_CONTENT, text).is_some();
        target.push_text(ChunkKind::ReasoningDelta, Slot::Thinking, fields.value(block::THINKING));
        target.push_text(ChunkKind::ReasoningDelta, Slot::Compaction, fields.value(block::CONTENT));
        target.push_text(ChunkKind::ContentDelta, Slot::Text, fields.value(block::TEXT));
        if let Some(fragment) = fields.text(block::PARTIAL_JSON, text) {
            let shown = target.decoded.unescaped(text, fragment);
            target.push_call(Slot::Fragment, fragment, shown, None, None);
        }
        if let Some(citation) = fields.of_kind(block::CITATION, text, Kind::Object) {
            target.push_annotation("citation", Slot::Citation, citation);
        }
    }

    fn read_message_delta(&mut self, target: &mut Target<'_>, fields: &TopFields, delta: &BlockFields) {
        target.choice = self.last_block;
        target.decoded.choices.push(target.choice);
        let reason = delta.text(block::STOP_REASON, target.text);
        self.arrival.complete |= reason.is_some();
        target.push_end(delta.value(block::STOP_DETAILS), reason);
        self.read_usage(target, fields);
    }

    fn read_usage(&mut self, target: &mut Target<'_>, fields: &TopFields) {
        let text = target.text;
        let usage = fields.value(top::USAGE);
        let count = usage.and_then(|usage| json::member_of(text, usage, "output_tokens"));
        if let Some(count) = count.and_then(|count| count.of_str(text).parse().ok()) {
            self.output_tokens = count;
        }
        target.choice = 0;
        target.push_usage(usage);
    }

    fn read_error(&mut self, target: &mut Target<'_>, fields: &TopFields) {
        self.arrival.failed = true;
        // No client reads on behind it.
        target.decoded.ends = true;
        let text = target.text;
        target.choice = self.last_block;
        let whole = json::document_span(text);
        let value = fields.value(top::ERROR).unwrap_or(whole);
        let message = match json::kind_of(text, value) {
            Kind::String => Some(value),
            _ => json::member_of(text, value, "message").filter(|message| is_text(text, *message)),
        };
        let shown = message.map_or(Piece::Absent, |message| target.decoded.unescaped(text, message));
        target.push(ChunkKind::Error, Slot::Error, value, shown, Piece::Data(value));
    }
}

/// A block that has begun, with what it holds already, or a whole one.
fn read_block(target: &mut Target<'_>, form: Form, kind: EventKind, object: Span, fields: &BlockFields) {
    let text = target.text;
    if form == Form::Stream && block_type(text, fields) == "redacted_thinking" {
        return target.push_signed_event();
    }
    target.push_text(ChunkKind::ReasoningDelta, Slot::Thinking, fields.value(block::THINKING));
    if block_type(text, fields) == "compaction" {
        target.push_text(ChunkKind::ReasoningDelta, Slot::Compaction, fields.value(block::CONTENT));
    }
    target.push_text(ChunkKind::ContentDelta, Slot::Text, fields.value(block::TEXT));
    if kind == EventKind::CallStart {
        let [id, name] = [block::ID, block::NAME].map(|member| fields.text(member, text));
        let input = fields.value(block::INPUT).filter(|input| form == Form::Body || says_input(text, *input));
        let shown = input.map_or(Piece::Absent, Piece::Data);
        if id.is_some() || name.is_some() || input.is_some() {
            target.push_call(Slot::Call, object, shown, id, name);
        }
    }
    let citations = fields.of_kind(block::CITATIONS, text, Kind::Array);
    if let Some(citations) = citations.filter(|citations| !json::elements_of(text, *citations).is_empty()) {
        target.push_annotation("citations", Slot::Citations, citations);
    }
}

/// Whether a call's input says anything where its fragments are still to come.
fn says_input(text: &str, input: Span) -> bool {
    json::kind_of(text, input) != Kind::Null && !json::members_of(text, input).is_empty()
}

/// Whether the provider vouches for the text of a block. A stream tells at its start, by a member that imitators leave
/// out.
fn has_signature(text: &str, form: Form, fields: &BlockFields) -> bool {
    let vouched = match form {
        Form::Stream => fields.value(block::SIGNATURE).is_some(),
        Form::Body => fields.text(block::SIGNATURE, text).is_some(),
    };
    vouched || fields.text(block::ENCRYPTED_CONTENT, text).is_some()
}

fn block_type<'a>(text: &'a str, fields: &BlockFields) -> Cow<'a, str> {
    fields.text(block::TYPE, text).map_or(Cow::Borrowed(""), |name| json::key_name(text, name))
}

/// The event that begins a block.
fn block_kind(text: &str, fields: &BlockFields) -> EventKind {
    match &*block_type(text, fields) {
        "text" => EventKind::TextStart,
        "thinking" => EventKind::ThinkingStart,
        tool if tool.ends_with("tool_use") => EventKind::CallStart,
        _ => EventKind::OtherStart,
    }
}

/// What an event is: its data say so, its name only where they do not. An error is one by either.
fn event_kind(document: &Document<'_>, fields: &TopFields, block: &BlockFields) -> EventKind {
    let text = document.text;
    let named = fields.text(top::TYPE, text).map(|name| json::key_name(text, name));
    let event = document.event.and_then(|event| std::str::from_utf8(event).ok()).unwrap_or_default();
    if event == "error" || fields.value(top::ERROR).is_some_and(|error| !says_nothing(text, error)) {
        return EventKind::Error;
    }
    if document.form == Form::Body {
        return if named.as_deref() == Some("error") { EventKind::Error } else { EventKind::Message };
    }
    match named.as_deref().unwrap_or(event) {
        "message_start" => EventKind::MessageStart,
        "content_block_start" => block_kind(text, block),
        "content_block_delta" => EventKind::Delta,
        "content_block_stop" => EventKind::BlockStop,
        "message_delta" => EventKind::MessageDelta,
        "message_stop" => EventKind::MessageStop,
        "error" => EventKind::Error,
        _ => EventKind::Other,
    }
}

fn says_nothing(text: &str, value: Span) -> bool {
    matches!(value.of_str(text), "null" | "\"\"" | "{}" | "false")
}

/// Remembers a string as JSON, the last one that says anything.
fn note_string(known: &mut Option<String>, text: &str, value: Option<Span>) {
    const LONGEST: usize = 512;
    if let Some(value) = value.filter(|value| is_text(text, *value) && value.end - value.start <= LONGEST) {
        *known = Some(value.of_str(text).to_owned());
    }
}
