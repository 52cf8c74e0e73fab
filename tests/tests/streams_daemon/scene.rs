//! A provider, a daemon in front of it, and a client.

use std::time::Duration;

use e2e::client::{Client, Response};
use e2e::daemon::{Daemon, Setup};
use e2e::plugins::plugin;
use e2e::provider::{BodyFraming, Protocol, Provider, Script};
use e2e::sse::Event;
use serde_json::{Value, json};

use crate::bench::{CHAT, delta, ending, until};

/// The end of a wait that is no wait: what happens at once happens within this, on a machine that does other things too.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(1_500);

/// What a scene is made of, beyond what every one has.
#[derive(Default)]
pub(crate) struct Plan {
    /// Further keys of `[server]`.
    pub(crate) server: String,
    /// Further keys of the provider.
    pub(crate) provider: String,
    /// `[[plugin]]` tables.
    pub(crate) plugins: String,
    /// `[log]` keys.
    pub(crate) log: String,
    /// Variables of the daemon's environment.
    pub(crate) environment: Vec<(&'static str, &'static str)>,
    /// Files in the daemon's folder.
    pub(crate) files: Vec<(&'static str, String)>,
    /// In place of the provider's own URL.
    pub(crate) base_url: Option<String>,
}

impl Plan {
    /// Adds a plugin that was built, with further keys of its table.
    pub(crate) fn plugin(mut self, library: &str, more: &str) -> Self {
        let path = plugin(library).unwrap();
        self.plugins += &format!("[[plugin]]\npath = {path:?}\n{more}\n");
        self
    }

    /// Further keys of the provider.
    pub(crate) fn provider(keys: &str) -> Self {
        Self { provider: keys.to_owned(), ..Self::default() }
    }

    fn toml(&self, provider: &Provider) -> String {
        let url = self.base_url.clone().unwrap_or_else(|| format!("{}/v1", provider.base_url()));
        format!(
            "[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nworkers = 1\n{}\n[log]\n{}\n\
             [reload]\nwatch = false\n\
             [[provider]]\nname = \"scripted\"\nfamily = \"openai\"\nbase_url = \"{url}\"\n{}\n\
             [[route]]\npath = \"{CHAT}\"\nprovider = \"scripted\"\n\n{}",
            self.server, self.log, self.provider, self.plugins
        )
    }
}

/// The three of them; the client is made anew for each request.
pub(crate) struct Scene {
    pub(crate) provider: Provider,
    pub(crate) daemon: Daemon,
}

impl Scene {
    /// A provider in the clear and a daemon without plugins.
    pub(crate) fn start() -> Self {
        Self::planned(&Plan::default())
    }

    /// A provider in the clear.
    pub(crate) fn planned(plan: &Plan) -> Self {
        Self::spoken(Protocol::Http1, plan)
    }

    /// A provider that is spoken to like this. Its certificate, if it has one, lies in `roots.pem`.
    pub(crate) fn spoken(protocol: Protocol, plan: &Plan) -> Self {
        let provider = Provider::start_with(protocol).unwrap();
        let mut setup = Setup::new(&plan.toml(&provider)).unwrap();
        for (name, contents) in &plan.files {
            setup.write(name, contents).unwrap();
        }
        if let Some(pem) = provider.certificate_pem() {
            setup.write("roots.pem", pem).unwrap();
        }
        for (name, value) in &plan.environment {
            setup = setup.environment(name, value);
        }
        Self { provider, daemon: setup.start().unwrap() }
    }

    pub(crate) async fn client(&self) -> Client {
        self.daemon.client().await.unwrap()
    }

    /// Asks for a stream and waits for the head of the answer.
    pub(crate) async fn ask(&self) -> Response {
        self.client().await.post(CHAT, &request(true)).await.unwrap()
    }

    /// Asks for an answer that is not streamed.
    pub(crate) async fn ask_whole(&self) -> Response {
        self.client().await.post(CHAT, &request(false)).await.unwrap()
    }

    /// Plays a script to a request for a stream and gives the events of the answer, which must end properly.
    pub(crate) async fn events(&self, script: Script) -> Vec<Event> {
        self.provider.answer(script);
        let mut response = self.ask().await;
        assert_eq!(response.status, 200);
        response.events().await.unwrap()
    }

    /// Waits for the log to say that an invocation ended like this; gives that line.
    pub(crate) async fn ended(&self, outcome: &str) -> String {
        let outcome = format!("outcome=\"{outcome}\"");
        self.daemon.log_line(|line| line.contains(" ended ") && line.contains(&outcome)).await.unwrap()
    }

    /// The daemon's metrics, as Prometheus reads them.
    pub(crate) async fn metrics(&self) -> String {
        self.daemon.admin_client().await.unwrap().get("/metrics").await.unwrap().text().await.unwrap()
    }

    /// The sum over all lines of a metric with these labels; nothing when there is no such line.
    pub(crate) async fn metric(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let metrics = self.metrics().await;
        let is_it = |line: &&str| {
            line.starts_with(&format!("{name}{{"))
                && labels.iter().all(|(key, value)| line.contains(&format!("{key}=\"{value}\"")))
        };
        let values = metrics.lines().filter(is_it).filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        values.reduce(|sum, value| sum + value)
    }

    /// How many invocations ended like this.
    pub(crate) async fn count(&self, outcome: &str) -> f64 {
        self.metric("seamd_invocations_total", &[("outcome", outcome)]).await.unwrap_or(0.0)
    }

    /// Waits until nothing is under way.
    pub(crate) async fn idle(&self) {
        until("every invocation to be over", async || {
            let mut answer = self.daemon.admin_client().await.unwrap().get("/invocations").await.unwrap();
            answer.json().await.unwrap() == json!([])
        })
        .await;
    }
}

/// The body of a request.
pub(crate) fn request(stream: bool) -> Value {
    json!({"model": "m-1", "stream": stream, "messages": [{"role": "user", "content": "hello"}]})
}

/// A short proper answer.
pub(crate) fn hello() -> String {
    [delta("hel"), delta("lo"), ending()].concat()
}

/// A whole answer that is not streamed.
pub(crate) fn whole_hello() -> String {
    let choice = json!({"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"});
    json!({"id": "c-1", "object": "chat.completion", "created": 1, "model": "m-1", "choices": [choice]}).to_string()
}

/// The head of a stream whose body is as long as its connection.
pub(crate) const UNTIL_CLOSE: BodyFraming = BodyFraming::UntilClose;

/// The code of the error that the last event but one says, where the last one is the end marker.
pub(crate) fn final_error(events: &[Event]) -> Value {
    let [.., error, done] = events else { return Value::Null };
    assert!(done.is_done() && done.whole(), "{events:?}");
    error.json()["error"].clone()
}

/// The message, type and code of an error that is a whole answer.
pub(crate) async fn error_of(response: &mut Response) -> (String, String, String) {
    assert_eq!(response.header("content-type"), Some("application/json"));
    let error = response.json().await.unwrap()["error"].clone();
    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    (text("message"), text("type"), text("code"))
}
