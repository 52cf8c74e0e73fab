//! What libFuzzer drives: the target of the name in the variable `FUZZ_TARGET`, over the engine's inputs.
#![no_main]

use std::sync::LazyLock;

use fuzz::{TARGETS, Target, target};

#[expect(clippy::panic, reason = "without a target there is nothing to do, and the engine has no way to say so")]
static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let known = TARGETS.map(|target| target.name).join(", ");
    target(&name).unwrap_or_else(|| panic!("FUZZ_TARGET is \"{name}\"; the targets are {known}"))
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| TARGET.run(input));
