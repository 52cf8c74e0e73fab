//! `[[route]]`: which provider answers on which path; `[[passthrough]]`: which paths are let through unobserved.

use std::sync::Arc;

use seam_plugin_api::CallClass;
use seam_wire::Endpoint;

use super::provider::{Provider, Providers};
use super::table::{Table, Value, shown};
use super::values::{Unique, choice, meant};

/// The class whose answers are shown to a person but are not the one answer of a turn: the least that plugins can
/// assume of a client that says nothing.
pub const DEFAULT_CALL_CLASS: CallClass = CallClass::Converse;

/// Which provider answers on which path.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The path that clients ask for; no other route has it. It is of a protocol that the provider speaks.
    pub endpoint: Endpoint,
    /// Who answers: one of the configuration's providers.
    pub provider: Arc<Provider>,
    /// The call class of a request that does not name one. Default: [`DEFAULT_CALL_CLASS`].
    pub call_class: CallClass,
}

/// A path of a provider's API that is passed through: no observer sees what goes over it.
#[derive(Clone, Debug, PartialEq)]
pub struct Passthrough {
    /// The path that clients ask for; no other has it.
    pub path: String,
    /// Whether every path that begins so is meant. In the file it ends in `*` then.
    pub is_prefix: bool,
    /// Who answers: one of the configuration's providers.
    pub provider: Arc<Provider>,
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
    let endpoint = table.require("path", |value| endpoint(value, paths));
    let provider = table.require("provider", |value| {
        let provider = provider(value, providers)?;
        match endpoint {
            Some(endpoint) if !provider.family.speaks(endpoint.protocol()) => value.reject(format!(
                "is {}, a provider of family \"{}\", which does not speak the wire of {}",
                shown(&provider.name),
                provider.family.as_str(),
                endpoint.pattern()
            )),
            _ => Some(provider),
        }
    });
    let call_class = table.read("call_class", call_class).unwrap_or(DEFAULT_CALL_CLASS);
    table.finish();
    Some(Route { endpoint: endpoint?, provider: provider?, call_class })
}

fn endpoint(value: &Value<'_>, paths: &mut Unique) -> Option<Endpoint> {
    let text = value.text("a path such as \"/v1/chat/completions\"")?;
    let Some(endpoint) = Endpoint::named(text) else {
        let known: Vec<&str> = Endpoint::all().iter().map(|endpoint| endpoint.pattern()).collect();
        return value.reject(format!(
            "is {}, which seamd knows no wire for; [[passthrough]] lets a path through unobserved; known paths: {}",
            shown(text),
            known.join(", ")
        ));
    };
    paths.claim(value, text, "paths of routes");
    Some(endpoint)
}

pub(super) fn read_passthroughs(root: &Table<'_>, providers: &Providers) -> Option<Vec<Passthrough>> {
    let mut paths = Unique::default();
    let tables = root.sections("passthrough");
    super::table::all(tables.into_iter().map(|table| read_passthrough(table?, providers, &mut paths)))
}

fn read_passthrough(table: Table<'_>, providers: &Providers, paths: &mut Unique) -> Option<Passthrough> {
    let path = table.require("path", |value| passed_path(value, paths));
    let provider = table.require("provider", |value| provider(value, providers));
    table.finish();
    let (path, is_prefix) = path?;
    Some(Passthrough { path, is_prefix, provider: provider? })
}

/// A path that is passed through, and whether it stands for all that begin so.
fn passed_path(value: &Value<'_>, paths: &mut Unique) -> Option<(String, bool)> {
    let text = value.text("a path such as \"/v1/embeddings\" or \"/v1/files/*\"")?;
    let (path, is_prefix) = text.strip_suffix('*').map_or((text, false), |prefix| (prefix, true));
    if !path.starts_with('/') || path.contains(['*', '?', '#', ' ']) || path.contains('\0') {
        return value.reject(format!(
            "is {}; it must begin with \"/\", have no query, and may end in \"*\" for every path that begins so",
            shown(text)
        ));
    }
    if let Some(asked) = Endpoint::named(path).or_else(|| Endpoint::find(path).map(|asked| asked.endpoint)) {
        return value.reject(format!(
            "is {}, which seamd knows the wire of; give it a [[route]] with path = \"{}\"",
            shown(text),
            asked.pattern()
        ));
    }
    paths.claim(value, text, "paths that are passed through");
    Some((path.to_owned(), is_prefix))
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
