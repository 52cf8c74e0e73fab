//! From the plugin's table to settings that cannot be invalid.

use seam_plugin_api::prelude::*;

use crate::marker::Dialect;

/// Room for a file as an argument; a marker that is longer has most likely lost its end.
const MAX_MARKER: u32 = 16 * 1024;

/// A marker shorter than this has no room for a name and an argument.
const LEAST_MARKER: u32 = 64;

/// Three quarters of what the daemon lets an observer hold unless told otherwise, so that this plugin gives up before
/// it is taken out of the stream: giving up loses one marker, a fault loses all.
const HOLD_CHUNKS: u32 = 768;
const HOLD_TEXT: u32 = 48 * 1024;

/// The plugin's table.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", deny_unknown_fields)]
#[schemars(crate = "seam_plugin_api::schemars")]
pub struct Config {
    /// Which ways of writing a call are recognised.
    #[serde(default = "default_dialects")]
    pub dialects: Vec<Dialect>,
    /// Whether a call is recognised only if the request offers a tool of its name. A request that offers no tools
    /// allows every name.
    #[serde(default = "default_offered_only")]
    pub offered_only: bool,
    /// How many characters a marker may have, from its first one to the end of its arguments; a longer one stays text.
    #[serde(default = "default_max_marker")]
    #[schemars(range(min = LEAST_MARKER))]
    pub max_marker: u32,
    /// How many chunks may wait, over all choices, before what is held goes on as it is. Keep it below the daemon's
    /// `hold.chunks` for this plugin.
    #[serde(default = "default_hold_chunks")]
    #[schemars(range(min = 1))]
    pub hold_chunks: u32,
    /// How many characters of texts and payloads may wait, as for `hold_chunks`. Keep it below the daemon's `hold.text`.
    #[serde(default = "default_hold_text")]
    pub hold_text: u32,
}

fn default_dialects() -> Vec<Dialect> {
    Dialect::ALL.to_vec()
}

const fn default_offered_only() -> bool {
    true
}

const fn default_max_marker() -> u32 {
    MAX_MARKER
}

const fn default_hold_chunks() -> u32 {
    HOLD_CHUNKS
}

const fn default_hold_text() -> u32 {
    HOLD_TEXT
}

/// A table that was found sound.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) dialects: Vec<Dialect>,
    pub(crate) offered_only: bool,
    pub(crate) max_marker: usize,
    pub(crate) hold_chunks: u64,
    pub(crate) hold_text: u64,
}

impl Config {
    /// The settings, or everything that is wrong with the table.
    pub(crate) fn check(self) -> Result<Settings, Vec<ConfigFault>> {
        let mut faults = Vec::new();
        if self.dialects.is_empty() {
            faults.push(ConfigFault::new("dialects", "must name at least one dialect"));
        }
        for (at, dialect) in self.dialects.iter().enumerate() {
            if self.dialects[..at].contains(dialect) {
                faults.push(ConfigFault::new(format!("dialects[{at}]"), format!("names {} again", dialect.as_str())));
            }
        }
        if self.max_marker < LEAST_MARKER {
            faults.push(ConfigFault::new("max_marker", format!("must be at least {LEAST_MARKER} characters")));
        }
        if self.hold_chunks == 0 {
            faults.push(ConfigFault::new(
                "hold_chunks",
                "must be at least 1: a marker may begin in one chunk and end in the next",
            ));
        }
        if self.hold_text < self.max_marker {
            let message =
                format!("must be at least max_marker ({} characters): a whole marker is held", self.max_marker);
            faults.push(ConfigFault::new("hold_text", message));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Settings {
            dialects: self.dialects,
            offered_only: self.offered_only,
            max_marker: self.max_marker as usize,
            hold_chunks: u64::from(self.hold_chunks),
            hold_text: u64::from(self.hold_text),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seam_plugin_api::serde_json;

    #[test]
    fn an_empty_table_knows_every_dialect() {
        let config: Config = serde_json::from_str("{}").unwrap();
        let settings = config.check().unwrap();
        assert_eq!(settings.dialects, Dialect::ALL);
        assert!(settings.offered_only);
        assert_eq!((settings.max_marker, settings.hold_chunks, settings.hold_text), (16_384, 768, 49_152));
    }

    #[test]
    fn every_fault_is_reported_at_once_at_its_key() {
        let table = serde_json::json!({
            "dialects": ["tool", "tuple", "tool"], "max_marker": 63, "hold_chunks": 0, "hold_text": 62,
        });
        let config: Config = serde_json::from_value(table).unwrap();
        let faults: Vec<String> =
            config.check().unwrap_err().into_iter().map(|fault| format!("{}: {}", fault.path, fault.message)).collect();
        assert_eq!(
            faults,
            [
                "dialects[2]: names tool again",
                "max_marker: must be at least 64 characters",
                "hold_chunks: must be at least 1: a marker may begin in one chunk and end in the next",
                "hold_text: must be at least max_marker (63 characters): a whole marker is held",
            ]
        );
    }

    #[test]
    fn a_table_without_a_dialect_is_a_fault() {
        let config: Config = serde_json::from_str(r#"{"dialects":[]}"#).unwrap();
        assert_eq!(config.check().unwrap_err(), [ConfigFault::new("dialects", "must name at least one dialect")]);
    }
}
