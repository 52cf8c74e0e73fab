//! Tool calls as a client puts them together: by index, over a whole stream in which some are made and some are the
//! provider's.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::{content_with, frame, frames, fresh, tool_call};
use crate::{Decoded, Edit, Wire};

/// One frame of the stream.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A fragment of the provider's call with that index.
    Provided(u32),
    /// Content that an observer makes a call of, under the index that it likes.
    Made(u32),
    /// Content that goes on as such, with two calls beside it that like the same index.
    Beside(u32),
}

/// A call as a client knows it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

/// The data of a step's frame, and the call that must come out of it.
fn data(step: Step, number: usize, expected: &mut BTreeMap<String, Call>) -> String {
    let delta = match step {
        Step::Made(_) => {
            let call = Call { id: String::new(), name: format!("made{number}"), arguments: format!("m{number}") };
            expected.insert(call.name.clone(), call);
            r#""content":"<tool>""#.to_owned()
        }
        Step::Beside(_) => {
            for half in ["a", "b"] {
                let call =
                    Call { id: String::new(), name: format!("made{number}{half}"), arguments: format!("m{half}") };
                expected.insert(call.name.clone(), call);
            }
            r#""content":"text<tool>""#.to_owned()
        }
        Step::Provided(index) => {
            let name = format!("provided{index}");
            let begins = !expected.contains_key(&name);
            let call = expected.entry(name.clone()).or_insert_with(|| Call { name: name.clone(), ..Call::default() });
            call.arguments += &format!("p{number}");
            let head = format!(r#""id":"id{index}","type":"function","#);
            let (head, name) = if begins { (head, format!(r#""name":"{name}","#)) } else { Default::default() };
            format!(r#""tool_calls":[{{"index":{index},{head}"function":{{{name}"arguments":"p{number}"}}}}]"#)
        }
    };
    format!(r#"{{"choices":[{{"index":0,"delta":{{{delta}}},"finish_reason":null}}]}}"#)
}

/// Sends a frame the way the seam does.
fn send(chat: &mut Wire, data: &str, edit: Edit<'_>, out: &mut Vec<u8>) {
    let (frame, mut decoded) = (frame(data), Decoded::default());
    chat.decode(&frame, &mut decoded);
    if edit == Edit::Keep && !chat.needs_render(&frame, &decoded) {
        out.extend_from_slice(frame.raw());
        chat.passed(&frame, &decoded);
    } else {
        chat.render(&frame, &decoded, &[edit], out);
    }
}

/// What a client makes of the stream: the calls by index, the text, and the finish reason.
fn assemble(out: &[u8]) -> (BTreeMap<u64, Call>, String, String) {
    let (mut calls, mut text, mut finish) = (BTreeMap::<u64, Call>::new(), String::new(), String::new());
    for frame in frames(out) {
        let value: Value = serde_json::from_slice(frame.data().unwrap()).unwrap();
        let choice = &value["choices"][0];
        finish += choice["finish_reason"].as_str().unwrap_or_default();
        text += choice["delta"]["content"].as_str().unwrap_or_default();
        for fragment in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let call = calls.entry(fragment["index"].as_u64().unwrap()).or_default();
            call.id += fragment["id"].as_str().unwrap_or_default();
            call.name += fragment["function"]["name"].as_str().unwrap_or_default();
            call.arguments += fragment["function"]["arguments"].as_str().unwrap_or_default();
        }
    }
    (calls, text, finish)
}

fn step() -> impl Strategy<Value = Step> {
    let index = || 0..3_u32;
    prop_oneof![index().prop_map(Step::Provided), index().prop_map(Step::Made), index().prop_map(Step::Beside)]
}

/// Sends the steps and a finish, and checks what a client makes of it.
fn check(steps: &[Step]) -> Result<(), TestCaseError> {
    let (mut chat, mut out, mut expected) = (fresh(), Vec::new(), BTreeMap::new());
    for (number, step) in steps.iter().enumerate() {
        let data = data(*step, number, &mut expected);
        match step {
            Step::Provided(_) => send(&mut chat, &data, Edit::Keep, &mut out),
            Step::Made(index) => {
                let payload = format!("{{\"index\":{index},\"name\":\"made{number}\"}}");
                send(&mut chat, &data, tool_call(&format!("m{number}"), &payload), &mut out);
            }
            Step::Beside(index) => {
                let call = |half| format!(r#"{{"index":{index},"name":"made{number}{half}","arguments":"m{half}"}}"#);
                let payload = format!("{{\"tool_calls\":[{},{}]}}", call("a"), call("b"));
                send(&mut chat, &data, content_with("text", &payload), &mut out);
            }
        }
    }
    send(&mut chat, r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#, Edit::Keep, &mut out);
    let (calls, text, finish) = assemble(&out);
    let beside = steps.iter().filter(|step| matches!(step, Step::Beside(_))).count();
    prop_assert_eq!(text, "text".repeat(beside));
    let made = steps.iter().any(|step| !matches!(step, Step::Provided(_)));
    prop_assert_eq!(finish, if made { "tool_calls" } else { "stop" });
    let ids: std::collections::BTreeSet<&str> = calls.values().map(|call| call.id.as_str()).collect();
    prop_assert_eq!(ids.len(), calls.len(), "every call has an id of its own: {:?}", calls);
    let told: BTreeMap<String, Call> =
        calls.into_values().map(|call| (call.name.clone(), Call { id: String::new(), ..call })).collect();
    prop_assert_eq!(told, expected);
    Ok(())
}

#[test]
fn a_call_that_gave_way_to_a_made_one_does_not_take_the_next_ones_index() {
    check(&[Step::Made(0), Step::Provided(0), Step::Provided(1)]).unwrap();
}

proptest! {
    #[test]
    fn made_and_provided_calls_never_run_into_each_other(steps in prop::collection::vec(step(), 0..12)) {
        check(&steps)?;
    }
}
