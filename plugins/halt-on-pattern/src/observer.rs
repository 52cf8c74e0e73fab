//! The observer: a scan for each text of the invocation, and the stop when one of them has matched.

use std::sync::Arc;

use seam_plugin_api::prelude::*;
use seam_plugin_api::serde_json;

use crate::config::{Settings, TextField};
use crate::scan::{Scan, Scratch};

/// What is quoted of a match: enough to recognise it, and no answer given away in an error message.
const LONGEST_QUOTE: usize = 256;

/// Watches the texts of one invocation.
pub struct HaltObserver {
    settings: Arc<Settings>,
    texts: Vec<Watched>,
    scratch: Scratch,
}

/// One text of the invocation. A text is never forgotten before the invocation ends: nothing says that its choice has.
struct Watched {
    name: TextName,
    scan: Scan,
}

/// What tells one text from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextName {
    choice: u32,
    field: TextField,
    /// The index of the tool call; 0 for other texts.
    call: u64,
}

/// What of a tool call's payload tells its text from those of others.
#[derive(Deserialize)]
#[serde(crate = "seam_plugin_api::serde")]
struct CallIndex {
    #[serde(default)]
    index: u64,
}

impl HaltObserver {
    pub(crate) fn new(settings: Arc<Settings>) -> Self {
        Self { settings, texts: Vec::new(), scratch: Scratch::default() }
    }

    /// The scan of the text that a chunk goes on with, if it is watched.
    fn watch(&mut self, chunk: &Chunk<'_>, field: TextField) -> Option<usize> {
        if chunk.text().is_empty() || !self.settings.fields.contains(&field) {
            return None;
        }
        let call = if field == TextField::ToolCalls { call_index(chunk) } else { 0 };
        let name = TextName { choice: chunk.choice(), field, call };
        let known = self.texts.iter().position(|text| text.name == name);
        Some(known.unwrap_or_else(|| {
            self.texts.push(Watched { name, scan: Scan::default() });
            self.texts.len() - 1
        }))
    }

    fn push(&mut self, chunk: &Chunk<'_>, field: TextField) -> Option<String> {
        let at = self.watch(chunk, field)?;
        self.texts[at].scan.push(&self.settings.patterns, &mut self.scratch, chunk.text())
    }

    /// Ends the texts of a choice: what waited for the next character is decided.
    fn finish(&mut self, choice: u32) -> Option<String> {
        let Self { settings, texts, scratch } = self;
        let mut texts = texts.iter_mut().filter(|text| text.name.choice == choice);
        texts.find_map(|text| text.scan.finish(&settings.patterns, scratch))
    }
}

impl StreamObserver for HaltObserver {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Verdict {
        let matched = match chunk.kind() {
            ChunkKind::ContentDelta => self.push(chunk, TextField::Content),
            ChunkKind::ReasoningDelta => self.push(chunk, TextField::Reasoning),
            ChunkKind::RefusalDelta if self.settings.on_refusal => return context.stop("provider refusal"),
            ChunkKind::RefusalDelta => self.push(chunk, TextField::Refusal),
            ChunkKind::ToolCallDelta => self.push(chunk, TextField::ToolCalls),
            ChunkKind::Finish => self.finish(chunk.choice()),
            _ => None,
        };
        match matched {
            Some(text) => context.stop(format!("pattern matched: {}", quote(&text))),
            None => Verdict::Continue,
        }
    }
}

/// The index of the call that a fragment belongs to. The wire names one in every fragment; should it not, there is one
/// call.
fn call_index(chunk: &Chunk<'_>) -> u64 {
    let payload = chunk.payload().unwrap_or_default();
    serde_json::from_str::<CallIndex>(payload).map_or(0, |call| call.index)
}

/// A text as a JSON string, cut short where it is long.
fn quote(text: &str) -> String {
    let mut quoted: String = text.chars().take(LONGEST_QUOTE).collect();
    if quoted.len() < text.len() {
        quoted.push('…');
    }
    serde_json::Value::String(quoted).to_string()
}
