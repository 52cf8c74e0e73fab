//! What becomes of a chunk.

use seam_plugin_api::ChunkKind;
use seam_wire::{Body, Chunk, Edit};

use crate::case::Mode;

/// Texts with what must be escaped, what may be, and what is long in UTF-8.
const TEXTS: [&str; 4] = ["new", "a \"quoted\" \\ one\n\t", "\u{1F600}\u{e9}\u{2028}</script>", "{\"a\":[1,\"b\"]}"];

/// A call beside content.
const BESIDE: &str = r#"{"tool_calls":[{"index":0,"name":"beside","arguments":"{}"}]}"#;

const CALL: &str = r#"{"index":1,"id":"call_made","name":"made"}"#;

/// Whether the chunk's text is what a person reads.
pub(crate) const fn is_prose(kind: ChunkKind) -> bool {
    matches!(kind, ChunkKind::ContentDelta | ChunkKind::ReasoningDelta | ChunkKind::RefusalDelta)
}

/// The edit that `code` asks for.
pub(crate) fn edit<'a>(mode: Mode, code: u8, chunk: &Chunk<'a>) -> Edit<'a> {
    let itself = Body { kind: chunk.kind, text: chunk.text, payload: chunk.payload };
    match mode {
        Mode::Itself => Edit::Replace(itself),
        // The ladder lets nobody amend these.
        _ if chunk.signed => Edit::Keep,
        Mode::Texts if is_prose(chunk.kind) => of_text(code, itself),
        Mode::Texts => Edit::Keep,
        Mode::Anything => anything(code, itself),
    }
}

fn of_text(code: u8, itself: Body<'_>) -> Edit<'_> {
    match code % 4 {
        0 => Edit::Keep,
        1 => Edit::Remove,
        _ => Edit::Replace(Body { text: TEXTS[usize::from(code / 4) % TEXTS.len()], ..itself }),
    }
}

fn anything(code: u8, itself: Body<'_>) -> Edit<'_> {
    let text = TEXTS[usize::from(code / 16) % TEXTS.len()];
    let body = |kind, payload| Edit::Replace(Body { kind, text, payload });
    match code % 16 {
        0..=3 => Edit::Keep,
        4 => Edit::Remove,
        5 | 6 => Edit::Replace(Body { text, ..itself }),
        7 => Edit::Replace(Body { text: "", ..itself }),
        8 => body(ChunkKind::ContentDelta, None),
        9 => body(ChunkKind::ReasoningDelta, None),
        10 => body(ChunkKind::RefusalDelta, None),
        11 => body(ChunkKind::ToolCallDelta, Some(CALL)),
        12 => body(ChunkKind::ContentDelta, Some(BESIDE)),
        13 => body(ChunkKind::Opaque, Some("{\"other\":1}")),
        14 => body(ChunkKind::Finish, None),
        _ => body(ChunkKind::Annotation, Some("[{\"type\":\"x\"}]")),
    }
}
