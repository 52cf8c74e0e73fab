//! What is served at one moment: immutable, made whole, swapped whole.

use std::sync::Arc;

use seam_host::Generation;
use seam_plugin_api::CallClass;

use crate::config::{Config, RoutePath};
use crate::upstream::Provider;

/// Everything that a request is answered with. A request keeps the one that it began with.
pub struct Snapshot {
    /// The configuration that it was made from.
    pub config: Arc<Config>,
    /// The plugins.
    pub generation: Arc<Generation>,
    /// The providers, in the order of the configuration.
    pub providers: Vec<Arc<Provider>>,
    /// The routes, in the order of the configuration.
    pub routes: Vec<SnapshotRoute>,
    /// See [`Server::max_request`](crate::config::Server::max_request).
    pub max_request: usize,
    /// See [`Server::max_response`](crate::config::Server::max_response).
    pub max_response: usize,
    /// See [`Server::max_frame`](crate::config::Server::max_frame).
    pub max_frame: usize,
}

/// A route, its provider at hand.
#[derive(Clone)]
pub struct SnapshotRoute {
    /// The client's path.
    pub path: &'static str,
    /// What is appended to the provider's base URL, which has the version in it.
    pub provider_path: &'static str,
    /// Who answers.
    pub provider: Arc<Provider>,
    /// The call class of a request that names none.
    pub call_class: CallClass,
}

impl Snapshot {
    /// Puts a snapshot together from its parts, which have all been made.
    #[must_use]
    pub fn new(config: Arc<Config>, generation: Arc<Generation>, providers: Vec<Arc<Provider>>) -> Self {
        let routes = config.routes.iter().filter_map(|route| {
            let provider = providers.iter().find(|provider| provider.name() == route.provider.name)?;
            let (path, provider_path) = paths(route.path);
            Some(SnapshotRoute { path, provider_path, provider: Arc::clone(provider), call_class: route.call_class })
        });
        let routes = routes.collect();
        let server = &config.server;
        let (max_request, max_response, max_frame) = (server.max_request, server.max_response, server.max_frame);
        Self { generation, providers, routes, max_request, max_response, max_frame, config }
    }

    /// The route of a path.
    #[must_use]
    pub fn route(&self, path: &str) -> Option<&SnapshotRoute> {
        self.routes.iter().find(|route| route.path == path)
    }
}

/// A route's path, and the same without the version that base URLs end in.
const fn paths(path: RoutePath) -> (&'static str, &'static str) {
    match path {
        RoutePath::ChatCompletions => (RoutePath::ChatCompletions.as_str(), "/chat/completions"),
    }
}
