//! What a running daemon takes up when its files change, when it is told to, and what it refuses.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold, as they do")]

mod bench;

use bench::*;
use e2e::daemon::Daemon;
use e2e::os::Signal;
use e2e::patience::within_time;
use e2e::provider::{Provider, unused_address};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The plugin `minimal`, which writes `instead` where there was an `a`.
fn replace_a(instead: &str) -> String {
    plugin_table("minimal.so", &format!("[plugin.config]\nword = \"a\"\ninstead = \"{instead}\""))
}

/// A daemon with the plugin `minimal`, for which an `a` is `instead`.
fn daemon_that_replaces_a(provider: &Provider, instead: &str) -> Daemon {
    setup(&toml(provider, &replace_a(instead)), &[("minimal.so", &library("minimal"))]).start().unwrap()
}

/// A daemon with version 1 of the plugin `versioned`.
fn daemon_of_version_1(provider: &Provider) -> Daemon {
    let toml = toml(provider, &plugin_table("versioned.so", ""));
    setup(&toml, &[("versioned.so", &versioned(b'1'))]).start().unwrap()
}

async fn reload_by_command(daemon: &Daemon, more: &[&str]) -> Said {
    let admin = ["reload", "--admin", daemon.admin()];
    seamd(daemon.folder(), &[&admin[..], more].concat()).await
}

#[tokio::test]
async fn another_table_is_taken_up_without_mapping_the_library_again() {
    let provider = Provider::start().unwrap();
    let daemon = daemon_that_replaces_a(&provider, "b");
    let before = plugin_state(&daemon, "replace").await;
    let mut running = Paced::begin(&daemon, &provider).await;
    running.next_mark().await;
    assert_eq!(text(&daemon, &provider, &["a", "a"]).await, "bb");
    daemon.setup().write("seamd.toml", toml(&provider, &replace_a("c"))).unwrap();
    installed(&daemon, 2).await;
    assert_eq!(text(&daemon, &provider, &["a", "a"]).await, "cc");
    let plugins = admin(&daemon, "/plugins").await;
    assert_eq!(plugins["mapped"]["libraries"], 1);
    assert_eq!(
        plugins["generations"],
        json!([
            {"number": 1, "invocations": 1, "current": false},
            {"number": 2, "invocations": 0, "current": true},
        ])
    );
    assert_eq!(plugin_state(&daemon, "replace").await["sha256"], before["sha256"]);
    assert!(ended_well(&running.finish().await));
}

#[tokio::test]
async fn the_toml_is_taken_up_whether_it_is_renamed_into_place_or_edited_in_place() {
    let provider = Provider::start().unwrap();
    let daemon = daemon_that_replaces_a(&provider, "b");
    let new = daemon.setup().write("seamd.toml.new", toml(&provider, &replace_a("c"))).unwrap();
    fs::rename(new, daemon.setup().config()).unwrap();
    installed(&daemon, 2).await;
    assert_eq!(text(&daemon, &provider, &["a"]).await, "c");
    fs::write(daemon.setup().config(), toml(&provider, &replace_a("d"))).unwrap();
    installed(&daemon, 3).await;
    assert_eq!(text(&daemon, &provider, &["a"]).await, "d");
}

#[tokio::test]
async fn garbage_is_refused_at_its_line_and_a_good_file_is_taken_up_by_itself() {
    let provider = Provider::start().unwrap();
    let daemon = daemon_of_version_1(&provider);
    daemon.setup().write("plugins/versioned.so", "this is no library\n").unwrap();
    let refused = daemon.log_line(|line| line.contains("reload refused")).await.unwrap();
    let line = toml(&provider, "").lines().count() + 2;
    let wanted = format!("seamd.toml:{line}:8: plugin versioned.so");
    assert!(refused.contains(&wanted), "{wanted} in {refused}");
    let said = reload_by_command(&daemon, &[]).await;
    assert_eq!((said.code, said.stdout.as_str()), (Some(3), ""), "{said:?}");
    insta::assert_snapshot!("a_refused_reload", plain(&said.stderr, daemon.folder()));
    assert_eq!(text(&daemon, &provider, &["a"]).await, "1:a", "the old generation serves");
    daemon.setup().write("plugins/versioned.so", versioned(b'2')).unwrap();
    installed(&daemon, 2).await;
    assert_eq!(text(&daemon, &provider, &["a"]).await, "2:a");
}

#[tokio::test]
async fn every_fault_of_a_new_configuration_is_told_at_once() {
    let provider = Provider::start().unwrap();
    let daemon = daemon_that_replaces_a(&provider, "b");
    let more = plugin_table("none.so", "") + &plugin_table("minimal.so", "name = \"second\"");
    let faulty = replace_a("b").replace("word = \"a\"", "wort = \"a\"") + &more;
    daemon.setup().write("seamd.toml", toml(&provider, &faulty)).unwrap();
    let said = reload_by_command(&daemon, &[]).await;
    assert_eq!(said.code, Some(3));
    insta::assert_snapshot!("a_reload_with_many_faults", plain(&said.stderr, daemon.folder()));
    let said = reload_by_command(&daemon, &["--json"]).await;
    assert_eq!((said.code, said.stderr.as_str()), (Some(3), ""));
    let answer: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(answer["accepted"], false);
    let lines: Vec<u64> = answer["faults"].as_array().unwrap().iter().map(|it| it["line"].as_u64().unwrap()).collect();
    let first = toml(&provider, "").lines().count() as u64;
    assert_eq!(lines, [first + 3, first + 4, first + 7, first + 9, first + 9]);
}

#[tokio::test]
async fn a_signal_reloads() {
    let provider = Provider::start().unwrap();
    let mut daemon = daemon_of_version_1(&provider);
    daemon.signal(Signal::Hangup).unwrap();
    installed(&daemon, 2).await;
    daemon.log_line(|line| line.contains("reload accepted why=\"SIGHUP\"")).await.unwrap();
}

#[tokio::test]
async fn the_reload_command_says_whether_it_was_accepted_refused_or_not_heard() {
    let provider = Provider::start().unwrap();
    let daemon = daemon_of_version_1(&provider);
    let said = reload_by_command(&daemon, &[]).await;
    assert_eq!((said.code, &*said.stdout, &*said.stderr), (Some(0), "accepted: generation 2\n", ""));
    let said = reload_by_command(&daemon, &["--json"]).await;
    assert_eq!((said.code, &*said.stdout, &*said.stderr), (Some(0), "{\"accepted\":true,\"generation\":3}\n", ""));
    daemon.setup().write("seamd.toml", "[server").unwrap();
    assert_eq!(reload_by_command(&daemon, &[]).await.code, Some(3));
    let nobody = unused_address().unwrap().to_string();
    let said = seamd(daemon.folder(), &["reload", "--admin", &nobody]).await;
    assert_eq!((said.code, &*said.stdout), (Some(4), ""));
    assert!(said.stderr.starts_with(&format!("no daemon answers at {nobody}: Connection refused")), "{}", said.stderr);
    let said = seamd(daemon.folder(), &["reload", "--json", "--admin", &nobody]).await;
    assert_eq!((said.code, &*said.stderr), (Some(4), ""));
    let answer: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert!(answer["text"].as_str().unwrap().starts_with("no daemon answers at "), "{answer}");
}

#[tokio::test]
async fn what_a_reload_cannot_change_is_refused_by_its_key() {
    let provider = Provider::start().unwrap();
    let daemon = Daemon::start(&toml(&provider, "")).unwrap();
    let wanted = toml(&provider, "")
        .replace("listen = \"127.0.0.1:0\"", "listen = \"127.0.0.1:1\"")
        .replace("admin = \"127.0.0.1:0\"", "admin = \"unix:admin.sock\"")
        .replace("workers = 2", "workers = 3\nstate_dir = \"state\"")
        + "[log]\nlevel = \"debug\"\nformat = \"json\"\n";
    daemon.setup().write("seamd.toml", &wanted).unwrap();
    let (status, answer) = reload(&daemon).await;
    assert_eq!(status, 409);
    let keys: Vec<&str> = answer["faults"].as_array().unwrap().iter().map(|it| it["key"].as_str().unwrap()).collect();
    let all = ["server.listen", "server.admin", "server.workers", "server.state_dir", "log.level", "log.format"];
    assert_eq!(keys, all, "{answer}");
    let message = answer["faults"][0]["message"].as_str().unwrap();
    assert!(message.contains("cannot be changed by a reload"), "{message}");
    assert_eq!(text(&daemon, &provider, &["a"]).await, "a");
}

#[tokio::test]
async fn reloads_that_are_asked_for_together_come_one_after_the_other() {
    let provider = Provider::start().unwrap();
    let daemon = daemon_of_version_1(&provider);
    let mut asked = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let client = daemon.admin_client().await.unwrap();
        asked.spawn(async move {
            let mut response = client.request("POST", "/reload", &[], "").await.unwrap();
            assert_eq!(response.status, 200);
            response.json().await.unwrap()["generation"].as_u64().unwrap()
        });
    }
    let mut numbers = asked.join_all().await;
    numbers.sort_unstable();
    assert_eq!(numbers, (2..10).collect::<Vec<u64>>());
    assert_eq!(admin(&daemon, "/plugins").await["generation"], 9, "the last one stands");
}

#[tokio::test]
async fn a_reload_by_hand_is_not_repeated_by_the_watch() {
    let provider = Provider::start().unwrap();
    let daemon = daemon_of_version_1(&provider);
    for (version, generation) in (b'2'..=b'5').zip(2..) {
        daemon.setup().write("plugins/versioned.so", versioned(version)).unwrap();
        let (status, answer) = reload(&daemon).await;
        assert_eq!((status, &answer["generation"]), (200, &json!(generation)), "{}", daemon.log());
    }
    let more = daemon.log_line(|line| line.contains("files changed"));
    assert!(within_time(Duration::from_millis(200), "a needless reload", more).await.is_err(), "{}", daemon.log());
}

#[tokio::test]
async fn a_reload_while_the_daemon_ends_disturbs_neither_its_streams_nor_its_end() {
    let provider = Provider::start().unwrap();
    let mut daemon = daemon_of_version_1(&provider);
    let mut stream = Paced::begin(&daemon, &provider).await;
    assert_eq!(stream.next_mark().await, "1:");
    daemon.signal(Signal::Terminate).unwrap();
    daemon.log_line(|line| line.contains("told to end")).await.unwrap();
    daemon.setup().write("plugins/versioned.so", versioned(b'2')).unwrap();
    assert_eq!(reload(&daemon).await.0, 200);
    daemon.signal(Signal::Hangup).unwrap();
    assert_eq!(stream.next_mark().await, "1:");
    assert!(ended_well(&stream.finish().await));
    assert_eq!(daemon.exit().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn without_a_watch_nothing_is_taken_up_until_it_is_asked_for() {
    let provider = Provider::start().unwrap();
    let toml = toml(&provider, &plugin_table("versioned.so", "")).replace("[reload]", "[reload]\nwatch = false");
    let daemon = setup(&toml, &[("versioned.so", &versioned(b'1'))]).start().unwrap();
    daemon.setup().write("plugins/versioned.so", versioned(b'2')).unwrap();
    let reloaded = daemon.log_line(|line| line.contains("reload"));
    assert!(within_time(Duration::from_millis(200), "a reload", reloaded).await.is_err(), "{}", daemon.log());
    assert_eq!(text(&daemon, &provider, &["a"]).await, "1:a");
    assert_eq!(reload(&daemon).await.0, 200);
    assert_eq!(text(&daemon, &provider, &["a"]).await, "2:a");
    // The watch itself can be turned on by a reload.
    daemon.setup().write("seamd.toml", toml.replace("watch = false", "watch = true")).unwrap();
    assert_eq!(reload(&daemon).await.0, 200);
    daemon.setup().write("plugins/versioned.so", versioned(b'3')).unwrap();
    installed(&daemon, 4).await;
    assert_eq!(text(&daemon, &provider, &["a"]).await, "3:a");
}

#[tokio::test]
async fn a_mounted_configuration_map_is_taken_up_when_its_link_is_swapped() {
    let provider = Provider::start().unwrap();
    let setup = setup("", &[("minimal.so", &library("minimal"))]);
    let absolute = |instead: &str| {
        let path = setup.folder().join("plugins/minimal.so");
        toml(&provider, &replace_a(instead)).replace("plugins/minimal.so", path.to_str().unwrap())
    };
    setup.write("mount/..1/seamd.toml", absolute("b")).unwrap();
    setup.write("mount/..2/seamd.toml", absolute("c")).unwrap();
    let mount = setup.folder().join("mount");
    symlink("..1", mount.join("..data")).unwrap();
    fs::remove_file(setup.config()).unwrap();
    symlink("mount/seamd.toml", setup.config()).unwrap();
    symlink("..data/seamd.toml", mount.join("seamd.toml")).unwrap();
    let daemon = setup.start().unwrap();
    assert_eq!(text(&daemon, &provider, &["a"]).await, "b");
    symlink("..2", mount.join("..new")).unwrap();
    fs::rename(mount.join("..new"), mount.join("..data")).unwrap();
    installed(&daemon, 2).await;
    assert_eq!(text(&daemon, &provider, &["a"]).await, "c");
    // Behind the link, in place.
    fs::write(mount.join("..2/seamd.toml"), fs::read(mount.join("..1/seamd.toml")).unwrap()).unwrap();
    installed(&daemon, 3).await;
    assert_eq!(text(&daemon, &provider, &["a"]).await, "b");
}

/// A daemon whose one plugin is this file of its folder.
fn daemon_of(provider: &Provider, file: &str, make: impl FnOnce(&Path)) -> Daemon {
    let setup = setup(&toml(provider, &format!("[[plugin]]\npath = \"{file}\"\n")), &[]);
    make(setup.folder());
    setup.start().unwrap()
}

#[tokio::test]
async fn a_release_folder_that_is_swapped_by_its_link_is_seen() {
    let provider = Provider::start().unwrap();
    // The link stands in a folder of its own, in which no file of the configuration is.
    let daemon = daemon_of(&provider, "opt/current/lib/versioned.so", |folder| {
        for version in [b'1', b'2'] {
            let lib = folder.join(format!("opt/{}/lib", char::from(version)));
            fs::create_dir_all(&lib).unwrap();
            fs::write(lib.join("versioned.so"), versioned(version)).unwrap();
        }
        symlink("1", folder.join("opt/current")).unwrap();
    });
    assert_eq!(text(&daemon, &provider, &["a"]).await, "1:a");
    symlink("2", daemon.folder().join("opt/new")).unwrap();
    fs::rename(daemon.folder().join("opt/new"), daemon.folder().join("opt/current")).unwrap();
    installed(&daemon, 2).await;
    assert_eq!(text(&daemon, &provider, &["a"]).await, "2:a");
}

#[tokio::test]
async fn a_folder_that_is_removed_and_made_anew_is_watched_again() {
    let provider = Provider::start().unwrap();
    let daemon = daemon_of(&provider, "opt/lib/versioned.so", |folder| {
        fs::create_dir_all(folder.join("opt/lib")).unwrap();
        fs::write(folder.join("opt/lib/versioned.so"), versioned(b'1')).unwrap();
    });
    for (version, generation) in [(b'2', 2), (b'3', 3)] {
        let refused = count(&daemon, "reload refused");
        fs::remove_dir_all(daemon.folder().join("opt/lib")).unwrap();
        until("the loss to be seen", async || count(&daemon, "reload refused") > refused).await;
        daemon.setup().write("opt/lib/versioned.so", versioned(version)).unwrap();
        installed(&daemon, generation).await;
    }
    assert_eq!(text(&daemon, &provider, &["a"]).await, "3:a");
}

#[tokio::test]
async fn a_folder_that_others_write_to_all_the_time_does_not_keep_a_change_from_being_seen() {
    let provider = Provider::start().unwrap();
    let daemon = daemon_of_version_1(&provider);
    let (busy, done) = (daemon.folder().join("plugins/some.log"), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                fs::write(&busy, "a line\n").unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        daemon.setup().write("plugins/versioned.so", versioned(b'2')).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let seen = std::thread::scope(|inner| inner.spawn(|| runtime.unwrap().block_on(installed(&daemon, 2))).join());
        done.store(true, Ordering::Relaxed);
        seen.unwrap();
    });
}

#[tokio::test]
async fn a_plugin_that_could_not_be_read_is_taken_up_when_it_can() {
    let provider = Provider::start().unwrap();
    let optional = plugin_table("versioned.so", "on_load_error = \"skip\"")
        + &plugin_table("late.so", "on_load_error = \"skip\"\nname = \"late\"");
    let setup = setup(&toml(&provider, &optional), &[("versioned.so", b"")]);
    let daemon = setup.start().unwrap();
    assert_eq!(text(&daemon, &provider, &["a"]).await, "a", "it starts without them");
    daemon.setup().write("plugins/versioned.so", versioned(b'1')).unwrap();
    installed(&daemon, 2).await;
    daemon.setup().write("plugins/late.so", versioned(b'2')).unwrap();
    installed(&daemon, 3).await;
    assert_eq!(text(&daemon, &provider, &["a"]).await, "2:1:a");
    // Rights alone are a change as well; for a superuser every file can be read.
    fs::set_permissions(daemon.folder().join("plugins/late.so"), fs::Permissions::from_mode(0o640)).unwrap();
    installed(&daemon, 4).await;
}

#[tokio::test]
async fn another_provider_gets_the_new_streams_and_the_old_ones_go_on() {
    let (first, second) = (Provider::start().unwrap(), Provider::start().unwrap());
    let daemon = Daemon::start(&toml(&first, "")).unwrap();
    let mut old = Paced::begin(&daemon, &first).await;
    old.next_mark().await;
    daemon.setup().write("seamd.toml", toml(&second, "")).unwrap();
    installed(&daemon, 2).await;
    assert_eq!(text(&daemon, &second, &["from the second"]).await, "from the second");
    old.next_mark().await;
    assert!(ended_well(&old.finish().await));
    assert_eq!((first.requests().len(), second.requests().len()), (1, 1));
}

#[tokio::test]
async fn the_drain_time_is_the_one_of_the_last_reload() {
    let provider = Provider::start().unwrap();
    let mut daemon = Daemon::start(&toml_with(&provider, "drain_timeout = \"1h\"", "")).unwrap();
    daemon.setup().write("seamd.toml", toml_with(&provider, "drain_timeout = \"0s\"", "")).unwrap();
    installed(&daemon, 2).await;
    let stream = Paced::begin(&daemon, &provider).await;
    daemon.signal(Signal::Terminate).unwrap();
    assert!(ended_well(&stream.rest().await));
    assert_eq!(daemon.exit().await.unwrap().code(), Some(0));
}
