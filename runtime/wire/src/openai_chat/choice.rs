//! One choice of a frame or body, rewritten.

mod consequences;

use super::calls::ChoiceState;
use super::made::{calls_beside, made_call_json};
use super::render::{annotation_value, rewrite_error};
use super::{Endpoint, Slot, places, says};
use crate::answer::{Form, Piece};
use crate::chunk::{Body, Decoded};
use crate::json::{self, Kind, Span, is_text};
use crate::splice::{Object, Parts, Patches};
use seam_plugin_api::ChunkKind;

/// A chunk that the object it came in has no place for any more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving<'a> {
    pub(super) choice: u32,
    pub(super) body: Body<'a>,
    from: Span,
}

impl<'a> Leaving<'a> {
    pub(super) fn new(piece: &Piece<'a>, body: Body<'a>) -> Self {
        Self { choice: piece.entry.choice, body, from: piece.entry.place.value }
    }

    /// Whether this is what became of that chunk.
    pub(super) fn is(&self, piece: &Piece<'_>) -> bool {
        self.from == piece.entry.place.value
    }
}

/// What one text member holds after the edits.
#[derive(Debug, Default)]
struct Lane {
    text: String,
    changed: bool,
    /// A chunk left it for another place, so that nothing need stay behind.
    left: bool,
    /// Calls go out beside its text.
    has_calls: bool,
    /// Where a chunk that came here was before.
    from: Option<usize>,
}

/// The text members of a `delta` or `message`, by kind. Reasoning has two names.
const LANES: [(ChunkKind, &[&str]); 3] = [
    (ChunkKind::ReasoningDelta, &["reasoning_content", "reasoning"]),
    (ChunkKind::ContentDelta, &["content"]),
    (ChunkKind::RefusalDelta, &["refusal"]),
];
const CONTENT: usize = 1;

pub(super) struct ChoiceRewrite<'t, 's> {
    text: &'t str,
    form: Form,
    state: &'s mut ChoiceState,
    choice: Object<'t>,
    /// `delta` or `message`; none if the choice holds its texts itself.
    holder_name: Option<&'static str>,
    holder_missing: bool,
    /// What may repeat the whole text beside the holder.
    repeat_name: Option<&'static str>,
    /// The holder, if it is not the choice itself.
    holder: Option<Object<'t>>,
    /// Part of what the choice says is not delivered, so that nothing may go out that no chunk shows.
    cut: bool,
    lanes: [Lane; 3],
    /// `content` that is an array, with its parts.
    parts: Option<Parts>,
    part_spans: Vec<Span>,
    /// `tool_calls`, with its elements.
    calls: Option<Parts>,
    call_spans: Vec<Span>,
    /// Calls that took the place of other chunks or came beside one, and where the first of those was.
    made: Vec<String>,
    made_from: Option<usize>,
    logprobs_kept: bool,
    /// Its annotations and its finish reason are taken: another such chunk has no place.
    annotated: bool,
    finished: bool,
}

impl<'t, 's> ChoiceRewrite<'t, 's> {
    pub(super) fn new(
        (text, span): (&'t str, Span),
        form: Form,
        endpoint: Endpoint,
        state: &'s mut ChoiceState,
        pieces: &[Piece<'_>],
        cut: bool,
    ) -> Self {
        let choice = Object::new(text, span);
        let [first, second] = match form {
            Form::Stream => ["delta", "message"],
            Form::Body => ["message", "delta"],
        };
        let [found, other] = [first, second].map(|name| choice.value_of_kind(name, Kind::Object));
        let is_flat = endpoint == Endpoint::Completions && found.is_none() && other.is_none();
        let reads_other = other.is_some_and(|other| pieces.iter().any(|piece| other.contains(piece.entry.place.value)));
        let (holder_name, holder) =
            if found.is_none() && other.is_some() || reads_other { (second, other) } else { (first, found) };
        let repeat_name = (holder_name == first && other.is_some()).then_some(second);
        let object = (!is_flat).then(|| Object::new(text, holder.unwrap_or_default()));
        let values = object.as_ref().unwrap_or(&choice);
        let parts = values.value_of_kind("content", Kind::Array);
        let calls = values.value_of_kind("tool_calls", Kind::Array);
        Self {
            text,
            form,
            state,
            choice,
            holder_name: (!is_flat).then_some(holder_name),
            holder_missing: holder.is_none(),
            repeat_name,
            holder: object,
            cut,
            lanes: Default::default(),
            parts: parts.map(|parts| Parts::of_array(text, parts)),
            part_spans: parts.map(|parts| json::elements_of(text, parts)).unwrap_or_default(),
            calls: calls.map(|calls| Parts::of_array(text, calls)),
            call_spans: calls.map(|calls| json::elements_of(text, calls)).unwrap_or_default(),
            made: Vec::new(),
            made_from: None,
            logprobs_kept: true,
            annotated: false,
            finished: false,
        }
    }

    fn holder(&self) -> &Object<'t> {
        self.holder.as_ref().unwrap_or(&self.choice)
    }

    fn holder_mut(&mut self) -> &mut Object<'t> {
        self.holder.as_mut().unwrap_or(&mut self.choice)
    }

    /// Makes patches of the edits of this choice's chunks.
    pub(super) fn write<'a>(mut self, pieces: &[Piece<'a>], patches: &mut Patches, leaving: &mut Vec<Leaving<'a>>) {
        self.annotated = pieces.iter().any(|piece| Slot::of(piece) == Slot::Annotations);
        self.finished = pieces.iter().any(|piece| Slot::of(piece) == Slot::Finish);
        for piece in pieces {
            let home = self.rewrite_piece(piece, patches);
            self.take_calls_beside(piece, home);
            if let Some(body) = piece.other_kind() {
                self.arrive(piece, body, home, patches, leaving);
            }
        }
        if self.cut {
            self.drop_unseen(pieces, patches);
        }
        let shares_details = !pieces.iter().any(|piece| Slot::of(piece) == Slot::ReasoningDetail);
        for lane in 0..LANES.len() {
            let names = self.names_of(lane, pieces);
            let text = self.write_lane(lane, shares_details, names, patches);
            if let Some(text) = text.filter(|_| lane == CONTENT) {
                self.write_beside(&text, pieces, patches);
            }
        }
        if let Some(parts) = self.parts.take() {
            parts.write(patches);
        }
        self.write_calls(patches);
        self.write_consequences(pieces, patches);
        if let (Some(holder), Some(name)) = (self.holder.take(), self.holder_name) {
            if !self.holder_missing {
                holder.write(patches);
            } else if let Some(inside) = holder.added() {
                self.choice.set(name, &format!("{{{inside}}}"), patches);
            }
        }
        self.choice.write(patches);
    }

    /// Changes a chunk where it stands, or empties its place. Answers where in the holder that was.
    fn rewrite_piece(&mut self, piece: &Piece<'_>, patches: &mut Patches) -> Option<usize> {
        let value = piece.entry.place.value;
        let same = piece.same_kind();
        let changed = piece.is_changed();
        match Slot::of(piece) {
            Slot::Reasoning => self.rewrite_lane(0, piece),
            Slot::Content => self.rewrite_lane(CONTENT, piece),
            Slot::Refusal => self.rewrite_lane(2, piece),
            Slot::ToolCall => self.rewrite_call(piece, patches),
            Slot::Annotations if !changed => {
                self.move_citations(value, patches);
                None
            }
            _ if !changed => None,
            Slot::Text | Slot::Part | Slot::ReasoningDetail | Slot::OtherReasoning | Slot::OtherArguments => {
                patches.replace(value, json::string(same.map_or("", |body| body.text)));
                self.holder().find(match Slot::of(piece) {
                    Slot::Text | Slot::Part => "content",
                    Slot::ReasoningDetail => "reasoning_details",
                    Slot::OtherReasoning => "reasoning",
                    _ => "tool_calls",
                })
            }
            Slot::FunctionCall => {
                let home = self.holder().find("function_call");
                match same {
                    Some(body) => self.change_call(value, piece, &body, patches),
                    None => self.holder_mut().remove("function_call"),
                }
                home
            }
            Slot::Annotations => {
                match same {
                    Some(body) => patches.replace(value, annotation_value("annotations", &body)),
                    None => self.holder_mut().remove("annotations"),
                }
                None
            }
            Slot::Logprobs => {
                self.logprobs_kept = false;
                patches
                    .replace(value, same.map_or_else(|| "null".to_owned(), |body| annotation_value("logprobs", &body)));
                None
            }
            Slot::ChoiceError => {
                match same {
                    Some(body) => rewrite_error(self.text, value, piece, &body, patches),
                    None => self.choice.remove("error"),
                }
                None
            }
            // The finish reason is written once all is known; the rest is not in a choice.
            Slot::Finish | Slot::Citations | Slot::Usage | Slot::Error => None,
        }
    }

    fn rewrite_lane(&mut self, lane: usize, piece: &Piece<'_>) -> Option<usize> {
        let home = self.names_of(lane, &[]).iter().find_map(|name| self.holder().find(name));
        let lane = &mut self.lanes[lane];
        lane.changed |= piece.is_changed();
        lane.left |= piece.other_kind().is_some();
        if let Some(body) = piece.same_kind() {
            lane.text.push_str(body.text);
        }
        home
    }

    fn rewrite_call(&mut self, piece: &Piece<'_>, patches: &mut Patches) -> Option<usize> {
        let element = piece.entry.place.value;
        let Some(body) = piece.same_kind() else {
            let position = self.call_spans.iter().position(|span| *span == element);
            if let (Some(calls), Some(position)) = (&mut self.calls, position) {
                calls.remove(position);
            }
            return self.holder().find("tool_calls");
        };
        let call = Object::new(self.text, element);
        if let Some(index) = call.value("index")
            && let Ok(sent) = index.of_str(self.text).parse()
        {
            let wire = self.state.index_on_wire(sent);
            if wire != sent {
                patches.replace(index, wire.to_string());
            }
        }
        if piece.is_changed() {
            self.change_call(element, piece, &body, patches);
        }
        None
    }

    /// Changes what differs of a call: its arguments, its name, its id. An id or name that the new payload does not
    /// bring stays.
    fn change_call(&self, element: Span, piece: &Piece<'_>, body: &Body<'_>, patches: &mut Patches) {
        let text = self.text;
        let places = places::read_call_places(text, element, Slot::of(piece), &mut Decoded::default());
        let function = places.function.map_or(element, |(span, _)| span);
        let mut inner = Object::new(text, function);
        if body.text != piece.before.text {
            let first = places.arguments.first().copied();
            let is_json = first.is_some_and(|value| json::kind_of(text, value) == Kind::Object);
            let raw = is_json && json::is_document(body.text);
            let new = if raw { body.text.to_owned() } else { json::string(body.text) };
            let repeats = |value: &Span| first.is_some_and(|first| says::is_same(text, first, *value));
            for value in places.arguments.iter().copied().filter(repeats) {
                patches.replace(value, new.as_str());
            }
            if first.is_none() {
                let name = if inner.find("input").is_some() { "input" } else { "arguments" };
                inner.set(name, &new, patches);
            }
        }
        if let Some(name) = changed_member("name", piece, body) {
            inner.set("name", name, patches);
        }
        let id = changed_member("id", piece, body).filter(|_| Slot::of(piece) == Slot::ToolCall);
        if function == element {
            id.into_iter().for_each(|id| inner.set("id", id, patches));
        } else if let Some(id) = id {
            let mut outer = Object::new(text, element);
            outer.set("id", id, patches);
            outer.write(patches);
        }
        inner.write(patches);
    }

    /// Takes the calls that content carries beside its text.
    fn take_calls_beside(&mut self, piece: &Piece<'_>, home: Option<usize>) {
        let calls = piece.after.map(|body| calls_beside(self.state, &body, self.form)).unwrap_or_default();
        if !calls.is_empty() {
            self.lanes[CONTENT].has_calls = true;
            self.made.extend(calls);
            self.made_from = self.made_from.or(home);
        }
    }

    /// Puts a chunk where its new kind belongs.
    fn arrive<'a>(
        &mut self,
        piece: &Piece<'a>,
        body: Body<'a>,
        home: Option<usize>,
        patches: &mut Patches,
        leaving: &mut Vec<Leaving<'a>>,
    ) {
        // Text is all that a client of Completions shows a person.
        let is_flat_refusal = self.is_flat() && body.kind == ChunkKind::RefusalDelta;
        let kind = if is_flat_refusal { ChunkKind::ContentDelta } else { body.kind };
        if let Some(lane) = LANES.iter().position(|(of, _)| *of == kind) {
            let in_part = Slot::of(piece) == Slot::Part || body.kind == ChunkKind::ContentDelta;
            if let Some(parts) = self.parts.as_mut().filter(|_| in_part) {
                let value = piece.entry.place.value;
                let holds = |part: &Span| part.start <= value.start && value.end <= part.end;
                return parts.add(self.part_spans.iter().position(holds), part_json(&body));
            }
            let lane = &mut self.lanes[lane];
            lane.text.push_str(body.text);
            lane.changed = true;
            lane.from = lane.from.or(home);
            return;
        }
        match body.kind {
            ChunkKind::ToolCallDelta => {
                self.made.push(made_call_json(self.state, &body, self.form));
                self.made_from = self.made_from.or(home);
            }
            ChunkKind::Annotation if !self.annotated => {
                self.annotated = true;
                self.holder_mut().set("annotations", &annotation_value("annotations", &body), patches);
            }
            ChunkKind::Finish if !self.finished => {
                self.finished = true;
                self.choice.set("finish_reason", &json::string(body.text), patches);
            }
            _ => leaving.push(Leaving::new(piece, body)),
        }
    }

    /// Writes a text member with what it holds now, and whatever repeats it; answers with that if it changed.
    fn write_lane(
        &mut self,
        lane: usize,
        shares_details: bool,
        names: &[&str],
        patches: &mut Patches,
    ) -> Option<String> {
        let Lane { text, changed, left, has_calls, from } = std::mem::take(&mut self.lanes[lane]);
        if !changed {
            return None;
        }
        let mut written = false;
        for name in names {
            let Some(value) = self.holder().value(name).filter(|value| is_text(self.text, *value)) else { continue };
            written = true;
            match self.holder_name {
                Some("delta") if text.is_empty() && left => self.holder_mut().remove(name),
                Some("message") if text.is_empty() && (left || has_calls) => patches.replace(value, "null"),
                _ => patches.replace(value, json::string(&text)),
            }
        }
        if lane == 0 && shares_details {
            self.write_details(&text, patches);
        }
        if !written && !text.is_empty() {
            match names.iter().find(|name| self.holder().find(name).is_some()) {
                Some(name) => self.holder_mut().set(name, &json::string(&text), patches),
                None => self.holder_mut().add(from, names[0], &json::string(&text)),
            }
        }
        Some(text)
    }

    fn is_flat(&self) -> bool {
        self.holder_name.is_none()
    }

    /// The members that hold a lane's text: not the one whose text is a chunk of its own.
    fn names_of(&self, lane: usize, pieces: &[Piece<'_>]) -> &'static [&'static str] {
        let (kind, names) = LANES[lane];
        let has_other = || pieces.iter().any(|piece| Slot::of(piece) == Slot::OtherReasoning);
        match kind {
            ChunkKind::ReasoningDelta if has_other() => &names[..1],
            ChunkKind::ContentDelta if self.is_flat() => &["text"],
            _ => names,
        }
    }

    fn write_calls(&mut self, patches: &mut Patches) {
        let made = std::mem::take(&mut self.made);
        match self.calls.take() {
            Some(mut calls) => {
                made.into_iter().for_each(|call| calls.add(None, call));
                if calls.remaining() == 0 && !self.call_spans.is_empty() {
                    self.holder_mut().remove("tool_calls");
                } else {
                    calls.write(patches);
                }
            }
            None if made.is_empty() => {}
            None => {
                let calls = format!("[{}]", made.join(","));
                match self.holder().value("tool_calls") {
                    Some(value) => patches.replace(value, calls),
                    None => {
                        let from = self.made_from;
                        self.holder_mut().add(from, "tool_calls", &calls);
                    }
                }
            }
        }
    }
}

/// A part of a `content` array for a chunk that moved there.
fn part_json(body: &Body<'_>) -> String {
    let text = json::string(body.text);
    match body.kind {
        ChunkKind::ReasoningDelta => {
            format!("{{\"type\":\"thinking\",\"thinking\":[{{\"type\":\"text\",\"text\":{text}}}]}}")
        }
        ChunkKind::RefusalDelta => format!("{{\"type\":\"refusal\",\"refusal\":{text}}}"),
        _ => format!("{{\"type\":\"text\",\"text\":{text}}}"),
    }
}

/// The JSON of a payload's member if it is there and differs from the one before.
fn changed_member<'a>(name: &str, piece: &Piece<'_>, body: &Body<'a>) -> Option<&'a str> {
    let of = |payload: Option<&'a str>| {
        let payload = payload?;
        let value =
            json::member_of(payload, json::document_span(payload), name).filter(|value| is_text(payload, *value))?;
        Some(value.of_str(payload))
    };
    let before = piece.before.payload.and_then(|payload| {
        json::member_of(payload, json::document_span(payload), name).map(|value| value.of_str(payload).to_owned())
    });
    of(body.payload).filter(|new| before.as_deref() != Some(*new))
}
