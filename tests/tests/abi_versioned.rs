//! The fixture of the reload tests: one library that is many versions.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold, as they do")]

use std::path::Path;

use seam_host::{Loader, OnLoadError, PluginSpec};
use seam_ladder::{Observer, Policy};
use seam_plugin_api::abi::{Answer, Invocation, ValueSource};
use seam_plugin_api::{CallClass, Chunk, ChunkKind, Context, Progress};

/// The built library with another version.
fn version(library: &[u8], version: u8) -> Vec<u8> {
    let mark = b"VERSION_MARK=";
    let at = library.windows(mark.len()).position(|window| window == mark).unwrap() + mark.len();
    let mut bytes = library.to_vec();
    bytes[at] = version;
    bytes
}

fn spec(name: &str, path: &Path) -> PluginSpec {
    PluginSpec {
        name: Some(name.to_owned()),
        path: path.to_owned(),
        config: "{}".to_owned(),
        call_classes: None,
        policy: Policy::default(),
        on_load_error: OnLoadError::Refuse,
    }
}

/// Both at once, and each answers for itself.
#[test]
fn another_version_of_a_library_is_another_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let library = std::fs::read(e2e::plugins::plugin("versioned").unwrap()).unwrap();
    let paths = [b'1', b'2'].map(|mark| {
        let path = folder.path().join(format!("{}.so", char::from(mark)));
        std::fs::write(&path, version(&library, mark)).unwrap();
        path
    });
    let loader = Loader::new(Some(folder.path().join("copies"))).unwrap();
    let loaded = loader.load(&[spec("one", &paths[0]), spec("two", &paths[1])]).unwrap();
    let invocation = std::sync::Arc::new(Invocation::new(CallClass::Converse));
    let context = Context::new(Progress::default(), ValueSource::of(&*invocation));
    let mut rungs = loaded.generation.rungs(&invocation).unwrap();
    let texts = rungs.iter_mut().map(|rung| {
        match rung.observer.on_chunk(&Chunk::new(0, 0, ChunkKind::ContentDelta, "text", None), &context) {
            Answer::Amend(body) => body.text.to_owned(),
            other => format!("{other:?}"),
        }
    });
    assert_eq!(texts.collect::<Vec<_>>(), ["1:text", "2:text"]);
}
