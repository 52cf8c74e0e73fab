//! What seamd needs to know of a request for completions. The request itself goes on as the bytes that came.

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
    prompt: Option<&'a RawValue>,
}

/// Reads a request's body. What is in it beyond the shape needed here is for the provider to judge. A prompt is what a
/// user says, so that observers are shown a message of the user for each; tokens are shown as they came.
///
/// # Errors
/// Why the body is not a request, in words that follow "the request's body".
pub(crate) fn read(body: &[u8]) -> Result<Request, String> {
    // A list would be read as the fields of a request in their order.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err("is not a completions request: it is no JSON object".to_owned());
    }
    let body: Body<'_> =
        serde_json::from_slice(body).map_err(|error| format!("is not a completions request: {error}"))?;
    Ok(Request {
        model: body.model.unwrap_or_default(),
        stream: body.stream.unwrap_or(false),
        messages: body.prompt.map(|prompt| messages(prompt.get())).unwrap_or_default(),
        ..Request::default()
    })
}

/// The messages that stand for a prompt: text, a list of texts, or tokens in either place.
fn messages(prompt: &str) -> String {
    let list: Option<Vec<&RawValue>> = serde_json::from_str(prompt).ok();
    match list.filter(|list| has_prompts(list)) {
        Some(prompts) => {
            format!("[{}]", prompts.iter().map(|prompt| message(prompt.get())).collect::<Vec<_>>().join(","))
        }
        None => format!("[{}]", message(prompt)),
    }
}

/// Whether a list is one of prompts: a list of numbers is the tokens of one.
fn has_prompts(list: &[&RawValue]) -> bool {
    list.iter().all(|element| element.get().starts_with(['"', '[']))
}

fn message(content: &str) -> String {
    format!("{{\"role\":\"user\",\"content\":{content}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages_of(prompt: &str) -> String {
        read(format!("{{\"prompt\":{prompt}}}").as_bytes()).unwrap().messages
    }

    #[test]
    fn a_request_says_what_observers_are_told() {
        let request =
            read(br#"{"model":"m","stream":true,"prompt":"Once \"upon\"","echo":true,"suffix":"end"}"#).unwrap();
        let messages = r#"[{"role":"user","content":"Once \"upon\""}]"#.to_owned();
        assert_eq!(request, Request { model: "m".into(), stream: true, messages, ..Request::default() });
    }

    #[test]
    fn each_prompt_is_a_message_of_the_user() {
        insta::assert_snapshot!(messages_of(r#"["a","b"]"#), @r#"[{"role":"user","content":"a"},{"role":"user","content":"b"}]"#);
        insta::assert_snapshot!(messages_of("[1,2,3]"), @r#"[{"role":"user","content":[1,2,3]}]"#);
        insta::assert_snapshot!(messages_of("[[1,2],[3]]"), @r#"[{"role":"user","content":[1,2]},{"role":"user","content":[3]}]"#);
        assert_eq!(messages_of("null"), "", "none is named");
        assert_eq!(messages_of("[]"), "[]");
        assert_eq!(read(b"{}").unwrap(), Request::default());
    }

    #[test]
    fn what_is_no_request_is_refused_with_the_place() {
        let error = read(b"{\"model\":").unwrap_err();
        assert!(error.starts_with("is not a completions request: EOF while parsing"), "{error}");
        for no_object in ["", "[]", "[null,true]", "null", "\"text\"", "1"] {
            let error = read(no_object.as_bytes()).unwrap_err();
            assert_eq!(error, "is not a completions request: it is no JSON object", "{no_object}");
        }
    }
}
