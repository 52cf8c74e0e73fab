//! The author's view: what a plugin crate needs, and what the compiler says of one that would not work.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold, as they do")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Where crates of these tests are built: beside what cargo builds for the workspace.
fn target() -> PathBuf {
    e2e::plugins::build_folder().unwrap().parent().unwrap().join("abi-evolution")
}

/// A crate outside of the workspace with a source and `seam-plugin-api` as its only dependency, checked by cargo.
fn check(name: &str, profile: &str, source: &str) -> Output {
    let (repository, folder) = (repository(), target().join("authors").join(name));
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\n[lib]\ncrate-type = [\"cdylib\"]\n\n\
         [dependencies]\nseam-plugin-api = {{ path = {:?} }}\n\n[workspace]\n\n[profile.dev]\ndebug = false\n{profile}",
        repository.join("plugin-api")
    );
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let put = |path: &str, text: &[u8]| {
        let path = folder.join(path);
        if std::fs::read(&path).ok().as_deref() != Some(text) {
            std::fs::write(path, text).unwrap();
        }
    };
    put("Cargo.toml", manifest.as_bytes());
    put("src/lib.rs", source.as_bytes());
    put("Cargo.lock", &std::fs::read(repository.join("Cargo.lock")).unwrap());
    let mut cargo = Command::new(env!("CARGO"));
    cargo.env_remove("CARGO_TARGET_DIR").env_remove("RUSTC_WORKSPACE_WRAPPER").env("CARGO_TERM_COLOR", "never");
    cargo.current_dir(folder).args(["build", "--offline", "--quiet", "--target-dir"]).arg(target().join("target"));
    cargo.output().unwrap()
}

/// The first line of each error that the compiler gives.
fn errors(output: &Output) -> String {
    assert!(!output.status.success(), "it does not compile");
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines()
        .filter(|line| line.starts_with("error") && !line.contains("could not compile"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn minimal() -> String {
    std::fs::read_to_string(repository().join("tests/plugins/minimal/src/lib.rs")).unwrap()
}

#[test]
fn a_plugin_needs_one_dependency_and_no_unsafe_code() {
    let output = check("alone", "", &minimal());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "no warning either: {}", String::from_utf8_lossy(&output.stderr));
    assert!(minimal().contains("#![forbid(unsafe_code)]"));
    let manifest = std::fs::read_to_string(repository().join("tests/plugins/minimal/Cargo.toml")).unwrap();
    let (_, dependencies) = manifest.split_once("[dependencies]\n").unwrap();
    assert_eq!(dependencies.trim(), "seam-plugin-api.workspace = true");
}

#[test]
fn a_plugin_that_aborts_on_panic_does_not_compile() {
    let output = check("aborting", "panic = \"abort\"\n", &minimal());
    insta::assert_snapshot!(errors(&output), @r#"error: a plugin must be built with panic = "unwind": with "abort" a panic in it would end the daemon"#);
}

#[test]
fn a_plugin_with_a_name_that_is_none_does_not_compile() {
    let source = minimal();
    assert!(source.contains("\"replace\");\n"));
    let output = check(
        "misnamed",
        "",
        &source.replace("export_plugin!(Replace, \"replace\")", "export_plugin!(Replace, \"Re place\")"),
    );
    insta::assert_snapshot!(errors(&output), @"error[E0080]: evaluation panicked: a plugin is named by up to 64 of a-z 0-9 _ . -, the first of them a letter or digit");
}

#[test]
fn a_library_exports_one_plugin_once() {
    let output = check("twice", "", &format!("{}\nseam_plugin_api::export_plugin!(Replace, \"again\");\n", minimal()));
    insta::assert_snapshot!(errors(&output), @"error[E0119]: conflicting implementations of trait `Exported` for type `Replace`");
}

/// The example of the documentation, without what only documentation has.
fn example() -> String {
    let documented = std::fs::read_to_string(repository().join("plugin-api/src/lib.rs")).unwrap();
    let lines = documented
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line));
    let code = lines.skip_while(|line| *line != "#![forbid(unsafe_code)]").take_while(|line| *line != "```");
    code.filter(|line| !line.starts_with("# ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_documented_plugin_has_at_most_thirty_lines() {
    let lines = example().lines().count();
    assert!((10..=30).contains(&lines), "{lines} lines");
}

/// Line breaks and the commas in front of them apart.
#[test]
fn the_minimal_plugin_is_the_one_in_the_documentation() {
    let tokens = |source: &str| -> String {
        let code = source.lines().filter(|line| !line.starts_with("//")).collect::<String>();
        code.split_whitespace().collect::<String>().replace(",}", "}")
    };
    assert_eq!(tokens(&minimal()), tokens(&example()));
}
