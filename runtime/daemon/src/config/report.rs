//! Every fault of one configuration, for a person or as JSON.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use serde::ser::{Serialize, Serializer};

use super::source::Source;
use super::table::Flaw;

/// One fault of a configuration and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in Unicode scalar values.
    pub column: usize,
    /// The dotted path of the key that is to blame, where one is: `provider[1].name`.
    pub key: Option<String>,
    /// What is wrong, the value, and what is allowed: one lowercase sentence without a full stop.
    pub message: String,
    /// The bytes under the caret: inside the text, on character boundaries, in one line.
    span: Range<usize>,
    related: Option<(Range<usize>, String)>,
}

/// Every fault of one configuration, in the order of its text.
///
/// Displayed, it is what a person reads where there is no colour: for each fault its message, its line and a caret.
/// Serialised, it is a list of `{file, line, column, key, message}`, in which `key` is null where no key is to blame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    source: Source,
    faults: Vec<Fault>,
}

impl std::error::Error for Report {}

impl Report {
    pub(super) fn new(source: Source, flaws: Vec<Flaw>) -> Self {
        let mut report = Self { source, faults: Vec::new() };
        for flaw in flaws {
            report.insert(flaw);
        }
        report
    }

    /// The file that the faults are in, as it was named.
    #[must_use]
    pub fn file(&self) -> &Path {
        self.source.file()
    }

    /// The faults, in the order of the text.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Whether nothing is at fault.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Adds a fault at the value of the dotted path `key`, such as `provider[0].api_key`; see [`Source::span_of`] for
    /// where it stands when there is no such value.
    pub fn add_fault(&mut self, key: &str, message: impl Into<String>) {
        let span = self.source.span_of(key);
        self.insert(Flaw::new(span, Some(key.to_owned()), message.into()));
    }

    /// Adds what a plugin says of its own table: `path` leads into `[plugin.config]` of the plugin at `plugin` in the
    /// order of the file, from 0, as in `kinds[1]` or `patterns.0.name`. An empty path is the table itself.
    pub fn add_plugin_fault(&mut self, plugin: usize, path: &str, message: impl Into<String>) {
        let path = path.trim_start_matches('.');
        let key = match path {
            "" => "config".to_owned(),
            path if path.starts_with('[') => format!("config{path}"),
            path => format!("config.{path}"),
        };
        // Where the key is not there, the caret alone cannot say which one is meant.
        let message = format!("{key}: {}", message.into());
        self.add_fault(&format!("plugin[{plugin}].{key}"), message);
    }

    /// Adds the reason why the plugin at `plugin` in the order of the file, from 0, cannot be loaded: a fault at its
    /// `path`.
    pub fn add_plugin_load_fault(&mut self, plugin: usize, message: impl Into<String>) {
        self.add_fault(&format!("plugin[{plugin}].path"), message);
    }

    /// What a person reads on a terminal: as displayed, with colour.
    #[must_use]
    pub fn to_styled(&self) -> String {
        self.render(&Renderer::styled())
    }

    /// Puts the fault at its place in the order of the text; one that is there already is not added twice.
    fn insert(&mut self, flaw: Flaw) {
        let span = self.source.first_line(flaw.span);
        let (line, column) = self.source.position(span.start);
        let related = flaw.related.map(|(span, label)| (self.source.first_line(span), label));
        let fault = Fault { line, column, key: flaw.key, message: flaw.message, span, related };
        let end = self.faults.partition_point(|other| other.span.start <= fault.span.start);
        let same_place = self.faults[..end].iter().rev().take_while(|other| other.span.start == fault.span.start);
        if !same_place.into_iter().any(|other| *other == fault) {
            self.faults.insert(end, fault);
        }
    }

    fn render(&self, renderer: &Renderer) -> String {
        let faults = self.faults.iter().map(|fault| self.render_fault(renderer, fault));
        faults.collect::<Vec<_>>().join("\n\n")
    }

    /// Hands the renderer no more than the lines that it will show, so that a long text costs no more than a short one.
    fn render_fault(&self, renderer: &Renderer, fault: &Fault) -> String {
        let others = fault.related.iter().map(|(span, _)| span);
        let whole = others.fold(fault.span.clone(), |whole, span| whole.start.min(span.start)..whole.end.max(span.end));
        let (start, lines) = self.source.lines(&whole);
        let inside = |span: &Range<usize>| span.start - start..span.end - start;
        let file = self.file().display().to_string();
        let related =
            fault.related.iter().map(|(span, label)| AnnotationKind::Context.span(inside(span)).label(label.as_str()));
        let snippet = Snippet::source(&lines)
            .line_start(self.source.position(start).0)
            .path(&file)
            .annotation(AnnotationKind::Primary.span(inside(&fault.span)))
            .annotations(related);
        renderer.render(&[Level::ERROR.primary_title(&fault.message).element(snippet)])
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&Renderer::plain()))
    }
}

/// One fault as a program reads it.
#[derive(serde::Serialize)]
struct Entry<'r> {
    file: &'r str,
    line: usize,
    column: usize,
    key: Option<&'r str>,
    message: &'r str,
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let file = self.file().to_string_lossy();
        serializer.collect_seq(self.faults.iter().map(|fault| Entry {
            file: &file,
            line: fault.line,
            column: fault.column,
            key: fault.key.as_deref(),
            message: &fault.message,
        }))
    }
}
