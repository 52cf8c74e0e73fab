//! What a host knows of an invocation when it begins, and shows to factories.

use abi_stable::std_types::RStr;

use super::values::{ValueSource, Values};
use crate::context::{CallClass, Correlation, FactoryContext, Value};
use crate::host::Host;

/// One provider call through a seam, as it is known when it begins.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The kind of call.
    pub call_class: CallClass,
    /// The turn that it belongs to.
    pub turn_id: String,
    /// Its own id.
    pub invocation_id: String,
    /// The model that was asked for.
    pub model: String,
    /// The provider's configured name.
    pub provider: String,
    /// The provider's family.
    pub family: String,
    /// The request's system prompt.
    pub system_prompt: String,
    /// The request's messages, a JSON array.
    pub messages: String,
    /// The names of the tools that it offers.
    pub tool_names: Vec<String>,
    /// Fixed for the invocation.
    pub seed: u64,
    /// Names and values that the request brought along.
    pub correlation: Vec<(String, String)>,
}

impl Invocation {
    /// An invocation of which nothing but its class is known: every text is empty, the seed is 0.
    #[must_use]
    pub const fn new(call_class: CallClass) -> Self {
        Self {
            call_class,
            turn_id: String::new(),
            invocation_id: String::new(),
            model: String::new(),
            provider: String::new(),
            family: String::new(),
            system_prompt: String::new(),
            messages: String::new(),
            tool_names: Vec::new(),
            seed: 0,
            correlation: Vec::new(),
        }
    }

    /// Shows the invocation to a factory.
    pub(crate) fn show<T>(&self, host: Host, factory: impl FnOnce(&FactoryContext<'_>) -> T) -> T {
        let tool_names: Vec<RStr<'_>> = self.tool_names.iter().map(|name| name.as_str().into()).collect();
        let correlation: Vec<Correlation<'_>> = self
            .correlation
            .iter()
            .map(|(name, value)| Correlation { name: name.as_str().into(), value: value.as_str().into() })
            .collect();
        factory(&FactoryContext {
            call_class: self.call_class.code(),
            turn_id: self.turn_id.as_str().into(),
            invocation_id: self.invocation_id.as_str().into(),
            model: self.model.as_str().into(),
            provider: self.provider.as_str().into(),
            family: self.family.as_str().into(),
            system_prompt: self.system_prompt.as_str().into(),
            messages: self.messages.as_str().into(),
            tool_names: tool_names.as_slice().into(),
            correlation: correlation.as_slice().into(),
            seed: self.seed,
            host,
            values: ValueSource::of(self),
        })
    }
}

impl Values for Invocation {
    fn value(&self, name: &str) -> Option<Value<'_>> {
        if let Some(name) = name.strip_prefix("correlation.") {
            return self.correlation.iter().find(|(own, _)| own == name).map(|(_, value)| Value::Text(value));
        }
        Some(match name {
            "call_class" => Value::Text(self.call_class.as_str()),
            "turn_id" => Value::Text(&self.turn_id),
            "invocation_id" => Value::Text(&self.invocation_id),
            "model" => Value::Text(&self.model),
            "provider" => Value::Text(&self.provider),
            "family" => Value::Text(&self.family),
            "seed" => Value::Number(self.seed),
            _ => return None,
        })
    }
}
