//! The plugin's TOML table, and what it comes to.

use std::collections::HashSet;

use schemars::JsonSchema;
use seam_plugin_api::ConfigFault;
use serde::Deserialize;

use crate::kinds::Kind;
use crate::redactor::{DEFAULT_MAX_MATCH, DEFAULT_REPLACEMENT, Pattern, Redactor};

/// The longest label template, in characters: a label is longer than most of what it stands for.
const MAX_REPLACEMENT: usize = 256;
/// The most characters of an undecided candidate: what the daemon lets an observer hold is of that order.
const MAX_MAX_MATCH: u32 = 65_536;

/// The plugin's table. Everything has a default: an empty table redacts every kind in every field.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The built-in kinds to redact; all of them unless given.
    pub kinds: Vec<Kind>,
    /// What takes a match's place. `{kind}` stands for the kind's name or the pattern's.
    pub replacement: String,
    /// Further patterns.
    pub patterns: Vec<PatternTable>,
    /// The fields of an answer to look at; all of them unless given.
    pub fields: Vec<FieldName>,
    /// Texts that are left as they are where they are the whole of a match: a support address, an example card number.
    pub allow: Vec<String>,
    /// What happens where a match lies in text that its provider signed (the thinking of Anthropic's models) and takes
    /// back unchanged only: `stop` ends the stream in front of it, `pass` leaves such text alone. `stop` unless given,
    /// because a match must not leave.
    pub signed: Signed,
}

/// What happens to a match in signed text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Signed {
    /// The stream ends in front of it.
    #[default]
    Stop,
    /// Signed text is not looked at.
    Pass,
}

/// One of `patterns`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatternTable {
    /// What labels call it: 1 to 64 of `a-z`, `0-9`, `_` and `-`.
    pub name: String,
    /// A regex in the syntax of Rust's `regex` crate, without look-around other than anchors and word borders (`\b` is
    /// ASCII). It must not match the empty text.
    pub pattern: String,
    /// The most characters that are held while it is undecided whether they are a match; 1 to 65536, 1000 unless given. A
    /// candidate that is still open then is redacted as if it were one, to where it no longer can be. The daemon's
    /// `hold` must have room for it.
    #[serde(default = "default_max_match")]
    pub max_match: u32,
}

/// A field of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FieldName {
    /// The answer's text.
    Content,
    /// The model's reasoning.
    Reasoning,
    /// A provider-side refusal.
    Refusal,
    /// The arguments of tool calls.
    ToolCalls,
    /// What the daemon did not recognise: frames and whole answers in another form.
    Opaque,
}

impl FieldName {
    /// Every field.
    const ALL: [Self; 5] = [Self::Content, Self::Reasoning, Self::Refusal, Self::ToolCalls, Self::Opaque];
}

const fn default_max_match() -> u32 {
    DEFAULT_MAX_MATCH
}

impl Default for Config {
    fn default() -> Self {
        Self {
            kinds: Kind::ALL.to_vec(),
            replacement: DEFAULT_REPLACEMENT.to_owned(),
            patterns: Vec::new(),
            fields: FieldName::ALL.to_vec(),
            allow: Vec::new(),
            signed: Signed::Stop,
        }
    }
}

impl Config {
    /// Compiles the table.
    ///
    /// # Errors
    /// Every fault of it, each with the path of its key.
    pub fn compile(self) -> Result<Redactor, Vec<ConfigFault>> {
        let mut faults = self.faults();
        let pattern = |table: &PatternTable| Pattern {
            name: table.name.clone(),
            regex: table.pattern.clone(),
            max_match: table.max_match,
        };
        let patterns: Vec<Pattern> = self.patterns.iter().map(pattern).collect();
        match Redactor::new(&self.kinds, &patterns, &self.replacement, self.allow) {
            Ok(redactor) if faults.is_empty() => Ok(redactor),
            Ok(_) => Err(faults),
            Err(unusable) => {
                let fault = |fault: crate::redactor::PatternFault| {
                    ConfigFault::new(format!("patterns[{}].pattern", fault.position), fault.message)
                };
                faults.extend(unusable.into_iter().map(fault));
                Err(faults)
            }
        }
    }

    /// What is wrong apart from the regexes.
    fn faults(&self) -> Vec<ConfigFault> {
        let mut faults = Vec::new();
        if self.kinds.is_empty() && self.patterns.is_empty() {
            faults.push(ConfigFault::new(
                "kinds",
                "must name a kind where there are no patterns: nothing would be redacted",
            ));
        }
        if self.fields.is_empty() {
            faults.push(ConfigFault::new("fields", "must name a field: nothing would be redacted"));
        }
        if self.replacement.chars().count() > MAX_REPLACEMENT {
            faults.push(ConfigFault::new("replacement", format!("must have at most {MAX_REPLACEMENT} characters")));
        }
        faults.extend(repetitions("kinds", &self.kinds));
        faults.extend(repetitions("fields", &self.fields));
        for (position, _) in self.allow.iter().enumerate().filter(|(_, text)| text.is_empty()) {
            faults.push(ConfigFault::new(format!("allow[{position}]"), "must not be empty"));
        }
        let mut names = HashSet::new();
        for (position, table) in self.patterns.iter().enumerate() {
            let at = |key: &str| format!("patterns[{position}].{key}");
            if !is_pattern_name(&table.name) {
                faults.push(ConfigFault::new(at("name"), "must be 1 to 64 of a-z, 0-9, _ and -"));
            } else if !names.insert(&table.name) || Kind::ALL.iter().any(|kind| kind.as_str() == table.name) {
                faults
                    .push(ConfigFault::new(at("name"), "must differ from other patterns and from the built-in kinds"));
            }
            if !(1..=MAX_MAX_MATCH).contains(&table.max_match) {
                faults.push(ConfigFault::new(at("max_match"), format!("must be 1 to {MAX_MAX_MATCH}")));
            }
        }
        faults
    }
}

fn is_pattern_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

fn repetitions<T: PartialEq>(key: &str, values: &[T]) -> Vec<ConfigFault> {
    let is_repeated = |position: &usize| values[..*position].contains(&values[*position]);
    let fault = |position: usize| ConfigFault::new(format!("{key}[{position}]"), "is named twice");
    (0..values.len()).filter(is_repeated).map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_reported_with_its_key() {
        let config: Config = serde_json::from_value(serde_json::json!({
            "kinds": ["email", "card", "email"],
            "fields": [],
            "replacement": "x".repeat(300),
            "patterns": [
                { "name": "Project", "pattern": "PRJ-[0-9]+" },
                { "name": "open", "pattern": "(", "max_match": 0 },
                { "name": "open", "pattern": "a*" },
                { "name": "card", "pattern": "ok" }
            ],
            "allow": ["", "a"]
        }))
        .expect("a table of the right shape");
        let faults = config.compile().expect_err("faults");
        let lines: Vec<String> = faults.iter().map(|fault| format!("{}: {}", fault.path, fault.message)).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn an_empty_table_redacts_everything() {
        let config: Config = serde_json::from_str("{}").expect("a table");
        assert_eq!(config.kinds, Kind::ALL);
        assert!(config.compile().is_ok());
    }

    #[test]
    fn nothing_to_redact_is_a_fault() {
        let config: Config = serde_json::from_str(r#"{"kinds": []}"#).expect("a table");
        let faults = config.compile().expect_err("a fault");
        assert_eq!(faults[0].path, "kinds");
    }
}
