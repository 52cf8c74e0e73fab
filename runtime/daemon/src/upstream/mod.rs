//! The provider's side of a seam: who it is, how it is reached, what came of a call.
//!
//! ```text
//!   Provider ── http ──► Pool (one per worker): idle HTTP/1.1 connections, shared HTTP/2 ones
//!      │                   └─ dial: TCP, TLS ─► Exchange: request out, answer head, Source of body bytes
//!      └── recorded ────► RecordedStream ─► Source
//! ```
//!
//! An HTTP/1.1 connection is driven by the very task that reads from it: no second task, no hand-over for a chunk, and
//! whatever the kernel has ready is taken in one go.

mod coding;
mod connect;
mod exchange;
mod nudge;
mod pool;
mod provider;
mod recorded;

pub use exchange::{Answer, Source};
pub use pool::Pool;
pub use provider::{Call, Provider, ProviderError};
pub use recorded::RecordedStreams;

use std::time::Duration;

/// Why a provider gave no answer, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// Nobody there.
    #[error("provider {provider:?} cannot be reached at {address}: {reason}")]
    Connect {
        /// The provider's configured name.
        provider: String,
        /// Host and port.
        address: String,
        /// What the system says.
        reason: String,
    },
    /// It did not accept a connection in time.
    #[error("provider {provider:?} did not accept a connection at {address} within {}", humantime::format_duration(*.limit))]
    ConnectTimeout {
        /// The provider's configured name.
        provider: String,
        /// Host and port.
        address: String,
        /// `connect_timeout`.
        limit: Duration,
    },
    /// It did not begin to answer in time.
    #[error("provider {provider:?} sent no first byte within {}", humantime::format_duration(*.limit))]
    FirstByteTimeout {
        /// The provider's configured name.
        provider: String,
        /// `first_byte_timeout`.
        limit: Duration,
    },
    /// It fell silent.
    #[error("provider {provider:?} sent nothing for {}", humantime::format_duration(*.limit))]
    IdleTimeout {
        /// The provider's configured name.
        provider: String,
        /// `idle_timeout`.
        limit: Duration,
    },
    /// It broke off or broke the protocol.
    #[error("provider {provider:?} broke off: {reason}")]
    Broken {
        /// The provider's configured name.
        provider: String,
        /// What was wrong.
        reason: String,
    },
    /// It compressed its answer in a way that was not asked for and is not known.
    #[error(
        "provider {provider:?} answered in content encoding {coding:?}, which was not asked for and cannot be observed"
    )]
    Coding {
        /// The provider's configured name.
        provider: String,
        /// What the header says.
        coding: String,
    },
    /// The recorded provider has no stream of this name.
    #[error("provider {provider:?} has no recorded stream {model:?}; it has: {}", .known.join(", "))]
    NoSuchStream {
        /// The provider's configured name.
        provider: String,
        /// The model that was asked for.
        model: String,
        /// The names that exist.
        known: Vec<String>,
    },
}

impl UpstreamError {
    /// The error's code in answers, logs and metrics.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Connect { .. } => "provider_unreachable",
            Self::ConnectTimeout { .. } => "provider_connect_timeout",
            Self::FirstByteTimeout { .. } => "provider_first_byte_timeout",
            Self::IdleTimeout { .. } => "provider_idle_timeout",
            Self::Broken { .. } => "provider_broke_off",
            Self::Coding { .. } => "provider_content_encoding",
            Self::NoSuchStream { .. } => "model_not_found",
        }
    }

    /// The status of an answer that never began because of it.
    #[must_use]
    pub const fn status(&self) -> http::StatusCode {
        match self {
            Self::Connect { .. } | Self::Broken { .. } | Self::Coding { .. } => http::StatusCode::BAD_GATEWAY,
            Self::ConnectTimeout { .. } | Self::FirstByteTimeout { .. } | Self::IdleTimeout { .. } => {
                http::StatusCode::GATEWAY_TIMEOUT
            }
            Self::NoSuchStream { .. } => http::StatusCode::NOT_FOUND,
        }
    }
}
