//! The URL that a provider's paths are appended to.

use http::Uri;
use http::uri::{Authority, Scheme};

use super::table::{Value, shown};

/// An `http` or `https` URL without credentials, query and fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    /// `http` or `https`.
    pub scheme: Scheme,
    /// The host and, where given, the port: never empty, never with credentials.
    pub authority: Authority,
    /// The path without a slash at its end: empty, or as in `/v1`.
    pub prefix: String,
}

impl BaseUrl {
    /// Whether the provider is reached over TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// The host: a name, an IPv4 address or an IPv6 address in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.authority.host()
    }

    /// The port: the one given, or the scheme's own.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.authority.port_u16().unwrap_or(if self.is_tls() { 443 } else { 80 })
    }
}

/// The URL that `text` is, or why it is none in words that fit after "which".
fn parse(text: &str) -> Result<BaseUrl, &'static str> {
    let parts = text.parse::<Uri>().map_err(|_| "is not a URL")?.into_parts();
    let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
        return Err("has no scheme and host");
    };
    if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
        return Err("is neither http nor https");
    }
    if authority.as_str().contains('@') {
        return Err("has credentials in it, though they belong in api_key or headers");
    }
    // The authority keeps a port that is none, as in "host:" or "host:99999".
    let after_host = authority.as_str().strip_prefix(authority.host());
    if authority.host().is_empty() || after_host != Some("") && authority.port_u16().is_none() {
        return Err("has no valid host and port");
    }
    // The URI type drops a fragment without a word.
    if text.contains(['?', '#']) {
        return Err("has a query or fragment, to which no path can be appended");
    }
    let path = parts.path_and_query.map(|path| path.path().trim_end_matches('/').to_owned());
    Ok(BaseUrl { scheme, authority, prefix: path.unwrap_or_default() })
}

pub(super) fn read(value: &Value<'_>) -> Option<BaseUrl> {
    let text = value.text("a URL such as \"https://api.openai.com/v1\"")?;
    let named = if text.contains('@') {
        // It may be the end of a password, which neither the message nor the line beneath it may show.
        value.keep_secret();
        "a URL with an \"@\"".to_owned()
    } else {
        shown(text)
    };
    match parse(text) {
        Ok(url) => Some(url),
        Err(why) => value.reject(format!("is {named}, which {why}; write one such as \"https://api.openai.com/v1\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (bool, String, u16, String) {
        let url = parse(text).unwrap();
        (url.is_tls(), url.host().to_owned(), url.port(), url.prefix)
    }

    #[test]
    fn the_parts_that_are_dialled_are_kept() {
        assert_eq!(parts("https://api.openai.com/v1"), (true, "api.openai.com".into(), 443, "/v1".into()));
        assert_eq!(parts("http://[::1]:8000/"), (false, "[::1]".into(), 8000, String::new()));
        assert_eq!(parts("HTTP://h"), (false, "h".into(), 80, String::new()));
        assert_eq!(parts("https://h/a/b//"), (true, "h".into(), 443, "/a/b".into()));
    }

    #[test]
    fn what_cannot_be_dialled_is_refused() {
        for (text, why) in [
            ("", "is not a URL"),
            ("https://", "is not a URL"),
            ("api.openai.com", "has no scheme and host"),
            ("/v1", "has no scheme and host"),
            ("ftp://h/", "is neither http nor https"),
            ("https://h:99999/v1", "has no valid host and port"),
            ("https://h:/v1", "has no valid host and port"),
            ("https://:443/v1", "has no valid host and port"),
            ("https://me:word@h/v1", "has credentials in it, though they belong in api_key or headers"),
            ("https://h/v1?key=1", "has a query or fragment, to which no path can be appended"),
            ("https://h/v1#top", "has a query or fragment, to which no path can be appended"),
        ] {
            assert_eq!(parse(text), Err(why), "{text}");
        }
    }
}
