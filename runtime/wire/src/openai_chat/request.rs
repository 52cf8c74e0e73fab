//! What seamd needs to know of a request for chat completions. The request itself goes on as the bytes that came.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::request::Request;

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(borrow, default)]
    messages: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    role: String,
    #[serde(default)]
    content: serde_json::Value,
}

#[derive(Deserialize)]
struct Tool {
    #[serde(default)]
    function: Function,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Default, Deserialize)]
struct Function {
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
        return Err("is not a chat request: it is no JSON object".to_owned());
    }
    let body: Body<'_> = serde_json::from_slice(body).map_err(|error| format!("is not a chat request: {error}"))?;
    let messages = body.messages.map(RawValue::get).unwrap_or_default();
    Ok(Request {
        model: body.model.unwrap_or_default(),
        stream: body.stream.unwrap_or(false),
        system_prompt: system_prompt(messages),
        messages: messages.to_owned(),
        tool_names: body.tools.map(|tools| tool_names(tools.get())).unwrap_or_default(),
    })
}

/// The system messages' text; empty where the messages are of another shape than any client sends.
fn system_prompt(messages: &str) -> String {
    let messages: Vec<Message> = serde_json::from_str(messages).unwrap_or_default();
    let system = messages.iter().filter(|message| matches!(message.role.as_str(), "system" | "developer"));
    system.map(|message| content_text(&message.content)).collect::<Vec<_>>().join("\n")
}

/// A message's text: its content, or the text parts of it.
fn content_text(content: &serde_json::Value) -> String {
    match content {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn tool_names(tools: &str) -> Vec<String> {
    let tools: Vec<Tool> = serde_json::from_str(tools).unwrap_or_default();
    tools.into_iter().filter_map(|tool| tool.function.name.or(tool.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_what_observers_are_told() {
        let request = read(
            br#"{"model":"m","stream":true,"messages":[{"role":"system","content":"be kind"},
                {"role":"developer","content":[{"type":"text","text":"and brief"}]},{"role":"user","content":"hi"}],
                "tools":[{"type":"function","function":{"name":"search"}},{"type":"custom","name":"grep"}],"extra":1}"#,
        )
        .unwrap();
        assert_eq!(request.model, "m");
        assert!(request.stream);
        assert_eq!(request.system_prompt, "be kind\nand brief");
        assert!(request.messages.starts_with(r#"[{"role":"system""#));
        assert_eq!(request.tool_names, ["search", "grep"]);
    }

    #[test]
    fn what_a_provider_would_refuse_is_left_to_it() {
        let request = read(br#"{"messages":"no list","tools":{"a":1}}"#).unwrap();
        assert_eq!(request, Request { messages: "\"no list\"".into(), ..Request::default() });
    }

    #[test]
    fn what_is_no_request_is_refused_with_the_place() {
        let error = read(b"{\"model\":").unwrap_err();
        assert!(error.starts_with("is not a chat request: EOF while parsing"), "{error}");
        assert!(read(br#"{"stream":"yes"}"#).unwrap_err().contains("line 1 column"));
        for no_object in ["", " ", "[]", "[null,true]", "null", "\"text\"", "1"] {
            let error = read(no_object.as_bytes()).unwrap_err();
            assert_eq!(error, "is not a chat request: it is no JSON object", "{no_object}");
        }
    }
}
