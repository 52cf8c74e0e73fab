//! Mapping a library that was inspected: the one place with `unsafe` outside of the ABI.
//!
//! A library is mapped once per digest, from a copy that nobody else writes to, and never unmapped: what it started may
//! still run, and the layout checker keeps references into it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use abi_stable::library::{AbiHeaderRef, ROOT_MODULE_LOADER_NAME_WITH_NUL};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use parking_lot::Mutex;
use seam_plugin_api::abi::{Description, PluginLibrary};

use crate::copies::Copies;
use crate::inspect::{Digest, GlibcVersion, Inspected};
use crate::plain::{plain_check_error, plain_open_error};
use crate::reason::Reason;

/// A library that was mapped and checked. It stays mapped as long as the process.
pub(crate) struct MappedLibrary {
    pub(crate) entries: PluginLibrary,
    pub(crate) description: Description,
    /// The copy that it was mapped from.
    copy: PathBuf,
    /// The address of its header.
    header: usize,
}

/// Every library that this process has mapped, by digest.
static MAPPED: Mutex<Option<HashMap<Digest, Arc<MappedLibrary>>>> = Mutex::new(None);

/// Held while a library is mapped, so that two loads of the same bytes map them once. Not the lock of the table: whoever
/// only looks must not wait for a constructor that takes its time.
static MAPPING: Mutex<()> = Mutex::new(());

/// A mapped library, and whether it was mapped before.
pub(crate) struct Found {
    pub(crate) library: Arc<MappedLibrary>,
    pub(crate) was_mapped: bool,
}

/// The library with these bytes, mapped unless it is already.
pub(crate) fn find_or_map(inspected: &Inspected, copies: &Copies) -> Result<Found, Reason> {
    let _one_at_a_time = MAPPING.lock();
    if let Some(library) = MAPPED.lock().get_or_insert_default().get(&inspected.digest) {
        return Ok(Found { library: Arc::clone(library), was_mapped: true });
    }
    let copy = copies
        .write(&inspected.digest, &inspected.bytes)
        .map_err(|error| Reason::Copy { folder: copies.folder().to_owned(), error: error.to_string() })?;
    let library = map(&copy, &inspected.inspection.needs).inspect_err(|_| copies.discard(&copy))?;
    let library = Arc::new(library);
    MAPPED.lock().get_or_insert_default().insert(inspected.digest, Arc::clone(&library));
    Ok(Found { library, was_mapped: false })
}

fn map(copy: &Path, needs: &[String]) -> Result<MappedLibrary, Reason> {
    let header = open(copy).map_err(|error| {
        // The outer error says which function failed, the one in it what the loader said.
        let said = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        tracing::debug!(target: "seam_host", copy = %copy.display(), said, "the system's loader refused a library");
        Reason::Open(plain_open_error(&said, copy, needs))
    })?;
    let address = std::ptr::from_ref(&*header) as usize;
    if MAPPED.lock().iter().flat_map(HashMap::values).any(|other| other.header == address) {
        return Err(Reason::Open(
            "the system's loader answered with another library that is mapped already".to_owned(),
        ));
    }
    let entries = header.upgrade().and_then(PluginLibrary::check).map_err(|error| {
        tracing::debug!(target: "seam_host", copy = %copy.display(), %error, "a library did not pass the check of its layout");
        Reason::Check(plain_check_error(&error))
    })?;
    entries.speaks_our_abi().map_err(Reason::OtherAbi)?;
    let description = entries.describe().map_err(Reason::Describe)?;
    Ok(MappedLibrary { entries, description, copy: copy.to_owned(), header: address })
}

/// Opens a library for good and finds its header.
#[expect(unsafe_code, reason = "mapping a library runs it; there is no safe way to do that")]
fn open(copy: &Path) -> Result<AbiHeaderRef, libloading::Error> {
    // SAFETY: the library's constructors run here. That they may is the operator's decision, who names the file; what can
    // be seen from outside was inspected: it is whole, for this machine, and exports a plugin's entry and manifest.
    // `RTLD_NOW` leaves no symbol to be missed later. The path is absolute, so that nothing else is searched for.
    let library = unsafe { Library::open(Some(copy), RTLD_NOW | RTLD_LOCAL) }?;
    // SAFETY: under this name `abi_stable` exports a `LibHeader`, which begins with the header that an `AbiHeaderRef`
    // points to and that is checked, by its magic text first, before anything else of it is used.
    let header = unsafe { library.get::<AbiHeaderRef>(ROOT_MODULE_LOADER_NAME_WITH_NUL) }.map(|symbol| *symbol);
    // Never unmapped, found or not: a constructor may have left a thread or a callback behind.
    let _ = library.into_raw();
    header
}

/// The GNU C library that runs here, or `None` where this program was built for another one.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "the version is known by a C function alone")]
pub(crate) fn running_glibc() -> Option<GlibcVersion> {
    // SAFETY: the function takes nothing and answers with a text that is constant and ends with a zero.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    let mut parts = version.to_str().ok()?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The GNU C library that runs here: this program was built for another one.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn running_glibc() -> Option<GlibcVersion> {
    None
}

/// What the plugins' libraries take of the process. A library stays mapped when no generation uses it any more, so this
/// grows with each changed file that was ever loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct MappedMemory {
    /// How many libraries are mapped.
    pub libraries: usize,
    /// Bytes of address space, and how many of them lie in memory; `None` where the system does not say (all but Linux).
    pub bytes: Option<MappedBytes>,
}

/// Bytes that are mapped from files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct MappedBytes {
    /// Of address space.
    pub mapped: u64,
    /// In memory; most of them shared with the page cache.
    pub resident: u64,
}

impl MappedMemory {
    /// Measures. Takes some milliseconds: the system walks through every page.
    #[must_use]
    pub fn now() -> Self {
        let copies: Vec<PathBuf> =
            MAPPED.lock().iter().flat_map(HashMap::values).map(|library| library.copy.clone()).collect();
        let bytes = std::fs::read_to_string("/proc/self/smaps").ok().map(|maps| sum(&maps, &copies));
        Self { libraries: copies.len(), bytes }
    }
}

/// Sums what `smaps` says of these files.
fn sum(maps: &str, files: &[PathBuf]) -> MappedBytes {
    let (mut total, mut ours) = (MappedBytes::default(), false);
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        if first.ends_with(':') {
            let kilobytes = || words.next().and_then(|number| number.parse::<u64>().ok()).unwrap_or_default();
            match first {
                "Size:" if ours => total.mapped += 1024 * { kilobytes }(),
                "Rss:" if ours => total.resident += 1024 * { kilobytes }(),
                _ => {}
            }
        } else {
            let path = line.find('/').map(|at| &line[at..]).unwrap_or_default();
            let path = path.strip_suffix(" (deleted)").unwrap_or(path);
            ours = files.iter().any(|file| file == Path::new(path));
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_env = "gnu")]
    fn the_running_glibc_is_a_version() {
        assert!(running_glibc().unwrap() >= (2, 17), "older than the oldest one that Rust supports");
    }

    #[test]
    fn only_mappings_of_the_plugins_files_count() {
        let maps = "\
7f00-7f01 r-xp 00000000 08:01 42   /tmp/plugins/ab.so
Size:                 64 kB
Rss:                  60 kB
7f01-7f02 rw-p 00000000 00:00 0
Size:               1000 kB
Rss:                1000 kB
7f02-7f03 r--p 00000000 08:01 43   /tmp/plugins/cd ef.so (deleted)
Size:                  8 kB
Rss:                   4 kB
7f03-7f04 r-xp 00000000 08:01 44   /usr/lib/libc.so.6
Size:               2000 kB
Rss:                2000 kB
VmFlags: rd ex mr
";
        let files = ["/tmp/plugins/ab.so".into(), "/tmp/plugins/cd ef.so".into()];
        assert_eq!(sum(maps, &files), MappedBytes { mapped: 72 * 1024, resident: 64 * 1024 });
    }
}
