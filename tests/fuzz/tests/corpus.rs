//! Every input that the search has found, and every fixture: what was found once holds for good.
#![expect(clippy::unwrap_used, reason = "a corpus that cannot be read fails the test")]

use std::path::Path;

use fuzz::{seeds, target};

/// Runs a target over its corpus; a failure names the input.
fn holds(name: &str) {
    let target = target(name).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.corpus);
    let mut inputs: Vec<_> = seeds(target.corpus).unwrap().into_iter().map(|seed| (seed.name, seed.input)).collect();
    // A corpus in which nothing was found has no folder.
    for entry in std::fs::read_dir(&folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        inputs.push((path.display().to_string(), std::fs::read(&path).unwrap()));
    }
    assert!(!inputs.is_empty(), "no input for {name}");
    let failed: Vec<_> = inputs
        .iter()
        .filter(|(_, input)| std::panic::catch_unwind(|| target.run(input)).is_err())
        .map(|(name, _)| name)
        .collect();
    assert!(failed.is_empty(), "{name} does not hold of {failed:#?}");
}

macro_rules! targets {
    ($($test:ident: $name:literal,)*) => {
        $(#[test] fn $test() { holds($name); })*

        #[test]
        fn every_target_has_a_test() {
            assert_eq!(fuzz::TARGETS.map(|target| target.name), [$($name),*]);
        }
    };
}

targets! {
    sse_framing_keeps_every_byte: "sse",
    array_framing_keeps_every_byte: "json-array",
    chat_decodes_anything: "chat-decode",
    chat_renders_any_edit: "chat-render",
    completions_decodes_anything: "completions-decode",
    completions_renders_any_edit: "completions-render",
    responses_decodes_anything: "responses-decode",
    responses_renders_any_edit: "responses-render",
    anthropic_decodes_anything: "anthropic-decode",
    anthropic_renders_any_edit: "anthropic-render",
    gemini_decodes_anything: "gemini-decode",
    gemini_renders_any_edit: "gemini-render",
}
