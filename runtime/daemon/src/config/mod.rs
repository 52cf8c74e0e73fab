//! The configuration: from the text of one TOML file to a [`Config`] that cannot be invalid.
//!
//! ```text
//! file --> Source --> spanned tables --> Reader: one Table per header --> sections --> Config
//!          (text)     (toml crate)       (collects every fault)           |
//!                                                                         '--> Report: line, column, caret
//! ```
//!
//! - `source`: the text, its lines and columns, and where a dotted key path stands in it.
//! - `syntax`: what the TOML parser says, reduced to what a person has to mend.
//! - `table`: reads typed values out of spanned tables and collects what is wrong with them.
//! - `values`: the kinds of value that sections share: durations, sizes, choices, paths.
//! - `server`, `log`, `reload`, `provider` (with `base_url` and `headers`), `route`, `plugin`: one file per section,
//!   each with its types, its defaults and the reasons for them.
//! - `report`: every fault of one text, for a person or as JSON.
//!
//! Nothing is validated after this: a section that was read holds only values that the daemon can act on.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::de::DeTable;

pub mod base_url;
pub(crate) mod headers;
pub mod log;
pub mod plugin;
pub mod provider;
pub mod reload;
pub mod report;
pub mod route;
pub mod server;
pub mod source;
mod syntax;
mod table;
mod values;

#[cfg(test)]
mod tests;

pub use base_url::BaseUrl;
pub use log::{Log, LogFilter, LogFormat};
pub use plugin::Plugin;
pub use provider::{ApiKey, Family, HttpVersion, Pace, Provider, Recorded, Remote, Upstream};
pub use reload::Reload;
pub use report::{Fault, Report};
pub use route::{Passthrough, Route};
pub use server::{AdminAddress, Server};
pub use source::Source;

use syntax::Syntax;
use table::{Reader, Table};

/// The whole configuration of a daemon.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The TOML file it was read from, as an absolute path.
    pub file: PathBuf,
    /// `[server]`.
    pub server: Server,
    /// `[log]`.
    pub log: Log,
    /// `[reload]`.
    pub reload: Reload,
    /// `[[provider]]`, in the order of the file; names are unique.
    pub providers: Vec<Arc<Provider>>,
    /// `[[route]]`, in the order of the file; never empty, paths are unique.
    pub routes: Vec<Route>,
    /// `[[passthrough]]`, in the order of the file; paths are unique.
    pub passthroughs: Vec<Passthrough>,
    /// `[[plugin]]`: the order is the order of the ladder; explicit names are unique.
    pub plugins: Vec<Plugin>,
}

impl Config {
    /// The files whose change makes a reload worth while, each once: the TOML itself, plugin files, additional roots
    /// and files that hold an API key.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = BTreeSet::from([self.file.clone()]);
        files.extend(self.plugins.iter().map(|plugin| plugin.path.clone()));
        for provider in &self.providers {
            let Upstream::Remote(remote) = &provider.upstream else { continue };
            files.extend(remote.ca_file.clone());
            if let Some(ApiKey::File(file)) = &remote.api_key {
                files.insert(file.clone());
            }
        }
        files.into_iter().collect()
    }
}

/// A configuration and the text it came from, which is kept so that later faults can be shown at their line.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What the text says.
    pub config: Config,
    /// The text.
    pub source: Source,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {}", path.display())]
    Unreadable {
        /// The file, as it was named.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file was read and is at fault.
    #[error(transparent)]
    Faulty(#[from] Report),
}

/// Reads the configuration in the file at `path`.
///
/// Beside the file itself this looks at the file system for the folders and files that the configuration names and that
/// must exist (`recorded`, `ca_file`). It does not open plugins, resolve host names or read secrets.
///
/// # Errors
///
/// [`LoadError::Unreadable`] when the file cannot be read; [`LoadError::Faulty`] with every fault of the file.
pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    let bytes = read_small(path).map_err(|source| LoadError::Unreadable { path: path.to_owned(), source })?;
    Ok(parse(path, &bytes)?)
}

/// The longest file that is read as configuration or as a key, in bytes: what is longer is something else.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// Reads a regular file of a sane size: a pipe would be waited for, for ever, and with it every later reload.
pub(crate) fn read_small(path: &Path) -> std::io::Result<Vec<u8>> {
    let metadata = std::fs::metadata(path)?;
    let refused = |reason: String| Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, reason));
    if !metadata.is_file() && !metadata.is_dir() {
        return refused("it is not a regular file".to_owned());
    }
    if metadata.len() > LARGEST_FILE {
        return refused(format!("it has {} bytes; at most {LARGEST_FILE} are read", metadata.len()));
    }
    std::fs::read(path)
}

/// Reads the configuration in `bytes`, the content of the file at `path`. Relative paths in it are relative to the
/// folder of `path`.
///
/// # Errors
///
/// A [`Report`] with every fault of the text, which is never empty.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Loaded, Report> {
    let text = match std::str::from_utf8(bytes) {
        // A byte-order mark is no part of the text: columns count from after it.
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => return Err(not_utf8(path, bytes, error.valid_up_to())),
    };
    let source = Source::new(path, text);
    let (document, errors) = DeTable::parse_recoverable(source.text());
    let file = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let syntax = Syntax::new(&source, document.get_ref(), &errors);
    let reader = Reader::new(file.parent().unwrap_or(Path::new("")), &source, syntax);
    let config = read(reader.root(document.get_ref()), &file);
    let (flaws, secrets) = reader.into_flaws();
    let source = source.with_secrets(secrets);
    match config {
        Some(config) if flaws.is_empty() => Ok(Loaded { config, source }),
        _ => Err(Report::new(source, flaws)),
    }
}

/// Walks the whole document, whatever is wrong with parts of it. `None` only after a fault was recorded.
fn read(root: Table<'_>, file: &Path) -> Option<Config> {
    let server = server::read(&root);
    let log = log::read(&root);
    let reload = reload::read(&root);
    let providers = provider::read_all(&root);
    let routes = route::read_all(&root, &providers);
    let passthroughs = route::read_passthroughs(&root, &providers);
    let plugins = plugin::read_all(&root);
    root.finish();
    Some(Config {
        file: file.to_owned(),
        server: server?,
        log: log?,
        reload: reload?,
        providers: providers.into_values()?,
        routes: routes?,
        passthroughs: passthroughs?,
        plugins: plugins?,
    })
}

/// The report on a file that is no text. What is shown of it has its undecodable bytes replaced.
fn not_utf8(path: &Path, bytes: &[u8], valid_up_to: usize) -> Report {
    let shown: Cow<'_, str> = String::from_utf8_lossy(bytes);
    let byte = bytes.get(valid_up_to).copied().unwrap_or_default();
    let span = valid_up_to..valid_up_to + '\u{fffd}'.len_utf8();
    let message = format!("invalid TOML: byte 0x{byte:02x} is not UTF-8, which TOML text must be");
    Report::new(Source::new(path, &shown), vec![table::Flaw::new(span, None, message)])
}
