//! What seamd needs to know of a request for a message. The request itself goes on as the bytes that came.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::request::Request;

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    system: serde_json::Value,
    #[serde(borrow, default)]
    messages: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Tool {
    #[serde(default)]
    name: Option<String>,
}

/// Reads a request's body. What is in it beyond the shape needed here is for the provider to judge.
///
/// # Errors
/// Why the body is not a request, in words that follow "the request's body".
pub(crate) fn read(body: &[u8]) -> Result<Request, String> {
    // A list would be read as the fields of a request in their order.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err("is not a messages request: it is no JSON object".to_owned());
    }
    let body: Body<'_> = serde_json::from_slice(body).map_err(|error| format!("is not a messages request: {error}"))?;
    Ok(Request {
        model: body.model.unwrap_or_default(),
        stream: body.stream.unwrap_or(false),
        system_prompt: system_prompt(&body.system),
        messages: body.messages.map(RawValue::get).unwrap_or_default().to_owned(),
        tool_names: body.tools.map(|tools| tool_names(tools.get())).unwrap_or_default(),
    })
}

/// The system prompt: a text, or text blocks.
fn system_prompt(system: &serde_json::Value) -> String {
    match system {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn tool_names(tools: &str) -> Vec<String> {
    let tools: Vec<Tool> = serde_json::from_str(tools).unwrap_or_default();
    tools.into_iter().filter_map(|tool| tool.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_what_observers_are_told() {
        let request = read(
            br#"{"model":"m","max_tokens":9,"stream":true,"system":[{"type":"text","text":"be kind"},{"type":"text",
                "text":"and brief","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"hi"}],
                "tools":[{"name":"search","input_schema":{}},{"type":"web_search_20250305","name":"web_search"}]}"#,
        )
        .unwrap();
        assert_eq!((request.model.as_str(), request.stream), ("m", true));
        assert_eq!(request.system_prompt, "be kind\nand brief");
        assert_eq!(request.messages, r#"[{"role":"user","content":"hi"}]"#);
        assert_eq!(request.tool_names, ["search", "web_search"]);
    }

    #[test]
    fn a_system_prompt_may_be_one_text() {
        assert_eq!(read(br#"{"system":"be kind"}"#).unwrap().system_prompt, "be kind");
    }

    #[test]
    fn what_a_provider_would_refuse_is_left_to_it() {
        let request = read(br#"{"messages":"no list","tools":{"a":1},"system":5}"#).unwrap();
        assert_eq!(request, Request { messages: "\"no list\"".into(), ..Request::default() });
    }

    #[test]
    fn what_is_no_request_is_refused_with_the_place() {
        let error = read(b"{\"model\":").unwrap_err();
        assert!(error.starts_with("is not a messages request: EOF while parsing"), "{error}");
        assert!(read(br#"{"stream":"yes"}"#).unwrap_err().contains("line 1 column"));
        for no_object in ["", "[]", "null", "\"text\""] {
            assert_eq!(read(no_object.as_bytes()).unwrap_err(), "is not a messages request: it is no JSON object");
        }
    }
}
