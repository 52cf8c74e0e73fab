//! From data to chunks. One pass checks the JSON; what was found in a choice is then told in the contract's order,
//! whatever the order of its members.

use std::borrow::Cow;

use super::fields::{Fields, call, choice, holder, part, slot, top};
use super::{Form, OpenAiChat, Slot, is_text, usage};
use crate::chunk::{Decoded, Entry, Piece, Place, Shape};
use crate::json::{self, Kind, Malformed, Member, Scanner, Span};
use seam_plugin_api::ChunkKind;

/// Where the chunks of one choice go.
struct Target<'a> {
    text: &'a str,
    decoded: &'a mut Decoded,
    container: u32,
    choice: u32,
}

impl Target<'_> {
    fn push(&mut self, kind: ChunkKind, slot: Slot, value: Span, text: Piece, payload: Piece) {
        let place = Place { slot: slot as u8, container: self.container, value };
        self.decoded.entries.push(Entry { kind, choice: self.choice, text, payload, place });
    }

    /// A chunk whose text is the string at `value`.
    fn push_text(&mut self, kind: ChunkKind, slot: Slot, value: Span) {
        let text = self.decoded.unescaped(self.text, value);
        self.push(kind, slot, value, text, Piece::Absent);
    }

    /// The arguments of a call: what a string spells, or the JSON that stands there.
    fn arguments(&mut self, value: Span) -> Piece {
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

    /// An error chunk: its message and its JSON.
    fn push_error(&mut self, slot: Slot, value: Span) {
        let message = match json::kind_of(self.text, value) {
            Kind::String => Some(value),
            _ => json::member_of(self.text, value, "message").filter(|message| is_text(self.text, *message)),
        };
        let text = message.map_or(Piece::Absent, |message| self.decoded.unescaped(self.text, message));
        self.push(ChunkKind::Error, slot, value, text, Piece::Data(value));
    }
}

impl OpenAiChat {
    pub(super) fn read(&mut self, data: &[u8], form: Form, decoded: &mut Decoded) {
        // Bytes that are no UTF-8 stay while the frame is not edited.
        let text = json::text_of(data);
        let document = json::document_span(&text);
        match document.of_str(&text) {
            "" => return,
            "[DONE]" => return decoded.shape = Shape::End,
            _ => {}
        }
        let Ok(loose) = self.read_document(&text, form, decoded) else { return decoded.set_opaque_text(data) };
        if decoded.entries.is_empty() {
            let choice = decoded.choices.first().copied().unwrap_or(0);
            decoded.set_opaque(choice, Shape::OpaqueJson, Piece::Data(document));
        } else {
            decoded.shape = Shape::Chunks;
        }
        if loose || matches!(text, Cow::Owned(_)) {
            decoded.detach(&text);
        }
    }

    /// Answers whether the document is a loose one.
    fn read_document(&mut self, text: &str, form: Form, decoded: &mut Decoded) -> Result<bool, Malformed> {
        let mut scanner = Scanner::new(text);
        if scanner.kind()? != Kind::Object {
            scanner.skip()?;
            scanner.end()?;
            return Ok(scanner.is_loose());
        }
        let mut fields = Fields::<7>::new();
        let mut choice_usage = None;
        scanner.members(|scanner, key| {
            let slot = slot(text, key, top::slot);
            let value = if slot == Some(top::CHOICES) && scanner.kind()? == Kind::Array {
                // An earlier `choices` is hidden by this one.
                decoded.entries.clear();
                decoded.choices.clear();
                choice_usage = None;
                self.read_choices(scanner, text, form, decoded, &mut choice_usage)?
            } else {
                scanner.skip()?
            };
            fields.set(slot, Member { key, value }, decoded);
            Ok(())
        })?;
        scanner.end()?;
        if fields.of_kind(top::CHOICES, text, Kind::Array).is_none() {
            decoded.entries.clear();
            decoded.choices.clear();
        }
        self.note_names(text, fields.value(top::ID), fields.value(top::MODEL), fields.value(top::CREATED));
        read_rest(text, &fields, choice_usage, decoded);
        Ok(scanner.is_loose())
    }

    fn read_choices(
        &mut self,
        scanner: &mut Scanner<'_>,
        text: &str,
        form: Form,
        decoded: &mut Decoded,
        choice_usage: &mut Option<Span>,
    ) -> Result<Span, Malformed> {
        let mut container = 0;
        scanner.elements(|scanner| {
            if scanner.kind()? != Kind::Object {
                return scanner.skip().map(drop);
            }
            let mut fields = Fields::<7>::new();
            let mut delta = Fields::<8>::new();
            scanner.members(|scanner, key| {
                let slot = slot(text, key, choice::slot);
                let value = if slot == Some(choice::DELTA) && scanner.kind()? == Kind::Object {
                    // An earlier `delta` is hidden by this one.
                    delta = Fields::new();
                    delta.read(scanner, text, holder::slot, decoded)?
                } else {
                    scanner.skip()?
                };
                fields.set(slot, Member { key, value }, decoded);
                Ok(())
            })?;
            let usage = fields.of_kind(choice::USAGE, text, Kind::Object).filter(|usage| usage::is_value(text, *usage));
            *choice_usage = usage.or(*choice_usage);
            let delta = fields.of_kind(choice::DELTA, text, Kind::Object).map(|_| delta);
            self.read_choice(text, form, &fields, delta, container, decoded);
            container += 1;
            Ok(())
        })
    }

    fn read_choice(
        &mut self,
        text: &str,
        form: Form,
        fields: &Fields<7>,
        delta: Option<Fields<8>>,
        container: u32,
        decoded: &mut Decoded,
    ) {
        let index = fields.value(choice::INDEX).and_then(|index| index.of_str(text).parse().ok()).unwrap_or(container);
        decoded.choices.push(index);
        let message = fields.of_kind(choice::MESSAGE, text, Kind::Object);
        decoded.repeats |= delta.is_some() && message.is_some();
        let message = message.map(|message| Fields::within(text, message, holder::slot, decoded));
        let holders = match form {
            Form::Stream => [delta, message],
            Form::Body => [message, delta],
        };
        let mut target = Target { text, decoded, container, choice: index };
        let before = target.decoded.entries.len();
        for holder in holders.iter().flatten() {
            // One that says nothing does not hide the other.
            if target.decoded.entries.len() == before {
                self.read_holder(&mut target, holder);
            }
        }
        if let Some(logprobs) = fields.value(choice::LOGPROBS).filter(|value| says_anything(text, *value)) {
            target.push_annotation("logprobs", Slot::Logprobs, logprobs);
        }
        if let Some(reason) = fields.text(choice::FINISH, text) {
            target.push_text(ChunkKind::Finish, Slot::Finish, reason);
        }
        if let Some(error) = fields.value(choice::ERROR).filter(|value| says_anything(text, *value)) {
            target.push_error(Slot::ChoiceError, error);
        }
    }

    /// A `delta` or a `message`.
    fn read_holder(&mut self, target: &mut Target<'_>, fields: &Fields<8>) {
        let text = target.text;
        read_reasoning(target, fields);
        let parts = fields.of_kind(holder::CONTENT, text, Kind::Array).map(|parts| read_parts(target, parts));
        let parts = parts.unwrap_or_default();
        push_parts(target, &parts, ChunkKind::ReasoningDelta);
        if let Some(content) = fields.text(holder::CONTENT, text) {
            target.push_text(ChunkKind::ContentDelta, Slot::Content, content);
        }
        push_parts(target, &parts, ChunkKind::ContentDelta);
        if let Some(refusal) = fields.text(holder::REFUSAL, text) {
            target.push_text(ChunkKind::RefusalDelta, Slot::Refusal, refusal);
        }
        push_parts(target, &parts, ChunkKind::RefusalDelta);
        if let Some(calls) = fields.of_kind(holder::TOOL_CALLS, text, Kind::Array) {
            for element in json::elements_of(text, calls) {
                self.read_call(target, element, Slot::ToolCall);
            }
        }
        if let Some(function) = fields.of_kind(holder::FUNCTION_CALL, text, Kind::Object) {
            self.read_call(target, function, Slot::FunctionCall);
        }
        if let Some(annotations) = fields.value(holder::ANNOTATIONS).filter(|value| says_anything(text, *value)) {
            target.push_annotation("annotations", Slot::Annotations, annotations);
        }
    }

    fn read_call(&mut self, target: &mut Target<'_>, element: Span, slot: Slot) {
        let text = target.text;
        let CallPlaces { fields, function, arguments } = read_call_places(text, element, slot, target.decoded);
        let id = fields.text(call::ID, text).filter(|_| slot == Slot::ToolCall);
        let name = function.as_ref().map_or(&fields, |(_, function)| function).text(call::NAME, text);
        let (arguments, others) = (arguments.first().copied(), arguments.get(1..).unwrap_or_default().to_vec());
        if id.is_none() && name.is_none() && arguments.is_none() {
            return;
        }
        let sent = fields.value(call::INDEX).and_then(|index| index.of_str(text).parse().ok());
        let number = match slot {
            Slot::FunctionCall => 0,
            _ => {
                let mut spelt = String::new();
                json::unescape(id.map_or("", |id| id.inside_quotes().of_str(text)), &mut spelt);
                self.state(target.choice).number(sent, &spelt, name.is_some())
            }
        };
        let payload = target.decoded.write(|out| write_call(out, number, id, name, text));
        let shown = arguments.map_or(Piece::Absent, |value| target.arguments(value));
        target.push(ChunkKind::ToolCallDelta, slot, element, shown, payload);
        for other in others.into_iter().filter(|other| arguments.is_some_and(|shown| !is_same(text, shown, *other))) {
            let shown = target.arguments(other);
            let payload = target.decoded.write(|out| write_call(out, number, None, None, text));
            target.push(ChunkKind::ToolCallDelta, Slot::OtherArguments, other, shown, payload);
        }
    }
}

/// Where a call says what.
pub(super) struct CallPlaces {
    /// The call's own members.
    fields: Fields<7>,
    /// The object that names the function, if it is not the call itself.
    pub(super) function: Option<(Span, Fields<7>)>,
    /// Every value of its arguments that says anything. The first counts; clients may read another.
    pub(super) arguments: Vec<Span>,
}

/// Reads a call: its function is the first of `function` and `custom` that says anything.
pub(super) fn read_call_places(text: &str, element: Span, slot: Slot, decoded: &mut Decoded) -> CallPlaces {
    let fields = Fields::<7>::within(text, element, call::slot, decoded);
    let mut objects = Vec::new();
    for name in [call::FUNCTION, call::CUSTOM] {
        let object = fields.of_kind(name, text, Kind::Object).filter(|_| slot == Slot::ToolCall);
        if let Some(object) = object {
            objects.push((object, Fields::<7>::within(text, object, call::slot, decoded)));
        }
    }
    let places = objects.iter().map(|(_, object)| object).chain([&fields]);
    let arguments = places
        .flat_map(|place| [place.value(call::ARGUMENTS), place.value(call::INPUT)])
        .flatten()
        .filter(|value| says_anything(text, *value))
        .collect();
    let said = objects.iter().position(|(object, _)| says_anything(text, *object));
    let function = said.or((!objects.is_empty()).then_some(0)).map(|position| objects.swap_remove(position));
    CallPlaces { fields, function, arguments }
}

/// Whether two values of arguments say the same.
pub(super) fn is_same(text: &str, one: Span, other: Span) -> bool {
    one.of_str(text) == other.of_str(text)
        || (is_text(text, one) && is_text(text, other) && spell([one], text) == spell([other], text))
}

/// What stands beside the choices: citations, usage once, an error.
fn read_rest(text: &str, fields: &Fields<7>, choice_usage: Option<Span>, decoded: &mut Decoded) {
    let mut target = Target { text, decoded, container: 0, choice: 0 };
    if let Some(citations) = fields.value(top::CITATIONS).filter(|value| says_anything(text, *value)) {
        target.push_annotation("citations", Slot::Citations, citations);
    }
    let top_usage = fields.of_kind(top::USAGE, text, Kind::Object).filter(|usage| usage::is_value(text, *usage));
    if let Some(usage) = top_usage.or(choice_usage) {
        let payload = target.decoded.write(|out| usage::write_payload(text, usage, out));
        target.push(ChunkKind::Usage, Slot::Usage, usage, Piece::Absent, payload);
    }
    if let Some(error) = fields.value(top::ERROR).filter(|value| says_anything(text, *value)) {
        target.push_error(Slot::Error, error);
    }
}

/// The reasoning: one chunk, however many members repeat it, and one for each text that differs.
fn read_reasoning(target: &mut Target<'_>, fields: &Fields<8>) {
    let text = target.text;
    let shown = fields.text(holder::REASONING_CONTENT, text).or_else(|| fields.text(holder::REASONING, text));
    if let Some(shown) = shown {
        target.push_text(ChunkKind::ReasoningDelta, Slot::Reasoning, shown);
        let other = fields.text(holder::REASONING, text);
        if let Some(other) = other.filter(|other| !is_same(text, shown, *other)) {
            target.push_text(ChunkKind::ReasoningDelta, Slot::OtherReasoning, other);
        }
    }
    let Some(details) = fields.of_kind(holder::DETAILS, text, Kind::Array) else { return };
    let details = read_details(text, details, target.decoded);
    if shown.is_none_or(|shown| spell([shown], text) != spell(details.iter().copied(), text)) {
        for detail in details {
            target.push_text(ChunkKind::ReasoningDelta, Slot::ReasoningDetail, detail);
        }
    }
}

fn spell(strings: impl IntoIterator<Item = Span>, text: &str) -> String {
    let mut spelt = String::new();
    for string in strings {
        json::unescape(string.inside_quotes().of_str(text), &mut spelt);
    }
    spelt
}

/// The texts in `reasoning_details`, in order.
pub(super) fn read_details(text: &str, details: Span, decoded: &mut Decoded) -> Vec<Span> {
    let mut texts = Vec::new();
    for element in json::elements_of(text, details) {
        let fields = Fields::<5>::within(text, element, part::slot, decoded);
        texts.extend(fields.text(part::TEXT, text));
        texts.extend(fields.text(part::SUMMARY, text));
    }
    texts
}

/// The texts in a `content` array, in order, with what each is.
fn read_parts(target: &mut Target<'_>, parts: Span) -> Vec<(ChunkKind, Span)> {
    let text = target.text;
    let mut found = Vec::new();
    for element in json::elements_of(text, parts) {
        if is_text(text, element) {
            found.push((ChunkKind::ContentDelta, element));
        }
        let fields = Fields::<5>::within(text, element, part::slot, target.decoded);
        let thinks = fields
            .text(part::TYPE, text)
            .is_some_and(|kind| matches!(kind.inside_quotes().of_str(text), "thinking" | "reasoning"));
        if let Some(thinking) = fields.value(part::THINKING) {
            read_thinking(text, thinking, target.decoded, &mut found);
        }
        let kind = if thinks { ChunkKind::ReasoningDelta } else { ChunkKind::ContentDelta };
        found.extend(fields.text(part::TEXT, text).map(|span| (kind, span)));
        found.extend(fields.text(part::REFUSAL, text).map(|span| (ChunkKind::RefusalDelta, span)));
    }
    found
}

/// A thinking part holds a string, or an array of text parts.
fn read_thinking(text: &str, thinking: Span, decoded: &mut Decoded, found: &mut Vec<(ChunkKind, Span)>) {
    if is_text(text, thinking) {
        found.push((ChunkKind::ReasoningDelta, thinking));
    }
    for element in json::elements_of(text, thinking) {
        let fields = Fields::<5>::within(text, element, part::slot, decoded);
        let inner = if is_text(text, element) { Some(element) } else { fields.text(part::TEXT, text) };
        found.extend(inner.map(|span| (ChunkKind::ReasoningDelta, span)));
    }
}

fn push_parts(target: &mut Target<'_>, parts: &[(ChunkKind, Span)], kind: ChunkKind) {
    for (_, span) in parts.iter().filter(|(of, _)| *of == kind) {
        target.push_text(kind, Slot::Part, *span);
    }
}

/// The payload of a tool call chunk.
fn write_call(out: &mut String, number: u32, id: Option<Span>, name: Option<Span>, text: &str) {
    out.push_str("{\"index\":");
    out.push_str(&number.to_string());
    for (key, value) in [(",\"id\":", id), (",\"name\":", name)] {
        if let Some(value) = value {
            out.push_str(key);
            out.push_str(value.of_str(text));
        }
    }
    out.push('}');
}

/// Whether a value carries anything: not null, not empty, and no object of such values only.
fn says_anything(text: &str, value: Span) -> bool {
    next_says_anything(&mut Scanner::within(text, value)).unwrap_or(false)
}

/// As [`says_anything`], of the value that comes next. Each byte is looked at once, however deeply objects nest.
fn next_says_anything(scanner: &mut Scanner<'_>) -> Result<bool, Malformed> {
    let mut found = false;
    match scanner.kind()? {
        Kind::Object => {
            scanner.members(|scanner, _| {
                found |= next_says_anything(scanner)?;
                Ok(())
            })?;
        }
        Kind::Array => {
            scanner.elements(|scanner| {
                found = true;
                scanner.skip().map(drop)
            })?;
        }
        kind => {
            let span = scanner.skip()?;
            found = match kind {
                Kind::Null => false,
                Kind::String => span.end - span.start > 2,
                _ => true,
            };
        }
    }
    Ok(found)
}
