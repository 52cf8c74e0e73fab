//! Answers that are not streamed: the same chunks, the same ladder, one body.

use bytes::Bytes;
use seam_ladder::{OnEndHeld, OnFault, Policy};
use seam_plugin_api::Outcome;
use serde_json::Value;

use crate::drive::{Noted, seam};
use crate::observer::{Move, Scripted};

const BODY: &str = r#"{"id":"c-1","object":"chat.completion","created":1,"model":"m", "kept":[1, 2],"choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"hm","content":"card 1234"},"finish_reason":"stop"}],"usage":{"total_tokens":3}}"#;

fn whole(body: &str, observers: &[Scripted]) -> (String, Option<Outcome>) {
    let mut noted = Noted::default();
    let mut seam = seam(observers, &mut noted);
    let sent = seam.whole(&Bytes::copy_from_slice(body.as_bytes()), 7);
    (String::from_utf8(sent.to_vec()).unwrap(), seam.outcome())
}

#[test]
fn unchanged_is_the_very_bytes() {
    for body in [BODY, "", "no JSON", "[1, 2]", r#"{"object":"list" ,"data":[]}"#] {
        assert_eq!(whole(body, &[Scripted::new(vec![Move::Buffer; 9])]), (body.into(), Some(Outcome::Completed)));
    }
}

#[test]
fn an_amended_chunk_changes_its_own_field_alone() {
    let (sent, _) = whole(BODY, &[Scripted::new([Move::Continue, Move::Amend("card ****")])]);
    assert_eq!(sent, BODY.replace("1234", "****"));
}

#[test]
fn a_stop_leaves_a_finished_answer_with_the_reason() {
    let (sent, outcome) = whole(BODY, &[Scripted::new([Move::Continue, Move::Stop])]);
    assert_eq!(outcome, Some(Outcome::Stopped));
    let sent: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(sent["choices"][0]["finish_reason"], "content_filter");
    assert_eq!(sent["choices"][0]["message"]["reasoning_content"], "hm");
    assert!(!sent.to_string().contains("1234"));
    assert_eq!(sent["seam"]["stop"]["reason"], "as scripted");
    assert_eq!(sent["kept"], serde_json::json!([1, 2]));
}

#[test]
fn what_is_held_to_the_end_is_discarded_where_the_operator_says_so() {
    let discard = Policy { on_end_held: OnEndHeld::Discard, ..Policy::default() };
    let (sent, outcome) = whole(BODY, &[Scripted::new([Move::Continue, Move::Buffer]).with(discard)]);
    assert!(!sent.contains("1234") && serde_json::from_str::<Value>(&sent).is_ok(), "{sent}");
    assert_eq!(outcome, Some(Outcome::Completed));
}

#[test]
fn a_fault_is_skipped_or_stops() {
    let skip = Scripted::new([Move::Buffer, Move::Fault]);
    assert_eq!(whole(BODY, std::slice::from_ref(&skip)), (BODY.into(), Some(Outcome::Completed)));
    let stop = skip.with(Policy { on_fault: OnFault::Stop, ..Policy::default() });
    let (sent, outcome) = whole(BODY, &[stop]);
    assert_eq!(outcome, Some(Outcome::ObserverFault));
    assert!(!sent.contains("1234") && sent.contains("observer_fault"), "{sent}");
}

#[test]
fn an_error_in_a_body_with_a_good_status_is_the_providers() {
    let body = r#"{"error":{"message":"overloaded","code":503}}"#;
    assert_eq!(whole(body, &[]), (body.into(), Some(Outcome::ProviderError)));
}
