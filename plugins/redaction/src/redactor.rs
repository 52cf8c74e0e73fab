//! What a configuration compiles to: kinds with their labels, recognisers, and the tables that find attempts.
//! Immutable, built once, shared by every stream.

use regex_syntax::hir::{Hir, HirKind, Look};

use crate::kinds::Kind;
use crate::plain::Prose;
use crate::recogniser::{Recogniser, Starts};

/// The most configured patterns: with the built-in forms they stay below the 64 bits of a start mask.
pub const MAX_PATTERNS: usize = 48;
/// The most characters of an undecided candidate of a configured pattern, unless the pattern says otherwise.
/// Below the 1024 chunks that the daemon lets an observer hold, should each character be a chunk.
pub const DEFAULT_MAX_MATCH: u32 = 1000;
/// The template of labels, unless configured.
pub const DEFAULT_REPLACEMENT: &str = "[REDACTED:{kind}]";

/// A pattern beside the built-in kinds.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// What labels call it.
    pub name: String,
    /// A regex; must not match the empty text.
    pub regex: String,
    /// The most characters that are held while a candidate is undecided; a longer one is redacted.
    pub max_match: u32,
}

/// What takes a match's place, in the forms that its surroundings ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) plain: String,
    /// As the inside of a JSON string.
    pub(crate) escaped: String,
}

impl Label {
    fn new(template: &str, kind: &str) -> Self {
        let plain = template.replace("{kind}", kind);
        let quoted = serde_json::Value::from(plain.as_str()).to_string();
        let escaped = quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned();
        Self { plain, escaped }
    }
}

/// See the module.
pub struct Redactor {
    pub(crate) labels: Vec<Label>,
    pub(crate) recognisers: Vec<Recogniser>,
    pub(crate) starts: Starts,
    pub(crate) prose: Prose,
    /// Texts that are never redacted.
    pub(crate) allowed: Vec<String>,
}

impl Redactor {
    /// Compiles kinds and patterns. `replacement` is the label's template: `{kind}` stands for the kind's name or the
    /// pattern's. A match that equals a text of `allowed` is left as it is.
    ///
    /// # Errors
    /// Every pattern that cannot be used, by its position, with the reason.
    pub fn new(
        kinds: &[Kind],
        patterns: &[Pattern],
        replacement: &str,
        allowed: Vec<String>,
    ) -> Result<Self, Vec<PatternFault>> {
        let mut labels = Vec::new();
        let mut recognisers = Vec::new();
        let mut faults = Vec::new();
        for kind in Kind::ALL.into_iter().filter(|kind| kinds.contains(kind)) {
            recognisers.extend(compile_kind(kind, index(&labels)));
            labels.push(Label::new(replacement, kind.as_str()));
        }
        for (position, pattern) in patterns.iter().enumerate() {
            match compile_pattern(pattern, index(&labels)) {
                Ok(recogniser) => recognisers.push(recogniser),
                Err(message) => faults.push(PatternFault { position, message }),
            }
            labels.push(Label::new(replacement, &pattern.name));
        }
        if patterns.len() > MAX_PATTERNS {
            let message = format!("is one too many: at most {MAX_PATTERNS} patterns are allowed");
            faults.push(PatternFault { position: MAX_PATTERNS, message });
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let starts = Starts::new(&recognisers);
        let prose = Prose::new(&recognisers);
        Ok(Self { labels, recognisers, starts, prose, allowed })
    }

    /// Whether a candidate that begins like this may turn out to be an allowed text.
    pub(crate) fn may_be_allowed(&self, beginning: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed.starts_with(beginning))
    }

    /// The bytes of memory that the compiled automata take.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.recognisers.iter().map(|recogniser| recogniser.automaton.memory()).sum()
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("labels", &self.labels).finish_non_exhaustive()
    }
}

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternFault {
    /// Its position among the patterns.
    pub position: usize,
    /// What is wrong with it.
    pub message: String,
}

fn index(labels: &[Label]) -> u16 {
    u16::try_from(labels.len()).unwrap_or(u16::MAX)
}

/// The built-in forms always compile: a test builds each of them.
fn compile_kind(kind: Kind, label: u16) -> impl Iterator<Item = Recogniser> {
    kind.forms().into_iter().filter_map(move |form| {
        let hir = regex_syntax::Parser::new().parse(&form.pattern).ok()?;
        Recogniser::new(label, &form, &hir).ok()
    })
}

fn compile_pattern(pattern: &Pattern, label: u16) -> Result<Recogniser, String> {
    let hir = regex_syntax::Parser::new().parse(&pattern.regex).map_err(|error| describe(&error))?;
    match hir.properties().minimum_len() {
        None => return Err("can never match".into()),
        Some(0) => return Err("matches the empty text, so it would match everywhere".into()),
        Some(_) => {}
    }
    Recogniser::configured(label, &ascii_borders(hir), pattern.max_match).map_err(|_| {
        "is too large; repeat fewer times, or use ASCII classes such as [0-9A-Za-z] or (?-u:\\w) in place of \\w".into()
    })
}

/// One line of what may be a picture of several.
fn describe(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => {
            format!("is no regex: {} at character {}", error.kind(), error.span().start.column)
        }
        regex_syntax::Error::Translate(error) => {
            format!("is no regex: {} at character {}", error.kind(), error.span().start.column)
        }
        _ => "is no regex".into(),
    }
}

/// Turns Unicode word borders into ASCII ones: a byte-stepped automaton cannot see a whole character behind it.
fn ascii_borders(hir: Hir) -> Hir {
    match hir.into_kind() {
        HirKind::Look(look) => Hir::look(match look {
            Look::WordUnicode => Look::WordAscii,
            Look::WordUnicodeNegate => Look::WordAsciiNegate,
            Look::WordStartUnicode => Look::WordStartAscii,
            Look::WordEndUnicode => Look::WordEndAscii,
            Look::WordStartHalfUnicode => Look::WordStartHalfAscii,
            Look::WordEndHalfUnicode => Look::WordEndHalfAscii,
            other => other,
        }),
        HirKind::Repetition(mut repetition) => {
            repetition.sub = Box::new(ascii_borders(*repetition.sub));
            Hir::repetition(repetition)
        }
        HirKind::Capture(capture) => ascii_borders(*capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.into_iter().map(ascii_borders).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.into_iter().map(ascii_borders).collect()),
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(class) => Hir::class(class),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_every_kind_compiles() {
        let forms: usize = Kind::ALL.into_iter().map(|kind| kind.forms().len()).sum();
        let compiled: usize = Kind::ALL.into_iter().map(|kind| compile_kind(kind, 0).count()).sum();
        assert_eq!(compiled, forms);
        assert!(forms + MAX_PATTERNS <= 64, "{forms} forms leave no room in a start mask");
    }

    #[test]
    fn patterns_that_cannot_be_used_are_all_named() {
        let pattern = |regex: &str| Pattern { name: "p".into(), regex: regex.into(), max_match: 10 };
        let patterns = ["a(", "b*", r"[a&&b]", "ok", r"(\w{1,400}-){9}"].map(pattern);
        let faults = Redactor::new(&[], &patterns, "", Vec::new()).expect_err("faults");
        let lines: Vec<String> = faults.iter().map(|fault| format!("{} {}", fault.position, fault.message)).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn labels_fit_into_json() {
        assert_eq!(Label::new("\"{kind}\"\n", "card").escaped, r#"\"card\"\n"#);
    }
}
