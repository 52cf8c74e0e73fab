//! What the operator is shown: health, readiness, plugins, what is under way, metrics; and what the log says.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what the tests share says by panicking what must hold, as they do"
)]

mod bench;

use bench::*;
use e2e::daemon::Daemon;
use e2e::os::Signal;
use e2e::provider::Provider;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

async fn metrics(daemon: &Daemon) -> String {
    let mut response = daemon.admin_client().await.unwrap().get("/metrics").await.unwrap();
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!((response.status, response.header("content-type")), (200, Some(kind)));
    response.text().await.unwrap()
}

/// The value of the sample that is written so, labels included.
fn sample(metrics: &str, written: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(written)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{written} in\n{metrics}")).parse().unwrap()
}

async fn status(daemon: &Daemon, method: &str, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let client = daemon.admin_client().await.unwrap();
    let mut response = client.request(method, path, headers, "").await.unwrap();
    (response.status, response.json().await.unwrap())
}

#[tokio::test]
async fn it_is_ready_until_it_is_told_to_end_and_healthy_until_it_has() {
    let provider = Provider::start().unwrap();
    let mut daemon = Daemon::start(&toml_with(&provider, "drain_timeout = \"1h\"", "")).unwrap();
    assert_eq!(status(&daemon, "GET", "/health", &[]).await, (200, json!({"status": "ok"})));
    assert_eq!(status(&daemon, "GET", "/ready", &[]).await, (200, json!({"ready": true})));
    let stream = Paced::begin(&daemon, &provider).await;
    daemon.signal(Signal::Terminate).unwrap();
    until("it to be no longer ready", async || status(&daemon, "GET", "/ready", &[]).await.0 == 503).await;
    let reason = json!({"ready": false, "reason": "shutting down"});
    assert_eq!(status(&daemon, "GET", "/ready", &[]).await, (503, reason));
    assert_eq!(status(&daemon, "GET", "/health", &[]).await.0, 200);
    assert!(ended_well(&stream.finish().await));
    assert_eq!(daemon.exit().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn web_pages_other_methods_and_other_paths_are_refused() {
    let provider = Provider::start().unwrap();
    let daemon = Daemon::start(&toml(&provider, "")).unwrap();
    for path in ["/health", "/ready", "/plugins", "/invocations", "/metrics"] {
        assert_eq!(status(&daemon, "GET", path, &[("origin", "http://example.org")]).await.0, 403, "{path}");
        assert_eq!(status(&daemon, "POST", path, &[]).await.0, 405, "{path}");
    }
    assert_eq!(status(&daemon, "POST", "/reload", &[("origin", "null")]).await.0, 403);
    assert_eq!(status(&daemon, "GET", "/reload", &[]).await.0, 405);
    let (code, body) = status(&daemon, "GET", "/", &[]).await;
    assert_eq!(code, 404);
    assert!(body["error"].as_str().unwrap().contains("/health"), "{body}");
    assert_eq!(count(&daemon, "reload"), 0, "{}", daemon.log());
}

#[tokio::test]
async fn plugins_are_shown_with_what_they_are_and_what_they_did() {
    let provider = Provider::start().unwrap();
    let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let daemon = setup(&toml(&provider, &plugin_table("versioned.so", "")), &[("versioned.so", &versioned(b'1'))])
        .start()
        .unwrap();
    assert_eq!(text(&daemon, &provider, &["a", "b"]).await, "1:a1:b");
    until("the end to be counted", async || plugin_state(&daemon, "versioned").await["chunks"] == 3).await;
    let plugin = plugin_state(&daemon, "versioned").await;
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(plugin["observers"], json!(["versioned"]));
    assert_eq!((&plugin["invocations"], &plugin["warnings"]), (&json!(1), &json!([])));
    assert_eq!((&plugin["verdicts"]["amend"], &plugin["verdicts"]["continue"]), (&json!(2), &json!(1)));
    assert_eq!(plugin["faults"], json!({"panic": 0, "violation": 0, "hold_over_bound": 0, "malformed": 0}));
    assert!(plugin["time_spent_seconds"].is_number() && plugin["built_with"].as_str().unwrap().starts_with("rustc "));
    let inspected = seamd(daemon.folder(), &["plugin", "inspect", "--json", "plugins/versioned.so"]).await;
    let inspected: Value = serde_json::from_str(&inspected.stdout).unwrap();
    assert_eq!(plugin["sha256"], inspected["sha256"]);
    assert_eq!(plugin["path"], json!(daemon.folder().join("plugins/versioned.so")));
    let since = plugin["since"].as_str().unwrap();
    assert!(since.ends_with('Z') && since.len() == 20, "{since} after {began}");
}

#[tokio::test]
async fn time_spent_in_a_plugin_adds_up() {
    let provider = Provider::start().unwrap();
    let slow = plugin_table("broken.so", "[plugin.config]\nfault = \"slow\"\nmillis = 2");
    let daemon = setup(&toml(&provider, &slow), &[("broken.so", &library("broken"))]).start().unwrap();
    // One call of 64 is timed and stands for all, so what a single slow call adds is a matter of luck; many calls are not.
    let pieces = vec!["x"; 200];
    text(&daemon, &provider, &pieces).await;
    until("the time to be counted", async || plugin_state(&daemon, "broken").await["chunks"] == 201).await;
    let spent = plugin_state(&daemon, "broken").await["time_spent_seconds"].as_f64().unwrap();
    assert!(spent > 0.0, "{spent}");
}

#[tokio::test]
async fn an_invocation_under_way_is_shown_with_the_observer_that_it_is_in() {
    let provider = Provider::start().unwrap();
    let slow = plugin_table("broken.so", "call_class = \"utility\"\n[plugin.config]\nfault = \"slow\"\nmillis = 1500");
    let daemon = setup(&toml(&provider, &slow), &[("broken.so", &library("broken"))]).start().unwrap();
    assert_eq!(admin(&daemon, "/invocations").await, json!([]));
    let idle = Paced::begin_as(&daemon, &provider, "other-model", "synthesize").await;
    let list = admin(&daemon, "/invocations").await;
    let shown = &list[0];
    assert_eq!(
        (&shown["model"], &shown["provider"], &shown["call_class"]),
        (&json!("other-model"), &json!("scripted"), &json!("synthesize"))
    );
    assert_eq!((&shown["generation"], &shown["in_call"]), (&json!(1), &Value::Null));
    assert!(shown["running_ms"].is_u64() && shown["invocation_id"].as_str().unwrap().len() == 36, "{shown}");
    provider.answer(answer(&["a", "b"]));
    let slow = send_as(&daemon, "m", "utility").await;
    until("the slow observer to be shown", async || {
        admin(&daemon, "/invocations").await[1]["in_call"] == json!(["broken", "broken"])
    })
    .await;
    assert!(ended_well(&slow.receive().await.unwrap().events().await.unwrap()));
    assert!(ended_well(&idle.finish().await));
    until("nothing to be under way", async || admin(&daemon, "/invocations").await == json!([])).await;
}

#[tokio::test]
async fn what_plugins_log_and_count_arrives_under_their_names() {
    let provider = Provider::start().unwrap();
    let plugins =
        plugin_table("witness.so", "name = \"eyes\"") + &plugin_table("stream_metrics.so", "name = \"meter\"");
    let files: [(&str, &[u8]); 2] =
        [("witness.so", &library("witness")), ("stream_metrics.so", &library("stream_metrics"))];
    let daemon = setup(&toml(&provider, &plugins), &files).start().unwrap();
    text(&daemon, &provider, &["a", "bc"]).await;
    let line = daemon.log_line(|line| line.contains("told of the end")).await.unwrap();
    assert!(line.contains(" INFO plugin: told of the end: completed after "), "{line}");
    assert!(line.ends_with("plugin=\"eyes\" observer=\"witness\""), "{line}");
    until("the plugin's counters", async || metrics(&daemon).await.contains("plugin=\"meter\",name=")).await;
    let text = metrics(&daemon).await;
    let of_the_plugin = |family: &str| text.lines().filter(|line| line.starts_with(&format!("{family}{{"))).count();
    assert!(of_the_plugin("seamd_plugin_counter_total") > 0, "{text}");
    assert!(of_the_plugin("seamd_plugin_histogram_count") > 0, "{text}");
    assert!(sample(&text, "seamd_envelopes_total{channel=\"witness\",plugin=\"eyes\"}") == 1.0);
    assert!(sample(&text, "seamd_envelopes_total{channel=\"metrics\",plugin=\"meter\"}") >= 1.0);
}

#[tokio::test]
async fn metrics_say_what_happened() {
    let provider = Provider::start().unwrap();
    let daemon = setup(&toml(&provider, &plugin_table("versioned.so", "")), &[("versioned.so", &versioned(b'1'))])
        .start()
        .unwrap();
    text(&daemon, &provider, &["a", "b"]).await;
    assert_eq!(daemon.client().await.unwrap().get("/none").await.unwrap().status, 404);
    assert_eq!(reload(&daemon).await.0, 200);
    daemon.setup().write("seamd.toml", "").unwrap();
    assert_eq!(reload(&daemon).await.0, 409);
    let completed = "seamd_invocations_total{provider=\"scripted\",call_class=\"converse\",outcome=\"completed\"}";
    until("the invocation to be counted", async || metrics(&daemon).await.contains(completed)).await;
    let metrics = metrics(&daemon).await;
    let wanted = [
        (completed, 1.0),
        ("seamd_requests_total{status=\"200\"}", 1.0),
        ("seamd_requests_total{status=\"404\"}", 1.0),
        ("seamd_reloads_total{result=\"accepted\"}", 1.0),
        ("seamd_generation", 2.0),
        ("seamd_log_lines_dropped_total", 0.0),
        ("seamd_first_byte_seconds_count{provider=\"scripted\"}", 1.0),
        ("seamd_invocation_duration_seconds_count{provider=\"scripted\"}", 1.0),
        ("seamd_plugin_chunks_total{plugin=\"versioned\"}", 3.0),
        ("seamd_plugin_verdicts_total{plugin=\"versioned\",verdict=\"amend\"}", 2.0),
        ("seamd_plugin_faults_total{plugin=\"versioned\",kind=\"panic\"}", 0.0),
    ];
    for (written, value) in wanted {
        assert_eq!(sample(&metrics, written), value, "{written}");
    }
    // The watch may have refused the same file before.
    assert!(sample(&metrics, "seamd_reloads_total{result=\"refused\"}") >= 1.0);
}

#[tokio::test]
async fn metrics_are_open_metrics_text_to_the_letter() {
    let provider = Provider::start().unwrap();
    let plugins = plugin_table("stream_metrics.so", "") + &plugin_table("versioned.so", "");
    let files: [(&str, &[u8]); 2] =
        [("stream_metrics.so", &library("stream_metrics")), ("versioned.so", &versioned(b'1'))];
    let daemon = setup(&toml(&provider, &plugins), &files).start().unwrap();
    // A name that has to be escaped is no name, so a model's is as wild as it gets; it is in no label.
    provider.answer(answer(&["a"]));
    let mut response = ask_as(&daemon, "\"\\\n{}", "utility").await;
    assert!(ended_well(&response.events().await.unwrap()));
    Exposition::parse(&metrics(&daemon).await).check_histograms();
}

/// What OpenMetrics text says, having been read by its rules: families in one piece each, types before samples, names with
/// the suffix of their type, `# EOF` at the end.
#[derive(Default)]
struct Exposition {
    types: BTreeMap<String, String>,
    samples: Vec<(String, BTreeMap<String, String>, f64)>,
}

impl Exposition {
    fn parse(text: &str) -> Self {
        let lines = text.strip_suffix("# EOF\n").unwrap();
        let (mut exposition, mut family, mut seen) = (Self::default(), String::new(), BTreeSet::new());
        for line in lines.lines() {
            if let Some(comment) = line.strip_prefix("# ") {
                let mut words = comment.splitn(3, ' ');
                let (what, name, rest) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
                assert!(is_metric_name(name), "{line}");
                if name != family {
                    assert!(seen.insert(name.to_owned()), "{name} is in two pieces");
                    name.clone_into(&mut family);
                }
                match what {
                    "HELP" => assert!(!rest.is_empty(), "{line}"),
                    "UNIT" => assert!(name.ends_with(&format!("_{rest}")), "{line}"),
                    "TYPE" => {
                        assert!(["counter", "gauge", "histogram"].contains(&rest), "{line}");
                        exposition.types.insert(name.to_owned(), rest.to_owned());
                    }
                    _ => panic!("{line}"),
                }
                continue;
            }
            let (name, labels, value) = parse_sample(line);
            let suffixes: &[&str] = match exposition.types.get(&family).map(String::as_str) {
                Some("counter") => &["_total"],
                Some("histogram") => &["_bucket", "_count", "_sum"],
                Some("gauge") => &[""],
                _ => panic!("a sample before its type: {line}"),
            };
            assert!(suffixes.iter().any(|suffix| name == format!("{family}{suffix}")), "{line} under {family}");
            let known = exposition.samples.iter().any(|(other, others, _)| (other, others) == (&name, &labels));
            assert!(!known, "twice: {line}");
            exposition.samples.push((name, labels, value));
        }
        assert!(!exposition.samples.is_empty());
        exposition
    }

    /// Buckets only grow, and the last one is the count.
    fn check_histograms(&self) {
        let counts: Vec<_> = self.samples.iter().filter(|(name, ..)| name.ends_with("_count")).collect();
        assert!(!counts.is_empty(), "there are histograms");
        for (name, labels, count) in counts {
            let bucket = name.replace("_count", "_bucket");
            let mut buckets = Vec::new();
            for (other, others, value) in &self.samples {
                let mut others = others.clone();
                if let (true, Some(bound)) = (*other == bucket, others.remove("le"))
                    && others == *labels
                {
                    buckets.push((bound.replace("+Inf", "inf").parse::<f64>().unwrap(), *value));
                }
            }
            assert!(buckets.is_sorted(), "{name}: {buckets:?}");
            assert!(buckets.is_sorted_by_key(|(_, value)| *value), "{name}: {buckets:?}");
            assert_eq!(buckets.last(), Some(&(f64::INFINITY, *count)), "{name}");
        }
    }
}

fn is_metric_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `name{label="value",…} 1.0`
fn parse_sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let (head, value) = line.rsplit_once(' ').unwrap();
    let (name, mut rest) = match head.split_once('{') {
        Some((name, labels)) => (name, labels.strip_suffix('}').unwrap()),
        None => (head, ""),
    };
    assert!(is_metric_name(name), "{line}");
    let mut labels = BTreeMap::new();
    while !rest.is_empty() {
        let (label, after) = rest.split_once("=\"").unwrap();
        let mut escaped = false;
        let end = after.find(|char| {
            let ends = char == '"' && !escaped;
            escaped = char == '\\' && !escaped;
            ends
        });
        let end = end.unwrap_or_else(|| panic!("a value without an end: {line}"));
        assert!(is_metric_name(label), "{line}");
        assert!(labels.insert(label.to_owned(), after[..end].to_owned()).is_none(), "{line}");
        rest = &after[end + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    (name.to_owned(), labels, value.parse().unwrap_or_else(|_| panic!("no number: {line}")))
}

#[tokio::test]
async fn a_unix_socket_serves_the_same() {
    let provider = Provider::start().unwrap();
    let toml = toml(&provider, "").replace("admin = \"127.0.0.1:0\"", "admin = \"unix:admin.sock\"");
    let daemon = Daemon::start(&toml).unwrap();
    assert_eq!(admin(&daemon, "/health").await, json!({"status": "ok"}));
    let address = format!("unix:{}", daemon.folder().join("admin.sock").display());
    assert_eq!(daemon.admin(), address);
    for (named, generation) in [(["--admin", &address], 2), (["-c", "seamd.toml"], 3)] {
        let said = seamd(daemon.folder(), &[&["reload"], &named[..]].concat()).await;
        assert_eq!(
            (said.code, said.stdout),
            (Some(0), format!("accepted: generation {generation}\n")),
            "{}",
            said.stderr
        );
    }
    Exposition::parse(&metrics(&daemon).await);
}
