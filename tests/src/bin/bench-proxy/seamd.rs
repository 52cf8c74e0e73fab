//! The daemon as it is measured: five observers from four plugins, in front of the scripted provider.

use e2e::daemon::{Daemon, Setup};
use e2e::plugins::plugin;
use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Library, name in the ladder, and the plugin's own table. One pattern more than there are plugins makes five
/// observers; none of the patterns is in the load's text, and all of them look at each chunk of it.
const LADDER: [(&str, &str, &str); 5] = [
    ("redaction", "redaction", "kinds = [\"email\"]"),
    ("halt_on_pattern", "halt-on-refusal", ""),
    ("halt_on_pattern", "halt-on-secret", "pattern = '(?i)\\b(?:secret|password)\\b'"),
    ("dialect_normalization", "dialect-normalization", ""),
    ("stream_metrics", "stream-metrics", ""),
];

/// Starts `seamd` with five observers in front of `source`.
pub(crate) fn start(source: SocketAddr) -> io::Result<Daemon> {
    start_with(source, &LADDER)
}

/// Starts `seamd` with each of the four plugins once.
pub(crate) fn start_with_four_plugins(source: SocketAddr) -> io::Result<Daemon> {
    let mut ladder = LADDER.to_vec();
    ladder.dedup_by_key(|(library, _, _)| *library);
    start_with(source, &ladder)
}

fn start_with(source: SocketAddr, ladder: &[(&str, &str, &str)]) -> io::Result<Daemon> {
    Setup::new(&configuration(source, ladder)?)?.grace(Duration::from_secs(5)).start()
}

fn configuration(source: SocketAddr, ladder: &[(&str, &str, &str)]) -> io::Result<String> {
    let mut toml = format!(
        r#"[server]
listen = "127.0.0.1:0"
admin = "127.0.0.1:0"
drain_timeout = "1s"

[[provider]]
name = "source"
family = "openai"
base_url = "http://{source}"

[[route]]
path = "/v1/chat/completions"
provider = "source"
call_class = "converse"
"#
    );
    for (library, name, table) in ladder {
        let path = plugin(library)?;
        // Writing to a string does not fail.
        let _ =
            write!(toml, "\n[[plugin]]\npath = '{}'\nname = \"{name}\"\n[plugin.config]\n{table}\n", path.display(),);
    }
    Ok(toml)
}
