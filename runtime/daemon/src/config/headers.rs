//! Request headers that a provider's configuration adds.

use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HOST, HeaderName, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue};

use super::table::{Value, all};
use super::values::Unique;

/// Those that say how the message is framed or coded, or where it goes. seamd sets them from what it does.
const OWN: [HeaderName; 9] =
    [ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// Those that carry a key in one family or another.
pub(crate) const CREDENTIALS: [HeaderName; 4] = [
    AUTHORIZATION,
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-goog-api-key"),
];

/// What common servers accept in one request.
const MOST: usize = 100;

/// A table of header names and values. Beside the provider's `api_key` none may carry another.
pub(super) fn read(value: &Value<'_>, api_key: Option<&Value<'_>>) -> Option<HeaderMap> {
    let table = value.table()?;
    let number = table.entries().len();
    if number > MOST {
        return value.reject(format!("has {number} headers; there may be at most {MOST}"));
    }
    let mut unique = Unique::default();
    let headers = all(table.entries().into_iter().map(|(name, value)| {
        let name = header_name(name, &value, api_key)?;
        if let Some(earlier) = unique.earlier(name.as_str(), value.key_span()) {
            return value.reject_key_beside("is given twice; case makes no difference", earlier, "first given here");
        }
        Some((name, header_value(&value)?))
    }));
    headers.map(HeaderMap::from_iter)
}

fn header_name(name: &str, value: &Value<'_>, api_key: Option<&Value<'_>>) -> Option<HeaderName> {
    let Ok(header) = HeaderName::from_bytes(name.as_bytes()) else {
        return value.reject_key("is not a name that a header can have");
    };
    if OWN.contains(&header) {
        return value.reject_key("is a header that seamd sets itself");
    }
    match api_key {
        Some(key) if CREDENTIALS.contains(&header) => {
            value.reject_key_beside("stands beside api_key, which sets it", key.key_span(), "api_key is here")
        }
        _ => Some(header),
    }
}

fn header_value(value: &Value<'_>) -> Option<HeaderValue> {
    let text = value.text("a string")?;
    let Ok(mut header) = HeaderValue::from_str(text) else {
        return value
            .reject("has a character that no header value can have; visible ASCII, spaces and tabs may be used");
    };
    header.set_sensitive(true);
    Some(header)
}
