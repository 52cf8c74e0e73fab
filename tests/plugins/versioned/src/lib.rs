//! Puts its version in front of every piece of answer text: `1:text`. Tests of reloads see in the output which file runs.
//!
//! Another version is made without building: replace the bytes `VERSION_MARK=1` in the built library by `VERSION_MARK=2`
//! (any one ASCII character) and write them to another file.
#![forbid(unsafe_code)]

use seam_plugin_api::prelude::*;

/// The version that is shown: the last byte.
#[used]
static VERSION_MARK: [u8; 14] = *b"VERSION_MARK=1";

/// Read from the library's data as it was loaded: the compiler must not know it.
fn version() -> char {
    char::from(std::hint::black_box(&VERSION_MARK)[13])
}

/// Its table: nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", deny_unknown_fields)]
#[schemars(crate = "seam_plugin_api::schemars")]
struct Config {}

struct Versioned;

impl Plugin for Versioned {
    type Config = Config;

    fn configure(_: Config, host: Host) -> Result<Self, Vec<ConfigFault>> {
        host.log(Level::Info, &format!("version {}", version()));
        Ok(Self)
    }

    fn registrations(&self) -> Vec<Registration> {
        vec![Registration::new(When::Any, "versioned", |_: &FactoryContext<'_>| Self)]
    }
}

impl StreamObserver for Versioned {
    fn on_chunk(&mut self, chunk: &Chunk<'_>, _: &Context<'_>) -> Verdict {
        match chunk.kind() {
            ChunkKind::ContentDelta => Verdict::amend_text(chunk, format!("{}:{}", version(), chunk.text())),
            _ => Verdict::Continue,
        }
    }
}

seam_plugin_api::export_plugin!(Versioned, "versioned");
