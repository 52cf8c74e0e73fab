//! From a plugin's table to its typed configuration, with every fault of the table at once.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::Segment;

use crate::plugin::ConfigFault;

/// How many faults are collected before the rest is left unsaid: a table with more is the wrong table.
const MOST_FAULTS: usize = 32;

/// How often a table is tried: each fault takes a few attempts.
const MOST_ATTEMPTS: usize = 16 * MOST_FAULTS;

/// Decodes a table. A deserialiser stops at its first fault; to find the others, something else is put in the place of
/// what is at fault and the table is tried again, until it decodes or nothing fits. What is said of a stand-in, or of a
/// value around one, is not the table's fault and is not told.
pub(crate) fn decode_config<C: DeserializeOwned>(json: &str) -> Result<C, Vec<ConfigFault>> {
    let mut table: Value = serde_json::from_str(json)
        .map_err(|error| vec![ConfigFault::new("", format!("the table does not arrive as JSON: {error}"))])?;
    let (mut faults, mut repairs): (Vec<ConfigFault>, Vec<Repair>) = (Vec::new(), Vec::new());
    for _ in 0..MOST_ATTEMPTS {
        let (fault, place) = match serde_path_to_error::deserialize::<_, C>(table.clone()) {
            Ok(config) if faults.is_empty() => return Ok(config),
            Ok(_) => break,
            Err(error) => describe(&error),
        };
        let (path, message) = (path_text(&place), fault.message.clone());
        if repairs.iter().any(|repair| repair.path != path && lies_in(&repair.path, &path)) {
            break;
        }
        let known = repairs.iter().position(|repair| repair.path == path).unwrap_or_else(|| {
            let is_own = !repairs.iter().any(|repair| lies_in(&path, &repair.path));
            repairs.push(Repair { path, untried: stand_ins(&message), learnt: false });
            faults.extend(is_own.then_some(fault));
            repairs.len() - 1
        });
        repairs[known].learn(&message);
        if faults.len() == MOST_FAULTS || !repairs[known].attempt(&mut table, &place) {
            break;
        }
    }
    Err(faults)
}

/// What is done about the fault at one place.
struct Repair {
    path: String,
    /// What may still be put there, the next one last; the last of all is nothing.
    untried: Vec<Option<Value>>,
    /// Whether what the type of the place itself names is among them.
    learnt: bool,
}

impl Repair {
    /// Of an enum, the first variant that a message names is the stand-in.
    fn learn(&mut self, message: &str) {
        let expected = message.strip_prefix("unknown variant ").and_then(|rest| rest.split_once("expected"));
        if let Some(variant) = expected.filter(|_| !self.learnt).and_then(|(_, rest)| quoted_after(rest, "`")) {
            self.learnt = true;
            self.untried.push(Some(variant.into()));
        }
    }

    /// Puts the next stand-in there; whether there was one, and a place for it.
    fn attempt(&mut self, table: &mut Value, place: &[Segment]) -> bool {
        match self.untried.pop() {
            Some(Some(stand_in)) => put(table, place, stand_in),
            Some(None) => remove(table, place),
            None => false,
        }
    }
}

/// Values of which one fits nearly every type, the first one last.
fn stand_ins(message: &str) -> Vec<Option<Value>> {
    if message.starts_with("unknown field") {
        return vec![None];
    }
    let mut values = vec![None];
    values
        .extend([json!({}), json!([]), json!("a"), json!(""), json!(1), json!(0), json!(false), Value::Null].map(Some));
    values
}

/// Whether a path is another one or leads into what lies there.
fn lies_in(path: &str, outer: &str) -> bool {
    outer.is_empty() || path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The fault, and the place at which something would have to be put for it to be none.
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
    let path = path_text(&place);
    if let Some(key) = quoted_after(&message, "missing field `") {
        place.push(Segment::Map { key: key.to_owned() });
    }
    (ConfigFault::new(path, message), place)
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

/// The value around a place, and the place's name in it.
fn around<'a, 'p>(table: &'a mut Value, place: &'p [Segment]) -> Option<(&'a mut Value, &'p Segment)> {
    let (last, parents) = place.split_last()?;
    let inner = parents.iter().try_fold(table, |at, segment| match segment {
        Segment::Seq { index } => at.get_mut(*index),
        Segment::Map { key } | Segment::Enum { variant: key } => at.get_mut(key),
        Segment::Unknown => None,
    });
    Some((inner?, last))
}

/// Puts a value at a place; whether there is such a place.
fn put(table: &mut Value, place: &[Segment], value: Value) -> bool {
    match around(table, place) {
        Some((Value::Object(table), Segment::Map { key } | Segment::Enum { variant: key })) => {
            table.insert(key.clone(), value);
            true
        }
        Some((Value::Array(items), Segment::Seq { index })) if *index < items.len() => {
            items[*index] = value;
            true
        }
        _ => false,
    }
}

/// Takes out what lies at a place; whether there was anything.
fn remove(table: &mut Value, place: &[Segment]) -> bool {
    match around(table, place) {
        Some((Value::Object(table), Segment::Map { key })) => table.remove(key).is_some(),
        // Taking an item out would renumber those behind it; a fault that nothing stands in for ends the list there.
        Some((Value::Array(items), Segment::Seq { index })) if *index < items.len() => {
            items.truncate(*index);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    #[derive(serde::Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Wide {
        #[serde(rename = "address")]
        _address: std::net::IpAddr,
        #[serde(rename = "kind")]
        _kind: Kind,
        #[serde(rename = "list")]
        _list: Vec<Pattern>,
        #[serde(rename = "one")]
        _one: Pattern,
        #[serde(rename = "zeta")]
        _zeta: std::num::NonZeroU8,
    }

    #[derive(serde::Deserialize, Debug)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Short,
        Long,
    }

    fn paths_of_wide(json: &str) -> Vec<String> {
        let faults = decode_config::<Wide>(json).unwrap_err();
        faults.into_iter().map(|fault| format!("{}: {}", fault.path, fault.message)).collect()
    }

    #[test]
    fn every_missing_key_is_told() {
        let told = paths_of_wide("{\"address\":\"127.0.0.1\"}");
        assert_eq!(told, ["kind", "list", "one", "zeta"].map(|key| format!(": missing field `{key}`")));
    }

    /// A wrong key that must not be missing hid those behind it.
    #[test]
    fn a_wrong_key_that_is_required_does_not_hide_the_others() {
        let told = paths_of_wide(
            r#"{"address":"127.0.0.1","kind":"tall","list":[{"name":1},{"name":"good"},{"nam":2}],"one":{"name":[]},"zeta":0}"#,
        );
        insta::assert_snapshot!(told.join("\n"), @"
        kind: unknown variant `tall`, expected `short` or `long`
        list[0].name: invalid type: integer `1`, expected a string
        list[2].nam: unknown field `nam`, expected `name`
        list[2]: missing field `name`
        one.name: invalid type: sequence, expected a string
        zeta: invalid value: integer `0`, expected a nonzero u8
        ");
    }

    #[test]
    fn a_value_that_nothing_stands_in_for_makes_no_false_fault() {
        let told = paths_of_wide(r#"{"address":"nowhere","zeta":0}"#);
        let expected =
            ["address: invalid IP address syntax", "zeta: invalid value: integer `0`, expected a nonzero u8"];
        assert_eq!(told, expected);
    }

    #[derive(serde::Deserialize, Debug)]
    #[serde(try_from = "Table")]
    struct Checked;

    impl TryFrom<Table> for Checked {
        type Error = String;

        fn try_from(table: Table) -> Result<Self, String> {
            if table.name.len() < 3 { Err(format!("`{}` is too short", table.name)) } else { Ok(Self) }
        }
    }

    #[test]
    fn what_is_said_of_a_stand_in_is_not_told() {
        let told = |json| decode_config::<Checked>(json).unwrap_err().into_iter().map(|fault| fault.message);
        assert_eq!(told("{}").collect::<Vec<_>>(), ["missing field `name`"]);
        assert_eq!(told(r#"{"name":"ab"}"#).collect::<Vec<_>>(), ["`ab` is too short"]);
    }

    #[test]
    fn a_table_of_faults_alone_comes_to_an_end() {
        let keys: Vec<String> = (0..100).map(|key| format!("\"k{key}\":0")).collect();
        assert_eq!(faults(&format!("{{{}}}", keys.join(","))).len(), MOST_FAULTS);
        let items = vec!["{}"; 100].join(",");
        assert_eq!(faults(&format!(r#"{{"name":"x","patterns":[{items}]}}"#)).len(), MOST_FAULTS);
    }

    proptest! {
        /// Whatever the table is: it ends, with a configuration or with faults, no place of which is told twice alike.
        #[test]
        fn every_table_comes_to_an_end(limit in any_value(), name in any_value(), patterns in any_value()) {
            let table = json!({"limit": limit, "name": name, "patterns": patterns}).to_string();
            if let Err(faults) = decode_config::<Table>(&table) {
                prop_assert!(!faults.is_empty());
                for (index, fault) in faults.iter().enumerate() {
                    prop_assert!(!faults[..index].contains(fault), "{:?}", faults);
                }
            }
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-1_i64..300).prop_map(Value::from),
            "[a-z]{0,3}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("(name|nam)", inner, 0..3)
                    .prop_map(|table| Value::Object(table.into_iter().collect()))
            ]
        })
    }

    #[test]
    fn a_missing_key_is_told() {
        let found = faults("{}");
        assert_eq!(found, [(String::new(), "missing field `name`".to_owned())]);
    }
}
