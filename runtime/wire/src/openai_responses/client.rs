//! What the client has seen: the response, its items and their parts, and the numbers of the events. Kept small: what is
//! streamed in full is not kept, but for the little that is needed to end what is open.

use super::decode::Read;
use super::names::{About, Lane, event};
use super::texts;
use crate::json::{self, Kind, Span};

/// The longest value of the response, and the longest item, that is kept to be told again at the end.
const LONGEST_MEMBER: usize = 200;
const LONGEST_ITEM: usize = 512;

/// How much is kept of the text of one part that is open and no answer text, in bytes.
const LONGEST_TEXT: usize = 1024;

/// How much is kept of items that are over, in bytes: of one answer, all together.
const MOST_KEPT: usize = 3072;

/// See the module. Output indexes are those that the client knows.
#[derive(Debug, Default)]
pub(super) struct Client {
    /// The members of the response as it began, without those that are long.
    pub(super) response: Option<String>,
    pub(super) items: Vec<Item>,
    /// The number of the next event; `None` where the provider numbers none.
    pub(super) next_sequence: Option<u64>,
    kept: usize,
}

/// An item.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) output: u32,
    /// The item as it began or, once it is over, as it ended; what is long is left out.
    pub(super) json: String,
    pub(super) id: String,
    pub(super) done: bool,
    pub(super) parts: Vec<Part>,
}

/// One text of an item.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) lane: Lane,
    pub(super) index: u32,
    /// It was begun by an event of its own, which another must end.
    pub(super) has_part: bool,
    /// Its text has not come to its end.
    pub(super) text_open: bool,
    /// Its part has not.
    pub(super) part_open: bool,
    /// Of an answer text: how many characters were delivered.
    pub(super) characters: usize,
    /// Of any other text: what was delivered; `None` if that is too long.
    pub(super) kept: Option<String>,
}

impl Client {
    /// An event went out whose number was not read.
    pub(super) fn count(&mut self) {
        self.next_sequence = self.next_sequence.map(|next| next + 1);
    }

    /// A piece of a text was delivered.
    pub(super) fn piece(&mut self, output: u32, lane: Lane, index: u32, text: &str) {
        let Some(part) = self.part(output, lane, index) else { return };
        if lane == Lane::Text {
            part.characters += text.chars().count();
            return;
        }
        match &mut part.kept {
            Some(kept) if kept.len() + text.len() <= LONGEST_TEXT => kept.push_str(text),
            kept => *kept = None,
        }
    }

    fn item(&mut self, output: u32) -> Option<&mut Item> {
        self.items.iter_mut().rev().find(|item| item.output == output)
    }

    /// The text at an address, which begins with its first piece if nothing began it before.
    fn part(&mut self, output: u32, lane: Lane, index: u32) -> Option<&mut Part> {
        let item = self.item(output)?;
        let known = item.parts.iter().position(|part| part.lane == lane && part.index == index);
        let at = known.unwrap_or_else(|| {
            item.parts.push(Part::new(lane, index, false));
            item.parts.len() - 1
        });
        item.parts.get_mut(at)
    }

    /// An event went out that is no piece of a text.
    pub(super) fn track(&mut self, text: &str, read: &Read) {
        let number = read.fields.value(event::SEQUENCE).and_then(|value| value.of_str(text).parse::<u64>().ok());
        self.next_sequence = number.map(|number| number + 1).or_else(|| self.next_sequence.map(|next| next + 1));
        let output = read.output(text);
        match read.about {
            About::Created => {
                let next_sequence = self.next_sequence;
                *self = Self { next_sequence, ..Self::default() };
                self.response = read.response.map(|response| short_members(text, response));
            }
            About::Begun => self.response = read.response.map(|response| short_members(text, response)),
            About::ItemAdded => self.begin_item(text, read, output),
            About::PartAdded => self.begin_part(text, read, output),
            About::Delta(lane) => {
                let mut spelt = String::new();
                if let Some(delta) = read.fields.text(event::DELTA, text) {
                    json::unescape(delta.inside_quotes().of_str(text), &mut spelt);
                }
                self.piece(output, lane, read.index(lane, text), &spelt);
            }
            About::TextDone(lane) => {
                if let Some(part) = self.part(output, lane, read.index(lane, text)) {
                    part.text_open = false;
                }
            }
            About::PartDone => self.end_part(text, read, output),
            About::ItemDone => self.end_item(text, read, output),
            _ => {}
        }
    }

    fn begin_item(&mut self, text: &str, read: &Read, output: u32) {
        let Some(item) = read.fields.of_kind(event::ITEM, text, Kind::Object) else { return };
        let json = short_item(text, item);
        let id = json::member_of(text, item, "id").map(|id| id.of_str(text).to_owned());
        let id = id.unwrap_or_else(|| "\"\"".to_owned());
        self.items.push(Item { output, json, id, done: false, parts: Vec::new() });
    }

    fn begin_part(&mut self, text: &str, read: &Read, output: u32) {
        let Some((lane, index)) = part_of(text, read) else { return };
        if let Some(part) = self.part(output, lane, index) {
            (part.has_part, part.part_open) = (true, true);
        }
    }

    fn end_part(&mut self, text: &str, read: &Read, output: u32) {
        let Some((lane, index)) = part_of(text, read) else { return };
        if let Some(part) = self.part(output, lane, index) {
            (part.text_open, part.part_open) = (false, false);
        }
    }

    fn end_item(&mut self, text: &str, read: &Read, output: u32) {
        let Some(whole) = read.fields.of_kind(event::ITEM, text, Kind::Object) else { return };
        let room = MOST_KEPT.saturating_sub(self.kept);
        let length = whole.end - whole.start;
        let json = if length <= room { whole.of_str(text).to_owned() } else { short_item(text, whole) };
        self.kept += json.len();
        if let Some(item) = self.item(output) {
            item.json = json;
            item.done = true;
            for part in &mut item.parts {
                (part.text_open, part.part_open, part.kept) = (false, false, None);
            }
        }
    }
}

impl Part {
    pub(super) fn new(lane: Lane, index: u32, has_part: bool) -> Self {
        let kept = Some(String::new());
        Self { lane, index, has_part, text_open: true, part_open: has_part, characters: 0, kept }
    }
}

/// Which text an event about a part means.
fn part_of(text: &str, read: &Read) -> Option<(Lane, u32)> {
    let part = read.fields.of_kind(event::PART, text, Kind::Object)?;
    let kind = json::member_of(text, part, "type")?;
    let lane = match kind.inside_quotes().of_str(text) {
        "output_text" => Lane::Text,
        "refusal" => Lane::Refusal,
        "reasoning_text" => Lane::Reasoning,
        "summary_text" => Lane::Summary,
        _ => return None,
    };
    Some((lane, read.index(lane, text)))
}

/// The members of an object that are short, as they stand; the others are empty.
fn short_members(text: &str, object: Span) -> String {
    let members = json::members_of(text, object).into_iter().map(|member| {
        let value = member.value.of_str(text);
        let short = match json::kind_of(text, member.value) {
            _ if value.len() <= LONGEST_MEMBER => value,
            Kind::Array => "[]",
            _ => "null",
        };
        format!("{}:{short}", member.key.of_str(text))
    });
    members.collect::<Vec<_>>().join(",")
}

/// An item, or what is short of it.
fn short_item(text: &str, item: Span) -> String {
    if item.end - item.start <= LONGEST_ITEM && texts_are_short(text, item) {
        return item.of_str(text).to_owned();
    }
    format!("{{{}}}", short_members(text, item))
}

fn texts_are_short(text: &str, item: Span) -> bool {
    let mut found = Vec::new();
    texts::of_item(text, item, 0, &mut found);
    found.iter().all(|whole| whole.value.end - whole.value.start <= LONGEST_MEMBER)
}
