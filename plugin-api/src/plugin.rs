//! The author's side: a plugin, its registrations, its observers.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::abi::MadeObserver;
use crate::chunk::Chunk;
use crate::context::{CallClass, Context, FactoryContext, InvocationResult};
use crate::host::Host;
use crate::verdict::Verdict;

/// An object made fresh for one invocation: it sees every chunk of it, in order, and answers each at once.
///
/// Two concurrent invocations never share an observer. A panic is caught, counted as a fault of this plugin, and the
/// observer is dropped; no other stream notices.
pub trait StreamObserver: Send + 'static {
    /// Answers one chunk. Chunks of kinds that do not concern the observer are answered [`Verdict::Continue`].
    fn on_chunk(&mut self, chunk: &Chunk<'_>, context: &Context<'_>) -> Verdict;

    /// Called exactly once when the invocation has ended, however it ended (not after a panic of this observer).
    fn on_end_invocation(&mut self, result: &InvocationResult<'_>) {
        let _ = result;
    }
}

/// One loaded and configured plugin. It lives as long as an invocation may use its configuration.
pub trait Plugin: Sized + Send + Sync + 'static {
    /// The plugin's own TOML table. Its JSON Schema is part of what the plugin says of itself.
    type Config: DeserializeOwned + JsonSchema;

    /// Configures the plugin. Called once per generation; a table of the wrong shape never gets here.
    ///
    /// # Errors
    /// Every fault of the table that its type cannot express, each with the path of its key; the daemon shows them at
    /// their line.
    fn configure(config: Self::Config, host: Host) -> Result<Self, Vec<ConfigFault>>;

    /// The observers that the plugin offers, in the order of their place in the ladder.
    fn registrations(&self) -> Vec<Registration>;
}

/// A fault of a plugin's configuration table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// The key's path within the table: `patterns[1].name`; empty for the table itself.
    pub path: String,
    /// What is wrong and what is allowed, in one lower-case line.
    pub message: String,
}

impl ConfigFault {
    /// A fault at a key.
    #[must_use]
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

/// For which invocations an observer is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Every one.
    Any,
    /// Those of one call class.
    CallClass(CallClass),
}

/// The factory of one kind of observer, and when it is used.
#[derive(Clone)]
pub struct Registration {
    pub(crate) when: When,
    pub(crate) observer_id: String,
    pub(crate) factory: Arc<dyn Fn(&FactoryContext<'_>) -> MadeObserver + Send + Sync>,
}

impl Registration {
    /// Registers a factory. It is called once for each matching invocation; state belongs into what it returns.
    /// `observer_id` must be unique within the plugin and match `[a-z0-9][a-z0-9_.-]{0,63}`.
    pub fn new<O, F>(when: When, observer_id: impl Into<String>, factory: F) -> Self
    where
        O: StreamObserver,
        F: Fn(&FactoryContext<'_>) -> O + Send + Sync + 'static,
    {
        Self {
            when,
            observer_id: observer_id.into(),
            factory: Arc::new(move |context| MadeObserver::new(factory(context))),
        }
    }

    /// For which invocations the observer is made.
    #[must_use]
    pub const fn when(&self) -> When {
        self.when
    }

    /// The observer's id.
    #[must_use]
    pub fn observer_id(&self) -> &str {
        &self.observer_id
    }
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration")
            .field("when", &self.when)
            .field("observer_id", &self.observer_id)
            .finish_non_exhaustive()
    }
}
