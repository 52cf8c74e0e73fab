//! From a plugin's table to its typed configuration, with every fault of the table at once.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

use crate::plugin::ConfigFault;

/// How many faults are collected before the rest is left unsaid: a table with more is the wrong table.
const MOST_FAULTS: usize = 32;

/// Decodes a table. A deserialiser stops at its first fault; to find the others, the value at fault is taken out and the
/// rest is tried again, until it decodes or what is missing is what was taken out.
pub(crate) fn decode_config<C: DeserializeOwned>(json: &str) -> Result<C, Vec<ConfigFault>> {
    let mut table: Value = serde_json::from_str(json)
        .map_err(|error| vec![ConfigFault::new("", format!("the table does not arrive as JSON: {error}"))])?;
    let mut faults: Vec<ConfigFault> = Vec::new();
    while faults.len() < MOST_FAULTS {
        let (fault, place) = match serde_path_to_error::deserialize::<_, C>(table.clone()) {
            Ok(config) if faults.is_empty() => return Ok(config),
            Ok(_) => break,
            Err(error) => describe(&error),
        };
        if faults.iter().any(|known| fault.path == known.path || is_echo(known, &fault)) {
            break;
        }
        faults.push(fault);
        if !remove(&mut table, &place) {
            break;
        }
    }
    Err(faults)
}

/// Whether a fault only says that the key which an earlier fault took out is missing.
fn is_echo(earlier: &ConfigFault, fault: &ConfigFault) -> bool {
    quoted_after(&fault.message, "missing field `").is_some_and(|field| {
        let path = if fault.path.is_empty() { field.to_owned() } else { format!("{}.{field}", fault.path) };
        earlier.path == path
    })
}

fn describe(error: &serde_path_to_error::Error<serde_json::Error>) -> (ConfigFault, Vec<Segment>) {
    let message = error.inner().to_string();
    let mut place: Vec<Segment> =
        error.path().iter().filter(|segment| !matches!(segment, Segment::Unknown)).map(copy).collect();
    // An unknown key is reported at the table that it stands in; the key itself is the better place.
    if let Some(key) = quoted_after(&message, "unknown field `") {
        let named = matches!(place.last(), Some(Segment::Map { key: last }) if last == key);
        if !named {
            place.push(Segment::Map { key: key.to_owned() });
        }
    }
    (ConfigFault::new(path_text(&place), message), place)
}

fn copy(segment: &Segment) -> Segment {
    match segment {
        Segment::Seq { index } => Segment::Seq { index: *index },
        Segment::Map { key } => Segment::Map { key: key.clone() },
        Segment::Enum { variant } => Segment::Enum { variant: variant.clone() },
        Segment::Unknown => Segment::Unknown,
    }
}

fn path_text(place: &[Segment]) -> String {
    let mut text = String::new();
    for segment in place {
        match segment {
            Segment::Seq { index } => text.push_str(&format!("[{index}]")),
            Segment::Map { key } | Segment::Enum { variant: key } => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            Segment::Unknown => {}
        }
    }
    text
}

fn quoted_after<'a>(message: &'a str, opening: &str) -> Option<&'a str> {
    let start = message.find(opening)? + opening.len();
    message[start..].split_once('`').map(|(name, _)| name)
}

/// Takes out what lies at a place; whether there was anything.
fn remove(value: &mut Value, place: &[Segment]) -> bool {
    let Some((last, parents)) = place.split_last() else { return false };
    let mut at = value;
    for segment in parents {
        let next = match segment {
            Segment::Seq { index } => at.get_mut(*index),
            Segment::Map { key } => at.get_mut(key),
            Segment::Enum { .. } | Segment::Unknown => return false,
        };
        let Some(next) = next else { return false };
        at = next;
    }
    match (last, at) {
        (Segment::Map { key }, Value::Object(table)) => table.remove(key).is_some(),
        // Taking an item out would renumber those behind it; a fault in a list ends the list there instead.
        (Segment::Seq { index }, Value::Array(items)) if *index < items.len() => {
            items.truncate(*index);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Table {
        #[serde(default)]
        limit: u8,
        name: String,
        #[serde(default)]
        patterns: Vec<Pattern>,
    }

    #[derive(serde::Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Pattern {
        name: String,
    }

    fn faults(json: &str) -> Vec<(String, String)> {
        let mut faults: Vec<_> =
            decode_config::<Table>(json).unwrap_err().into_iter().map(|fault| (fault.path, fault.message)).collect();
        faults.sort();
        faults
    }

    #[test]
    fn a_good_table_decodes() {
        let table: Table = decode_config(r#"{"name":"x","patterns":[{"name":"p"}]}"#).unwrap();
        assert_eq!(table.patterns[0].name, "p");
    }

    #[test]
    fn every_fault_is_told_at_once_with_its_path() {
        let found = faults(r#"{"name":1,"limit":900,"patterns":[{"name":"a"},{"nam":"b"}],"extra":true}"#);
        let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["extra", "limit", "name", "patterns[1]", "patterns[1].nam"]);
    }

    #[test]
    fn a_key_that_was_taken_out_is_not_reported_missing() {
        assert_eq!(faults(r#"{"name":1}"#).len(), 1);
    }

    #[test]
    fn a_missing_key_is_told() {
        let found = faults("{}");
        assert_eq!(found, [(String::new(), "missing field `name`".to_owned())]);
    }
}
