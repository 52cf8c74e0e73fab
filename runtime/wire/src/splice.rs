//! Changes to a JSON text, member by member: only what is changed gets other bytes.

use crate::json::{self, Kind, Member, Span};

/// Replacements of ranges in a text. Where one lies inside another, the wider one is made.
#[derive(Debug, Default)]
pub(crate) struct Patches {
    patches: Vec<(Span, String)>,
}

impl Patches {
    /// Puts `text` in the place of a range, which may be empty.
    pub(crate) fn replace(&mut self, span: Span, text: impl Into<String>) {
        self.patches.push((span, text.into()));
    }

    /// The text with every replacement made.
    pub(crate) fn apply(mut self, text: &str) -> String {
        // At one position, what is inserted goes before what is replaced, and the widest range first.
        self.patches.sort_by_key(|(span, _)| (span.start, span.end != span.start, usize::MAX - span.end));
        let mut out = String::with_capacity(text.len() + 64);
        let mut at = 0;
        for (span, new) in &self.patches {
            if span.start < at {
                continue;
            }
            out.push_str(Span::new(at, span.start).of_str(text));
            out.push_str(new);
            at = span.end;
        }
        out.push_str(Span::new(at, text.len()).of_str(text));
        out
    }
}

/// What becomes of one member or element.
#[derive(Debug)]
struct Part {
    /// The whole of it: key and value.
    span: Span,
    kept: bool,
    /// What stands in its place, or after it if it is kept.
    added: Vec<String>,
}

/// Members of an object or elements of an array being added and taken away. Commas and white space are kept right.
#[derive(Debug)]
pub(crate) struct Parts {
    container: Span,
    parts: Vec<Part>,
    /// What comes after the last part.
    tail: Vec<String>,
}

impl Parts {
    fn new(container: Span, spans: impl Iterator<Item = Span>) -> Self {
        let parts = spans.map(|span| Part { span, kept: true, added: Vec::new() }).collect();
        Self { container, parts, tail: Vec::new() }
    }

    /// The elements of an array.
    pub(crate) fn of_array(text: &str, array: Span) -> Self {
        Self::new(array, json::elements_of(text, array).into_iter())
    }

    /// Takes a part away.
    pub(crate) fn remove(&mut self, position: usize) {
        if let Some(part) = self.parts.get_mut(position) {
            part.kept = false;
        }
    }

    /// Adds one after the part at that position, or in its place if that is taken away; without a position, at the end.
    pub(crate) fn add(&mut self, position: Option<usize>, new: String) {
        match position.and_then(|position| self.parts.get_mut(position)) {
            Some(part) => part.added.push(new),
            None => self.tail.push(new),
        }
    }

    /// How many parts there will be.
    pub(crate) fn remaining(&self) -> usize {
        self.tail.len() + self.parts.iter().map(|part| usize::from(part.kept) + part.added.len()).sum::<usize>()
    }

    /// Turns the changes into patches of the text that holds the container.
    pub(crate) fn write(self, patches: &mut Patches) {
        let mut previous_end = None;
        let mut any_before = false;
        let first_start = self.parts.first().map_or(self.container.start + 1, |part| part.span.start);
        // The start of a run of parts that go away in front of the first that stays.
        for part in &self.parts {
            let stays = part.kept || !part.added.is_empty();
            let gap = Span::new(previous_end.unwrap_or(first_start), part.span.start);
            if !stays {
                patches.replace(Span::new(gap.start, part.span.end), "");
            } else if !any_before && gap.start < gap.end {
                patches.replace(gap, "");
            }
            if part.kept && !part.added.is_empty() {
                patches.replace(Span::new(part.span.end, part.span.end), format!(",{}", part.added.join(",")));
            } else if stays && !part.kept {
                patches.replace(part.span, part.added.join(","));
            }
            any_before |= stays;
            previous_end = Some(part.span.end);
        }
        if !self.tail.is_empty() {
            let end = previous_end.unwrap_or(first_start);
            let comma = if any_before { "," } else { "" };
            patches.replace(Span::new(end, end), format!("{comma}{}", self.tail.join(",")));
        }
    }
}

/// An object whose members are being changed.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    text: &'a str,
    members: Vec<Member>,
    parts: Parts,
}

impl<'a> Object<'a> {
    /// The object at a span of a scanned document.
    pub(crate) fn new(text: &'a str, object: Span) -> Self {
        let members = json::members_of(text, object);
        let parts = Parts::new(object, members.iter().map(|member| Span::new(member.key.start, member.value.end)));
        Self { text, members, parts }
    }

    /// The position of the member of that name; the last one, as every JSON reader takes it.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.members.iter().rposition(|member| json::is_key(self.text, member.key, name))
    }

    /// The value of the member of that name.
    pub(crate) fn value(&self, name: &str) -> Option<Span> {
        self.find(name).map(|position| self.members[position].value)
    }

    /// The value of the member of that name if it is of that kind.
    pub(crate) fn value_of_kind(&self, name: &str, kind: Kind) -> Option<Span> {
        self.value(name).filter(|value| json::kind_of(self.text, *value) == kind)
    }

    /// Gives the member of that name another value, or adds it at the end.
    pub(crate) fn set(&mut self, name: &str, value: &str, patches: &mut Patches) {
        if let Some(span) = self.value(name) {
            return patches.replace(span, value);
        }
        let key = format!("{}:", json::string(name));
        // What was added before under that name would come twice.
        self.parts.tail.retain(|added| !added.starts_with(&key));
        self.parts.tail.push(format!("{key}{value}"));
    }

    /// Adds a member after the one at that position, or in its place if that is taken away.
    pub(crate) fn add(&mut self, position: Option<usize>, name: &str, value: &str) {
        self.parts.add(position, format!("{}:{value}", json::string(name)));
    }

    /// Takes the member of that name away, if there is one.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Some(position) = self.find(name) {
            self.parts.remove(position);
        }
    }

    /// Takes away every member whose name and value are so.
    pub(crate) fn remove_where(&mut self, is_so: impl Fn(&str, Span) -> bool) {
        for (position, member) in self.members.iter().enumerate() {
            if is_so(&json::key_name(self.text, member.key), member.value) {
                self.parts.remove(position);
            }
        }
    }

    /// The members that were added to an object which is not there yet.
    pub(crate) fn added(&self) -> Option<String> {
        (!self.parts.tail.is_empty()).then(|| self.parts.tail.join(","))
    }

    /// Turns the changes into patches.
    pub(crate) fn write(self, patches: &mut Patches) {
        self.parts.write(patches);
    }
}
