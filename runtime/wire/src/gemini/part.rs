//! One part of a candidate's content, rewritten.

use super::calls::CandidateState;
use super::made::{arguments_of, call_part, calls_beside, text_part};
use super::render::opaque_json;
use super::{Slot, streamed};
use crate::answer::{Piece, is_text_kind};
use crate::chunk::Body;
use crate::json::{self, Kind, Span, is_text};
use crate::splice::{Object, Parts, Patches};
use seam_plugin_api::ChunkKind;

/// What becomes of a part, beside the patches within it.
#[derive(Debug, Default)]
pub(super) struct Outcome<'a> {
    /// Nothing is left of it.
    pub(super) is_gone: bool,
    /// Parts that come after it, or in its place.
    pub(super) after: Vec<String>,
    /// Chunks that no part can say.
    pub(super) leaving: Vec<(Piece<'a>, Body<'a>)>,
}

pub(super) struct PartRewrite<'t, 's, 'a> {
    text: &'t str,
    part: Object<'t>,
    state: &'s mut CandidateState,
    outcome: Outcome<'a>,
    /// How many of its chunks stay in it.
    staying: usize,
    /// The streamed values of its call.
    values: Option<(Span, Parts)>,
}

impl<'t, 's, 'a> PartRewrite<'t, 's, 'a> {
    pub(super) fn new(text: &'t str, span: Span, state: &'s mut CandidateState) -> Self {
        let part = Object::new(text, span);
        let call = part.value_of_kind("functionCall", Kind::Object);
        let values = call.and_then(|call| json::member_of(text, call, "partialArgs"));
        let values = values.map(|values| (values, Parts::of_array(text, values)));
        Self { text, part, state, outcome: Outcome::default(), staying: 0, values }
    }

    /// Makes patches of the edits of this part's chunks. A part of which nothing is left but its signature becomes an
    /// empty text with that: the provider wants it back.
    pub(super) fn write(mut self, pieces: &[Piece<'a>], patches: &mut Patches) -> Outcome<'a> {
        self.staying = pieces.iter().filter(|piece| piece.same_kind().is_some()).count();
        for piece in pieces {
            self.rewrite_piece(piece, patches);
            if let Some(body) = piece.after.filter(|_| piece.is_changed()) {
                self.outcome.after.extend(calls_beside(&body));
            }
        }
        let is_signed = self.part.value("thoughtSignature").is_some_and(|value| is_text(self.text, value));
        self.outcome.is_gone = self.staying == 0 && !is_signed;
        if self.staying == 0 && is_signed {
            self.part.set("text", "\"\"", patches);
        }
        if let Some((_, values)) = self.values.take() {
            values.write(patches);
        }
        self.part.write(patches);
        self.outcome
    }

    fn rewrite_piece(&mut self, piece: &Piece<'a>, patches: &mut Patches) {
        let same = piece.same_kind();
        let value = piece.entry.place.value;
        match Slot::of(piece) {
            Slot::Text if piece.is_changed() => return self.rewrite_text(piece, patches),
            _ if !piece.is_changed() => {}
            Slot::Result => match same {
                Some(body) => patches.replace(value, json::string(body.text)),
                None => self.empty("codeExecutionResult", value, patches),
            },
            Slot::Code => self.rewrite_code(piece, patches),
            Slot::Call | Slot::ServerCall => self.rewrite_call(piece, patches),
            Slot::Partial => self.rewrite_value(piece, patches),
            Slot::CallEnd => self.rewrite_end(piece, patches),
            _ => match same.map(|body| opaque_json(&body)) {
                Some(payload) => patches.replace(value, payload),
                None => self.leave_all(value),
            },
        }
        if let Some(body) = piece.other_kind() {
            self.arrive(piece, body);
        }
    }

    /// A text that becomes a thought, or no longer is one, stays where it is.
    fn rewrite_text(&mut self, piece: &Piece<'a>, patches: &mut Patches) {
        let body = piece.after.filter(|body| is_text_kind(body.kind) && body.kind != ChunkKind::ToolCallDelta);
        patches.replace(piece.entry.place.value, json::string(body.map_or("", |body| body.text)));
        self.staying += usize::from(body.is_some() && piece.same_kind().is_none());
        let is_thought = |kind| kind == ChunkKind::ReasoningDelta;
        match body {
            Some(body) if is_thought(body.kind) && !is_thought(piece.before.kind) => {
                self.part.set("thought", "true", patches);
            }
            Some(body) if !is_thought(body.kind) && is_thought(piece.before.kind) => self.part.remove("thought"),
            Some(_) => {}
            None => {
                if let Some(body) = piece.other_kind() {
                    self.arrive(piece, body);
                }
            }
        }
    }

    /// Code that is no longer in the arguments that it was shown in is whatever stands in their place.
    fn rewrite_code(&mut self, piece: &Piece<'a>, patches: &mut Patches) {
        let object = piece.entry.place.value;
        let code = json::member_of(self.text, object, "code").unwrap_or_default();
        let Some(body) = piece.same_kind() else { return self.empty("executableCode", code, patches) };
        let arguments = arguments_of(body.text).unwrap_or_default();
        let new = json::member_of(arguments, json::document_span(arguments), "code").map(|code| code.of_str(arguments));
        let new = new.filter(|new| new.starts_with('"')).map_or_else(|| json::string(body.text), str::to_owned);
        patches.replace(code, new);
    }

    /// A call whose new arguments are no object can't be said. It is left out, and the candidate ends as one whose call
    /// was malformed.
    fn rewrite_call(&mut self, piece: &Piece<'a>, patches: &mut Patches) {
        let slot = Slot::of(piece);
        let object = piece.entry.place.value;
        let mut call = Object::new(self.text, object);
        let old = call.value("args");
        let is_string = old.is_some_and(|old| json::kind_of(self.text, old) == Kind::String);
        let same = piece.same_kind();
        let new = same.and_then(|body| match is_string {
            true => Some(json::string(body.text)),
            false => arguments_of(body.text).map(str::to_owned),
        });
        let (Some(body), Some(new)) = (same, new) else {
            if same.is_some() {
                self.state.malformed = true;
                self.staying -= 1;
            }
            return self.leave_call(piece, patches);
        };
        if body.text != piece.before.text {
            call.set("args", &new, patches);
        }
        let name = if slot == Slot::ServerCall { "toolType" } else { "name" };
        for (shown, member) in [("id", "id"), ("name", name)] {
            if let Some(value) = changed_member(shown, piece, &body) {
                call.set(member, value, patches);
            }
        }
        call.write(patches);
    }

    /// Takes a call away; of one whose arguments are streamed, what names it.
    fn leave_call(&mut self, piece: &Piece<'a>, patches: &mut Patches) {
        let slot = Slot::of(piece);
        let has_values = self.values.as_ref().is_some_and(|(_, values)| values.remaining() > 0);
        if slot != Slot::Call || !has_values {
            return self.part.remove(if slot == Slot::Call { "functionCall" } else { "toolCall" });
        }
        let mut call = Object::new(self.text, piece.entry.place.value);
        ["id", "name", "args"].iter().for_each(|name| call.remove(name));
        call.write(patches);
    }

    /// One value of streamed arguments.
    fn rewrite_value(&mut self, piece: &Piece<'a>, patches: &mut Patches) {
        let element = piece.entry.place.value;
        if let Some(body) = piece.same_kind() {
            if body.text != piece.before.text {
                streamed::rewrite_value(self.text, element, piece.before.text, body.text, patches);
            }
        } else if let Some((array, values)) = &mut self.values {
            let position = json::elements_of(self.text, *array).iter().position(|span| *span == element);
            position.into_iter().for_each(|position| values.remove(position));
        }
    }

    /// The end of a call is that it does not go on: where the values in front of it stay and the end does not, it does.
    fn rewrite_end(&mut self, piece: &Piece<'a>, patches: &mut Patches) {
        if piece.after.is_some() {
            // What comes in its place comes behind it.
            self.staying += usize::from(piece.other_kind().is_some());
        } else if self.staying > 0 {
            let mut call = Object::new(self.text, piece.entry.place.value);
            call.set("willContinue", "true", patches);
            call.write(patches);
        }
    }

    /// Takes away what the part holds; where the part stays for its signature, it goes as a whole.
    fn empty(&mut self, name: &str, value: Span, patches: &mut Patches) {
        if self.staying > 0 {
            patches.replace(value, "\"\"");
        } else {
            self.part.remove(name);
        }
    }

    /// Takes away everything but the signature.
    fn leave_all(&mut self, part: Span) {
        for member in json::members_of(self.text, part) {
            let name = json::key_name(self.text, member.key);
            if name != "thoughtSignature" {
                self.part.remove(&name);
            }
        }
    }

    /// Puts a chunk of another kind behind the part.
    fn arrive(&mut self, piece: &Piece<'a>, body: Body<'a>) {
        match body.kind {
            ChunkKind::ToolCallDelta => self.outcome.after.extend(call_part(self.state, &body)),
            kind if is_text_kind(kind) => self.outcome.after.push(text_part(&body)),
            _ => self.outcome.leaving.push((*piece, body)),
        }
    }
}

/// The JSON of a payload's member if it is there and differs from the one before.
fn changed_member<'a>(name: &str, piece: &Piece<'_>, body: &Body<'a>) -> Option<&'a str> {
    let new = body.payload.and_then(|payload| {
        let value = json::member_of(payload, json::document_span(payload), name)?;
        is_text(payload, value).then(|| value.of_str(payload))
    });
    let before = piece.before.payload.and_then(|payload| {
        let value = json::member_of(payload, json::document_span(payload), name)?;
        Some(value.of_str(payload))
    });
    new.filter(|new| before != Some(*new))
}
