//! What a good file means.

use std::path::{Path, PathBuf};
use std::time::Duration;

use seam_host::OnLoadError;
use seam_ladder::{Hold, OnEndHeld, OnFault, Policy};
use seam_plugin_api::CallClass;
use serde_json::json;

use super::super::*;
use super::{REST, config};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn remote(config: &Config) -> &Remote {
    match &config.providers[0].upstream {
        Upstream::Remote(remote) => remote,
        Upstream::Recorded(recorded) => panic!("{recorded:?}"),
    }
}

#[test]
fn a_short_file_gets_every_default() {
    let config = config(REST);
    assert_eq!(config.file, here("seamd.toml"));
    assert_eq!(config.server.listen, server::DEFAULT_LISTEN);
    assert_eq!(config.server.admin, AdminAddress::Tcp(server::DEFAULT_ADMIN));
    assert_eq!(config.server.drain_timeout, Duration::from_secs(30));
    assert!((1..=1024).contains(&config.server.workers));
    assert_eq!((config.server.max_request, config.server.max_response), (32 << 20, 64 << 20));
    assert_eq!((config.server.max_frame, &config.server.state_dir), (16 << 20, &None));
    assert_eq!((config.log.level.as_str(), config.log.format), ("info", LogFormat::Text));
    assert_eq!(config.reload, Reload { watch: true, settle: Duration::from_millis(250) });
    let remote = remote(&config);
    assert_eq!((remote.connect_timeout, remote.first_byte_timeout), (Duration::from_secs(5), Duration::from_secs(120)));
    assert_eq!((remote.idle_timeout, remote.pool_idle), (Duration::from_secs(60), 64));
    assert_eq!((&remote.api_key, remote.http, &remote.ca_file), (&None, HttpVersion::Auto, &None));
    assert!(remote.headers.is_empty());
    assert_eq!(config.routes[0].call_class, CallClass::Converse);
    assert_eq!(config.routes[0].provider, config.providers[0]);
    assert!(config.plugins.is_empty());
}

#[test]
fn a_plugin_gets_its_defaults() {
    let config = config(&format!("[[plugin]]\npath = \"a.so\"\n{REST}"));
    let wanted = Plugin {
        path: here("a.so"),
        name: None,
        call_class: None,
        policy: Policy {
            on_fault: OnFault::Skip,
            on_end_held: OnEndHeld::Release,
            hold: Hold { chunks: 1024, text: 65536 },
        },
        on_load_error: OnLoadError::Refuse,
        config: serde_json::Map::new(),
    };
    assert_eq!(config.plugins, [wanted]);
}

#[test]
fn what_is_given_is_taken() {
    let config = config(&format!(
        r#"
[server]
listen = "[::1]:9000"
admin = "unix:run/seamd.sock"
drain_timeout = "1m 30s"
workers = 3
max_request = "1MiB"
max_response = "2MB"
max_frame = "4096"
state_dir = "state"

[log]
level = "info,seamd=debug"
format = "json"

[reload]
watch = false
settle = "1s"

[[plugin]]
path = "/opt/a.so"
name = "a-1"
call_class = ["synthesize", "utility"]
on_fault = "stop"
on_end_held = "discard"
on_load_error = "skip"
hold = {{ chunks = 1_000, text = 0x10 }}

[[plugin]]
path = "b.so"
call_class = "reasoning"
{REST}"#
    ));
    assert_eq!(config.server.listen, "[::1]:9000".parse().unwrap());
    assert_eq!(config.server.admin, AdminAddress::Unix(here("run/seamd.sock")));
    assert_eq!((config.server.drain_timeout, config.server.workers), (Duration::from_secs(90), 3));
    assert_eq!((config.server.max_request, config.server.max_response), (1 << 20, 2_000_000));
    assert_eq!((config.server.max_frame, config.server.state_dir), (4096, Some(here("state"))));
    assert_eq!((config.log.level.as_str(), config.log.format), ("info,seamd=debug", LogFormat::Json));
    assert_eq!(config.log.level.to_env_filter().to_string(), "seamd=debug,info");
    assert_eq!(config.reload, Reload { watch: false, settle: Duration::from_secs(1) });
    let first = &config.plugins[0];
    assert_eq!((first.path.as_path(), first.name.as_deref()), (Path::new("/opt/a.so"), Some("a-1")));
    assert_eq!(first.call_class, Some(vec![CallClass::Synthesize, CallClass::Utility]));
    let hold = Hold { chunks: 1000, text: 16 };
    assert_eq!(first.policy, Policy { on_fault: OnFault::Stop, on_end_held: OnEndHeld::Discard, hold });
    assert_eq!(first.on_load_error, OnLoadError::Skip);
    assert_eq!(config.plugins[1].call_class, Some(vec![CallClass::Reasoning]));
}

#[test]
fn a_provider_is_what_its_table_says() {
    let config = config(
        r#"
[[provider]]
name = "mine"
family = "openai"
base_url = "https://models.example:8443/openai/v1/"
api_key = { command = ["bin/key", "--raw"] }
connect_timeout = "100ms"
first_byte_timeout = "1h"
idle_timeout = "5s"
pool_idle = 0
http = "2"
ca_file = "Cargo.toml"
headers = { x-team = "blue", X-Trace = "" }

[[provider]]
name = "demo"
family = "openai"
recorded = "src"
pace = "20ms"

[[route]]
path = "/v1/chat/completions"
provider = "demo"
call_class = "synthesize"
"#,
    );
    let remote = remote(&config);
    assert_eq!((remote.base_url.host(), remote.base_url.port()), ("models.example", 8443));
    assert_eq!((remote.base_url.is_tls(), remote.base_url.prefix.as_str()), (true, "/openai/v1"));
    let key = ApiKey::Command { program: here("bin/key"), arguments: vec!["--raw".into()] };
    assert_eq!(remote.api_key, Some(key));
    assert_eq!((remote.http, &remote.ca_file, remote.pool_idle), (HttpVersion::Http2, &Some(here("Cargo.toml")), 0));
    assert_eq!(
        (&remote.headers["x-team"], &remote.headers["x-trace"]),
        (&"blue".parse().unwrap(), &"".parse().unwrap())
    );
    assert!(remote.headers.values().all(http::HeaderValue::is_sensitive));
    let recorded = Recorded { folder: here("src"), pace: Pace::Every(Duration::from_millis(20)) };
    assert_eq!(config.providers[1].upstream, Upstream::Recorded(recorded));
    assert_eq!(config.routes[0].provider, config.providers[1]);
    assert_eq!(config.routes[0].call_class, CallClass::Synthesize);
}

#[test]
fn an_api_key_comes_from_one_of_three_places() {
    for (text, wanted) in [
        ("{ env = \"KEY\" }", ApiKey::Env("KEY".into())),
        ("{ file = \"key\" }", ApiKey::File(here("key"))),
        ("{ command = [\"pass\"] }", ApiKey::Command { program: "pass".into(), arguments: vec![] }),
    ] {
        let with_key = REST.replace("base_url", &format!("api_key = {text}\nbase_url"));
        assert_eq!(remote(&config(&with_key)).api_key, Some(wanted));
    }
}

#[test]
fn a_plugins_table_becomes_json() {
    let config = config(&format!(
        r#"
[[plugin]]
path = "a.so"

[plugin.config]
text = "é"
number = -127
ratio = 1_0.5
on = true
day = 1979-05-27T07:32:00Z
list = [1, [2], {{ a = 3 }}]
deep.er = 1

[[plugin.config.patterns]]
name = "x"

[plugin.config."a.b"]
c = 07:32:00
{REST}"#
    ));
    let wanted = json!({
        "text": "é", "number": -127, "ratio": 10.5, "on": true, "day": "1979-05-27T07:32:00Z",
        "list": [1, [2], {"a": 3}], "deep": {"er": 1}, "patterns": [{"name": "x"}], "a.b": {"c": "07:32:00"},
    });
    assert_eq!(serde_json::Value::Object(config.plugins[0].config.clone()), wanted);
}

#[test]
fn the_files_to_watch_are_those_that_matter_each_once() {
    let config = config(&format!(
        "[[plugin]]\npath = \"b.so\"\nname = \"x\"\n[[plugin]]\npath = \"b.so\"\n{}",
        REST.replace("base_url", "ca_file = \"Cargo.toml\"\napi_key = { file = \"key\" }\nbase_url")
    ));
    assert_eq!(config.files(), ["Cargo.toml", "b.so", "key", "seamd.toml"].map(here));
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line() {
    assert_eq!(config(&format!("\u{feff}{REST}")), config(REST));
    let report = super::faults(&format!("\u{feff}x = 1\n{REST}"));
    assert_eq!((report.faults()[0].line, report.faults()[0].column), (1, 1));
}

#[test]
fn lines_may_end_as_they_do_on_windows() {
    assert_eq!(config(&REST.replace('\n', "\r\n")), config(REST));
}
