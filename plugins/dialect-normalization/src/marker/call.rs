//! The arguments of a call, checked: what is no JSON object is no call.

use seam_plugin_api::prelude::*;
use seam_plugin_api::serde::de::IgnoredAny;
use seam_plugin_api::serde_json;
use seam_plugin_api::serde_json::value::RawValue;

use super::edges::is_name;

/// A tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// A JSON object, written as the model wrote it.
    pub(crate) arguments: String,
}

/// What stands between the tags of a `tool_call`.
#[derive(Deserialize)]
#[serde(crate = "seam_plugin_api::serde")]
struct Named<'a> {
    name: String,
    #[serde(borrow, default, alias = "parameters")]
    arguments: Option<&'a RawValue>,
}

/// The call of a body that is the arguments, if they are an object.
pub(super) fn complete(name: &str, body: &str) -> Option<Call> {
    is_object(body).then(|| Call { name: name.to_owned(), arguments: body.to_owned() })
}

/// The call of a body that says the name as well. Arguments may be an object, the text of one, or none.
pub(super) fn complete_named(body: &str) -> Option<Call> {
    let named: Named<'_> = serde_json::from_str(body).ok()?;
    let written = named.arguments.map_or("{}", RawValue::get);
    let arguments = match serde_json::from_str::<String>(written) {
        Ok(spelt) => spelt,
        Err(_) => written.to_owned(),
    };
    (is_name(&named.name) && is_object(&arguments)).then_some(Call { name: named.name, arguments })
}

fn is_object(text: &str) -> bool {
    text.trim_ascii_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}
