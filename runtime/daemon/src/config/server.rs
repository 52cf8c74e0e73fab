//! `[server]`: where seamd listens and what it bounds.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::table::{Table, Value, all, shown};
use super::values::{count, duration, path, size, socket_address};

/// Loopback, so that a daemon which nobody configured serves nobody else's machine.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// Next to the default of `listen`, and always loopback: who reaches it can reload plugins, that is run code.
pub const DEFAULT_ADMIN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8081);

/// As long as process supervisors commonly wait between asking a process to end and killing it.
pub const DEFAULT_DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Room for a long conversation with a few images in base64, which are the largest thing in a request.
pub const DEFAULT_MAX_REQUEST: usize = 32 << 20;

/// Twice a request: an answer that is not streamed is held whole, and may repeat what it was asked.
pub const DEFAULT_MAX_RESPONSE: usize = 64 << 20;

/// A frame is one delta of a few hundred bytes, except where a provider sends a whole image or the whole answer as one
/// event. Sixteen mebibytes hold those, and an endless line fails before it hurts.
pub const DEFAULT_MAX_FRAME: usize = 16 << 20;

/// Well under the half minute that load balancers and clients commonly give a silent connection, and seldom enough to
/// cost nothing.
pub const DEFAULT_KEEPALIVE: Duration = Duration::from_secs(15);

/// As long as common web servers wait for a client that reads nothing. Until then its provider's call is held as well.
pub const DEFAULT_SEND_TIMEOUT: Duration = Duration::from_secs(60);

const DRAIN_TIMEOUTS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_hours(1);
const KEEPALIVES: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_hours(1);
const SEND_TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_hours(1);
const WORKERS: RangeInclusive<usize> = 1..=1024;
const BOUNDS: RangeInclusive<usize> = 1 << 10..=1 << 30;

/// Where seamd listens and what it bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Where clients connect. Default: [`DEFAULT_LISTEN`].
    pub listen: SocketAddr,
    /// Where the operator connects. Default: [`DEFAULT_ADMIN`].
    pub admin: AdminAddress,
    /// How long streams may go on after the daemon was asked to end, at most one hour; zero cuts them at once.
    /// Default: [`DEFAULT_DRAIN_TIMEOUT`].
    pub drain_timeout: Duration,
    /// Threads that each serve a share of the connections, 1 to 1024. Default: one per core that this process may use,
    /// because observers are synchronous and keep a core busy.
    pub workers: usize,
    /// The longest request body in bytes, 1 KiB to 1 GiB. Default: [`DEFAULT_MAX_REQUEST`].
    pub max_request: usize,
    /// The longest answer that is not streamed, in bytes, 1 KiB to 1 GiB. Default: [`DEFAULT_MAX_RESPONSE`].
    pub max_response: usize,
    /// The longest frame of a stream in bytes, 1 KiB to 1 GiB. Default: [`DEFAULT_MAX_FRAME`].
    pub max_frame: usize,
    /// How long a stream may be silent before the client is sent what keeps it from giving up, at most one hour; zero
    /// sends nothing. Default: [`DEFAULT_KEEPALIVE`].
    pub keepalive: Duration,
    /// How long a client may take nothing of what waits for it before its connection ends, 1 ms to 1 h.
    /// Default: [`DEFAULT_SEND_TIMEOUT`].
    pub send_timeout: Duration,
    /// Origins of web pages that may ask beside those of this machine. Default: none, because any page that is open in a
    /// browser here could spend the operator's key.
    pub allow_origins: Vec<String>,
    /// Where private copies of plugins are kept. Default: `None`, a fresh private folder in the system's folder for
    /// temporary files, because the copies are of no use to the next process.
    pub state_dir: Option<PathBuf>,
}

/// Where the admin surface is: this machine only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminAddress {
    /// A loopback address and a port.
    Tcp(SocketAddr),
    /// A Unix socket at this path.
    Unix(PathBuf),
}

/// Why a text is no [`AdminAddress`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}, which {reason}; write a loopback address and a port such as \"127.0.0.1:8081\", or \"unix:PATH\"",
    shown(text)
)]
pub struct NotAdminAddress {
    text: String,
    reason: &'static str,
}

impl FromStr for AdminAddress {
    type Err = NotAdminAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = |reason| NotAdminAddress { text: text.to_owned(), reason };
        if let Some(path) = text.strip_prefix("unix:") {
            let usable = !path.is_empty() && !path.contains('\0');
            return if usable { Ok(Self::Unix(path.into())) } else { Err(refuse("names no socket")) };
        }
        let address: SocketAddr = text.parse().map_err(|_| refuse("is not an address"))?;
        let loopback = address.ip().to_canonical().is_loopback();
        if loopback { Ok(Self::Tcp(address)) } else { Err(refuse("other machines can reach")) }
    }
}

impl fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

pub(super) fn read(root: &Table<'_>) -> Option<Server> {
    let table = root.section("server")?;
    let bound = |key, default| table.read(key, |value| size(value, BOUNDS)).unwrap_or(default);
    let server = Server {
        listen: table.read("listen", socket_address).unwrap_or(DEFAULT_LISTEN),
        admin: table.read("admin", admin).unwrap_or(AdminAddress::Tcp(DEFAULT_ADMIN)),
        drain_timeout: table
            .read("drain_timeout", |value| duration(value, DRAIN_TIMEOUTS))
            .unwrap_or(DEFAULT_DRAIN_TIMEOUT),
        workers: table.read("workers", |value| count(value, WORKERS)).unwrap_or_else(cores),
        max_request: bound("max_request", DEFAULT_MAX_REQUEST),
        max_response: bound("max_response", DEFAULT_MAX_RESPONSE),
        max_frame: bound("max_frame", DEFAULT_MAX_FRAME),
        keepalive: table.read("keepalive", |value| duration(value, KEEPALIVES)).unwrap_or(DEFAULT_KEEPALIVE),
        send_timeout: table
            .read("send_timeout", |value| duration(value, SEND_TIMEOUTS))
            .unwrap_or(DEFAULT_SEND_TIMEOUT),
        allow_origins: table.read("allow_origins", origins).unwrap_or_default(),
        state_dir: table.read("state_dir", path),
    };
    differ(&table, &server);
    table.finish();
    Some(server)
}

fn admin(value: &Value<'_>) -> Option<AdminAddress> {
    let text = value.text("an address and a port such as \"127.0.0.1:8081\", or \"unix:PATH\"")?;
    match text.parse() {
        Ok(AdminAddress::Unix(path)) => Some(AdminAddress::Unix(value.resolve(path))),
        Ok(address) => Some(address),
        Err(error) => value.reject(format!("is {error}")),
    }
}

fn origins(value: &Value<'_>) -> Option<Vec<String>> {
    let list = value.list("a list of origins such as \"https://app.example\"")?;
    all(list.iter().map(|origin| {
        let text = origin.text("an origin such as \"https://app.example\"")?;
        let host = text.split_once("://").map(|(_, host)| host);
        if host.is_some_and(|host| !host.is_empty() && !host.contains('/')) {
            return Some(text.to_ascii_lowercase());
        }
        origin.reject(format!(
            "is {}, which is not an origin; write a scheme and a host such as \"https://app.example\"",
            shown(text)
        ))
    }))
}

/// Both surfaces on one address would only fail when the second is bound.
fn differ(table: &Table<'_>, server: &Server) {
    if server.admin != AdminAddress::Tcp(server.listen) || server.listen.port() == 0 {
        return;
    }
    let (value, other) = match (table.get("listen"), table.get("admin")) {
        (Some(_), Some(admin)) => (admin, "listen is"),
        (None, Some(admin)) => (admin, "listen is by default"),
        (Some(listen), None) => (listen, "admin is by default"),
        // The defaults differ.
        (None, None) => return,
    };
    value.reject::<()>(format!("is \"{}\", as {other}; the two must differ", server.listen));
}

fn cores() -> usize {
    let cores = std::thread::available_parallelism().map_or(*WORKERS.start(), usize::from);
    cores.clamp(*WORKERS.start(), *WORKERS.end())
}
