//! The plugin's table.

use seam_plugin_api::prelude::*;

/// The plugin's table.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", deny_unknown_fields)]
#[schemars(crate = "seam_plugin_api::schemars")]
pub struct Config {
    /// After how many chunks with text a `stream.progress` is emitted, each time. Without it there is none: the summary
    /// at the end says the same with one event.
    #[schemars(range(min = 1))]
    pub every: Option<u64>,
}

impl Config {
    /// After how many chunks progress is emitted, or what is wrong with the table.
    pub(crate) fn check(self) -> Result<Option<u64>, Vec<ConfigFault>> {
        match self.every {
            Some(0) => Err(vec![ConfigFault::new("every", "must be at least 1; leave it out for no progress events")]),
            every => Ok(every),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seam_plugin_api::serde_json;

    #[test]
    fn there_is_no_progress_unless_asked_for() {
        let config: Config = serde_json::from_str("{}").unwrap();
        assert_eq!(config.check(), Ok(None));
        let config: Config = serde_json::from_str(r#"{"every":1}"#).unwrap();
        assert_eq!(config.check(), Ok(Some(1)));
    }

    #[test]
    fn progress_every_zero_chunks_is_a_fault() {
        let faults = Config { every: Some(0) }.check().unwrap_err();
        assert_eq!(faults, [ConfigFault::new("every", "must be at least 1; leave it out for no progress events")]);
    }
}
