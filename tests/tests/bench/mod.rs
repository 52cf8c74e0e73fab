//! A daemon between a scripted provider and its clients, and what the tests of its operation do with one.
#![allow(dead_code, clippy::allow_attributes, reason = "each test file is a program of its own and uses a part")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what the tests share says by panicking what must hold, as they do"
)]

use e2e::client::{Client, Response};
use e2e::daemon::{Daemon, Setup, command};
use e2e::patience::{Backoff, PATIENCE};
use e2e::plugins::plugin;
use e2e::process::Process;
use e2e::provider::{Gate, Provider, Script};
use e2e::sse::{Event, chat_text};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

pub(crate) const CHAT: &str = "/v1/chat/completions";

/// A plugin table for a file of the daemon's own folder.
pub(crate) fn plugin_table(file: &str, more: &str) -> String {
    format!("[[plugin]]\npath = \"plugins/{file}\"\n{more}\n")
}

/// A configuration: any free ports, files looked at often, everything to one provider.
pub(crate) fn toml(provider: &Provider, plugins: &str) -> String {
    toml_with(provider, "", plugins)
}

/// The same, with further keys of `[server]`.
pub(crate) fn toml_with(provider: &Provider, server: &str, plugins: &str) -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nworkers = 2\n{server}\n\
         [reload]\nsettle = \"20ms\"\n\n\
         [[provider]]\nname = \"scripted\"\nfamily = \"openai\"\nbase_url = \"{}/v1\"\n\n\
         [[route]]\npath = \"{CHAT}\"\nprovider = \"scripted\"\n\n{plugins}",
        provider.base_url()
    )
}

/// A setup with these plugins, each a name in the folder `plugins` and the bytes of its file.
pub(crate) fn setup(toml: &str, plugins: &[(&str, &[u8])]) -> Setup {
    let setup = Setup::new(toml).unwrap();
    for (name, bytes) in plugins {
        setup.write(&format!("plugins/{name}"), bytes).unwrap();
    }
    setup
}

/// The file of a built plugin.
pub(crate) fn library(name: &str) -> Vec<u8> {
    std::fs::read(plugin(name).unwrap()).unwrap()
}

/// A version of the plugin `versioned`: its observers put `mark` and a colon in front of every text.
pub(crate) fn versioned(mark: u8) -> Vec<u8> {
    const KNOWN: &[u8] = b"VERSION_MARK=";
    let mut bytes = library("versioned");
    let places: Vec<usize> = memchr::memmem::find_iter(&bytes, KNOWN).collect();
    assert!(!places.is_empty(), "the library has a mark");
    for place in places {
        bytes[place + KNOWN.len()] = mark;
    }
    bytes
}

/// A frame with a piece of the answer.
pub(crate) fn delta(text: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]}))
}

/// The frames with which an answer ends.
pub(crate) fn ending() -> String {
    let finish = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    format!("data: {finish}\n\ndata: [DONE]\n\n")
}

/// A whole answer in these pieces.
pub(crate) fn answer(texts: &[&str]) -> Script {
    Script::events(texts.iter().map(|text| delta(text)).chain([ending()]))
}

/// Asks for a stream and waits for the head of the answer.
pub(crate) async fn ask(daemon: &Daemon) -> Response {
    ask_as(daemon, "m", "converse").await
}

/// The same for a model and a call class.
pub(crate) async fn ask_as(daemon: &Daemon, model: &str, call_class: &str) -> Response {
    send_as(daemon, model, call_class).await.receive().await.unwrap()
}

/// Asks for a stream, and no more.
pub(crate) async fn send_as(daemon: &Daemon, model: &str, call_class: &str) -> Client {
    let body = json!({"model": model, "stream": true, "messages": [{"role": "user", "content": "hello"}]});
    let headers = [("content-type", "application/json"), ("x-seam-call-class", call_class)];
    let mut client = daemon.client().await.unwrap();
    client.send("POST", CHAT, &headers, body.to_string()).await.unwrap();
    client
}

/// Asks for an answer of these pieces and gives the text that arrived.
pub(crate) async fn text(daemon: &Daemon, provider: &Provider, texts: &[&str]) -> String {
    provider.answer(answer(texts));
    let mut response = ask(daemon).await;
    let events = response.events().await.unwrap();
    assert!(ended_well(&events), "{events:?}");
    chat_text(&events)
}

/// Whether the last event is the end marker and whole.
pub(crate) fn ended_well(events: &[Event]) -> bool {
    events.last().is_some_and(|last| last.is_done() && last.whole())
}

/// A stream that goes on one piece at a time, when it is told to.
#[derive(Debug)]
pub(crate) struct Paced {
    gate: Gate,
    response: Response,
    pieces: u32,
}

impl Paced {
    /// Begins a stream: its head is there, and no more.
    pub(crate) async fn begin(daemon: &Daemon, provider: &Provider) -> Self {
        Self::begin_as(daemon, provider, "m", "converse").await
    }

    /// The same for a model and a call class.
    pub(crate) async fn begin_as(daemon: &Daemon, provider: &Provider, model: &str, call_class: &str) -> Self {
        let gate = Gate::new();
        let pieces = (0..200).fold(Script::stream(), |draft, nth| draft.wait(&gate).chunk(delta(&format!("p{nth} "))));
        provider.answer(pieces.chunk(ending()).end());
        let response = ask_as(daemon, model, call_class).await;
        assert_eq!(response.status, 200);
        Self { gate, response, pieces: 0 }
    }

    /// Lets the next piece come and gives what stood in front of its text.
    pub(crate) async fn next_mark(&mut self) -> String {
        self.gate.open();
        let event = self.response.next_event().await.unwrap().unwrap();
        let text = chat_text(std::slice::from_ref(&event));
        let piece = format!("p{} ", self.pieces);
        self.pieces += 1;
        match text.strip_suffix(&piece) {
            Some(mark) => mark.to_owned(),
            None => panic!("{piece:?} was to come, not {event:?}"),
        }
    }

    /// Lets everything come. Gives the events that were not yet read.
    pub(crate) async fn finish(mut self) -> Vec<Event> {
        self.gate.open_for_good();
        self.response.events().await.unwrap()
    }

    /// Waits for the end that comes without the provider's doing.
    pub(crate) async fn rest(mut self) -> Vec<Event> {
        self.response.events().await.unwrap()
    }
}

/// What the admin surface answers to a GET.
pub(crate) async fn admin(daemon: &Daemon, path: &str) -> Value {
    let mut response = daemon.admin_client().await.unwrap().get(path).await.unwrap();
    assert_eq!(response.status, 200, "{path}");
    response.json().await.unwrap()
}

/// What the admin surface says of a plugin.
pub(crate) async fn plugin_state(daemon: &Daemon, name: &str) -> Value {
    let plugins = admin(daemon, "/plugins").await;
    let list = plugins["plugins"].as_array().unwrap();
    list.iter().find(|plugin| plugin["name"] == name).unwrap_or_else(|| panic!("{name} is in {plugins}")).clone()
}

/// Asks for a reload on the admin surface.
pub(crate) async fn reload(daemon: &Daemon) -> (u16, Value) {
    let client = daemon.admin_client().await.unwrap();
    let mut response = client.request("POST", "/reload", &[], "").await.unwrap();
    (response.status, response.json().await.unwrap())
}

/// Waits for the daemon's log to say that this generation stands.
pub(crate) async fn installed(daemon: &Daemon, generation: u64) {
    let ending = format!(" generation={generation}");
    daemon.log_line(|line| line.contains("reload accepted") && line.ends_with(&ending)).await.unwrap();
}

/// How many lines of the daemon's log have this in them.
pub(crate) fn count(daemon: &Daemon, what: &str) -> usize {
    daemon.log().lines().filter(|line| line.contains(what)).count()
}

/// Waits until so many lines of the daemon's log have this in them.
pub(crate) async fn counted(daemon: &Daemon, what: &str, wanted: usize) {
    until(&format!("{wanted} lines with {what}"), async || count(daemon, what) >= wanted).await;
    assert_eq!(count(daemon, what), wanted, "lines with {what} in\n{}", daemon.log());
}

/// Waits until what can only be polled is so.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let (began, mut backoff) = (Instant::now(), Backoff::default());
    while !is_so().await {
        assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(backoff.pause()).await;
    }
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `seamd` to its end in a folder.
pub(crate) async fn seamd<T: AsRef<OsStr>>(folder: &Path, arguments: &[T]) -> Said {
    let outputs = tempfile::tempdir().unwrap();
    let (stdout, stderr) = (outputs.path().join("stdout"), outputs.path().join("stderr"));
    let mut command = command().unwrap();
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.stdout(std::fs::File::create(&stdout).unwrap()).stderr(std::fs::File::create(&stderr).unwrap());
    let code = Process::start(&mut command, Duration::ZERO).unwrap().exit().await.unwrap().code();
    let read = |path: &Path| String::from_utf8(std::fs::read(path).unwrap()).unwrap();
    Said { code, stdout: read(&stdout), stderr: read(&stderr) }
}

/// A text without what differs from one run or machine to the next.
pub(crate) fn plain(text: &str, folder: &Path) -> String {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let text = text.replace(&*real.to_string_lossy(), "FOLDER").replace(&*folder.to_string_lossy(), "FOLDER");
    assert!(!text.contains('\u{1b}'), "no colour where there is no terminal: {text:?}");
    text
}
