//! The admin surface, for this machine alone: health, readiness, plugins, what is under way, metrics, reload.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN};
use http::uri::Authority;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::registry::Registry;
use seam_host::{LoadedPlugin, LoadedRegistration, MappedMemory};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

use crate::config::AdminAddress;
use crate::control::Control;
use crate::gateway::{Invocations, Phase, Phases};
use crate::metrics::{exposition, nanos_as_seconds};

/// Where the admin surface listens.
pub enum AdminListener {
    /// A loopback address.
    Tcp(TcpListener),
    /// A Unix socket; its file is removed in the end.
    Unix(UnixListener, SocketFile),
}

/// The file of a Unix socket.
pub struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody may have removed it before, which is as well.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl AdminListener {
    /// Binds an address.
    ///
    /// # Errors
    /// Whatever the system says against it.
    pub async fn bind(address: &AdminAddress) -> io::Result<Self> {
        match address {
            AdminAddress::Tcp(address) => Ok(Self::Tcp(TcpListener::bind(address).await?)),
            AdminAddress::Unix(path) => {
                remove_dead_socket(path)?;
                Ok(Self::Unix(UnixListener::bind(path)?, SocketFile(path.clone())))
            }
        }
    }

    /// The address as it came to be: a port that was left to the system is known.
    ///
    /// # Errors
    /// Whatever the system says against it.
    pub fn address(&self) -> io::Result<String> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(|address: SocketAddr| address.to_string()),
            Self::Unix(_, file) => Ok(format!("unix:{}", file.0.display())),
        }
    }
}

/// A socket that a daemon left behind when it was killed would keep the next one from starting; one that is answered is
/// another daemon's.
fn remove_dead_socket(path: &PathBuf) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(file) if std::os::unix::fs::FileTypeExt::is_socket(&file.file_type()) => {}
        Ok(_) => return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file of another kind")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another process answers on this socket")),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

/// What the admin surface shows and can do.
pub struct Admin {
    /// Reload, and what is served.
    pub control: Arc<Control>,
    /// What is under way.
    pub invocations: Invocations,
    /// How far the daemon is in ending.
    pub phases: Phases,
    /// Every metric.
    pub registry: Registry,
}

impl Admin {
    /// Serves for ever.
    pub async fn serve(self: Arc<Self>, listener: AdminListener) {
        loop {
            let accepted = match &listener {
                AdminListener::Tcp(listener) => listener.accept().await.map(|(stream, _)| self.spawn(stream, true)),
                AdminListener::Unix(listener, _) => {
                    listener.accept().await.map(|(stream, _)| self.spawn(stream, false))
                }
            };
            if let Err(error) = accepted {
                tracing::warn!(%error, "an admin connection could not be accepted");
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
    }

    /// Serves a connection; `in_reach`: whether a browser could have made it.
    fn spawn(self: &Arc<Self>, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, in_reach: bool) {
        let admin = Arc::clone(self);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let admin = Arc::clone(&admin);
                async move { Ok::<_, Infallible>(admin.handle(request, in_reach).await) }
            });
            let served = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
            if let Err(error) = pin!(served).await {
                tracing::debug!(%error, "an admin connection ended early");
            }
        });
    }

    async fn handle(self: &Arc<Self>, request: Request<Incoming>, in_reach: bool) -> Response<Full<Bytes>> {
        // A browser names the page that a request comes from; no page has business here.
        if request.headers().contains_key(ORIGIN) || (in_reach && !names_this_machine(request.headers())) {
            return reply(StatusCode::FORBIDDEN, &json!({ "error": "requests from web pages are not answered" }));
        }
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/health") => reply(StatusCode::OK, &json!({ "status": "ok" })),
            (&Method::GET, "/ready") => self.ready(),
            (&Method::GET, "/plugins") => reply(StatusCode::OK, &self.plugins()),
            (&Method::GET, "/invocations") => reply(StatusCode::OK, &json!(self.invocations.list())),
            (&Method::GET, "/metrics") => self.metrics(),
            (&Method::POST, "/reload") => self.reload().await,
            (_, "/health" | "/ready" | "/plugins" | "/invocations" | "/metrics" | "/reload") => reply(
                StatusCode::METHOD_NOT_ALLOWED,
                &json!({ "error": "the method is POST for /reload, GET otherwise" }),
            ),
            _ => reply(
                StatusCode::NOT_FOUND,
                &json!({ "error": "there are /health, /ready, /plugins, /invocations, /metrics and POST /reload" }),
            ),
        }
    }

    fn ready(&self) -> Response<Full<Bytes>> {
        if self.phases.now() == Phase::Running {
            reply(StatusCode::OK, &json!({ "ready": true }))
        } else {
            reply(StatusCode::SERVICE_UNAVAILABLE, &json!({ "ready": false, "reason": "shutting down" }))
        }
    }

    fn plugins(&self) -> Value {
        let snapshot = self.control.snapshot();
        let generation = &snapshot.generation;
        let plugins: Vec<Value> = generation.plugins().iter().map(plugin).collect();
        json!({
            "generation": generation.number(),
            "invocations": self.invocations.count(),
            "plugins": plugins,
            "generations": self.control.generations(),
            "mapped": MappedMemory::now(),
        })
    }

    fn metrics(&self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::from(exposition(&self.registry)));
        let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }

    async fn reload(&self) -> Response<Full<Bytes>> {
        let control = Arc::clone(&self.control);
        match tokio::task::spawn_blocking(move || control.reload("asked for on the admin surface")).await {
            Ok(Ok(generation)) => reply(StatusCode::OK, &json!({ "accepted": true, "generation": generation })),
            Ok(Err(refusal)) => {
                let body = json!({ "accepted": false, "text": refusal.to_text(false), "faults": refusal.to_json() });
                reply(StatusCode::CONFLICT, &body)
            }
            Err(error) => {
                reply(StatusCode::INTERNAL_SERVER_ERROR, &json!({ "accepted": false, "text": error.to_string() }))
            }
        }
    }
}

/// Whether a request was meant for this machine: an address, `localhost` or nothing stands in `Host`. A page whose own name
/// was made to lead here (DNS rebinding) is of one origin with this surface, and the name in `Host` is all that tells.
fn names_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST) else { return true };
    let authority = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    authority.is_some_and(|authority| {
        let name = authority.host();
        name.eq_ignore_ascii_case("localhost") || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
    })
}

fn plugin(plugin: &LoadedPlugin) -> Value {
    let description = plugin.description();
    let counts = plugin.stats().counts();
    let observers: Vec<&str> = plugin.registrations().iter().map(LoadedRegistration::observer_id).collect();
    let verdicts: Map<String, Value> =
        counts.verdicts.by_name().into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
    let faults: Map<String, Value> =
        counts.faults.iter().map(|(kind, count)| (kind.as_str().to_owned(), (*count).into())).collect();
    json!({
        "name": plugin.name(),
        "version": description.version,
        "description": description.description,
        "path": plugin.path(),
        "sha256": plugin.sha256(),
        "since": humantime::format_rfc3339_seconds(plugin.since()).to_string(),
        "api": description.api,
        "built_with": description.built_with,
        "observers": observers,
        "warnings": plugin.warnings(),
        "invocations": counts.invocations,
        "chunks": counts.chunks,
        "verdicts": verdicts,
        "faults": faults,
        "time_spent_seconds": nanos_as_seconds(counts.nanos),
    })
}

fn reply(status: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(format!("{body}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_meant(host: &str) -> bool {
        names_this_machine(&HeaderMap::from_iter([(HOST, HeaderValue::from_str(host).unwrap())]))
    }

    #[test]
    fn a_page_whose_name_was_made_to_lead_here_is_not_answered() {
        for host in ["127.0.0.1:8081", "127.0.0.1", "[::1]:8081", "localhost", "LocalHost:1", "192.0.2.7"] {
            assert!(is_meant(host), "{host}");
        }
        assert!(names_this_machine(&HeaderMap::new()));
        for host in ["example.org", "example.org:8081", "localhost.example.org", "127.0.0.1.example.org", ""] {
            assert!(!is_meant(host), "{host}");
        }
    }
}
