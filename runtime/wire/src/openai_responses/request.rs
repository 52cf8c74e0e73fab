//! What seamd needs to know of a request for a response.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::request::Request;

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    instructions: Option<Value>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(default)]
    tools: Option<Value>,
}

/// Reads a request's body. What is in it beyond the shape needed here is for the provider to judge.
pub(crate) fn read(body: &[u8]) -> Result<Request, String> {
    // A list would be read as the fields of a request in their order.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err("is not a request for a response: it is no JSON object".to_owned());
    }
    let body: Body<'_> =
        serde_json::from_slice(body).map_err(|error| format!("is not a request for a response: {error}"))?;
    let input = body.input.map(RawValue::get).unwrap_or_default();
    Ok(Request {
        model: body.model.unwrap_or_default(),
        stream: body.stream.unwrap_or(false),
        system_prompt: system_prompt(body.instructions.as_ref(), input),
        messages: messages(input),
        tool_names: body.tools.map(|tools| tool_names(&tools)).unwrap_or_default(),
    })
}

/// The input as an array of items: a text alone is what the user says.
fn messages(input: &str) -> String {
    match serde_json::from_str::<Value>(input) {
        Ok(Value::String(text)) => serde_json::json!([{ "role": "user", "content": text }]).to_string(),
        _ => input.to_owned(),
    }
}

/// The instructions and the system and developer messages of the input.
fn system_prompt(instructions: Option<&Value>, input: &str) -> String {
    let items: Vec<Value> = serde_json::from_str(input).unwrap_or_default();
    let system = items.iter().filter(|item| matches!(item["role"].as_str(), Some("system" | "developer")));
    let parts = instructions.into_iter().chain(system.map(|item| &item["content"]));
    parts.map(text_of).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// A text, or the texts of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// The names of the tools: their own, or the type of those that the provider runs.
fn tool_names(tools: &Value) -> Vec<String> {
    let tools = tools.as_array().map(Vec::as_slice).unwrap_or_default();
    let name = |tool: &Value| tool["name"].as_str().or_else(|| tool["type"].as_str()).map(str::to_owned);
    tools.iter().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_what_observers_are_told() {
        let request = read(
            br#"{"model":"m","stream":true,"instructions":"be kind","input":[{"role":"developer","content":
                [{"type":"input_text","text":"and brief"}]},{"role":"user","content":"hi"}],
                "tools":[{"type":"function","name":"search"},{"type":"web_search"}],"extra":1}"#,
        )
        .unwrap();
        assert_eq!((request.model.as_str(), request.stream), ("m", true));
        assert_eq!(request.system_prompt, "be kind\nand brief");
        assert!(request.messages.starts_with(r#"[{"role":"developer""#));
        assert_eq!(request.tool_names, ["search", "web_search"]);
    }

    #[test]
    fn a_text_alone_is_what_the_user_says() {
        let request = read(br#"{"input":"hi"}"#).unwrap();
        assert_eq!(request.messages, r#"[{"content":"hi","role":"user"}]"#);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        assert_eq!(read(b"[]").unwrap_err(), "is not a request for a response: it is no JSON object");
        assert!(read(b"{\"stream\":1}").unwrap_err().contains("line 1 column"));
    }
}
