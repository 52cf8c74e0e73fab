//! From the plugin's table to settings that cannot be invalid.

use seam_plugin_api::prelude::*;
use seam_plugin_api::serde::Serialize;

use crate::pattern::Patterns;

/// What a model says when it declines, and the verbs that make it a refusal rather than an aside. Takes both
/// apostrophes, the typewriter's and the typesetter's.
pub const REFUSAL: &str = concat!(
    r"(?i)\b(?:I\s+can\s?not|Sorry,\s+I\s+can['’]?t|I\s+won['’]?t\s+be\s+able\s+to",
    r"|I(?:['’]m|\s+am)\s+(?:not\s+able|unable)\s+to)\s+(?:help|assist|comply|provide)\b",
);

/// A refusal comes within the first few hundred characters of an answer; this leaves room for long patterns and still
/// bounds what a text may keep in memory.
const WINDOW: u32 = 16 * 1024;

/// Far beyond any sentence; with four bytes to a character still only megabytes for a text.
const WIDEST_WINDOW: u32 = 1024 * 1024;

/// The plugin's table.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", deny_unknown_fields)]
#[schemars(crate = "seam_plugin_api::schemars")]
pub struct Config {
    /// The regular expression whose match ends a stream. If neither this nor `patterns` is set: generic refusals.
    pub pattern: Option<String>,
    /// Several of them, any of which ends a stream; instead of `pattern`.
    pub patterns: Option<Vec<String>>,
    /// Which texts are watched.
    #[serde(default = "default_fields")]
    pub fields: Vec<TextField>,
    /// How many characters a match may span; what lies further back is forgotten.
    #[serde(default = "default_window")]
    #[schemars(range(min = 1, max = WIDEST_WINDOW))]
    pub window: u32,
    /// Whether a refusal that the provider itself marks as one ends the stream at once, whatever it says.
    #[serde(default)]
    pub on_refusal: bool,
}

/// A kind of text within a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", rename_all = "snake_case")]
#[schemars(crate = "seam_plugin_api::schemars")]
pub enum TextField {
    /// The answer.
    Content,
    /// The model's reasoning.
    Reasoning,
    /// A provider-side refusal.
    Refusal,
    /// The arguments of tool calls, each call a text of its own.
    ToolCalls,
}

impl TextField {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Reasoning => "reasoning",
            Self::Refusal => "refusal",
            Self::ToolCalls => "tool_calls",
        }
    }
}

fn default_fields() -> Vec<TextField> {
    vec![TextField::Content]
}

const fn default_window() -> u32 {
    WINDOW
}

/// A table that was found sound.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) patterns: Patterns,
    pub(crate) fields: Vec<TextField>,
    pub(crate) on_refusal: bool,
}

impl Config {
    /// The settings, or everything that is wrong with the table.
    pub(crate) fn check(self) -> Result<Settings, Vec<ConfigFault>> {
        let mut faults = Vec::new();
        if self.window == 0 || self.window > WIDEST_WINDOW {
            faults.push(ConfigFault::new("window", format!("must be 1 to {WIDEST_WINDOW} characters")));
        }
        check_fields(&self.fields, self.on_refusal, &mut faults);
        match compile(self.pattern, self.patterns, self.window, &mut faults) {
            Some(patterns) if faults.is_empty() => {
                Ok(Settings { patterns, fields: self.fields, on_refusal: self.on_refusal })
            }
            _ => Err(faults),
        }
    }
}

fn check_fields(fields: &[TextField], on_refusal: bool, faults: &mut Vec<ConfigFault>) {
    if fields.is_empty() && !on_refusal {
        faults.push(ConfigFault::new("fields", "must name at least one text, or on_refusal must be true"));
    }
    for (at, field) in fields.iter().enumerate() {
        if fields[..at].contains(field) {
            faults.push(ConfigFault::new(format!("fields[{at}]"), format!("names {} again", field.as_str())));
        }
    }
}

/// One automaton of every pattern; `None` with a fault for each that cannot be used.
fn compile(
    pattern: Option<String>,
    patterns: Option<Vec<String>>,
    window: u32,
    faults: &mut Vec<ConfigFault>,
) -> Option<Patterns> {
    if pattern.is_some() && patterns.is_some() {
        faults.push(ConfigFault::new("patterns", "stands beside pattern; use one of them"));
    }
    if patterns.as_ref().is_some_and(Vec::is_empty) {
        faults.push(ConfigFault::new("patterns", "must name at least one pattern"));
    }
    let is_unset = pattern.is_none() && patterns.is_none();
    let mut named: Vec<(String, String)> = pattern.into_iter().map(|text| ("pattern".to_owned(), text)).collect();
    let listed = patterns.unwrap_or_default().into_iter().enumerate();
    named.extend(listed.map(|(at, text)| (format!("patterns[{at}]"), text)));
    if is_unset {
        named.push(("pattern".to_owned(), REFUSAL.to_owned()));
    }
    // Each alone first, so that a fault is found in every one of them and has its place.
    for (path, text) in &named {
        if let Err(error) = Patterns::compile(&[text], window) {
            faults.push(ConfigFault::new(path.clone(), error.to_string()));
        }
    }
    if !faults.is_empty() {
        return None;
    }
    let texts: Vec<&String> = named.iter().map(|(_, text)| text).collect();
    Patterns::compile(&texts, window).map_err(|error| faults.push(ConfigFault::new("patterns", error.to_string()))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use seam_plugin_api::serde_json;

    fn faults_of(table: serde_json::Value) -> Vec<(String, String)> {
        let config: Config = serde_json::from_value(table).unwrap();
        let faults = config.check().err().unwrap_or_default();
        faults.into_iter().map(|fault| (fault.path, fault.message)).collect()
    }

    fn fault(path: &str, message: &str) -> (String, String) {
        (path.to_owned(), message.to_owned())
    }

    #[test]
    fn an_empty_table_watches_answers_for_refusals() {
        let config: Config = serde_json::from_str("{}").unwrap();
        let settings = config.check().unwrap();
        assert_eq!(settings.fields, [TextField::Content]);
        assert!(!settings.on_refusal);
    }

    #[test]
    fn every_fault_is_reported_at_once_at_its_key() {
        let table = serde_json::json!({
            "patterns": ["fine", "a(", "x*", r"[^\d\D]|\bz\b", "(?u-)"],
            "fields": ["content", "reasoning", "content"],
            "window": 0,
        });
        assert_eq!(
            faults_of(table),
            [
                fault("window", "must be 1 to 1048576 characters"),
                fault("fields[2]", "names content again"),
                fault("patterns[1]", "is no regular expression: unclosed group"),
                fault("patterns[2]", "matches without any text: every stream would end at its first chunk"),
                fault("patterns[4]", "is no regular expression: dangling flag negation operator"),
            ]
        );
    }

    #[test]
    fn patterns_must_not_be_given_twice_or_be_none() {
        let both = serde_json::json!({ "pattern": "a", "patterns": [] });
        assert_eq!(
            faults_of(both),
            [
                fault("patterns", "stands beside pattern; use one of them"),
                fault("patterns", "must name at least one pattern"),
            ]
        );
    }

    #[test]
    fn a_table_that_watches_nothing_is_a_fault() {
        let nothing = serde_json::json!({ "fields": [] });
        assert_eq!(faults_of(nothing), [fault("fields", "must name at least one text, or on_refusal must be true")]);
        assert_eq!(faults_of(serde_json::json!({ "fields": [], "on_refusal": true })), []);
    }

    #[test]
    fn a_pattern_that_would_fill_the_memory_is_a_fault() {
        let message = "is too large: its automaton would take more than 4194304 bytes";
        assert_eq!(faults_of(serde_json::json!({ "pattern": r"(?:\w{90}){90}" })), [fault("pattern", message)]);
    }

    #[test]
    fn patterns_that_are_too_large_together_are_a_fault_of_the_list() {
        let many: Vec<String> = (0..12).map(|at| format!(r"{at}\w{{90}}")).collect();
        let message = "is too large: its automaton would take more than 4194304 bytes";
        assert_eq!(faults_of(serde_json::json!({ "patterns": many })), [fault("patterns", message)]);
    }
}
