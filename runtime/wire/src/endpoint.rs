//! The paths that clients ask for, and what each says: the protocol, and in some the model and the form of the answer.

use crate::protocol::Protocol;

/// A known path of a provider's API. `{model}` and `{deployment}` stand for one segment each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    pattern: &'static str,
    protocol: Protocol,
}

/// Every known path. A `{model}` is followed by the method that is called on it.
const ALL: [Endpoint; 9] = [
    Endpoint { pattern: "/v1/chat/completions", protocol: Protocol::OpenAiChat },
    Endpoint { pattern: "/v1/completions", protocol: Protocol::OpenAiCompletions },
    Endpoint { pattern: "/v1/responses", protocol: Protocol::OpenAiResponses },
    Endpoint { pattern: "/v1/messages", protocol: Protocol::AnthropicMessages },
    Endpoint { pattern: "/v1beta/models/{model}", protocol: Protocol::Gemini },
    Endpoint { pattern: "/v1/models/{model}", protocol: Protocol::Gemini },
    Endpoint {
        pattern: "/v1/projects/{project}/locations/{location}/publishers/google/models/{model}",
        protocol: Protocol::Gemini,
    },
    Endpoint { pattern: "/openai/deployments/{deployment}/chat/completions", protocol: Protocol::OpenAiChat },
    Endpoint { pattern: "/openai/deployments/{deployment}/completions", protocol: Protocol::OpenAiCompletions },
];

/// What a path says about the request made on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<'p> {
    /// The endpoint that the path is of.
    pub endpoint: Endpoint,
    /// The model that the path names, percent-encoding as it came.
    pub model: Option<&'p str>,
    /// Whether the path asks for a streamed answer, where the path decides that.
    pub stream: Option<bool>,
}

impl Endpoint {
    /// Every known path, in the order in which they are listed to people.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        &ALL
    }

    /// The path with its placeholders: how the configuration names it.
    #[must_use]
    pub const fn pattern(self) -> &'static str {
        self.pattern
    }

    /// The protocol that is spoken on it.
    #[must_use]
    pub const fn protocol(self) -> Protocol {
        self.protocol
    }

    /// The endpoint whose pattern this is.
    #[must_use]
    pub fn named(pattern: &str) -> Option<Self> {
        ALL.into_iter().find(|endpoint| endpoint.pattern == pattern)
    }

    /// What a request's path says, without its query. `None` for a path that no endpoint has.
    #[must_use]
    pub fn find(path: &str) -> Option<Asked<'_>> {
        ALL.into_iter().find_map(|endpoint| endpoint.read(path))
    }

    fn read(self, path: &str) -> Option<Asked<'_>> {
        let (mut asked, mut given) = (Asked { endpoint: self, model: None, stream: None }, path.split('/'));
        for segment in self.pattern.split('/') {
            let text = given.next()?;
            match segment {
                "{model}" => {
                    let (model, method) = text.rsplit_once(':')?;
                    asked.model = Some(model).filter(|model| !model.is_empty());
                    asked.stream = Some(streams(method)?);
                    asked.model?;
                }
                "{deployment}" => asked.model = Some(text).filter(|text| !text.is_empty()),
                _ if segment.starts_with('{') => {}
                _ if segment != text => return None,
                _ => {}
            }
        }
        let is_whole = given.next().is_none() && (asked.model.is_some() || !self.pattern.contains("{deployment}"));
        is_whole.then_some(asked)
    }
}

/// Whether a method of Gemini's that generates an answer streams it; `None` for one that does something else.
fn streams(method: &str) -> Option<bool> {
    match method {
        "generateContent" => Some(false),
        "streamGenerateContent" => Some(true),
        _ => None,
    }
}

/// A path without the version that base URLs end in: what is appended to one.
#[must_use]
pub fn path_below_version(path: &str) -> &str {
    let versions = ["/v1beta/", "/v1alpha/", "/v1/", "/openai/"];
    let version = versions.into_iter().find(|version| path.starts_with(version));
    version.map_or(path, |version| &path[version.len() - 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> Option<(&'static str, Option<&str>, Option<bool>)> {
        Endpoint::find(path).map(|asked| (asked.endpoint.pattern(), asked.model, asked.stream))
    }

    #[test]
    fn a_path_says_its_protocol_and_may_say_model_and_form() {
        assert_eq!(found("/v1/messages"), Some(("/v1/messages", None, None)));
        assert_eq!(
            found("/v1beta/models/gemini-3:streamGenerateContent"),
            Some(("/v1beta/models/{model}", Some("gemini-3"), Some(true)))
        );
        assert_eq!(
            found("/v1/models/tuned:7:generateContent"),
            Some(("/v1/models/{model}", Some("tuned:7"), Some(false)))
        );
        let azure = "/openai/deployments/{deployment}/chat/completions";
        assert_eq!(found("/openai/deployments/d4/chat/completions"), Some((azure, Some("d4"), None)));
        let vertex = "/v1/projects/p/locations/l/publishers/google/models/m:generateContent";
        assert_eq!(found(vertex).map(|(_, model, stream)| (model, stream)), Some((Some("m"), Some(false))));
    }

    #[test]
    fn what_is_another_path_of_the_api_is_none_of_these() {
        for path in [
            "",
            "/",
            "/v1/messages/",
            "/v1/messages/count_tokens",
            "/v1/models",
            "/v1/models/gpt",
            "/v1beta/models/m:countTokens",
            "/v1beta/models/:generateContent",
            "/openai/deployments//chat/completions",
            "/V1/messages",
        ] {
            assert_eq!(found(path), None, "{path}");
        }
    }

    #[test]
    fn every_pattern_is_found_by_its_name() {
        for endpoint in Endpoint::all() {
            assert_eq!(Endpoint::named(endpoint.pattern()), Some(*endpoint));
        }
    }

    #[test]
    fn what_is_appended_to_a_base_url_has_no_version() {
        assert_eq!(path_below_version("/v1/chat/completions"), "/chat/completions");
        assert_eq!(path_below_version("/openai/deployments/d/completions"), "/deployments/d/completions");
        assert_eq!(path_below_version("/v1"), "/v1");
        assert_eq!(path_below_version("/api/tags"), "/api/tags");
    }
}
