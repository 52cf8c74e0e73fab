//! What can be told of a file before anything of it is mapped, let alone run. Mapping a cut file ends the process, and
//! so can the constructors of a library that is no plugin; so nothing is mapped that was not looked at here.
//!
//! ```text
//!   path ─ file ─► bytes ─ format ─► this system's kind of library ─ elf │ macho ─► Contents
//!                                                       entry, manifest, ABI, C library ─► Inspection
//! ```

mod elf;
mod file;
mod format;
mod macho;
mod table;

use std::path::{Path, PathBuf};

use abi_stable::library::ROOT_MODULE_LOADER_NAME;
use seam_plugin_api::abi::{ABI_VERSION, API_VERSION, MANIFEST_SYMBOL, Manifest};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

pub use file::LARGEST_FILE;

use crate::library::running_glibc;

/// What a file says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// The file.
    pub path: PathBuf,
    /// The plugin's own name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The ABI that it speaks.
    pub abi: u32,
    /// The version of `seam-plugin-api` that it was built with.
    pub api: String,
    /// The compiler that it was built with.
    pub built_with: String,
    /// The target that it was built for.
    pub built_for: String,
    /// `ELF` or `Mach-O`.
    pub format: &'static str,
    /// The file's size in bytes.
    pub size: u64,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// The libraries that it needs.
    pub needs: Vec<String>,
    /// The newest version of the GNU C library that it needs symbols of.
    pub glibc: Option<String>,
    /// What does not stop it from being loaded, but may later.
    pub warnings: Vec<String>,
}

/// Why a file cannot be a plugin here. Each is one line that reads on after "PLUGIN (FILE): ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Nothing has this path.
    #[error("there is no such file")]
    Missing,
    /// The daemon's user may not read it.
    #[error("the user that seamd runs as may not read it")]
    Forbidden,
    /// Reading failed.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// A directory.
    #[error("it is a directory")]
    Directory,
    /// Nothing in it.
    #[error("it is empty")]
    Empty,
    /// Over [`LARGEST_FILE`].
    #[error("it is too large: {size} bytes, at most {LARGEST_FILE} are read")]
    TooLarge {
        /// Its size in bytes.
        size: u64,
    },
    /// Somebody is writing to it.
    #[error("it changed while it was read; replace it by renaming a finished file onto it")]
    ChangedWhileRead,
    /// Something else.
    #[error("it is {0}, not a shared library")]
    NotALibrary(&'static str),
    /// Cut off: mapping it would end the process.
    #[error("it is cut off: {size} bytes, its headers speak of {expected}; was it still being copied?")]
    Truncated {
        /// Its size in bytes.
        size: u64,
        /// The size that its headers speak of.
        expected: u64,
    },
    /// For another operating system.
    #[error("it was built for {found}, this machine runs {}", std::env::consts::OS)]
    OtherSystem {
        /// The system.
        found: &'static str,
    },
    /// For another processor.
    #[error("it was built for {found}, this machine is {}", std::env::consts::ARCH)]
    OtherArchitecture {
        /// The processor.
        found: String,
    },
    /// Its headers contradict themselves.
    #[error("its headers are broken: {0}")]
    Malformed(String),
    /// Its symbols can't be found.
    #[error("it has no section headers, so its symbols cannot be read; strip it with `strip`, not with `sstrip`")]
    NoSections,
    /// No plugin.
    #[error("it is a library but no plugin: nothing in it was exported with `export_plugin!`")]
    NoEntry,
    /// Somebody else's plugin.
    #[error("it is no plugin of seamd: it has an entry but no `{MANIFEST_SYMBOL}`")]
    NoManifest,
    /// The manifest is not one.
    #[error("its `{MANIFEST_SYMBOL}` cannot be read")]
    BadManifest,
    /// Another ABI.
    #[error(
        "it speaks ABI {abi} (seam-plugin-api {api}), this seamd speaks ABI {ABI_VERSION} (seam-plugin-api \
         {API_VERSION}); build it again with seam-plugin-api {ABI_VERSION}.x"
    )]
    OtherAbi {
        /// The plugin's ABI.
        abi: u32,
        /// The version of `seam-plugin-api` that it was built with.
        api: String,
    },
    /// Built on a newer system.
    #[error(
        "it needs {needed} of {library}, this machine has glibc {running}; build it on a machine with glibc {running} \
         or older"
    )]
    NewerGlibc {
        /// The symbol version.
        needed: String,
        /// The library that has it.
        library: String,
        /// The glibc that runs here.
        running: String,
    },
    /// Built for glibc, and there is none here.
    #[error("it needs {needed} of {library}, and this seamd was not built for glibc")]
    NoGlibc {
        /// The symbol version.
        needed: String,
        /// The library that has it.
        library: String,
    },
}

/// The SHA-256 of a file.
pub(crate) type Digest = [u8; 32];

/// A file that may be loaded, with the very bytes that were looked at.
pub(crate) struct Inspected {
    pub(crate) inspection: Inspection,
    pub(crate) digest: Digest,
    pub(crate) bytes: Vec<u8>,
}

/// What a reader of one format found in a library.
#[derive(Default)]
struct Contents<'data> {
    has_entry: bool,
    manifest: Option<&'data [u8]>,
    needs: Vec<String>,
    /// The newest version of glibc that is needed, and of which library.
    glibc: Option<(GlibcVersion, String)>,
    static_tls: bool,
}

/// A version of the GNU C library: `2.36` is `(2, 36)`.
pub(crate) type GlibcVersion = (u32, u32);

/// Looks at a file without loading it.
///
/// # Errors
/// Why it cannot be a plugin here.
pub fn inspect(path: &Path) -> Result<Inspection, Refusal> {
    inspect_file(path).map(|inspected| inspected.inspection)
}

pub(crate) fn inspect_file(path: &Path) -> Result<Inspected, Refusal> {
    let bytes = file::read(path)?;
    let (format, contents, manifest) = examine(&bytes)?;
    let digest: Digest = Sha256::digest(&bytes).into();
    let inspection = Inspection {
        path: path.to_owned(),
        name: manifest.name,
        version: manifest.version,
        abi: manifest.abi,
        api: manifest.api,
        built_with: manifest.built_with,
        built_for: manifest.built_for,
        format,
        size: bytes.len() as u64,
        sha256: hexadecimal(&digest),
        glibc: contents.glibc.as_ref().map(|((major, minor), _)| format!("{major}.{minor}")),
        warnings: warnings(&contents),
        needs: contents.needs,
    };
    Ok(Inspected { inspection, digest, bytes })
}

/// Everything that is judged by the bytes alone.
fn examine(bytes: &[u8]) -> Result<(&'static str, Contents<'_>, Manifest), Refusal> {
    let (format, contents) = match format::recognise(bytes)? {
        format::Format::Elf => ("ELF", elf::read(bytes)?),
        format::Format::MachO => ("Mach-O", macho::read(bytes)?),
    };
    if !contents.has_entry {
        return Err(Refusal::NoEntry);
    }
    let manifest = Manifest::read(contents.manifest.ok_or(Refusal::NoManifest)?).ok_or(Refusal::BadManifest)?;
    if manifest.abi != ABI_VERSION {
        return Err(Refusal::OtherAbi { abi: manifest.abi, api: manifest.api });
    }
    check_glibc(&contents, running_glibc())?;
    Ok((format, contents, manifest))
}

fn check_glibc(contents: &Contents<'_>, running: Option<GlibcVersion>) -> Result<(), Refusal> {
    let Some(((major, minor), library)) = &contents.glibc else { return Ok(()) };
    let (needed, library) = (format!("GLIBC_{major}.{minor}"), library.clone());
    match running {
        None => Err(Refusal::NoGlibc { needed, library }),
        Some(running) if running < (*major, *minor) => {
            Err(Refusal::NewerGlibc { needed, library, running: format!("{}.{}", running.0, running.1) })
        }
        Some(_) => Ok(()),
    }
}

fn warnings(contents: &Contents<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    if contents.static_tls {
        warnings.push(
            "it uses static thread-local storage, of which a process has little: after some reloads of changed files it \
             will not load; GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384 gives more"
                .to_owned(),
        );
    }
    warnings
}

pub(crate) fn hexadecimal(digest: &Digest) -> String {
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        for nibble in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(u32::from(nibble), 16));
        }
        text
    })
}

/// What is looked for in a library, under the names that its system gives to C symbols.
fn is_entry(symbol: &[u8], prefix: &str) -> bool {
    symbol.strip_prefix(prefix.as_bytes()) == Some(ROOT_MODULE_LOADER_NAME.as_bytes())
}

fn is_manifest(symbol: &[u8], prefix: &str) -> bool {
    symbol.strip_prefix(prefix.as_bytes()) == Some(MANIFEST_SYMBOL.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needing(version: GlibcVersion) -> Contents<'static> {
        Contents { glibc: Some((version, "libc.so.6".to_owned())), ..Contents::default() }
    }

    #[test]
    fn an_older_or_equal_glibc_is_no_obstacle() {
        assert_eq!(check_glibc(&needing((2, 36)), Some((2, 36))), Ok(()));
        assert_eq!(check_glibc(&needing((2, 4)), Some((2, 36))), Ok(()));
        assert_eq!(check_glibc(&Contents::default(), None), Ok(()));
    }

    #[test]
    fn a_newer_glibc_is_named_with_the_running_one() {
        let refusal = check_glibc(&needing((2, 39)), Some((2, 36))).unwrap_err();
        insta::assert_snapshot!(
            refusal,
            @"it needs GLIBC_2.39 of libc.so.6, this machine has glibc 2.36; build it on a machine with glibc 2.36 or older"
        );
    }

    #[test]
    fn without_glibc_nothing_that_needs_it_loads() {
        let refusal = check_glibc(&needing((2, 17)), None).unwrap_err();
        insta::assert_snapshot!(
            refusal,
            @"it needs GLIBC_2.17 of libc.so.6, and this seamd was not built for glibc"
        );
    }

    /// Headers that contradict themselves are answered, never a panic. The C library that this test runs with is read as
    /// far as any library, to where it turns out to be no plugin.
    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
    fn broken_headers_are_answered() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let paths = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
        let mut bytes = std::fs::read(paths.into_iter().find(|path| path.contains("/libc.")).unwrap()).unwrap();
        assert_eq!(examine(&bytes).map(drop), Err(Refusal::NoEntry));
        let sections = usize::try_from(u64::from_ne_bytes(bytes[40..48].try_into().unwrap())).unwrap();
        let places: Vec<usize> = (0..0x300).step_by(3).chain((sections..bytes.len()).step_by(23)).collect();
        for at in places {
            let good = bytes[at];
            for broken in [0, 0xff, good ^ 0x81] {
                bytes[at] = broken;
                if let Err(refusal) = examine(&bytes) {
                    assert!(!refusal.to_string().contains('\n'), "{at}: {refusal}");
                }
            }
            bytes[at] = good;
        }
    }

    #[test]
    fn a_digest_is_written_in_hexadecimal() {
        assert!(hexadecimal(&Sha256::digest(b"").into()).starts_with("e3b0c44298fc1c149afbf4c8996fb924"));
    }
}
