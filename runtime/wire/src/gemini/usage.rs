//! Token counts. Google counts what the model thought beside what it answered, and the results of tools beside the
//! prompt; only together they are what was taken in and what was made, and add up to the total.

use crate::chunk::Decoded;
use crate::fields::Fields;
use crate::json::{self, Malformed, Scanner, Span};
use crate::splice::Object;
use crate::splice::Patches;
use std::fmt::Write as _;

const NAMES: [&str; 6] = [
    "promptTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
    "cachedContentTokenCount",
];

/// A normalised name with the provider's counts that it is the sum of.
const COUNTS: [(&str, &[usize]); 5] = [
    ("input_tokens", &[0, 1]),
    ("output_tokens", &[2, 3]),
    ("total_tokens", &[4]),
    ("reasoning_tokens", &[3]),
    ("cached_tokens", &[5]),
];

/// The provider's object and the counts in it.
#[derive(Debug, Default)]
pub(super) struct Usage {
    pub(super) object: Span,
    counts: [Option<u64>; NAMES.len()],
    /// There is something in the object.
    pub(super) says_anything: bool,
}

impl Usage {
    /// Takes the object that comes next.
    pub(super) fn read(scanner: &mut Scanner<'_>, text: &str, decoded: &mut Decoded) -> Result<Self, Malformed> {
        let mut fields = Fields::<{ NAMES.len() }>::new();
        let object = fields.read(scanner, text, slot, decoded)?;
        let counts = std::array::from_fn(|slot| fields.value(slot).and_then(|value| value.of_str(text).parse().ok()));
        Ok(Self { object, counts, says_anything: object.end - object.start > 2 })
    }

    fn sum(&self, terms: &[usize]) -> Option<u64> {
        let mut known = terms.iter().filter_map(|term| self.counts[*term]).peekable();
        known.peek()?;
        Some(known.fold(0, u64::saturating_add))
    }

    /// Writes the payload of a usage chunk: the counts that are there, then the provider's object as it is.
    pub(super) fn write_payload(&self, text: &str, out: &mut String) {
        out.push('{');
        for (name, terms) in COUNTS {
            if let Some(count) = self.sum(terms) {
                // Writing to a string can't fail.
                let _ = write!(out, "\"{name}\":{count},");
            }
        }
        out.push_str("\"provider\":");
        out.push_str(self.object.of_str(text));
        out.push('}');
    }
}

fn slot(name: &str) -> Option<usize> {
    NAMES.iter().position(|known| *known == name)
}

/// The provider's object that a usage chunk's payload stands for. A normalised count that was changed is written where
/// the provider's object has the first of its terms, less the others; a payload without the provider's object stands
/// for itself.
pub(super) fn provider_json(payload: &str) -> String {
    let whole = json::document_span(payload);
    let provider = json::member_of(payload, whole, "provider");
    let Some(provider) = provider.map(|provider| provider.of_str(payload)) else { return payload.to_owned() };
    let mut decoded = Decoded::default();
    let Ok(usage) = Usage::read(&mut Scanner::new(provider), provider, &mut decoded) else {
        return provider.to_owned();
    };
    let mut patches = Patches::default();
    let mut object = Object::new(provider, usage.object);
    for (name, terms) in COUNTS {
        let count = json::member_of(payload, whole, name).and_then(|count| count.of_str(payload).parse::<u64>().ok());
        let [first, others @ ..] = terms else { continue };
        if let Some(count) = count.filter(|count| Some(*count) != usage.sum(terms)) {
            let others = usage.sum(others).unwrap_or(0);
            object.set(NAMES[*first], &count.saturating_sub(others).to_string(), &mut patches);
        }
    }
    object.write(&mut patches);
    patches.apply(provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROVIDER: &str = r#"{"promptTokenCount":15,"candidatesTokenCount":37,"totalTokenCount":1564,"toolUsePromptTokenCount":770,"thoughtsTokenCount":742,"x":[1]}"#;

    fn payload(provider: &str) -> String {
        let mut out = String::new();
        let usage = Usage::read(&mut Scanner::new(provider), provider, &mut Decoded::default()).unwrap();
        usage.write_payload(provider, &mut out);
        out
    }

    #[test]
    fn counts_add_up_to_the_total() {
        let value: serde_json::Value = serde_json::from_str(&payload(PROVIDER)).unwrap();
        assert_eq!([&value["input_tokens"], &value["output_tokens"], &value["total_tokens"]], [785, 779, 1564]);
        assert_eq!(value["reasoning_tokens"], 742);
        assert!(value.get("cached_tokens").is_none());
    }

    #[test]
    fn counts_that_are_not_there_are_not_told() {
        assert_eq!(payload(r#"{"trafficType":"ON_DEMAND"}"#), r#"{"provider":{"trafficType":"ON_DEMAND"}}"#);
    }

    #[test]
    fn a_changed_count_is_written_where_it_came_from() {
        assert_eq!(provider_json(&payload(PROVIDER)), PROVIDER);
        let changed = payload(PROVIDER).replace("\"output_tokens\":779", "\"output_tokens\":752");
        assert_eq!(provider_json(&changed), PROVIDER.replace(":37", ":10"));
        assert_eq!(provider_json(r#"{"a":1}"#), r#"{"a":1}"#);
    }
}
