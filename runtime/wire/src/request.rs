//! What seamd needs to know of a request, in whatever protocol it is made. The request itself goes on as the bytes that
//! came.

/// What a request says about its invocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The model that is asked for; empty if none is named.
    pub model: String,
    /// Whether a streamed answer is asked for.
    pub stream: bool,
    /// The text of the system prompt, its parts joined by newlines.
    pub system_prompt: String,
    /// The messages as the JSON array that came; empty if there is none.
    pub messages: String,
    /// The names of the tools that are offered.
    pub tool_names: Vec<String>,
}

/// A list of models as `GET /v1/models` answers it.
#[must_use]
pub fn models_body(names: &[String], owner: &str) -> String {
    let models: Vec<serde_json::Value> = names
        .iter()
        .map(|name| serde_json::json!({ "id": name, "object": "model", "created": 0, "owned_by": owner }))
        .collect();
    serde_json::json!({ "object": "list", "data": models }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_listed_as_clients_expect_them() {
        let list: serde_json::Value = serde_json::from_str(&models_body(&["card".into()], "demo")).unwrap();
        assert_eq!(list["data"][0]["id"], "card");
        assert_eq!(list["object"], "list");
    }
}
