//! The text of a configuration: its lines and columns, and where a dotted key path stands in it.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::report::Report;

/// One file's text, kept for as long as faults may have to be shown in it. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    file: PathBuf,
    text: Arc<str>,
    /// The offset of each line's first byte, ascending; never empty, the first is 0.
    line_starts: Arc<[usize]>,
    /// What must not be shown of the text.
    secrets: Arc<[Range<usize>]>,
}

impl Source {
    pub(super) fn new(file: &Path, text: &str) -> Self {
        let after_newlines = text.match_indices('\n').map(|(newline, _)| newline + 1);
        Self {
            file: file.to_owned(),
            text: text.into(),
            line_starts: std::iter::once(0).chain(after_newlines).collect(),
            secrets: Arc::default(),
        }
    }

    /// The same text, of which `secrets` must not be shown.
    pub(super) fn with_secrets(&self, secrets: Vec<Range<usize>>) -> Self {
        Self { secrets: secrets.into(), ..self.clone() }
    }

    /// The file, as it was named.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The text itself.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// An empty report on this text, to be filled with what only shows after the configuration was read.
    #[must_use]
    pub fn report(&self) -> Report {
        Report::new(self.clone(), Vec::new())
    }

    /// The byte range of the value at the dotted path `key`, such as `plugin[0].config.kinds[1]`; an index may also be
    /// written `kinds.1`. Where the path leads nowhere it is the range of the nearest table or list that holds it; for
    /// a table that is its header, for the document itself its beginning.
    #[must_use]
    pub fn span_of(&self, key: &str) -> Range<usize> {
        let Ok(document) = DeTable::parse(&self.text) else { return 0..0 };
        descend_table(document.get_ref(), key).unwrap_or(0..0)
    }

    /// The line and the column of the character at byte `offset`, both from 1; columns count Unicode scalar values. An
    /// offset that is no boundary or past the end is the character it lies in, or the end.
    #[must_use]
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.line(offset);
        (line, self.text[self.line_starts[line - 1]..offset].chars().count() + 1)
    }

    /// The line, from 1, that byte `offset` is in.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// `span` cut to what the text has, on character boundaries.
    pub(super) fn clamp(&self, span: Range<usize>) -> Range<usize> {
        let start = self.text.floor_char_boundary(span.start);
        let end = self.text.ceil_char_boundary(span.end.min(self.text.len())).max(start);
        start..end
    }

    /// `span` cut to its first line, so that a caret never runs over a whole table.
    pub(super) fn first_line(&self, span: Range<usize>) -> Range<usize> {
        let span = self.clamp(span);
        let line = &self.text[span.clone()];
        let length = line.find(['\n', '\r']).unwrap_or(line.len());
        span.start..span.start + length
    }

    /// The whole lines that hold `span`, with secrets blanked out, and where they start.
    pub(super) fn lines(&self, span: &Range<usize>) -> (usize, String) {
        let span = self.clamp(span.clone());
        let start = self.line_starts[self.line(span.start) - 1];
        let end = self.text[span.end..].find('\n').map_or(self.text.len(), |length| span.end + length);
        (start, self.without_secrets(start..end))
    }

    /// The text of `range` with every character of a secret replaced by a mark of the same length in bytes, so that
    /// ranges still fit.
    fn without_secrets(&self, range: Range<usize>) -> String {
        let characters = self.text[range.clone()].char_indices();
        let blanked = characters.map(|(index, character)| {
            let offset = range.start + index;
            let secret = self.secrets.iter().any(|secret| secret.contains(&offset));
            match character.len_utf8() {
                _ if !secret || character.is_whitespace() => character,
                1 => '*',
                2 => '·',
                3 => '…',
                _ => '🞄',
            }
        });
        blanked.collect()
    }
}

/// Where `path` leads from `table`; `None` when not even its first key is there.
fn descend_table(table: &DeTable<'_>, path: &str) -> Option<Range<usize>> {
    // A key may itself hold dots and brackets, so the longest key that fits is the one meant.
    let fitting = table.iter().filter_map(|(name, value)| {
        let rest = path.strip_prefix(name.get_ref().as_ref())?;
        (rest.is_empty() || rest.starts_with(['.', '['])).then_some((rest, value))
    });
    let (rest, value) = fitting.min_by_key(|(rest, _)| rest.len())?;
    Some(descend(value, rest))
}

fn descend(value: &Spanned<DeValue<'_>>, path: &str) -> Range<usize> {
    let found = match value.get_ref() {
        DeValue::Table(table) => descend_table(table, path.trim_start_matches('.')),
        DeValue::Array(array) => index(path)
            .and_then(|(index, rest)| Some((array.get(index)?, rest)))
            .map(|(element, rest)| descend(element, rest)),
        _ => None,
    };
    found.unwrap_or_else(|| value.span())
}

/// `[3].rest` or `.3.rest` as the index and what follows it.
fn index(path: &str) -> Option<(usize, &str)> {
    let (digits, rest) = match path.strip_prefix('[') {
        Some(path) => path.split_once(']')?,
        None => {
            let path = path.trim_start_matches('.');
            path.split_at(path.find(['.', '[']).unwrap_or(path.len()))
        }
    };
    Some((digits.parse().ok()?, rest))
}
