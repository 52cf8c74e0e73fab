//! A provider as the gateway calls it: made from its configuration, secrets and roots read.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue};
use http::{Method, Request, Uri};
use http_body_util::Full;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::connect::Endpoint;
use super::exchange::{Answer, Source};
use super::recorded::RecordedStreams;
use super::{Pool, UpstreamError};
use crate::config::headers::CREDENTIALS;
use crate::config::{self, ApiKey, Family, HttpVersion, Remote, Upstream};

/// A provider, ready to be called.
pub struct Provider {
    /// Its configuration: what tells whether a reload changed it.
    config: config::Provider,
    kind: Kind,
}

enum Kind {
    Http(Arc<HttpProvider>),
    Recorded(RecordedStreams),
}

/// A provider that is reached over HTTP.
pub(super) struct HttpProvider {
    /// Its number among all that this process ever made: what its connections are kept under.
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) endpoint: Endpoint,
    pub(super) connect_timeout: Duration,
    pub(super) first_byte_timeout: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) pool_idle: usize,
    /// The value of `Host`, and the authority of every URL.
    authority: http::uri::Authority,
    scheme: http::uri::Scheme,
    prefix: String,
    /// What every request carries in addition; credentials among it.
    headers: HeaderMap,
    /// Whether there is a key among them: then the client's own go no further.
    has_key: bool,
    /// The roots beside the system's, as they were read: a reload that finds others makes another provider.
    roots: Vec<CertificateDer<'static>>,
}

/// Why a provider cannot be made from its configuration.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The environment does not have the key.
    #[error(
        "the environment variable {0} is not set, or is not text; set it, or leave out api_key to pass on the client's own credentials"
    )]
    NoVariable(String),
    /// A file cannot be read.
    #[error("cannot read {}: {reason}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The command gave no key.
    #[error("the command {} gave no key: {reason}", .program.display())]
    NoKeyFromCommand {
        /// The program.
        program: PathBuf,
        /// What went wrong.
        reason: String,
    },
    /// The key cannot stand in a header.
    #[error("the key is empty or has characters that cannot stand in a header")]
    NotAHeader,
    /// A file of roots has none.
    #[error("{} has no certificate in PEM form", .0.display())]
    NoCertificate(PathBuf),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

/// A request to a provider, as the gateway makes it from a client's.
pub struct Call {
    /// What is done.
    pub method: Method,
    /// What is appended to the base URL: `/chat/completions`.
    pub path: String,
    /// The client's query, if it had one.
    pub query: Option<String>,
    /// The client's headers, without those of the connection.
    pub headers: HeaderMap,
    /// The body, as the client sent it.
    pub body: Bytes,
    /// The model that the request names.
    pub model: String,
    /// Whether a streamed answer is asked for.
    pub stream: bool,
}

impl Provider {
    /// Makes a provider; the previous one of the same name is kept if nothing about it has changed, so that its
    /// connections are.
    ///
    /// # Errors
    /// A key or a file that cannot be read.
    pub fn make(config: &config::Provider, previous: Option<&Arc<Self>>) -> Result<Arc<Self>, ProviderError> {
        let kind = match &config.upstream {
            Upstream::Remote(remote) => Kind::Http(Arc::new(HttpProvider::make(&config.name, config.family, remote)?)),
            Upstream::Recorded(recorded) => Kind::Recorded(RecordedStreams::read(&config.name, recorded)?),
        };
        let made = Self { config: config.clone(), kind };
        match previous {
            Some(previous) if previous.is_same(&made) => Ok(Arc::clone(previous)),
            _ => Ok(Arc::new(made)),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        let same_secrets = match (&self.kind, &other.kind) {
            (Kind::Http(one), Kind::Http(two)) => one.headers == two.headers && one.roots == two.roots,
            _ => false,
        };
        same_secrets && self.config == other.config
    }

    /// The configured name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// The family's name.
    #[must_use]
    pub const fn family(&self) -> &'static str {
        self.config.family.as_str()
    }

    /// The names of the models, where the provider is recorded.
    #[must_use]
    pub fn recorded_models(&self) -> Option<Vec<String>> {
        match &self.kind {
            Kind::Http(_) => None,
            Kind::Recorded(streams) => Some(streams.names()),
        }
    }

    /// Calls the provider. Dropping the future ends the call at once.
    ///
    /// # Errors
    /// Whatever keeps the head of an answer from coming.
    pub async fn call(&self, pool: &Pool, call: Call) -> Result<Answer, UpstreamError> {
        match &self.kind {
            Kind::Http(provider) => provider.send(pool, provider.request(call)?).await,
            Kind::Recorded(streams) => {
                let (headers, playback) = streams.play(&call.model, call.stream)?;
                Ok(Answer { status: http::StatusCode::OK, headers, source: Source::recorded(playback) })
            }
        }
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("name", &self.config.name).finish_non_exhaustive()
    }
}

impl HttpProvider {
    fn make(name: &str, family: Family, remote: &Remote) -> Result<Self, ProviderError> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let mut headers = remote.headers.clone();
        if let Some(key) = &remote.api_key {
            headers.insert(family.key_header(), credential(family, &read_key(key)?)?);
        }
        let roots = remote.ca_file.as_deref().map(read_roots).transpose()?.unwrap_or_default();
        let url = &remote.base_url;
        let tls = if url.is_tls() { Some(Arc::new(tls_config(remote.http, &roots)?)) } else { None };
        Ok(Self {
            id: MADE.fetch_add(1, Ordering::Relaxed),
            name: name.to_owned(),
            endpoint: Endpoint {
                host: url.host().trim_matches(['[', ']']).to_owned(),
                port: url.port(),
                tls,
                http2_in_the_clear: remote.http == HttpVersion::Http2,
            },
            connect_timeout: remote.connect_timeout,
            first_byte_timeout: remote.first_byte_timeout,
            idle_timeout: remote.idle_timeout,
            pool_idle: remote.pool_idle,
            authority: url.authority.clone(),
            scheme: url.scheme.clone(),
            prefix: url.prefix.clone(),
            headers,
            has_key: remote.api_key.is_some(),
            roots,
        })
    }

    /// The request as this provider is sent it.
    fn request(&self, call: Call) -> Result<Request<Full<Bytes>>, UpstreamError> {
        let mut path = format!("{}{}", self.prefix, call.path);
        let query = call.query.map(|query| if self.has_key { without_key(&query) } else { query });
        if let Some(query) = query.filter(|query| !query.is_empty()) {
            path.push('?');
            path.push_str(&query);
        }
        let unusable = |reason: String| UpstreamError::Broken { provider: self.name.clone(), reason };
        let uri = Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
            .map_err(|error| unusable(error.to_string()))?;
        let host = HeaderValue::from_str(self.authority.as_str()).map_err(|error| unusable(error.to_string()))?;
        let mut request = Request::new(Full::new(call.body));
        *request.method_mut() = call.method;
        // HTTP/1.1 is sent the path alone and the Host header, HTTP/2 the parts of the URL without that header.
        *request.uri_mut() = uri;
        *request.headers_mut() = call.headers;
        request.headers_mut().insert(HOST, host);
        for name in CREDENTIALS.into_iter().filter(|_| self.has_key) {
            request.headers_mut().remove(name);
        }
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        Ok(request)
    }
}

/// The query without the parameter that carries a key in Gemini's API.
fn without_key(query: &str) -> String {
    query.split('&').filter(|part| *part != "key" && !part.starts_with("key=")).collect::<Vec<_>>().join("&")
}

/// The value of the header that carries the key.
fn credential(family: Family, key: &str) -> Result<HeaderValue, ProviderError> {
    if key.is_empty() {
        return Err(ProviderError::NotAHeader);
    }
    let scheme = if family.key_header() == AUTHORIZATION { "Bearer " } else { "" };
    let mut value = HeaderValue::from_str(&format!("{scheme}{key}")).map_err(|_| ProviderError::NotAHeader)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Reads a key. White space around it, such as the newline that ends a file, is not part of it.
fn read_key(key: &ApiKey) -> Result<String, ProviderError> {
    let text = match key {
        ApiKey::Env(name) => std::env::var(name).map_err(|_| ProviderError::NoVariable(name.clone()))?,
        ApiKey::File(path) => read_key_file(path).map_err(|error| unreadable(path, &error))?,
        ApiKey::Command { program, arguments } => run_for_key(program, arguments)?,
    };
    Ok(text.trim().to_owned())
}

fn read_key_file(path: &Path) -> std::io::Result<String> {
    String::from_utf8(config::read_small(path)?).map_err(std::io::Error::other)
}

/// How long a command may take to give a key: one that asks a vault over the network takes seconds.
const KEY_COMMAND_LIMIT: Duration = Duration::from_secs(30);

/// How often a command is looked after meanwhile.
const KEY_COMMAND_LOOK: Duration = Duration::from_millis(10);

/// Runs a command for its standard output. One that does not end in time is ended: a reload waits for it.
fn run_for_key(program: &Path, arguments: &[String]) -> Result<String, ProviderError> {
    let failed = |reason: String| ProviderError::NoKeyFromCommand { program: program.to_owned(), reason };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let began = Instant::now();
    while child.try_wait().map_err(|error| failed(error.to_string()))?.is_none() {
        if began.elapsed() >= KEY_COMMAND_LIMIT {
            // It may end by itself at this very moment, which is as well.
            let _ = child.kill();
            let _ = child.wait();
            return Err(failed(format!("it did not end within {} seconds", KEY_COMMAND_LIMIT.as_secs())));
        }
        std::thread::sleep(KEY_COMMAND_LOOK);
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())));
    }
    String::from_utf8(output.stdout).map_err(|_| failed("its output is not text".into()))
}

fn unreadable(path: &Path, error: &std::io::Error) -> ProviderError {
    ProviderError::Unreadable { path: path.to_owned(), reason: error.to_string() }
}

fn read_roots(path: &Path) -> Result<Vec<CertificateDer<'static>>, ProviderError> {
    let pem = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    let roots: Vec<_> = CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok).collect();
    if roots.is_empty() { Err(ProviderError::NoCertificate(path.to_owned())) } else { Ok(roots) }
}

/// The system's roots and the provider's own.
fn tls_config(http: HttpVersion, roots: &[CertificateDer<'static>]) -> Result<rustls::ClientConfig, ProviderError> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    store.add_parsable_certificates(roots.iter().cloned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| ProviderError::Tls(error.to_string()))?
        .with_root_certificates(store)
        .with_no_client_auth();
    config.alpn_protocols = match http {
        HttpVersion::Auto => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        HttpVersion::Http1 => vec![b"http/1.1".to_vec()],
        HttpVersion::Http2 => vec![b"h2".to_vec()],
    };
    Ok(config)
}
