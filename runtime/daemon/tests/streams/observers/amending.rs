//! Observers that put something in a chunk's place at once.

use std::collections::BTreeMap;

use seam_plugin_api::abi::{Answer, BodyView};
use seam_plugin_api::{Chunk, ChunkKind, Context};

use super::{Answering, Owned, is_text};
use crate::arguments::Upper;

/// Amends every chunk to what it is.
#[derive(Debug, Default)]
pub(crate) struct Itself(Option<Owned>);

impl Answering for Itself {
    fn answer(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Answer<'_> {
        Answer::Amend(self.0.insert(Owned::new(chunk)).view())
    }
}

/// Upper-cases all text but what the provider signed; in arguments of tools what string values say.
#[derive(Debug, Default)]
pub(crate) struct UpperCases {
    calls: BTreeMap<(u32, u8, u64), Upper>,
    answer: Option<Owned>,
}

impl Answering for UpperCases {
    fn answer(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Answer<'_> {
        if !is_text(chunk.kind()) || context.is_signed() {
            return Answer::Continue;
        }
        let mut own = Owned::new(chunk);
        own.text = match own.kind {
            ChunkKind::ToolCallDelta => self.arguments(&own),
            _ => own.text.to_ascii_uppercase(),
        };
        Answer::Amend(self.answer.insert(own).view())
    }
}

impl UpperCases {
    fn arguments(&mut self, own: &Owned) -> String {
        if own.names("path") {
            // One value of arguments that arrive value by value: what a string says, or another value as it is.
            let is_word = matches!(own.text.as_str(), "true" | "false" | "null");
            return if is_word { own.text.clone() } else { own.text.to_ascii_uppercase() };
        }
        let cased = self.calls.entry(own.lane()).or_default();
        if own.names("name") {
            *cased = Upper::default();
        }
        cased.fragment(&own.text)
    }
}

/// The call that [`TurnsToCall`] makes.
pub(crate) const MADE_NAME: &str = "made_by_the_observer";
const MADE_ARGUMENTS: &str = "{\"query\":\"made\"}";

/// Turns one chunk of content, counted from 0, into a whole tool call.
#[derive(Debug)]
pub(crate) struct TurnsToCall {
    pub(crate) nth: usize,
    pub(crate) seen: usize,
}

impl Answering for TurnsToCall {
    fn answer(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Answer<'_> {
        if chunk.kind() != ChunkKind::ContentDelta {
            return Answer::Continue;
        }
        self.seen += 1;
        if self.seen != self.nth + 1 {
            return Answer::Continue;
        }
        let payload = Some("{\"index\":0,\"name\":\"made_by_the_observer\"}");
        Answer::Amend(BodyView { kind: ChunkKind::ToolCallDelta, text: MADE_ARGUMENTS, payload })
    }
}
