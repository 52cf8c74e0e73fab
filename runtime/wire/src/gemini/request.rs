//! What seamd needs to know of a Gemini request's body. Its model and whether it is streamed stand in the path.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::request::Request;

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    contents: Option<&'a RawValue>,
    /// The readers of protocol buffers take both spellings of every name.
    #[serde(borrow, default, alias = "system_instruction", rename = "systemInstruction")]
    system_instruction: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
}

/// Reads a request's body. What is in it beyond the shape needed here is for the provider to judge.
///
/// # Errors
/// Why the body is not a request, in words that follow "the request's body".
pub(crate) fn read(body: &[u8]) -> Result<Request, String> {
    // A list would be read as the fields of a request in their order.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err("is not a Gemini request: it is no JSON object".to_owned());
    }
    let body: Body<'_> = serde_json::from_slice(body).map_err(|error| format!("is not a Gemini request: {error}"))?;
    Ok(Request {
        model: String::new(),
        stream: false,
        system_prompt: body.system_instruction.map(|content| text_of(&value(content))).unwrap_or_default(),
        messages: body.contents.map(RawValue::get).unwrap_or_default().to_owned(),
        tool_names: body.tools.map(|tools| tool_names(&value(tools))).unwrap_or_default(),
    })
}

/// The value, or null where it nests deeper than any client's.
fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// The text of a content: that of its parts, or the content itself where it is a string.
fn text_of(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.get("parts").unwrap_or(&Value::Null);
    let texts: Vec<&str> = listed(parts).filter_map(|part| part.get("text")?.as_str()).collect();
    texts.join("\n")
}

fn tool_names(tools: &Value) -> Vec<String> {
    let declarations = listed(tools).flat_map(|tool| {
        let declared = tool.get("functionDeclarations").or_else(|| tool.get("function_declarations"));
        listed(declared.unwrap_or(&Value::Null))
    });
    declarations.filter_map(|declaration| Some(declaration.get("name")?.as_str()?.to_owned())).collect()
}

/// The elements of a list; one object alone is taken for a list of one, as the provider does.
fn listed(value: &Value) -> impl Iterator<Item = &Value> {
    let single = value.is_object().then_some(value);
    value.as_array().into_iter().flatten().chain(single)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_what_observers_are_told() {
        let request = read(
            br#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],
                "systemInstruction":{"parts":[{"text":"be kind"},{"text":"and brief"}],"role":"user"},
                "tools":[{"functionDeclarations":[{"name":"a"},{"name":"b"}]},{"googleSearch":{}}],"generationConfig":{}}"#,
        )
        .unwrap();
        assert_eq!(request.system_prompt, "be kind\nand brief");
        assert!(request.messages.starts_with(r#"[{"role":"user""#));
        assert_eq!(request.tool_names, ["a", "b"]);
        assert_eq!((request.model.as_str(), request.stream), ("", false));
    }

    #[test]
    fn both_spellings_are_read() {
        let request = read(
            br#"{"system_instruction":{"parts":{"text":"one"}},"tools":{"function_declarations":[{"name":"a"}]}}"#,
        )
        .unwrap();
        assert_eq!((request.system_prompt.as_str(), request.tool_names), ("one", vec!["a".to_owned()]));
    }

    #[test]
    fn what_a_provider_would_refuse_is_left_to_it() {
        let request = read(br#"{"contents":"text","systemInstruction":7,"tools":[1,{"functionDeclarations":{}}]}"#);
        assert_eq!(request.unwrap(), Request { messages: "\"text\"".into(), ..Request::default() });
    }

    #[test]
    fn what_is_no_request_is_refused_with_the_place() {
        assert!(read(b"{\"contents\":").unwrap_err().starts_with("is not a Gemini request: EOF while parsing"));
        for no_object in ["", "[]", "null", "\"text\"", "1"] {
            assert_eq!(read(no_object.as_bytes()).unwrap_err(), "is not a Gemini request: it is no JSON object");
        }
    }
}
