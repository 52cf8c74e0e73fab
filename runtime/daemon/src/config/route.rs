//! `[[route]]`: which provider answers on which path.

use std::sync::Arc;

use seam_plugin_api::CallClass;

use super::provider::{Provider, Providers};
use super::table::{Table, Value, shown};
use super::values::{Unique, choice, meant};

/// The class whose answers are shown to a person but are not the one answer of a turn: the least that plugins can
/// assume of a client that says nothing.
pub const DEFAULT_CALL_CLASS: CallClass = CallClass::Converse;

/// Which provider answers on which path.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The path that clients ask for; no other route has it.
    pub path: RoutePath,
    /// Who answers: one of the configuration's providers.
    pub provider: Arc<Provider>,
    /// The call class of a request that does not name one. Default: [`DEFAULT_CALL_CLASS`].
    pub call_class: CallClass,
}

/// A path that seamd knows the wire of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoutePath {
    /// `/v1/chat/completions`.
    ChatCompletions,
}

impl RoutePath {
    /// Every known path.
    pub const ALL: [Self; 1] = [Self::ChatCompletions];

    /// The path as it stands in a request.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/v1/chat/completions",
        }
    }
}

pub(super) fn read_all(root: &Table<'_>, providers: &Providers) -> Option<Vec<Route>> {
    let mut paths = Unique::default();
    let tables = root.sections("route");
    if tables.is_empty() {
        return root.lacks("missing [[route]]: without one no request has an answer".to_owned());
    }
    let routes = tables.into_iter().map(|table| read(table?, providers, &mut paths));
    super::table::all(routes)
}

fn read(table: Table<'_>, providers: &Providers, paths: &mut Unique) -> Option<Route> {
    let path = table.require("path", |value| path(value, paths));
    let provider = table.require("provider", |value| provider(value, providers));
    let call_class = table.read("call_class", call_class).unwrap_or(DEFAULT_CALL_CLASS);
    table.finish();
    Some(Route { path: path?, provider: provider?, call_class })
}

fn path(value: &Value<'_>, paths: &mut Unique) -> Option<RoutePath> {
    let text = value.text("a path such as \"/v1/chat/completions\"")?;
    let Some(path) = RoutePath::ALL.into_iter().find(|path| path.as_str() == text) else {
        let known = RoutePath::ALL.map(RoutePath::as_str);
        return value.reject(format!(
            "is {}, which seamd knows no wire for; known paths: {}",
            shown(text),
            known.join(", ")
        ));
    };
    paths.claim(value, text, "paths of routes");
    Some(path)
}

fn provider(value: &Value<'_>, providers: &Providers) -> Option<Arc<Provider>> {
    let name = value.text("the name of a provider")?;
    let names = providers.names();
    if names.contains(&name) {
        return providers.get(name);
    }
    let known = match names.as_slice() {
        [] => "; there is no [[provider]]".to_owned(),
        names => format!("; known names: {}{}", names.join(", "), meant(name, names)),
    };
    value.dangles(format!("is {}, but no [[provider]] has that name{known}", shown(name)))
}

/// One of the call classes.
pub(super) fn call_class(value: &Value<'_>) -> Option<CallClass> {
    choice(value, &CallClass::ALL.map(|class| (class.as_str(), class)))
}
