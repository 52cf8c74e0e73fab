//! What is served at one moment: immutable, made whole, swapped whole.

use std::sync::Arc;

use seam_host::Generation;
use seam_plugin_api::CallClass;

use seam_wire::Endpoint;

use crate::config::Config;
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
    /// The paths that are passed through, in the order of the configuration.
    passthroughs: Vec<SnapshotPassthrough>,
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
    pub endpoint: Endpoint,
    /// Who answers.
    pub provider: Arc<Provider>,
    /// The call class of a request that names none.
    pub call_class: CallClass,
}

/// A path that is passed through, its provider at hand.
pub struct SnapshotPassthrough {
    path: String,
    is_prefix: bool,
    provider: Arc<Provider>,
}

impl Snapshot {
    /// Puts a snapshot together from its parts, which have all been made.
    #[must_use]
    pub fn new(config: Arc<Config>, generation: Arc<Generation>, providers: Vec<Arc<Provider>>) -> Self {
        let named = |name: &str| providers.iter().find(|provider| provider.name() == name).map(Arc::clone);
        let routes = config.routes.iter().filter_map(|route| {
            let provider = named(&route.provider.name)?;
            Some(SnapshotRoute { endpoint: route.endpoint, provider, call_class: route.call_class })
        });
        let passthroughs = config.passthroughs.iter().filter_map(|passed| {
            let provider = named(&passed.provider.name)?;
            Some(SnapshotPassthrough { path: passed.path.clone(), is_prefix: passed.is_prefix, provider })
        });
        let (routes, passthroughs) = (routes.collect(), passthroughs.collect());
        let server = &config.server;
        let (max_request, max_response, max_frame) = (server.max_request, server.max_response, server.max_frame);
        Self { generation, providers, routes, passthroughs, max_request, max_response, max_frame, config }
    }

    /// The route of an endpoint.
    #[must_use]
    pub fn route(&self, endpoint: Endpoint) -> Option<&SnapshotRoute> {
        self.routes.iter().find(|route| route.endpoint == endpoint)
    }

    /// Who answers on a path that is passed through: the longest listed path that fits counts.
    #[must_use]
    pub fn passthrough(&self, path: &str) -> Option<&Arc<Provider>> {
        let fits = |passed: &&SnapshotPassthrough| {
            if passed.is_prefix { path.starts_with(&passed.path) } else { path == passed.path }
        };
        let passed = self.passthroughs.iter().filter(fits);
        passed.max_by_key(|passed| (!passed.is_prefix, passed.path.len())).map(|passed| &passed.provider)
    }
}
