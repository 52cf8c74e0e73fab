//! Reads typed values out of spanned TOML tables and collects what is wrong with them, so that one run names every
//! fault.
//!
//! A read answers `None` when the key is absent *and* when its value is at fault: in the second case the fault is
//! already recorded and no [`Config`](super::Config) comes of this text, so a section may carry on with its default.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::source::Source;
use super::syntax::Syntax;

/// One thing that is wrong, at a byte range of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flaw {
    /// Where the caret goes.
    pub(super) span: Range<usize>,
    /// The dotted path of the key, where one is to blame: `provider[1].name`.
    pub(super) key: Option<String>,
    /// What is wrong, the value, and what is allowed.
    pub(super) message: String,
    /// A second place that explains the first, and what to say there.
    pub(super) related: Option<(Range<usize>, String)>,
}

impl Flaw {
    /// A fault without a second place.
    pub(super) fn new(span: Range<usize>, key: Option<String>, message: String) -> Self {
        Self { span, key, message, related: None }
    }
}

/// What all tables of one text share: where relative paths start, and the faults found so far.
pub(super) struct Reader<'t> {
    folder: &'t Path,
    source: &'t Source,
    /// Values where this is not sound are the parser's guess, so nothing else is said about them.
    syntax: Syntax,
    flaws: RefCell<Vec<Flaw>>,
    secrets: RefCell<Vec<Range<usize>>>,
    /// For each table path, the keys that were asked for, in that order: the known keys.
    asked: RefCell<BTreeMap<String, Vec<&'static str>>>,
}

impl<'t> Reader<'t> {
    /// A reader of `source`, of which `syntax` is what the parser said, and whose relative paths start at `folder`.
    pub(super) fn new(folder: &'t Path, source: &'t Source, mut syntax: Syntax) -> Self {
        let flaws = RefCell::new(std::mem::take(&mut syntax.flaws));
        Self { folder, source, syntax, flaws, secrets: RefCell::default(), asked: RefCell::default() }
    }

    /// The document itself as a table.
    pub(super) fn root<'r>(&'r self, entries: &'r DeTable<'r>) -> Table<'r> {
        Table { reader: self, entries, header: 0..0, path: String::new() }
    }

    /// The known keys of every table that was read, as dotted paths without indices.
    #[cfg(test)]
    pub(super) fn known_keys(&self) -> std::collections::BTreeSet<String> {
        let asked = self.asked.borrow();
        let paths = asked.iter().flat_map(|(path, keys)| keys.iter().map(move |key| join(path, key)));
        paths.map(|path| without_indices(&path)).collect()
    }

    /// Every fault, and the ranges of the text that must not be shown.
    pub(super) fn into_flaws(self) -> (Vec<Flaw>, Vec<Range<usize>>) {
        (self.flaws.into_inner(), self.secrets.into_inner())
    }

    /// Records a fault of something that is in the text.
    fn fault(&self, flaw: Flaw) {
        if self.syntax.is_sound_at(self.source.line(flaw.span.start)) {
            self.flaws.borrow_mut().push(flaw);
        }
    }

    /// Records that something is not in the text. With a syntax error it may be there and not have been understood.
    fn absence(&self, flaw: Flaw) {
        if self.syntax.is_sound() {
            self.flaws.borrow_mut().push(flaw);
        }
    }
}

/// One table of the text.
pub(super) struct Table<'t> {
    reader: &'t Reader<'t>,
    entries: &'t DeTable<'t>,
    /// The header, or the whole of an inline table.
    header: Range<usize>,
    /// The dotted path: empty for the document, `provider[0]`, `plugin[1].hold`.
    path: String,
}

impl<'t> Table<'t> {
    /// The value of `key`, where it is given. From now on the key is a known one.
    pub(super) fn get(&self, key: &'static str) -> Option<Value<'t>> {
        let mut asked = self.reader.asked.borrow_mut();
        let keys = asked.entry(self.path.clone()).or_default();
        if !keys.contains(&key) {
            keys.push(key);
        }
        let (name, value) = self.entries.get_key_value(key)?;
        Some(self.value(name, value))
    }

    /// What `parse` makes of the value of `key`, where it is given.
    pub(super) fn read<T>(&self, key: &'static str, parse: impl FnOnce(&Value<'t>) -> Option<T>) -> Option<T> {
        self.get(key).and_then(|value| parse(&value))
    }

    /// Like [`Table::read`] for a key that must be there.
    pub(super) fn require<T>(&self, key: &'static str, parse: impl FnOnce(&Value<'t>) -> Option<T>) -> Option<T> {
        let Some(value) = self.get(key) else {
            let message = format!("missing key \"{key}\" {}", self.place());
            return self.lack(Some(join(&self.path, key)), message);
        };
        parse(&value)
    }

    /// Records, at the header, that the table lacks something which no single key stands for; always `None`.
    pub(super) fn lacks<T>(&self, message: String) -> Option<T> {
        self.lack(Some(self.path.clone()).filter(|path| !path.is_empty()), message)
    }

    fn lack<T>(&self, key: Option<String>, message: String) -> Option<T> {
        self.reader.absence(Flaw::new(self.header.clone(), key, message));
        None
    }

    /// The table under `key`. When it is absent, an empty one stands in for it, so that its defaults are read all the
    /// same.
    pub(super) fn section(&self, key: &'static str) -> Option<Table<'t>> {
        match self.get(key) {
            Some(value) => value.table(),
            None => Some(Table {
                reader: self.reader,
                entries: empty(),
                header: self.header.clone(),
                path: join(&self.path, key),
            }),
        }
    }

    /// The list of tables under `key`: empty when it is absent, `None` in place of each element that is no table.
    pub(super) fn sections(&self, key: &'static str) -> Vec<Option<Table<'t>>> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let Some(array) = value.data.as_array() else {
            let kind = value.kind();
            value.reject::<()>(format!("must be a list of tables, each under its own [[{key}]], not {kind}"));
            return vec![None];
        };
        value.elements(array).map(|element| element.table()).collect()
    }

    /// Every entry in the order of the text, for tables whose keys are the user's own.
    pub(super) fn entries(&self) -> Vec<(&'t str, Value<'t>)> {
        let entries = self.entries.iter();
        let mut entries: Vec<_> =
            entries.map(|(name, value)| (name.get_ref().as_ref(), self.value(name, value))).collect();
        entries.sort_by_key(|(_, value)| value.key_span.start);
        entries
    }

    /// Where a key of this table is, as a message says it: `in [server]`.
    fn place(&self) -> String {
        match self.path.split_once('.') {
            None if self.path.is_empty() => "at the top level".to_owned(),
            None if self.path.ends_with(']') => format!("in [[{}]]", without_indices(&self.path)),
            None => format!("in [{}]", self.path),
            Some((_, label)) => format!("in {label}"),
        }
    }

    /// Records every key that nobody asked for.
    pub(super) fn finish(self) {
        let asked = self.reader.asked.borrow();
        let known = asked.get(&self.path).map(Vec::as_slice).unwrap_or_default();
        for name in self.entries.keys() {
            let key = name.get_ref().as_ref();
            if known.contains(&key) {
                continue;
            }
            let hint = match nearest(key, known) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => format!("known keys: {}", known.join(", ")),
            };
            let message = format!("unknown key {} {}; {hint}", shown(key), self.place());
            self.reader.fault(Flaw::new(name.span(), Some(join(&self.path, key)), message));
        }
    }

    fn value(&self, name: &Spanned<std::borrow::Cow<'_, str>>, value: &'t Spanned<DeValue<'t>>) -> Value<'t> {
        Value {
            reader: self.reader,
            data: value.get_ref(),
            span: value.span(),
            key_span: name.span(),
            path: join(&self.path, name.get_ref()),
        }
    }
}

/// One value of the text.
#[derive(Clone)]
pub(super) struct Value<'t> {
    reader: &'t Reader<'t>,
    data: &'t DeValue<'t>,
    span: Range<usize>,
    key_span: Range<usize>,
    path: String,
}

impl<'t> Value<'t> {
    /// The string that this is, or a fault that says it must be `expected` ("a duration such as \"30s\"").
    pub(super) fn text(&self, expected: &str) -> Option<&'t str> {
        let text = self.data.as_str();
        text.or_else(|| self.mismatch(expected))
    }

    /// The boolean that this is.
    pub(super) fn boolean(&self) -> Option<bool> {
        self.data.as_bool().or_else(|| self.mismatch("true or false"))
    }

    /// The integer that this is. One that does not fit 64 bits is a fault.
    pub(super) fn integer(&self) -> Option<i64> {
        let Some(integer) = self.data.as_integer() else { return self.mismatch("an integer") };
        let number = i64::from_str_radix(integer.as_str(), integer.radix()).ok();
        number.or_else(|| self.reject(format!("is {integer}, which does not fit 64 bits")))
    }

    /// The table that this is.
    pub(super) fn table(&self) -> Option<Table<'t>> {
        let Some(entries) = self.data.as_table() else { return self.mismatch("a table") };
        let (reader, header) = (self.reader, self.span.clone());
        Some(Table { reader, entries, header, path: self.path.clone() })
    }

    /// The elements of the list that this is, or a fault that says it must be `expected`.
    pub(super) fn list(&self, expected: &str) -> Option<Vec<Value<'t>>> {
        let Some(array) = self.data.as_array() else { return self.mismatch(expected) };
        Some(self.elements(array).collect())
    }

    /// The JSON that this is. What JSON cannot say (`inf`, `nan`, an integer over 64 bits) is a fault; a date is its
    /// text.
    pub(super) fn json(&self) -> Option<Json> {
        match self.data {
            DeValue::String(text) => Some(Json::from(text.as_ref())),
            DeValue::Boolean(value) => Some(Json::from(*value)),
            DeValue::Datetime(date) => Some(Json::from(date.to_string())),
            DeValue::Integer(_) => self.integer().map(Json::from),
            DeValue::Float(float) => {
                let number = float.as_str().parse::<f64>().ok().and_then(serde_json::Number::from_f64);
                let message = format!("is {float}, which plugins cannot be given; write a finite number");
                number.map(Json::Number).or_else(|| self.reject(message))
            }
            DeValue::Array(array) => all(self.elements(array).map(|element| element.json())).map(Json::Array),
            DeValue::Table(_) => self.json_table().map(Json::Object),
        }
    }

    /// Like [`Value::json`] for a value that must be a table.
    pub(super) fn json_table(&self) -> Option<serde_json::Map<String, Json>> {
        let table = self.table()?;
        let entries = table.entries().into_iter();
        let entries = entries.map(|(key, value)| Some((key.to_owned(), value.json()?)));
        all(entries).map(|entries| entries.into_iter().collect())
    }

    /// Whether this is a list.
    pub(super) fn is_list(&self) -> bool {
        self.data.is_array()
    }

    /// Whether this is a table.
    pub(super) fn is_table(&self) -> bool {
        self.data.is_table()
    }

    /// This value as a path; a relative one is relative to the folder of the text.
    pub(super) fn resolve(&self, path: impl AsRef<Path>) -> PathBuf {
        self.reader.folder.join(path)
    }

    /// Keeps the value from being shown in any report.
    pub(super) fn keep_secret(&self) {
        self.reader.secrets.borrow_mut().push(self.span.clone());
    }

    /// Where the value stands.
    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Where the key stands.
    pub(super) fn key_span(&self) -> Range<usize> {
        self.key_span.clone()
    }

    /// The key as messages name it: the path inside its section.
    pub(super) fn label(&self) -> &str {
        self.path.split_once('.').map_or(self.path.as_str(), |(_, label)| label)
    }

    /// Records `message`, after the key's name, at the value; always `None`.
    pub(super) fn reject<T>(&self, message: impl std::fmt::Display) -> Option<T> {
        self.fault(self.span(), message, None)
    }

    /// Like [`Value::reject`], at the key: for a key that should not be there at all.
    pub(super) fn reject_key<T>(&self, message: impl std::fmt::Display) -> Option<T> {
        self.fault(self.key_span(), message, None)
    }

    /// Like [`Value::reject_key`], with a second place and what to say there.
    pub(super) fn reject_key_beside<T>(
        &self,
        message: impl std::fmt::Display,
        other: Range<usize>,
        label: &str,
    ) -> Option<T> {
        self.fault(self.key_span(), message, Some((other, label.to_owned())))
    }

    /// Like [`Value::reject`], with a second place and what to say there.
    pub(super) fn reject_beside<T>(
        &self,
        message: impl std::fmt::Display,
        other: Range<usize>,
        label: &str,
    ) -> Option<T> {
        self.fault(self.span(), message, Some((other, label.to_owned())))
    }

    /// Records that what this value names is nowhere in the text; always `None`.
    pub(super) fn dangles<T>(&self, message: impl std::fmt::Display) -> Option<T> {
        let message = format!("{} {message}", self.label());
        self.reader.absence(Flaw::new(self.span(), Some(self.path.clone()), message));
        None
    }

    /// What the value is, with its article.
    fn kind(&self) -> &'static str {
        match self.data {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        }
    }

    fn mismatch<T>(&self, expected: &str) -> Option<T> {
        self.reject(format!("must be {expected}, not {}", self.kind()))
    }

    fn fault<T>(
        &self,
        span: Range<usize>,
        message: impl std::fmt::Display,
        related: Option<(Range<usize>, String)>,
    ) -> Option<T> {
        let message = format!("{} {message}", self.label());
        self.reader.fault(Flaw { span, key: Some(self.path.clone()), message, related });
        None
    }

    fn elements(&self, array: &'t DeArray<'t>) -> impl Iterator<Item = Value<'t>> {
        array.iter().enumerate().map(|(index, element)| Value {
            reader: self.reader,
            data: element.get_ref(),
            span: element.span(),
            key_span: element.span(),
            path: format!("{}[{index}]", self.path),
        })
    }
}

/// Every value, or `None` if one is missing. Unlike collecting into an `Option` this goes through all of them, so that
/// the faults of later ones are recorded too.
pub(super) fn all<T>(values: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let values: Vec<Option<T>> = values.collect();
    values.into_iter().collect()
}

/// The candidate that `given` is most likely a slip of, if any is near enough to be worth naming.
pub(super) fn nearest<'c>(given: &str, candidates: &[&'c str]) -> Option<&'c str> {
    // Catches one or two slips of the finger and an unfinished word; unrelated words of this file's vocabulary stay
    // under it.
    const NEAR: f64 = 0.85;
    let scored = candidates.iter().map(|candidate| (strsim::jaro_winkler(given, candidate), *candidate));
    let near = scored.filter(|(score, _)| *score >= NEAR);
    near.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, candidate)| candidate)
}

/// `text` in quotes, cut to a length that fits a message.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{:?}", format!("{}…", &text[..cut])),
        None => format!("{text:?}"),
    }
}

/// The dotted path of `key` under `path`, with quotes where TOML needs them too.
fn join(path: &str, key: &str) -> String {
    let bare = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    let quoted = key.is_empty() || !key.chars().all(bare);
    let key = if quoted { shown(key) } else { key.to_owned() };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

fn without_indices(path: &str) -> String {
    path.split('.').map(|part| part.split('[').next().unwrap_or(part)).collect::<Vec<_>>().join(".")
}

fn empty() -> &'static DeTable<'static> {
    static EMPTY: std::sync::OnceLock<DeTable<'static>> = std::sync::OnceLock::new();
    EMPTY.get_or_init(DeTable::new)
}
