//! `[[provider]]`: who answers, and how it is reached.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderName};
use seam_wire::Protocol;

use super::base_url::{self, BaseUrl};
use super::headers;
use super::table::{Table, Value, all, shown};
use super::values::{Unique, choice, count, duration, name, path, words};

/// A provider's front door is near: several times a slow handshake, and short enough to be told apart from a slow
/// model.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Models that reason before they speak are silent for a minute or more.
pub const DEFAULT_FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(120);

/// Between two frames of one answer; providers send keep-alive comments far more often.
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Enough that a busy worker seldom opens a connection, few enough that all workers together stay under a usual limit
/// of open files.
pub const DEFAULT_POOL_IDLE: usize = 64;

const TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_hours(1);
const POOL_IDLE: RangeInclusive<usize> = 0..=65536;
const PACES: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_mins(1);

const FAMILIES: [(&str, Family); 4] = [
    ("openai", Family::OpenAi),
    ("azure", Family::Azure),
    ("anthropic", Family::Anthropic),
    ("gemini", Family::Gemini),
];
const VERSIONS: [(&str, HttpVersion); 3] =
    [("auto", HttpVersion::Auto), ("1.1", HttpVersion::Http1), ("2", HttpVersion::Http2)];

/// Who answers, and how it is reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// What routes, logs and metrics call it: `[a-z0-9][a-z0-9_.-]{0,63}`, unique.
    pub name: String,
    /// Which wires it speaks.
    pub family: Family,
    /// Where its answers come from.
    pub upstream: Upstream,
}

/// A family of providers: which wires they speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// The wires of OpenAI, and of its many imitators.
    OpenAi,
    /// The wires of OpenAI at Azure: the key goes into another header.
    Azure,
    /// The wire of Anthropic.
    Anthropic,
    /// The wire of Gemini.
    Gemini,
}

impl Family {
    /// The family's name in the configuration and in logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Azure => "azure",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// Whether providers of the family speak the protocol.
    #[must_use]
    pub const fn speaks(self, protocol: Protocol) -> bool {
        match protocol {
            Protocol::OpenAiChat | Protocol::OpenAiCompletions | Protocol::OpenAiResponses => {
                matches!(self, Self::OpenAi | Self::Azure)
            }
            Protocol::AnthropicMessages => matches!(self, Self::Anthropic),
            Protocol::Gemini => matches!(self, Self::Gemini),
        }
    }

    /// The header that carries the key.
    #[must_use]
    pub const fn key_header(self) -> HeaderName {
        match self {
            Self::OpenAi => AUTHORIZATION,
            Self::Azure => HeaderName::from_static("api-key"),
            Self::Anthropic => HeaderName::from_static("x-api-key"),
            Self::Gemini => HeaderName::from_static("x-goog-api-key"),
        }
    }
}

/// Where a provider's answers come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Upstream {
    /// From a server.
    Remote(Box<Remote>),
    /// From files on this machine.
    Recorded(Recorded),
}

/// A server that speaks the provider's wires.
#[derive(Clone, Debug, PartialEq)]
pub struct Remote {
    /// What paths are appended to.
    pub base_url: BaseUrl,
    /// The key to send. Default: `None`, the client's own credentials are passed on.
    pub api_key: Option<ApiKey>,
    /// How long connecting may take, TLS included; 1 ms to 1 h. Default: [`DEFAULT_CONNECT_TIMEOUT`].
    pub connect_timeout: Duration,
    /// How long the first byte of the answer may take after the request was sent; 1 ms to 1 h.
    /// Default: [`DEFAULT_FIRST_BYTE_TIMEOUT`].
    pub first_byte_timeout: Duration,
    /// How long the answer may fall silent once it began; 1 ms to 1 h. Default: [`DEFAULT_IDLE_TIMEOUT`].
    pub idle_timeout: Duration,
    /// The most idle connections that each worker keeps, 0 to 65536. Default: [`DEFAULT_POOL_IDLE`].
    pub pool_idle: usize,
    /// The version of HTTP. Default: [`HttpVersion::Auto`], because every server takes what it then gets.
    pub http: HttpVersion,
    /// A PEM file with roots to trust beside the system's; only with an `https` URL, and the file existed when this was
    /// read. Default: `None`.
    pub ca_file: Option<PathBuf>,
    /// Headers to add to each request; each value is marked sensitive. None of them is one that frames the message.
    /// With `api_key` given, none of them is one that carries a key. Default: none.
    pub headers: HeaderMap,
}

/// Where the API key comes from. Never the key itself: the configuration may be logged and is kept under version
/// control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiKey {
    /// From this environment variable.
    Env(String),
    /// From this file.
    File(PathBuf),
    /// From the standard output of this command.
    Command {
        /// The program: a path, or a name to look up in `PATH`.
        program: PathBuf,
        /// What it is given, as it stands: no shell sees it, and a relative path in it is relative to the working folder.
        arguments: Vec<String>,
    },
}

/// Which version of HTTP is spoken to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// What the two agree on over TLS (ALPN), 1.1 in the clear.
    Auto,
    /// 1.1 alone.
    Http1,
    /// 2 alone; in the clear with prior knowledge.
    Http2,
}

/// Streams that were recorded before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The folder of `NAME.sse`; it existed when this was read. The model that a request names picks the stream.
    pub folder: PathBuf,
    /// Default: [`Pace::Recorded`], because a client then sees what it would have seen.
    pub pace: Pace,
}

/// How fast recorded frames are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As they were recorded.
    Recorded,
    /// As fast as they are taken.
    Max,
    /// With this long between any two, 1 µs to 1 min.
    Every(Duration),
}

/// The providers that were read, and every name that the text gives to one: routes may name a provider that is at
/// fault.
pub(super) struct Providers {
    names: Vec<String>,
    values: Vec<Option<Arc<Provider>>>,
}

impl Providers {
    /// Every provider, if none is at fault.
    pub(super) fn into_values(self) -> Option<Vec<Arc<Provider>>> {
        self.values.into_iter().collect()
    }

    /// The names in the order of the text, each once.
    pub(super) fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    /// The provider of this name, if it is not at fault.
    pub(super) fn get(&self, name: &str) -> Option<Arc<Provider>> {
        self.values.iter().flatten().find(|provider| provider.name == name).cloned()
    }
}

pub(super) fn read_all(root: &Table<'_>) -> Providers {
    let mut unique = Unique::default();
    let mut providers = Providers { names: Vec::new(), values: Vec::new() };
    for table in root.sections("provider") {
        let provider = table.and_then(|table| {
            let name = table.require("name", |value| {
                let name = name(value)?;
                unique.claim(value, &name, "names of providers");
                Some(name)
            });
            providers.names.extend(name.clone().filter(|name| !providers.names.contains(name)));
            read(table, name)
        });
        providers.values.push(provider.map(Arc::new));
    }
    providers
}

fn read(table: Table<'_>, name: Option<String>) -> Option<Provider> {
    keep_secrets(&table);
    let family = table.require("family", |value| choice(value, &FAMILIES));
    let upstream = match (table.get("base_url"), table.get("recorded")) {
        (Some(_), None) => remote(&table).map(|remote| Upstream::Remote(Box::new(remote))),
        (None, Some(_)) => recorded(&table).map(Upstream::Recorded),
        (Some(url), Some(folder)) => folder.reject_key_beside(
            "stands beside base_url; a provider has one or the other",
            url.key_span(),
            "the other is here",
        ),
        (None, None) => table.lacks("missing key \"base_url\" or \"recorded\" in [[provider]]".to_owned()),
    };
    for key in REMOTE_KEYS.into_iter().chain(RECORDED_KEYS) {
        // Known in either case, so that one in the wrong place is not called unknown.
        table.get(key);
    }
    table.finish();
    Some(Provider { name: name?, family: family?, upstream: upstream? })
}

/// The keys of one kind of upstream, which do nothing for the other.
const REMOTE_KEYS: [&str; 8] =
    ["api_key", "connect_timeout", "first_byte_timeout", "idle_timeout", "pool_idle", "http", "ca_file", "headers"];
const RECORDED_KEYS: [&str; 1] = ["pace"];

/// Keys and header values stay out of every report, whatever else is wrong on their line.
fn keep_secrets(table: &Table<'_>) {
    table.get("api_key").filter(|key| !key.is_table()).iter().for_each(Value::keep_secret);
    let Some(headers) = table.get("headers") else { return };
    match headers.is_table().then(|| headers.table()).flatten() {
        Some(headers) => headers.entries().iter().for_each(|(_, value)| value.keep_secret()),
        None => headers.keep_secret(),
    }
}

fn refuse(table: &Table<'_>, keys: &[&'static str], why: &str) {
    for value in keys.iter().filter_map(|key| table.get(key)) {
        value.reject_key::<()>(why);
    }
}

fn remote(table: &Table<'_>) -> Option<Remote> {
    refuse(table, &RECORDED_KEYS, "is for recorded providers and does nothing beside base_url");
    let timeout = |key, default| table.read(key, |value| duration(value, TIMEOUTS)).unwrap_or(default);
    let base_url = table.read("base_url", base_url::read);
    let remote = Remote {
        api_key: table.read("api_key", api_key),
        connect_timeout: timeout("connect_timeout", DEFAULT_CONNECT_TIMEOUT),
        first_byte_timeout: timeout("first_byte_timeout", DEFAULT_FIRST_BYTE_TIMEOUT),
        idle_timeout: timeout("idle_timeout", DEFAULT_IDLE_TIMEOUT),
        pool_idle: table.read("pool_idle", |value| count(value, POOL_IDLE)).unwrap_or(DEFAULT_POOL_IDLE),
        http: table.read("http", |value| choice(value, &VERSIONS)).unwrap_or(HttpVersion::Auto),
        ca_file: table.read("ca_file", |value| ca_file(value, base_url.as_ref())),
        headers: table.read("headers", |value| headers::read(value, table.get("api_key").as_ref())).unwrap_or_default(),
        base_url: base_url?,
    };
    Some(remote)
}

fn recorded(table: &Table<'_>) -> Option<Recorded> {
    refuse(table, &REMOTE_KEYS, "is for providers with base_url and does nothing beside recorded");
    let pace = table.read("pace", pace).unwrap_or(Pace::Recorded);
    let folder = table.read("recorded", |value| {
        let folder = path(value)?;
        if folder.is_dir() {
            return Some(folder);
        }
        value.reject(format!("is {}, which is not a folder", shown(&folder.display().to_string())))
    });
    Some(Recorded { folder: folder?, pace })
}

fn pace(value: &Value<'_>) -> Option<Pace> {
    match value.text("\"recorded\", \"max\" or a duration such as \"20ms\"")? {
        "recorded" => Some(Pace::Recorded),
        "max" => Some(Pace::Max),
        text if text.starts_with(|first: char| first.is_ascii_digit()) => duration(value, PACES).map(Pace::Every),
        text => {
            value.reject(format!("is {}; it must be \"recorded\", \"max\" or a duration such as \"20ms\"", shown(text)))
        }
    }
}

fn ca_file(value: &Value<'_>, base_url: Option<&BaseUrl>) -> Option<PathBuf> {
    let file = path(value)?;
    if base_url.is_some_and(|url| !url.is_tls()) {
        return value.reject_key("is for https and does nothing beside an http base_url");
    }
    if file.is_file() {
        return Some(file);
    }
    value.reject(format!("is {}, which is not a file", shown(&file.display().to_string())))
}

fn api_key(value: &Value<'_>) -> Option<ApiKey> {
    const FORMS: &str = "{ env = \"NAME\" }, { file = \"PATH\" } or { command = [\"PROGRAM\", …] }";
    if !value.is_table() {
        return value.reject(format!("says where the key comes from and must be {FORMS}"));
    }
    let table = value.table()?;
    let sources = [
        table.get("env").map(|_| table.read("env", variable).map(ApiKey::Env)),
        table.get("file").map(|_| table.read("file", path).map(ApiKey::File)),
        table.get("command").map(|_| table.read("command", command)),
    ];
    table.finish();
    let mut given = sources.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(source), None) => source,
        _ => value.reject(format!("must be exactly one of {FORMS}")),
    }
}

fn variable(value: &Value<'_>) -> Option<String> {
    let name = words(value, "the name of an environment variable")?;
    if name.contains('=') {
        return value.reject(format!("is {}, which no environment variable can be called", shown(&name)));
    }
    Some(name)
}

fn command(value: &Value<'_>) -> Option<ApiKey> {
    const FORM: &str = "a list of a program and its arguments";
    let list = value.list(FORM)?;
    let mut words = all(list.iter().map(|element| element.text("a string").map(str::to_owned)))?;
    if words.first().is_none_or(String::is_empty) || words.iter().any(|word| word.contains('\0')) {
        return value.reject(format!("must be {FORM}, such as [\"pass\", \"show\", \"openai\"]"));
    }
    let program = words.remove(0);
    // As in a shell: a name alone is looked up, a path is a path.
    let program = if program.contains('/') { value.resolve(program) } else { program.into() };
    Some(ApiKey::Command { program, arguments: words })
}
