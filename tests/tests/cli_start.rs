//! How a daemon starts, what keeps it from starting, and what it says then.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold, as they do")]

mod bench;

use bench::*;
use e2e::daemon::{Daemon, Setup, command};
use e2e::process::Process;
use e2e::provider::Provider;
use serde_json::json;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

/// The plugin `minimal` under a name, which writes one word where there was another.
fn replacing(name: &str, word: &str, instead: &str) -> String {
    let more = format!("name = \"{name}\"\n[plugin.config]\nword = \"{word}\"\ninstead = \"{instead}\"");
    plugin_table("minimal.so", &more)
}

async fn run(setup: &Setup) -> Said {
    seamd(setup.folder(), &["run", "-c", "seamd.toml"]).await
}

/// The refusal of a configuration that must not start, as a person reads it.
async fn refused(toml: &str, plugins: &[(&str, &[u8])]) -> String {
    let setup = setup(toml, plugins);
    let said = run(&setup).await;
    assert_eq!((said.code, said.stdout.as_str()), (Some(3), ""), "{}", said.stderr);
    let text = plain(&said.stderr, setup.folder()).replace("seamd.toml:", "FILE:");
    // What plugins log while they are configured comes first.
    text[text.find("error: ").unwrap()..].to_owned()
}

#[tokio::test]
async fn one_bad_plugin_keeps_it_from_starting_and_every_fault_of_every_plugin_is_told() {
    let provider = Provider::start().unwrap();
    let plugins = plugin_table("none.so", "")
        + &plugin_table("text.so", "")
        + &plugin_table("versioned.so", "[plugin.config]\nlevel = 3\nkind = \"a\"")
        + &plugin_table("broken.so", "name = \"first\"\n[plugin.config]\nfault = \"refuse_config\"")
        + &plugin_table("broken.so", "name = \"second\"\n[plugin.config]\nfault = \"panic_configure\"")
        + &plugin_table("minimal.so", "[plugin.config]\nword = \"\"\ninstead = \"\"")
        + &replacing("good", "a", "b");
    let (good, broken, minimal) = (versioned(b'1'), library("broken"), library("minimal"));
    let files: [(&str, &[u8]); 4] =
        [("text.so", b"text"), ("versioned.so", &good), ("broken.so", &broken), ("minimal.so", &minimal)];
    let text = refused(&toml(&provider, &plugins), &files).await;
    insta::with_settings!({filters => vec![(r"\(at [^)]*\)", "(at PLACE)")]}, {
        insta::assert_snapshot!("every_fault_of_every_plugin", text);
    });
}

#[tokio::test]
async fn two_plugins_of_one_name_are_refused() {
    let provider = Provider::start().unwrap();
    let twice = plugin_table("versioned.so", "") + &plugin_table("versioned.so", "");
    let text = refused(&toml(&provider, &twice), &[("versioned.so", &versioned(b'1'))]).await;
    insta::assert_snapshot!("two_plugins_of_one_name", text);
}

#[tokio::test]
async fn a_provider_and_a_plugin_at_fault_are_told_together() {
    let provider = Provider::start().unwrap();
    let toml = toml(&provider, &plugin_table("none.so", ""))
        .replace("\n\n[[route]]", "\napi_key = { env = \"SEAMD_TEST_NO_SUCH_VARIABLE\" }\n\n[[route]]");
    insta::assert_snapshot!("a_provider_and_a_plugin", refused(&toml, &[]).await.replace(&provider.base_url(), "URL"));
}

#[tokio::test]
async fn a_plugin_that_may_be_missing_is_skipped_with_a_word_in_the_log() {
    let provider = Provider::start().unwrap();
    let plugins = plugin_table("none.so", "on_load_error = \"skip\"") + &plugin_table("versioned.so", "");
    let daemon = setup(&toml(&provider, &plugins), &[("versioned.so", &versioned(b'1'))]).start().unwrap();
    let line = daemon.log_line(|line| line.contains("skipped plugin")).await.unwrap();
    assert!(line.contains("WARN") && line.contains("none.so") && line.contains("there is no such file"), "{line}");
    assert_eq!(text(&daemon, &provider, &["a"]).await, "1:a");
}

#[tokio::test]
async fn the_order_of_the_file_is_the_order_of_the_ladder() {
    let provider = Provider::start().unwrap();
    let minimal = library("minimal");
    for (one, other, wanted) in [(("a", "b"), ("b", "c"), "c"), (("b", "c"), ("a", "b"), "b")] {
        let plugins = replacing("one", one.0, one.1) + &replacing("other", other.0, other.1);
        let daemon = setup(&toml(&provider, &plugins), &[("minimal.so", &minimal)]).start().unwrap();
        assert_eq!(text(&daemon, &provider, &["a"]).await, wanted);
        let plugins = admin(&daemon, "/plugins").await;
        assert_eq!(plugins["mapped"]["libraries"], 1, "one file under two names is mapped once");
        let names: Vec<&str> =
            plugins["plugins"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
        assert_eq!(names, ["one", "other"]);
    }
}

#[tokio::test]
async fn paths_are_relative_to_the_configuration_wherever_it_is_started_from() {
    let provider = Provider::start().unwrap();
    let setup = setup(&toml(&provider, &plugin_table("versioned.so", "")), &[("versioned.so", &versioned(b'1'))]);
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = command().unwrap();
    command.arg("run").arg("--config").arg(setup.config()).current_dir(elsewhere.path());
    let daemon = setup.stand_in(command).start().unwrap();
    assert_eq!(text(&daemon, &provider, &["a"]).await, "1:a");
    let inside = Setup::new("").unwrap();
    inside.write("deep/seamd.toml", toml(&provider, "")).unwrap();
    let said = seamd(&inside.folder().join("deep"), &["check", "-c", "../deep/seamd.toml"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[tokio::test]
async fn an_address_that_is_taken_is_a_failure_of_the_system_that_names_its_key() {
    let provider = Provider::start().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for key in ["listen", "admin"] {
        let toml = toml(&provider, "").replace(&format!("{key} = \"127.0.0.1:0\""), &format!("{key} = \"{address}\""));
        let said = run(&Setup::new(&toml).unwrap()).await;
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""));
        let wanted = format!("cannot listen on server.{key} = \"{address}\": Address already in use");
        assert!(said.stderr.contains(&wanted), "{}", said.stderr);
    }
}

#[tokio::test]
async fn a_file_in_the_place_of_the_admin_socket_is_kept() {
    let provider = Provider::start().unwrap();
    let toml = toml(&provider, "").replace("admin = \"127.0.0.1:0\"", "admin = \"unix:precious.db\"");
    let setup = Setup::new(&toml).unwrap();
    setup.write("precious.db", "precious").unwrap();
    let said = run(&setup).await;
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stderr.contains("there is a file of another kind"), "{}", said.stderr);
    assert_eq!(fs::read_to_string(setup.folder().join("precious.db")).unwrap(), "precious");
}

#[tokio::test]
async fn a_pipe_in_the_place_of_the_configuration_is_not_waited_for() {
    let setup = Setup::new("").unwrap();
    let made = std::process::Command::new("mkfifo").arg(setup.folder().join("pipe.toml")).status().unwrap();
    assert!(made.success());
    let said = seamd(setup.folder(), &["check", "-c", "pipe.toml"]).await;
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(said.stderr.contains("it is not a regular file"), "{}", said.stderr);
}

#[tokio::test]
async fn a_configuration_that_cannot_be_read_is_named() {
    let setup = Setup::new("").unwrap();
    fs::create_dir(setup.folder().join("folder")).unwrap();
    for (name, why) in [("none.toml", "No such file or directory"), ("folder", "Is a directory")] {
        for what in ["run", "check"] {
            let said = seamd(setup.folder(), &[what, "-c", name]).await;
            assert_eq!((said.code, said.stdout.as_str()), (Some(3), ""));
            let wanted = format!("cannot read the configuration file {name}: {why}");
            assert!(said.stderr.starts_with(&wanted), "{}", said.stderr);
            assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
        }
    }
}

#[tokio::test]
async fn a_configuration_without_rights_is_named() {
    let setup = Setup::new("[server]\n").unwrap();
    fs::set_permissions(setup.config(), Permissions::from_mode(0o000)).unwrap();
    if fs::read(setup.config()).is_ok() {
        eprintln!("skipped: a superuser may read every file");
        return;
    }
    let said = run(&setup).await;
    assert_eq!(said.code, Some(3));
    assert!(said.stderr.contains("Permission denied"), "{}", said.stderr);
}

#[tokio::test]
async fn a_command_line_that_cannot_be_understood_is_a_mistake_of_its_own() {
    let setup = Setup::new("").unwrap();
    for arguments in [&["run"][..], &["reload"], &["plugin", "inspect"], &["serve"], &[]] {
        let said = seamd(setup.folder(), arguments).await;
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(said.stderr.contains("Usage: "), "{}", said.stderr);
    }
    let said = seamd(setup.folder(), &["--version"]).await;
    assert_eq!((said.code, said.stdout), (Some(0), format!("seamd {}\n", env!("CARGO_PKG_VERSION"))));
}

#[tokio::test]
async fn colour_is_for_terminals_unless_it_is_asked_for() {
    let setup = Setup::new("[sever]\n").unwrap();
    let coloured = seamd(setup.folder(), &["check", "-c", "seamd.toml", "--color", "always"]).await;
    assert!(coloured.stderr.contains('\u{1b}'), "{}", coloured.stderr);
    let said = seamd(setup.folder(), &["check", "-c", "seamd.toml"]).await;
    assert!(plain(&said.stderr, setup.folder()).contains("sever"), "{}", said.stderr);
}

#[tokio::test]
async fn a_daemon_whose_output_nobody_takes_serves_all_the_same() {
    let provider = Provider::start().unwrap();
    let setup = Setup::new(&toml(&provider, "").replace("[reload]", "[log]\nformat = \"json\"\n[reload]")).unwrap();
    // Closed, not merely unread.
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "exec \"$0\" run -c \"$1\" >&-"]).arg(command().unwrap().get_program()).arg(setup.config());
    shell.stdin(Stdio::null()).stderr(Stdio::piped());
    let mut process = Process::start(&mut shell, Duration::ZERO).unwrap();
    let mut lines = BufReader::new(process.child().stderr.take().unwrap()).lines();
    let ready = lines.by_ref().map(Result::unwrap).find(|line| line.contains("\"ready\"")).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&ready).unwrap();
    let admin = ready["admin"].as_str().unwrap().parse().unwrap();
    let client = e2e::client::Client::connect(admin).await.unwrap();
    assert_eq!(client.get("/ready").await.unwrap().status, 200);
}

#[tokio::test]
async fn a_log_in_json_is_an_object_in_every_line() {
    let provider = Provider::start().unwrap();
    let log = "[log]\nformat = \"json\"\nlevel = \"trace\"\n[reload]";
    let toml = toml(&provider, &plugin_table("versioned.so", "")).replace("[reload]", log);
    let daemon = setup(&toml, &[("versioned.so", &versioned(b'1'))]).start().unwrap();
    assert_eq!(text(&daemon, &provider, &["a\nb \u{1b}[31m \"c\""]).await, "1:a\nb \u{1b}[31m \"c\"");
    assert_eq!(reload(&daemon).await.0, 200);
    daemon.log_line(|line| line.contains("reload accepted")).await.unwrap();
    let mut targets = std::collections::BTreeSet::new();
    for line in daemon.log().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
        targets.insert(line["target"].as_str().unwrap().to_owned());
        if line["target"] == "plugin" {
            assert_eq!((&line["plugin"], &line["message"]), (&json!("versioned"), &json!("version 1")));
        }
    }
    assert!(
        ["invocation", "plugin", "seamd::control", "seamd::run"].iter().all(|it| targets.contains(*it)),
        "{targets:?}"
    );
}

#[tokio::test]
async fn the_line_that_says_ready_has_the_addresses_as_they_came_to_be() {
    let provider = Provider::start().unwrap();
    let daemon = Daemon::start(&toml(&provider, "")).unwrap();
    assert_eq!(daemon.output().lines().count(), 1);
    let line = daemon.ready_line();
    assert_eq!((&line["ready"], &line["generation"]), (&json!(true), &json!(1)));
    assert_ne!(daemon.listen().port(), 0);
    daemon.client().await.unwrap();
    daemon.admin_client().await.unwrap();
}
