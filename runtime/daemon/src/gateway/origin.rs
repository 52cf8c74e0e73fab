//! Who may ask: programs, and web pages of this machine or of a listed origin.

use http::HeaderMap;
use http::header::ORIGIN;

/// Whether a request may be answered, as far as its `Origin` tells. A browser says there which page asks; programs say
/// nothing, and what is installed on this machine says a scheme of its own (`vscode-webview://…`). The origin `null` is that
/// of any page that hides where it is from.
pub(super) fn is_allowed(headers: &HeaderMap, listed: &[String]) -> bool {
    headers.get_all(ORIGIN).iter().all(|origin| {
        let origin = String::from_utf8_lossy(origin.as_bytes()).to_ascii_lowercase();
        listed.contains(&origin) || is_local(&origin)
    })
}

fn is_local(origin: &str) -> bool {
    match origin.split_once("://") {
        Some(("http" | "https", host)) => is_loopback(host),
        Some(_) => true,
        None => false,
    }
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn allows(origin: &'static str) -> bool {
        let headers = HeaderMap::from_iter([(ORIGIN, HeaderValue::from_static(origin))]);
        is_allowed(&headers, &["https://app.example".to_owned()])
    }

    #[test]
    fn a_web_page_of_elsewhere_may_not_spend_the_operators_key() {
        for origin in
            ["https://evil.example", "http://localhost.evil.example", "null", "", "http://127.0.0.1.evil.example"]
        {
            assert!(!allows(origin), "{origin}");
        }
    }

    #[test]
    fn programs_local_pages_and_listed_origins_may_ask() {
        assert!(is_allowed(&HeaderMap::new(), &[]));
        for origin in [
            "http://localhost:3000",
            "http://127.0.0.1:8080",
            "http://[::1]:5173",
            "https://APP.example",
            "vscode-webview://1f",
            "tauri://localhost",
        ] {
            assert!(allows(origin), "{origin}");
        }
    }
}
