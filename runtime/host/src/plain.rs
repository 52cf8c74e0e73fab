//! What a system's loader and `abi_stable` say, in one plain line.

use std::path::Path;

use abi_stable::library::{AbiHeader, LibraryError, RootModuleError};

/// Longer lines are cut: a layout error can name types over pages.
const LONGEST: usize = 400;

/// What the system's loader says about a library whose copy it was given. It names what it did not find, but not always
/// who needs it, and the copy's path tells an operator nothing.
pub(crate) fn plain_open_error(error: &str, copy: &Path, needs: &[String]) -> String {
    let copy = copy.to_string_lossy();
    let said = error.split_once(&format!("{copy}: ")).map_or(error, |(_, rest)| rest);
    if let Some(needed) = missing_library(said, needs) {
        return format!("it needs {needed}, which is not installed here");
    }
    if let Some((_, symbol)) = said.split_once("undefined symbol: ") {
        let (name, version) = symbol.trim().split_once(", version ").unwrap_or((symbol.trim(), ""));
        let version = if version.is_empty() { String::new() } else { format!(" of {version}") };
        return format!("it needs the symbol `{name}`{version}, which no library here has");
    }
    if let Some((library, version)) = missing_version(said) {
        return format!("it needs {version} of {library}, which is older here");
    }
    if said.contains("static TLS block") {
        return "no room is left for its static thread-local storage; start seamd with \
                GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384"
            .to_owned();
    }
    if said.contains("failed to map segment") {
        return format!("its copy cannot be mapped from {copy}: is that file system mounted with `noexec`?");
    }
    one_line(said)
}

/// The needed library that was not found: glibc names it first, macOS after "Library not loaded:".
fn missing_library<'a>(said: &'a str, needs: &'a [String]) -> Option<&'a str> {
    if let Some((_, rest)) = said.split_once("Library not loaded: ") {
        return rest.split_whitespace().next();
    }
    let rest = said.strip_prefix("Error loading shared library ").unwrap_or(said);
    let (name, _) = rest.split_once(": ")?;
    (rest.contains("No such file") || rest.contains("cannot open shared object file"))
        .then(|| needs.iter().map(String::as_str).find(|need| *need == name).unwrap_or(name))
}

/// glibc: "/lib/libc.so.6: version `GLIBC_2.99' not found (required by …)".
fn missing_version(said: &str) -> Option<(&str, &str)> {
    let (library, rest) = said.split_once(": version `")?;
    let (version, rest) = rest.split_once('\'')?;
    rest.contains("not found").then_some((library, version))
}

/// What `abi_stable` says about a library's header and layout.
pub(crate) fn plain_check_error(error: &LibraryError) -> String {
    match error {
        LibraryError::InvalidAbiHeader(found) if found.magic_string != AbiHeader::VALUE.magic_string => {
            "its entry is not one of abi_stable".to_owned()
        }
        LibraryError::InvalidAbiHeader(found) => format!(
            "it was built with abi_stable {}.{}, this seamd with abi_stable {}.{}",
            found.abi_major,
            found.abi_minor,
            AbiHeader::VALUE.abi_major,
            AbiHeader::VALUE.abi_minor
        ),
        LibraryError::IncompatibleVersionNumber { expected_version, actual_version, .. } => format!(
            "it was built with seam-plugin-api {actual_version}, this seamd with seam-plugin-api {expected_version}"
        ),
        LibraryError::InvalidCAbi { .. } => {
            "its compiler calls C functions in another way than this seamd's".to_owned()
        }
        LibraryError::AbiInstability(report) => {
            format!("its layout of the ABI differs from this seamd's: {}", last_error(&report.to_string()))
        }
        LibraryError::RootModule { err: RootModuleError::Unwound, .. } => "its entry panicked".to_owned(),
        LibraryError::RootModule { err, .. } => format!("its entry failed: {}", one_line(&err.to_string())),
        LibraryError::Many(errors) => match errors.first() {
            Some(first) => plain_check_error(first),
            None => "it did not pass the check of its layout".to_owned(),
        },
        other => one_line(&other.to_string()),
    }
}

/// The part of a layout report that names the type and what differs: what follows the last `Error:`.
fn last_error(report: &str) -> String {
    let end = report.rsplit("Error:").next().unwrap_or(report);
    one_line(end)
}

/// A text as one line of at most [`LONGEST`] characters.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{} …", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi_stable::sabi_types::VersionNumber;

    fn plain(error: &str) -> String {
        plain_open_error(error, Path::new("/private/0a1b.so"), &["libfoo.so.1".to_owned()])
    }

    #[test]
    fn what_loaders_say_becomes_one_line_about_the_plugin() {
        let said = [
            "libfoo.so.1: cannot open shared object file: No such file or directory",
            "Error loading shared library libfoo.so.1: No such file or directory (needed by /private/0a1b.so)",
            "dlopen(/private/0a1b.so, 2): Library not loaded: @rpath/libfoo.dylib\n  Referenced from: /private/0a1b.so",
            "/private/0a1b.so: undefined symbol: frobnicate",
            "/lib/x86_64-linux-gnu/libm.so.6: version `GLIBC_2.99' not found (required by /private/0a1b.so)",
            "/private/0a1b.so: cannot allocate memory in static TLS block",
            "/private/0a1b.so: failed to map segment from shared object",
            "/private/0a1b.so: something\n  else",
        ];
        insta::assert_snapshot!(said.map(plain).join("\n"));
    }

    #[test]
    fn versions_that_differ_are_both_named() {
        let (ours, theirs) =
            (VersionNumber { major: 1, minor: 0, patch: 0 }, VersionNumber { major: 2, minor: 1, patch: 0 });
        let error = LibraryError::IncompatibleVersionNumber {
            library_name: "seam_plugin",
            expected_version: ours,
            actual_version: theirs,
        };
        insta::assert_snapshot!(
            plain_check_error(&error),
            @"it was built with seam-plugin-api 2.1.0, this seamd with seam-plugin-api 1.0.0"
        );
        let mut older = AbiHeader::VALUE;
        older.abi_minor = 10;
        insta::assert_snapshot!(
            plain_check_error(&LibraryError::InvalidAbiHeader(older)),
            @"it was built with abi_stable 0.10, this seamd with abi_stable 0.11"
        );
        let mut other = AbiHeader::VALUE;
        other.magic_string = [0; 32];
        insta::assert_snapshot!(
            plain_check_error(&LibraryError::InvalidAbiHeader(other)),
            @"its entry is not one of abi_stable"
        );
    }

    #[test]
    fn a_long_report_is_cut_to_its_last_error() {
        let report = format!("\n0 error(s)\nError:{}\nError:too many fields\n  Expected:\n    3", "x".repeat(9000));
        assert_eq!(last_error(&report), "too many fields Expected: 3");
        assert_eq!(one_line(&"é ".repeat(9000)).chars().count(), LONGEST + 2);
    }
}
