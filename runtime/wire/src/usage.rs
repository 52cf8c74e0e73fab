//! Token counts: the provider's object, and the normalised names that observers see beside it.

use crate::json::{self, Kind, Span};
use crate::splice::Patches;

/// A normalised name with the paths where providers put that number, the first that is there counts.
const COUNTS: [(&str, &[&[&str]]); 5] = [
    ("input_tokens", &[&["prompt_tokens"], &["input_tokens"]]),
    ("output_tokens", &[&["completion_tokens"], &["output_tokens"]]),
    ("total_tokens", &[&["total_tokens"]]),
    (
        "reasoning_tokens",
        &[
            &["completion_tokens_details", "reasoning_tokens"],
            &["output_tokens_details", "reasoning_tokens"],
            &["output_tokens_details", "thinking_tokens"],
            &["reasoning_tokens"],
        ],
    ),
    (
        "cached_tokens",
        &[
            &["prompt_tokens_details", "cached_tokens"],
            &["input_tokens_details", "cached_tokens"],
            &["prompt_cache_hit_tokens"],
            &["cache_read_input_tokens"],
        ],
    ),
];

/// Whether a usage object says anything.
pub(crate) fn is_value(text: &str, usage: Span) -> bool {
    !json::members_of(text, usage).is_empty()
}

/// Writes the payload of a usage chunk: the counts that are there, then the provider's object as it is.
pub(crate) fn write_payload(text: &str, usage: Span, out: &mut String) {
    out.push('{');
    for (name, paths) in COUNTS {
        if let Some(count) = paths.iter().find_map(|path| number_at(text, usage, path)) {
            for piece in ["\"", name, "\":", count.of_str(text), ","] {
                out.push_str(piece);
            }
        }
    }
    out.push_str("\"provider\":");
    out.push_str(usage.of_str(text));
    out.push('}');
}

fn number_at(text: &str, object: Span, path: &[&str]) -> Option<Span> {
    let value = path.iter().try_fold(object, |object, name| json::member_of(text, object, name))?;
    (json::kind_of(text, value) == Kind::Number).then_some(value)
}

/// The provider's object that a usage chunk's payload stands for. A normalised count that was changed is written where
/// the provider's object has that number; a payload without the provider's object stands for itself.
pub(crate) fn provider_json(payload: &str) -> String {
    let whole = Span::new(0, payload.len());
    let Some(provider) = json::member_of(payload, whole, "provider") else { return payload.to_owned() };
    let mut patches = Patches::default();
    for (name, paths) in COUNTS {
        let Some(count) = json::member_of(payload, whole, name) else { continue };
        let places: Vec<Span> = paths.iter().filter_map(|path| number_at(payload, provider, path)).collect();
        if places.first().is_some_and(|first| first.of_str(payload) != count.of_str(payload)) {
            for place in places {
                patches.replace(place, count.of_str(payload));
            }
        }
    }
    let changed = patches.apply(payload);
    json::member_of(&changed, Span::new(0, changed.len()), "provider")
        .map_or(changed.clone(), |provider| provider.of_str(&changed).to_owned())
}
