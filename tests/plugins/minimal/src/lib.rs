//! The smallest complete plugin: the one in the documentation of `seam-plugin-api`, as a crate of its own. Each of its
//! lines stands there as well; a test compares the two.
#![forbid(unsafe_code)]
use seam_plugin_api::prelude::*;

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", deny_unknown_fields)]
#[schemars(crate = "seam_plugin_api::schemars")]
struct Replace {
    word: String,
    instead: String,
}

impl Plugin for Replace {
    type Config = Self;
    fn configure(config: Self, _: Host) -> Result<Self, Vec<ConfigFault>> {
        if config.word.is_empty() {
            return Err(vec![ConfigFault::new("word", "must not be empty")]);
        }
        Ok(config)
    }
    fn registrations(&self) -> Vec<Registration> {
        let replace = self.clone();
        vec![Registration::new(When::Any, "replace", move |_: &FactoryContext<'_>| replace.clone())]
    }
}

impl StreamObserver for Replace {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Verdict {
        if chunk.kind() != ChunkKind::ContentDelta || !chunk.text().contains(&self.word) {
            return Verdict::Continue;
        }
        Verdict::amend_text(chunk, chunk.text().replace(&self.word, &self.instead))
    }
}

seam_plugin_api::export_plugin!(Replace, "replace");
