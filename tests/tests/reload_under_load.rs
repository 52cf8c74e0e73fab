//! Plugins are replaced while hundreds of streams run: none breaks, none mixes versions.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold, as they do")]

mod bench;

use bench::*;
use e2e::daemon::Daemon;
use e2e::os::raise_open_files_limit;
use e2e::provider::Provider;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

const STREAMS: usize = 200;
const RELOADS: u64 = 50;

/// Puts another file in the place of `path`, the way that careful people do.
fn replace_by_rename(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, bytes).unwrap();
    fs::rename(new, path).unwrap();
}

/// `cp new.so old.so`: the same file, other bytes.
fn overwrite(path: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

/// A copy that stands still in the middle until the daemon has seen, and refused, what is there so far.
async fn copy_slowly(daemon: &Daemon, path: &Path, bytes: &[u8]) {
    let refused = || count(daemon, "reload refused");
    let before = refused();
    let mut file = OpenOptions::new().write(true).truncate(true).open(path).unwrap();
    let (first, rest) = bytes.split_at(bytes.len() / 3);
    file.write_all(first).unwrap();
    until("the daemon to refuse half a file", async || refused() > before).await;
    for part in rest.chunks(1 << 20) {
        file.write_all(part).unwrap();
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn two_hundred_streams_run_through_fifty_reloads_and_none_breaks_or_mixes_versions() {
    raise_open_files_limit(4096).unwrap();
    let versions = [versioned(b'1'), versioned(b'2')];
    let provider = Provider::start().unwrap();
    let setup = setup(&toml(&provider, &plugin_table("versioned.so", "")), &[("versioned.so", &versions[0])]);
    let daemon = setup.start().unwrap();
    let file = daemon.folder().join("plugins/versioned.so");
    let mut running = std::collections::VecDeque::new();
    for _ in 0..STREAMS {
        running.push_back(("1:".to_owned(), Paced::begin(&daemon, &provider).await));
    }
    for reload in 1..=RELOADS {
        let version = &versions[(reload % 2) as usize];
        match reload % 3 {
            0 => copy_slowly(&daemon, &file, version).await,
            1 => replace_by_rename(&file, version),
            _ => overwrite(&file, version),
        }
        installed(&daemon, reload + 1).await;
        for (mark, stream) in &mut running {
            assert_eq!(stream.next_mark().await, *mark, "after reload {reload}");
        }
        for _ in 0..STREAMS as u64 / RELOADS {
            let (mark, oldest) = running.pop_front().unwrap();
            assert_all_marked(&oldest.finish().await, &mark);
            let mut new = Paced::begin(&daemon, &provider).await;
            let mark = format!("{}:", reload % 2 + 1);
            assert_eq!(new.next_mark().await, mark, "began after reload {reload}");
            running.push_back((mark, new));
        }
    }
    let plugins = admin(&daemon, "/plugins").await;
    assert_eq!(plugins["generation"], RELOADS + 1);
    assert_eq!(plugins["mapped"]["libraries"], 2, "each of the two versions is mapped once");
    assert_eq!(plugins["invocations"], STREAMS);
    for (mark, stream) in running {
        assert_all_marked(&stream.finish().await, &mark);
    }
    let state = plugin_state(&daemon, "versioned").await;
    assert_eq!(state["invocations"], 2 * STREAMS);
    assert!(state["faults"].as_object().unwrap().values().all(|count| *count == 0), "{state}");
    counted(&daemon, "outcome=\"completed\"", 2 * STREAMS).await;
    assert_eq!(count(&daemon, "at fault"), 0);
    until("the old generations to be gone", async || {
        admin(&daemon, "/plugins").await["generations"].as_array().unwrap().len() == 1
    })
    .await;
}

/// Every piece of the rest of a stream carries its mark, and the end is a proper one.
fn assert_all_marked(events: &[e2e::sse::Event], mark: &str) {
    assert!(ended_well(events), "{events:?}");
    let text = e2e::sse::chat_text(events);
    assert!(text.split_terminator(' ').all(|piece| piece.starts_with(mark)), "{mark} in {text}");
}

#[tokio::test]
async fn a_stream_goes_on_when_its_plugins_file_is_overwritten_and_then_deleted() {
    let provider = Provider::start().unwrap();
    let setup = setup(&toml(&provider, &plugin_table("versioned.so", "")), &[("versioned.so", &versioned(b'1'))]);
    let daemon = setup.start().unwrap();
    let file = daemon.folder().join("plugins/versioned.so");
    let mut stream = Paced::begin(&daemon, &provider).await;
    assert_eq!(stream.next_mark().await, "1:");
    overwrite(&file, &vec![0xcc; 9_000_000]);
    daemon.log_line(|line| line.contains("reload refused")).await.unwrap();
    assert_eq!(stream.next_mark().await, "1:");
    fs::remove_file(&file).unwrap();
    daemon.log_line(|line| line.contains("reload refused") && line.contains("there is no such file")).await.unwrap();
    assert_eq!(stream.next_mark().await, "1:");
    assert_eq!(text(&daemon, &provider, &["a"]).await, "1:a", "new streams still get the old generation");
    fs::write(&file, versioned(b'2')).unwrap();
    installed(&daemon, 2).await;
    assert_eq!(stream.next_mark().await, "1:");
    assert_eq!(text(&daemon, &provider, &["a"]).await, "2:a");
    assert_all_marked(&stream.finish().await, "1:");
}
