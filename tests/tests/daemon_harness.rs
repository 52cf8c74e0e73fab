//! What the harness makes of a daemon, tried with a shell in its place.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold, as they do")]

use e2e::daemon::Setup;
use e2e::os::{Signal, signal};
use std::process::Command;

const READY: &str = r#"echo '{"ready":true,"listen":"127.0.0.1:4","admin":"unix:/a/b","generation":3}'"#;

fn shell(script: &str) -> Setup {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script);
    Setup::new("[server]\n").unwrap().stand_in(command)
}

#[tokio::test]
async fn a_ready_daemon_says_where_it_is_and_what_it_logs() {
    let script = format!(
        "echo starting >&2; echo noise; {READY}; trap 'kill $!; echo bye $NAME >&2; exit 7' TERM; sleep 600 & \
         echo waits >&2; wait"
    );
    let mut daemon = shell(&script).environment("NAME", "you").start().unwrap();
    assert_eq!(daemon.listen().port(), 4);
    assert_eq!(daemon.admin(), "unix:/a/b");
    assert_eq!(daemon.ready_line()["generation"], 3);
    assert_eq!(daemon.output().lines().next(), Some("noise"));
    daemon.log_line(|line| line == "waits").await.unwrap();
    assert!(daemon.runs().unwrap());
    daemon.signal(Signal::Terminate).unwrap();
    assert_eq!(daemon.exit().await.unwrap().code(), Some(7));
    daemon.log_line(|line| line == "bye you").await.unwrap();
    assert!(daemon.signal(Signal::Terminate).is_err());
}

#[test]
fn a_daemon_that_ends_before_it_is_ready_is_an_error_with_its_log() {
    let error = shell("echo out; echo why >&2; exit 3").start().unwrap_err().to_string();
    for part in ["exit status: 3", "out", "why"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_dropped_daemon_has_ended_and_its_folder_is_gone() {
    let setup = shell(&format!("{READY}; exec sleep 600"));
    let written = setup.write("streams/a.sse", "data: a\n\n").unwrap();
    let daemon = setup.start().unwrap();
    let id = daemon.id();
    assert!(written.is_file());
    assert!(daemon.setup().config().is_file());
    drop(daemon);
    assert!(signal(id, Signal::Hangup).is_err());
    assert!(!written.exists());
}
