//! Tells what it is shown of each invocation: an event `begun` on channel `witness` with the first chunk, and a line in
//! the log at the end. It changes nothing.
#![forbid(unsafe_code)]

use seam_plugin_api::prelude::*;
use seam_plugin_api::serde_json::{Value, json};

/// Its table: nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "seam_plugin_api::serde", deny_unknown_fields)]
#[schemars(crate = "seam_plugin_api::schemars")]
struct Config {}

struct Witness;

struct Watching {
    /// Until it is told.
    begun: Option<Value>,
    host: Host,
}

impl Plugin for Witness {
    type Config = Config;

    fn configure(_: Config, _: Host) -> Result<Self, Vec<ConfigFault>> {
        Ok(Self)
    }

    fn registrations(&self) -> Vec<Registration> {
        let make = |context: &FactoryContext<'_>| Watching { begun: Some(shown(context)), host: context.host() };
        vec![Registration::new(When::Any, "witness", make)]
    }
}

fn shown(context: &FactoryContext<'_>) -> Value {
    let correlation: Vec<Value> =
        context.correlation().iter().map(|value| json!([value.name(), value.value()])).collect();
    json!({
        "call_class": context.call_class().as_str(),
        "turn_id": context.turn_id(),
        "invocation_id": context.invocation_id(),
        "model": context.model(),
        "provider": context.provider(),
        "family": context.family(),
        "system_prompt": context.system_prompt(),
        "messages": context.messages(),
        "tool_names": context.tool_names().collect::<Vec<_>>(),
        "correlation": correlation,
    })
}

impl StreamObserver for Watching {
    fn on_chunk(&mut self, _: &Chunk<'_>, _: &Context<'_>) -> Verdict {
        match self.begun.take() {
            Some(begun) => Verdict::Emit(vec![Event::new("witness", "begun", begun)]),
            None => Verdict::Continue,
        }
    }

    fn on_end_invocation(&mut self, result: &InvocationResult<'_>) {
        let (outcome, chunks) = (result.outcome().as_str(), result.chunks_in());
        self.host.log(Level::Info, &format!("told of the end: {outcome} after {chunks} chunks"));
    }
}

seam_plugin_api::export_plugin!(Witness, "witness");
