//! Plugins and hosts that were built with other versions of `seam-plugin-api` than this one: what goes together runs, what
//! does not is refused in one line.
//!
//! ```text
//!   plugin-api ─ edits.rs ─► copies of it, each changed in a few lines ─┐
//!   plugin sources ─ sources.rs ────────────────────────────────────────┴─ workspace.rs ─► one cargo build, kept in target
//! ```
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what the tests share says by panicking what must hold, as they do"
)]

mod edits;
mod sources;
mod workspace;

use std::process::Command;
use std::sync::Arc;

use seam_host::{Loader, OnLoadError, PluginSpec, Rejection};
use seam_ladder::{Observer, Policy};
use seam_plugin_api::abi::{Answer, Invocation, ValueSource};
use seam_plugin_api::{CallClass, Chunk, ChunkKind, Context, Progress};
use workspace::{built, library};

fn spec(name: &str) -> PluginSpec {
    PluginSpec {
        name: None,
        path: library(name),
        config: "{}".to_owned(),
        call_classes: None,
        policy: Policy::default(),
        on_load_error: OnLoadError::Refuse,
    }
}

fn invocation() -> Arc<Invocation> {
    Arc::new(Invocation::new(CallClass::Converse))
}

/// What the plugins make of a text here, in the order of the list.
fn amended(names: &[&str]) -> Vec<String> {
    let copies = tempfile::tempdir().unwrap();
    let loader = Loader::new(Some(copies.path().to_owned())).unwrap();
    let specs: Vec<PluginSpec> = names.iter().map(|name| spec(name)).collect();
    let loaded = loader.load(&specs).unwrap_or_else(|rejections| panic!("{}", lines(&rejections)));
    let invocation = invocation();
    let mut rungs = loaded.generation.rungs(&invocation).unwrap();
    let context = Context::new(Progress::default(), ValueSource::of(&*invocation));
    let chunk = Chunk::new(0, 0, ChunkKind::ContentDelta, "text", None);
    let amend = |observer: &mut seam_host::LoadedObserver| match observer.on_chunk(&chunk, &context) {
        Answer::Amend(body) => body.text.to_owned(),
        other => format!("{other:?}"),
    };
    rungs.iter_mut().map(|rung| amend(&mut rung.observer)).collect()
}

/// Why a plugin is refused here, and whether anything of it was mapped for that (as far as the system tells).
fn refused_and_mapped(name: &str) -> (String, Option<bool>) {
    let copies = tempfile::tempdir().unwrap();
    let folder = copies.path().canonicalize().unwrap();
    let loader = Loader::new(Some(folder.clone())).unwrap();
    let line = lines(&loader.load(&[spec(name)]).expect_err("it is refused"));
    let maps = std::fs::read_to_string("/proc/self/maps").ok();
    (line, maps.map(|maps| maps.contains(&*folder.to_string_lossy())))
}

/// Why a plugin is refused here, once its library is mapped.
fn refused(name: &str) -> String {
    let (line, mapped) = refused_and_mapped(name);
    assert_ne!(mapped, Some(false), "its layout can be read in memory alone");
    line
}

fn lines(rejections: &[Rejection]) -> String {
    let lines: Vec<String> = rejections.iter().map(|rejection| rejection.to_string()).collect();
    assert!(lines.iter().all(|line| !line.contains('\n') && line.len() < 400), "one line each: {lines:?}");
    let folder = built().libraries().to_string_lossy().into_owned();
    lines.join("\n").replace(&folder, "FOLDER")
}

/// What a host of `seam-plugin-api` 1.1.0 says of plugins.
fn in_the_newer_host(names: &[&str]) -> String {
    let output =
        Command::new(built().program("newer-host")).args(names.iter().map(|name| library(name))).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_newer_plugin_in_this_host_does_without_what_is_not_here() {
    assert_eq!(amended(&["newer"]), ["newer, greeting None: text"]);
}

#[test]
fn an_older_plugin_in_a_newer_host_runs_and_has_no_later_slot() {
    insta::assert_snapshot!(in_the_newer_host(&["older"]), @r#"older with 1.0.0, farewell None: "older: text""#);
}

#[test]
fn a_newer_plugin_in_a_newer_host_finds_the_service_and_is_found_the_slot_of() {
    insta::assert_snapshot!(in_the_newer_host(&["newer"]), @r#"newer with 1.1.0, farewell Some(11): "newer, greeting Some(8): text""#);
}

/// Each was built with a `seam-plugin-api` that was extended in another direction. The layouts that a process has seen are
/// compared with each other, whichever comes first.
#[test]
fn two_plugins_that_were_extended_differently_do_not_reject_each_other() {
    let expected = ["newer, greeting None: text", "fork, weather None: text"];
    assert_eq!(amended(&["newer", "fork"]), expected);
    assert_eq!(amended(&["fork", "newer"]), [expected[1], expected[0]]);
    insta::assert_snapshot!(in_the_newer_host(&["fork", "older", "newer"]), @r#"
    fork with 1.2.0, farewell None: "fork, weather None: text"
    older with 1.0.0, farewell None: "older: text"
    newer with 1.1.0, farewell Some(11): "newer, greeting Some(8): text"
    "#);
}

#[test]
fn a_chunk_with_a_further_field_is_refused_by_its_name() {
    insta::assert_snapshot!(refused("wide-chunk"), @"plugin wide-chunk (FOLDER/libwide_chunk.so): its layout of the ABI differs from this seamd's: `Chunk<'a>` has `language: u64` where `text: RStr<'a>` belongs; it was built with seam-plugin-api 1.0.0+chunk, this seamd with 1.0.0");
}

#[test]
fn a_reply_with_a_further_field_is_refused_by_its_name() {
    insta::assert_snapshot!(refused("wide-reply"), @"plugin wide-reply (FOLDER/libwide_reply.so): its layout of the ABI differs from this seamd's: `Reply` has `confidence: u64`, which it must not have; it was built with seam-plugin-api 1.0.0+reply, this seamd with 1.0.0");
}

/// `abi_stable` alone would let it in, and then refuse the next one that was grown in another way.
#[test]
fn a_module_with_a_further_entry_is_refused_by_its_name() {
    insta::assert_snapshot!(refused("wide-module"), @"plugin wide-module (FOLDER/libwide_module.so): its layout of the ABI differs from this seamd's: `PluginModule` has `extra: u64`, which it must not have; it was built with seam-plugin-api 1.3.0, this seamd with 1.0.0");
    assert_eq!(amended(&["newer"]), ["newer, greeting None: text"]);
}

#[test]
fn another_abi_is_refused_before_anything_of_it_is_mapped() {
    let (line, mapped) = refused_and_mapped("abi-two");
    assert_ne!(mapped, Some(true));
    insta::assert_snapshot!(line, @"plugin libabi_two.so (FOLDER/libabi_two.so): it speaks ABI 2 (seam-plugin-api 2.0.0), this seamd speaks ABI 1 (seam-plugin-api 1.0.0); build it again with seam-plugin-api 1.x");
}

#[test]
fn another_major_version_of_the_same_layout_is_refused_with_both_versions() {
    insta::assert_snapshot!(refused("zero"), @"plugin zero (FOLDER/libzero.so): it was built with seam-plugin-api 0.9.0, this seamd with seam-plugin-api 1.0.0");
}

/// The constant assertions: whoever lets a type grow is told so by the compiler, before any test.
#[test]
fn a_careless_change_of_a_type_does_not_compile() {
    let careless = workspace::build_careless();
    insta::assert_snapshot!(careless, @"error[E0080]: evaluation panicked: ABI v1 is frozen: Chunk");
}
