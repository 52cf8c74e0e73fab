//! Writes the copies and the crates that use them below the target folder, and builds them with one call of cargo. What
//! has not changed since the last run is not written and so not built again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::edits::{Copy, careless, copies};
use crate::sources::{HOST, plugin, plugins};

/// What was built.
pub(crate) struct Built {
    libraries: PathBuf,
}

impl Built {
    /// The folder of the libraries.
    pub(crate) fn libraries(&self) -> &Path {
        &self.libraries
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.libraries.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }
}

/// The plugin's library.
pub(crate) fn library(name: &str) -> PathBuf {
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    built().libraries.join(format!("{prefix}{}{suffix}", name.replace('-', "_")))
}

/// Everything, built once in a process.
pub(crate) fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = folder();
        for copy in copies() {
            write_copy(&folder, &copy);
        }
        write_users(&folder);
        let output = cargo(&folder.join("users"), &["build", "--offline", "--quiet"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Built { libraries: folder.join("target/debug") }
    })
}

/// What the compiler says of a copy that was changed without care.
pub(crate) fn build_careless() -> String {
    let folder = folder();
    write_copy(&folder, &careless());
    let copy = folder.join("copies/careless");
    let output = cargo(&copy, &["check", "--offline", "--quiet", "--package", "seam-plugin-api"]);
    assert!(!output.status.success(), "it does not compile");
    let errors = String::from_utf8(output.stderr).expect("cargo writes text");
    errors.lines().filter(|line| line.starts_with("error[")).collect::<Vec<_>>().join("\n")
}

fn cargo(folder: &Path, arguments: &[&str]) -> Output {
    let target = self::folder().join("target");
    let mut cargo = Command::new(env!("CARGO"));
    // What cargo and its tests were told from outside is meant for the workspace, not for these crates.
    cargo.env_remove("CARGO_TARGET_DIR").env_remove("RUSTC_WORKSPACE_WRAPPER").env("CARGO_TERM_COLOR", "never");
    cargo.current_dir(folder).args(arguments).arg("--target-dir").arg(target).output().expect("cargo runs")
}

/// Where all of it lies: beside what cargo builds for the workspace.
fn folder() -> PathBuf {
    let build = e2e::plugins::build_folder().expect("the test knows where it lies");
    build.parent().expect("a build folder lies in the target folder").join("abi-evolution")
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the repository").to_owned()
}

/// A workspace of its own with the changed crate, and the host's crates beside it.
fn write_copy(folder: &Path, copy: &Copy) {
    let (repository, target) = (repository(), folder.join("copies").join(copy.name));
    let manifest = fs::read_to_string(repository.join("Cargo.toml")).unwrap();
    let (before, rest) = manifest.split_once("members = [").expect("the workspace lists its members");
    let (_, after) = rest.split_once(']').expect("the list ends");
    let members = r#"members = ["plugin-api", "runtime/ladder", "runtime/host"]"#;
    write(&target.join("Cargo.toml"), format!("{before}{members}{after}"));
    write_lock(&target);
    for part in ["runtime/ladder", "runtime/host"] {
        copy_folder(&repository.join(part), &target.join(part), &[]);
    }
    copy_folder(&repository.join("plugin-api"), &target.join("plugin-api"), &copy.edits);
}

/// Copies a crate, the files in it changed as the edits say. Each edit must find its text once.
fn copy_folder(from: &Path, to: &Path, edits: &[(&str, &str, String)]) {
    let mut made = 0;
    for file in files(from) {
        let path = file.strip_prefix(from).expect("a file of the folder");
        let mut bytes = fs::read(&file).unwrap();
        for (_, old, new) in edits.iter().filter(|(name, ..)| Path::new(name) == path) {
            let text = String::from_utf8(bytes).unwrap();
            assert_eq!(text.matches(old).count(), 1, "{} has this text once: {old}", path.display());
            bytes = text.replace(old, new).into_bytes();
            made += 1;
        }
        write(&to.join(path), &bytes);
    }
    assert_eq!(made, edits.len(), "every edit of {} has its file", to.display());
}

/// The sources of a crate. Crates below it, snapshots and hidden files are left out.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, mut found): (Vec<_>, Vec<_>) =
        entries.filter(|path| !is_hidden(path)).partition(|path| path.is_dir());
    for inner in folders.iter().filter(|inner| !inner.join("Cargo.toml").exists() && !inner.ends_with("snapshots")) {
        found.extend(files(inner));
    }
    found
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// The plugins and the host, in one workspace beside the copies.
fn write_users(folder: &Path) {
    let users = folder.join("users");
    let mut members = vec!["newer-host".to_owned()];
    for (name, copy, said) in plugins() {
        let api = copy.map_or_else(repository, |copy| folder.join("copies").join(copy)).join("plugin-api");
        let library = "[lib]\ncrate-type = [\"cdylib\"]\n";
        write_user(&users, name, library, &[("seam-plugin-api", api)]);
        write(&users.join(name).join("src/lib.rs"), plugin(name, &said));
        members.push(name.to_owned());
    }
    let newer = folder.join("copies/newer");
    let crates = [("seam-plugin-api", "plugin-api"), ("seam-ladder", "runtime/ladder"), ("seam-host", "runtime/host")];
    write_user(&users, "newer-host", "", &crates.map(|(name, path)| (name, newer.join(path))));
    write(&users.join("newer-host/src/main.rs"), HOST);
    let manifest = format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[profile.dev]\ndebug = false\n");
    write(&users.join("Cargo.toml"), &manifest);
    write_lock(&users);
}

fn write_user(users: &Path, name: &str, library: &str, dependencies: &[(&str, PathBuf)]) {
    let dependency = |(name, path): &(&str, PathBuf)| format!("{name} = {{ path = {path:?} }}\n");
    let dependencies: String = dependencies.iter().map(dependency).collect();
    let package = format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\npublish = false\n");
    write(&users.join(name).join("Cargo.toml"), format!("{package}\n{library}\n[dependencies]\n{dependencies}"));
}

/// The versions that the workspace was built with: they are there, and no other has to be asked for. Cargo adds the crates
/// that only this workspace has, so the file is written anew only when its origin has changed.
fn write_lock(workspace: &Path) {
    let lock = fs::read_to_string(repository().join("Cargo.lock")).unwrap();
    if write(&workspace.join("Cargo.lock.origin"), &lock) || !workspace.join("Cargo.lock").exists() {
        write(&workspace.join("Cargo.lock"), &lock);
    }
}

/// Writes a file unless it says the same already; whether it did not.
fn write(path: &Path, content: impl AsRef<[u8]>) -> bool {
    let content = content.as_ref();
    if fs::read(path).is_ok_and(|present| present == content) {
        return false;
    }
    fs::create_dir_all(path.parent().expect("a file lies in a folder")).unwrap();
    fs::write(path, content).unwrap();
    true
}
