//! Plugins that are broken on purpose, in a daemon: what becomes of the stream, of other streams, and what the operator sees.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold, as they do")]

mod bench;

use bench::*;
use e2e::daemon::Daemon;
use e2e::provider::Provider;
use e2e::sse::{Event, chat_text};
use serde_json::{Value, json};

/// What is broken, where, and what it is counted as.
struct Case {
    fault: &'static str,
    kind: &'static str,
    /// What the client has got when the stream is stopped for it.
    delivered: &'static str,
}

const fn case(fault: &'static str, kind: &'static str, delivered: &'static str) -> Case {
    Case { fault, kind, delivered }
}

/// Faults over the second of three pieces: "a", "b", "c".
const AT_A_CHUNK: [Case; 10] = [
    case("panic_chunk", "panic", "a"),
    case("panic_chunk_and_drop", "panic", "a"),
    case("panic_payload", "panic", "a"),
    case("non_json_payload", "malformed", "a"),
    case("bad_channel", "violation", "a"),
    // These hold the first piece until then.
    case("release_unknown", "violation", ""),
    case("release_too_many", "violation", ""),
    case("release_out_of_order", "violation", ""),
    case("strip_too_much", "violation", "a"),
    case("hold_forever", "hold_over_bound", "a"),
];

/// A daemon with the plugin `broken` in the streams of one call class.
fn daemon(provider: &Provider, fault: &str, on_fault: &str) -> Daemon {
    let more = format!(
        "call_class = \"utility\"\non_fault = \"{on_fault}\"\nhold = {{ chunks = 1 }}\n\
         [plugin.config]\nfault = \"{fault}\"\nat = 2"
    );
    let toml = toml(provider, &plugin_table("broken.so", &more));
    setup(&toml, &[("broken.so", &library("broken"))]).start().unwrap()
}

/// The three pieces through the plugin, while another stream without it runs.
async fn stream_beside_another(daemon: &Daemon, provider: &Provider) -> Vec<Event> {
    let mut other = Paced::begin_as(daemon, provider, "other", "converse").await;
    assert_eq!(other.next_mark().await, "");
    provider.answer(answer(&["a", "b", "c"]));
    let mut response = ask_as(daemon, "m", "utility").await;
    assert_eq!(response.status, 200);
    let events = response.events().await.unwrap();
    assert_eq!(other.next_mark().await, "");
    assert!(ended_well(&other.finish().await), "the other stream ends as if nothing had been");
    events
}

async fn faults(daemon: &Daemon) -> Value {
    plugin_state(daemon, "broken").await["faults"].clone()
}

/// Exactly one kind is counted.
fn is_counted(faults: &Value, kind: &str) -> bool {
    faults.as_object().unwrap().iter().all(|(other, count)| (other == kind) == (count.as_u64() != Some(0)))
}

#[tokio::test]
async fn with_skip_the_answer_is_whole_and_the_fault_is_logged_and_counted() {
    for case in AT_A_CHUNK {
        let provider = Provider::start().unwrap();
        let daemon = daemon(&provider, case.fault, "skip");
        let events = stream_beside_another(&daemon, &provider).await;
        assert_eq!(chat_text(&events), "abc", "{}", case.fault);
        assert!(ended_well(&events), "{}", case.fault);
        let line = daemon.log_line(|line| line.contains("a plugin was at fault")).await.unwrap();
        for part in [
            "plugin=\"broken\" observer=\"broken\" invocation=",
            " action=\"skip\" ",
            &format!("fault=\"{}", case.kind),
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
        until("the fault to be counted", async || is_counted(&faults(&daemon).await, case.kind)).await;
        counted(&daemon, "outcome=\"completed\"", 2).await;
        // The next stream gets an observer of its own.
        assert_eq!(chat_text(&stream_beside_another(&daemon, &provider).await), "abc");
        counted(&daemon, "a plugin was at fault", 2).await;
    }
}

#[tokio::test]
async fn with_stop_the_stream_ends_in_front_of_the_chunk_and_says_why() {
    for case in AT_A_CHUNK {
        let provider = Provider::start().unwrap();
        let daemon = daemon(&provider, case.fault, "stop");
        let events = stream_beside_another(&daemon, &provider).await;
        assert_eq!(chat_text(&events), case.delivered, "{}", case.fault);
        let [.., last, done] = &events[..] else { panic!("{}: {events:?}", case.fault) };
        let last = last.json();
        let stop = &last["seam"]["stop"];
        assert_eq!(
            (&stop["reason"], &stop["plugin"]),
            (&json!("observer_fault"), &json!("broken")),
            "{}: {last}",
            case.fault
        );
        assert_eq!(last["choices"][0]["finish_reason"], "content_filter");
        assert!(done.is_done() && done.whole());
        let line = daemon.log_line(|line| line.contains("a plugin was at fault")).await.unwrap();
        assert!(line.contains(" action=\"stop\" "), "{line}");
        until("the fault to be counted", async || is_counted(&faults(&daemon).await, case.kind)).await;
        daemon.log_line(|line| line.contains("outcome=\"observer_fault\"")).await.unwrap();
    }
}

#[tokio::test]
async fn an_observer_that_is_not_made_is_left_out_or_refuses_the_stream() {
    let provider = Provider::start().unwrap();
    let skipping = daemon(&provider, "panic_factory", "skip");
    assert_eq!(chat_text(&stream_beside_another(&skipping, &provider).await), "abc");
    skipping.log_line(|line| line.contains("a plugin did not make an observer")).await.unwrap();
    assert!(is_counted(&faults(&skipping).await, "panic"));

    let stopping = daemon(&provider, "panic_factory", "stop");
    let calls = provider.calls().len();
    let mut response = ask_as(&stopping, "m", "utility").await;
    assert_eq!(response.status, 503);
    let error = response.json().await.unwrap();
    assert_eq!((&error["error"]["type"], &error["error"]["code"]), (&json!("plugin_error"), &json!("observer_fault")));
    assert_eq!(provider.calls().len(), calls, "the provider is not asked");
    assert!(is_counted(&faults(&stopping).await, "panic"));
    assert_eq!(text(&stopping, &provider, &["a"]).await, "a", "streams without it run");
}

#[tokio::test]
async fn a_panic_after_the_end_costs_nothing_but_a_count() {
    for fault in ["panic_end", "panic_drop"] {
        for on_fault in ["skip", "stop"] {
            let provider = Provider::start().unwrap();
            let daemon = daemon(&provider, fault, on_fault);
            let events = stream_beside_another(&daemon, &provider).await;
            assert_eq!((chat_text(&events).as_str(), ended_well(&events)), ("abc", true), "{fault}");
            until("the panic to be counted", async || is_counted(&faults(&daemon).await, "panic")).await;
            counted(&daemon, "outcome=\"completed\"", 2).await;
        }
    }
}

#[tokio::test]
async fn a_plugin_that_panics_when_it_is_dropped_is_counted_and_the_reload_stands() {
    let provider = Provider::start().unwrap();
    let daemon = daemon(&provider, "panic_plugin_drop", "skip");
    assert_eq!(reload(&daemon).await.0, 200);
    daemon.log_line(|line| line.contains("at fault when it was dropped")).await.unwrap();
    until("the panic to be counted", async || is_counted(&faults(&daemon).await, "panic")).await;
    assert_eq!(chat_text(&stream_beside_another(&daemon, &provider).await), "abc");
}
