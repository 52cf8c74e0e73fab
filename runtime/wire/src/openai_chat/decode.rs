//! From data to chunks. One pass checks the JSON; what was found in a choice is then told in the contract's order,
//! whatever the order of its members.

use super::names::{call, choice, holder, part, top};
use super::places::{CallPlaces, Detail, read_call_places, read_details};
use super::says::{is_same, says_anything, spell};
use super::{Endpoint, OpenAiChat, Slot, usage};
use crate::answer::Form;
use crate::chunk::{Decoded, Entry, Piece, Place};
use crate::fields::{self, Fields, slot};
use crate::json::{self, Kind, Malformed, Member, Scanner, Span, is_text};
use seam_plugin_api::ChunkKind;

/// The event of a document in which more than its chunks changes with their texts: what repeats them, or hides how long
/// they are.
pub(super) const MARKED: u8 = 1;

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
        self.decoded.entries.push(Entry { kind, choice: self.choice, text, payload, place, signed: false });
    }

    /// The provider signed what the last chunk carries.
    fn sign_last(&mut self, signed: bool) {
        if let Some(last) = self.decoded.entries.last_mut() {
            last.signed = signed;
        }
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
    /// Answers whether the document is a loose one.
    pub(super) fn read_document(&mut self, text: &str, form: Form, decoded: &mut Decoded) -> Result<bool, Malformed> {
        let mut scanner = Scanner::new(text);
        if scanner.kind()? != Kind::Object {
            scanner.skip()?;
            scanner.end()?;
            return Ok(scanner.is_loose());
        }
        let mut fields = Fields::<{ top::ALL }>::new();
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
        if fields.value(top::OBFUSCATION).is_some() {
            decoded.event = MARKED;
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
        let is_flat = self.endpoint == Endpoint::Completions;
        scanner.elements(|scanner| {
            if scanner.kind()? != Kind::Object {
                return scanner.skip().map(drop);
            }
            let mut found = Found::new();
            scanner.members(|scanner, key| {
                let slot = slot(text, key, choice::slot);
                let value = if slot == Some(choice::DELTA) && scanner.kind()? == Kind::Object {
                    // An earlier `delta` is hidden by this one.
                    found.delta = Fields::new();
                    found.delta.read(scanner, text, holder::slot, decoded)?
                } else {
                    scanner.skip()?
                };
                let member = Member { key, value };
                // No name is known to both.
                match slot {
                    Some(choice::TEXT) if is_flat => found.flat.set(Some(holder::CONTENT), member, decoded),
                    None if is_flat => found.flat.set(fields::slot(text, key, holder::flat_slot), member, decoded),
                    _ => found.fields.set(slot, member, decoded),
                }
                Ok(())
            })?;
            let usage = found.fields.of_kind(choice::USAGE, text, Kind::Object);
            *choice_usage = usage.filter(|usage| usage::is_value(text, *usage)).or(*choice_usage);
            found.has_delta = found.fields.of_kind(choice::DELTA, text, Kind::Object).is_some();
            self.read_choice(text, form, &found, container, decoded);
            container += 1;
            Ok(())
        })
    }

    fn read_choice(&mut self, text: &str, form: Form, found: &Found, container: u32, decoded: &mut Decoded) {
        let Found { fields, delta, flat, .. } = found;
        let index = fields.value(choice::INDEX).and_then(|index| index.of_str(text).parse().ok()).unwrap_or(container);
        decoded.choices.push(index);
        let delta = found.has_delta.then_some(delta);
        let message = fields.of_kind(choice::MESSAGE, text, Kind::Object);
        decoded.repeats |= delta.is_some() && message.is_some();
        decoded.repeats |= found.depends_on_text(text);
        let message = message.map(|message| Fields::within(text, message, holder::slot, decoded));
        let is_completions = self.endpoint == Endpoint::Completions;
        let is_flat = is_completions && delta.is_none() && message.is_none();
        let holders = match form {
            _ if is_flat => [Some(flat), None],
            Form::Stream => [delta, message.as_ref()],
            Form::Body => [message.as_ref(), delta],
        };
        let mut target = Target { text, decoded, container, choice: index };
        let before = target.decoded.entries.len();
        for holder in holders.iter().flatten() {
            // One that says nothing does not hide the other.
            if target.decoded.entries.len() == before {
                self.read_holder(&mut target, holder);
            }
        }
        let beside = match is_completions {
            _ if is_flat => None,
            true => flat.text(holder::CONTENT, text),
            false => fields.text(choice::TEXT, text),
        };
        if let Some(beside) = beside {
            push_beside(&mut target, before, beside);
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
    fn read_holder(&mut self, target: &mut Target<'_>, fields: &Fields<{ holder::ALL }>) {
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

/// What was found in a choice.
struct Found {
    fields: Fields<{ choice::ALL }>,
    /// The members of the `delta`, if it is an object.
    delta: Fields<{ holder::ALL }>,
    has_delta: bool,
    /// What Completions has in the choice itself.
    flat: Fields<{ holder::ALL }>,
}

impl Found {
    const fn new() -> Self {
        Self { fields: Fields::new(), delta: Fields::new(), has_delta: false, flat: Fields::new() }
    }

    /// Whether a member is only true of the text that came in.
    fn depends_on_text(&self, text: &str) -> bool {
        let mut dependent = (choice::READ..choice::ALL).filter_map(|slot| self.fields.value(slot));
        dependent.any(|value| says_anything(text, value))
            || (self.has_delta && self.delta.value(holder::TOKEN_ID).is_some())
    }
}

/// The text that some dialects of chat have in the choice, beside the delta: a chunk of its own unless the delta says the
/// same.
fn push_beside(target: &mut Target<'_>, before: usize, beside: Span) {
    let own = target.decoded.entries.get(before..).unwrap_or_default();
    let content = own.iter().find(|entry| Slot::from_code(entry.place.slot) == Slot::Content);
    if content.is_some_and(|content| is_same(target.text, content.place.value, beside)) {
        target.decoded.event = MARKED;
        return;
    }
    let ahead = |entry: &&Entry| matches!(entry.kind, ChunkKind::ReasoningDelta | ChunkKind::ContentDelta);
    let at = before + own.iter().take_while(ahead).count();
    target.push_text(ChunkKind::ContentDelta, Slot::Text, beside);
    if let Some(own) = target.decoded.entries.get_mut(at..) {
        own.rotate_right(1);
    }
}

/// What stands beside the choices: citations, usage once, an error.
fn read_rest(text: &str, fields: &Fields<{ top::ALL }>, choice_usage: Option<Span>, decoded: &mut Decoded) {
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
fn read_reasoning(target: &mut Target<'_>, fields: &Fields<{ holder::ALL }>) {
    let text = target.text;
    let shown = fields.text(holder::REASONING_CONTENT, text).or_else(|| fields.text(holder::REASONING, text));
    let details = fields.of_kind(holder::DETAILS, text, Kind::Array);
    let details = details.map(|details| read_details(text, details, target.decoded)).unwrap_or_default();
    let spelt = || spell(details.iter().map(|detail| detail.text), text);
    let repeated = shown.is_some_and(|shown| !details.is_empty() && spell([shown], text) == spelt());
    if let Some(shown) = shown {
        target.push_text(ChunkKind::ReasoningDelta, Slot::Reasoning, shown);
        target.sign_last(repeated && details.iter().any(|detail| detail.signed));
        match fields.text(holder::REASONING, text) {
            Some(other) if !is_same(text, shown, other) => {
                target.push_text(ChunkKind::ReasoningDelta, Slot::OtherReasoning, other);
            }
            Some(other) if other != shown => target.decoded.event = MARKED,
            _ => {}
        }
    }
    if repeated {
        target.decoded.event = MARKED;
    }
    if !repeated {
        for Detail { text, signed } in details {
            target.push_text(ChunkKind::ReasoningDelta, Slot::ReasoningDetail, text);
            target.sign_last(signed);
        }
    }
}

/// The texts in a `content` array, in order, with what each is.
fn read_parts(target: &mut Target<'_>, parts: Span) -> Vec<(ChunkKind, Span)> {
    let text = target.text;
    let mut found = Vec::new();
    for element in json::elements_of(text, parts) {
        if is_text(text, element) {
            found.push((ChunkKind::ContentDelta, element));
        }
        let fields = Fields::<7>::within(text, element, part::slot, target.decoded);
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
        let fields = Fields::<7>::within(text, element, part::slot, decoded);
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
