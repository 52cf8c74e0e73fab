//! What an edit of every text comes to, said with whole JSON values and nothing of the code under test.

use serde_json::Value;

/// Every text of the answer in upper case, wherever it stands.
pub(super) fn upper(mut answer: Value) -> Value {
    for candidate in listed(&mut answer["candidates"]) {
        for part in listed(&mut candidate["content"]["parts"]) {
            upper_part(part);
        }
        for support in listed(&mut candidate["groundingMetadata"]["groundingSupports"]) {
            upper_string(&mut support["segment"]["text"]);
        }
    }
    prune(&mut answer);
    answer
}

fn upper_part(part: &mut Value) {
    upper_string(&mut part["text"]);
    upper_string(&mut part["executableCode"]["code"]);
    upper_string(&mut part["codeExecutionResult"]["output"]);
    for call in ["functionCall", "toolCall"] {
        upper_values(&mut part[call]["args"]);
    }
    for value in listed(&mut part["functionCall"]["partialArgs"]) {
        upper_string(&mut value["stringValue"]);
    }
}

/// Every string in upper case that is no name.
pub(super) fn upper_values(value: &mut Value) {
    match value {
        Value::Object(members) => members.values_mut().for_each(upper_values),
        Value::Array(elements) => elements.iter_mut().for_each(upper_values),
        value => upper_string(value),
    }
}

fn upper_string(value: &mut Value) {
    if let Value::String(text) = value {
        *text = text.to_uppercase();
    }
}

fn listed(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_array_mut().into_iter().flatten()
}

/// Takes away the nulls that looking for members has put in.
fn prune(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(prune);
            members.retain(|_, member| !member.is_null());
            members.retain(|name, member| !is_made(name, member));
        }
        Value::Array(elements) => elements.iter_mut().for_each(prune),
        _ => {}
    }
}

/// An object that is there because a member of it was looked for.
fn is_made(name: &str, member: &Value) -> bool {
    let looked_for = [
        "executableCode",
        "codeExecutionResult",
        "functionCall",
        "toolCall",
        "content",
        "groundingMetadata",
        "segment",
    ];
    looked_for.contains(&name) && member.as_object().is_some_and(serde_json::Map::is_empty)
}

/// The value without the objects and nulls that say nothing, so that it can be compared.
pub(super) fn pruned(mut value: Value) -> Value {
    prune(&mut value);
    value
}
