//! One request: its route, its ladder, its provider's answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bytes::{Bytes, BytesMut};
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderMap, HeaderName,
    HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use seam_host::{FactoryFault, LoadedObserver};
use seam_ladder::{Ladder, Pulse, Rung};
use seam_plugin_api::abi::Invocation;
use seam_plugin_api::{CallClass, Outcome};
use seam_wire::{Asked, Blame, Endpoint, Framing, Protocol, Request as AskedFor, path_below_version};

use super::answer::end;
use super::answer::{StreamedAnswer, nanos};
use super::body::ReplyBody;
use super::invocations::{Ended, InvocationNotes, Invocations, Record, Watched};
use super::origin;
use super::phase::{Phase, Phases};
use super::quiet::Quiet;
use super::reply::{Refusal, json};
use crate::metrics::Metrics;
use crate::seam::Seam;
use crate::snapshot::{Snapshot, SnapshotRoute};
use crate::upstream::{Answer, Call, Pool, Provider, Source};

/// A request's call class, where it is not the route's.
const CALL_CLASS: HeaderName = HeaderName::from_static("x-seam-call-class");
/// The turn that an invocation belongs to, where the client has turns.
const TURN_ID: HeaderName = HeaderName::from_static("x-seam-turn-id");
/// The invocation's id, in every answer that has one.
const INVOCATION_ID: HeaderName = HeaderName::from_static("x-seam-invocation-id");
/// `x-seam-correlation-NAME: value` is shown to observers as correlation value NAME.
const CORRELATION: &str = "x-seam-correlation-";
/// Headers for seamd, which no provider is sent.
const OURS: &str = "x-seam-";
/// Tells proxies between seamd and the client not to gather a stream.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// How long a request's body may pause: a client that dawdles holds memory, and must not hold it for ever.
const REQUEST_PAUSE: Duration = Duration::from_secs(30);
/// Headers that concern one connection, not the message (RFC 9110, 7.6.1); those of the body's framing are made anew.
const OF_THE_CONNECTION: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-authenticate"),
    HeaderName::from_static("proxy-authorization"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// What a worker needs to answer requests.
#[derive(Clone)]
pub struct Gateway {
    /// What is served at present; swapped whole by a reload.
    pub snapshot: Arc<ArcSwap<Snapshot>>,
    /// The worker's connections to providers.
    pub pool: Pool,
    /// What is under way.
    pub invocations: Invocations,
    /// The daemon's metrics.
    pub metrics: Arc<Metrics>,
    /// How far the daemon is in ending.
    pub phases: Phases,
}

/// A reply, or why there is none.
type Handled = Result<Response<ReplyBody>, Box<Refusal>>;

/// An invocation whose ladder stands and whose provider has not been called yet.
struct Begun {
    ladder: Ladder<LoadedObserver>,
    record: Record,
    invocation: Arc<Invocation>,
}

impl Gateway {
    /// Answers a request.
    pub async fn handle(&self, request: Request<Incoming>) -> Response<ReplyBody> {
        let snapshot = self.snapshot.load_full();
        let mut phases = self.phases.clone();
        let protocol = protocol_of(request.uri().path());
        let handled = tokio::select! {
            handled = self.route(&snapshot, request) => handled,
            // Whoever has no answer by then would otherwise see the connection go.
            () = phases.cut() => Err(Box::new(shutting_down())),
        };
        let response = handled.unwrap_or_else(|refusal| refusal.reply(protocol));
        self.metrics.request(response.status());
        response
    }

    async fn route(&self, snapshot: &Arc<Snapshot>, request: Request<Incoming>) -> Handled {
        if !origin::is_allowed(request.headers(), &snapshot.config.server.allow_origins) {
            let message = "a web page of another origin may not ask; list it in server.allow_origins if it should";
            return Err(Box::new(Refusal::new(StatusCode::FORBIDDEN, Blame::Client, "origin_not_allowed", message)));
        }
        let path = request.uri().path().to_owned();
        if let Some(asked) = Endpoint::find(&path) {
            // Never passed through: a list that is too wide must not let answers past the observers.
            let route = snapshot.route(asked.endpoint).ok_or_else(|| Box::new(no_route(snapshot, &path)))?.clone();
            return self.invoke(snapshot, route, &asked, request).await;
        }
        if let Some(provider) = snapshot.passthrough(&path) {
            return self.pass_through(snapshot, provider, request).await;
        }
        if path == "/v1/models" {
            return self.models(snapshot, request).await;
        }
        Err(Box::new(no_route(snapshot, &path)))
    }

    /// The models of the provider of the first route.
    async fn models(&self, snapshot: &Snapshot, request: Request<Incoming>) -> Handled {
        if request.method() != Method::GET {
            return Err(Box::new(Refusal::wrong_method(Method::GET)));
        }
        let Some(route) = snapshot.routes.first() else {
            return Err(Box::new(no_route(snapshot, request.uri().path())));
        };
        if let Some(names) = route.provider.recorded_models() {
            return Ok(json(StatusCode::OK, seam_wire::models_body(&names, route.provider.name())));
        }
        self.pass_through(snapshot, &route.provider, request).await
    }

    /// Lets a request through that no observer is to see.
    async fn pass_through(&self, snapshot: &Snapshot, provider: &Provider, request: Request<Incoming>) -> Handled {
        let (head, body) = request.into_parts();
        let call = Call {
            method: head.method,
            path: path_below_version(head.uri.path()).to_owned(),
            query: head.uri.query().map(str::to_owned),
            headers: forwarded(&head.headers),
            body: collect_request(&head.headers, body, snapshot.max_request).await?,
            model: String::new(),
            stream: false,
        };
        let answer = provider.call(&self.pool, call).await.map_err(|error| Box::new(Refusal::of_upstream(&error)))?;
        passed_on(answer).map_err(Box::new)
    }

    /// Calls a provider and runs its answer through the ladder.
    async fn invoke(
        &self,
        snapshot: &Arc<Snapshot>,
        route: SnapshotRoute,
        asked: &Asked<'_>,
        request: Request<Incoming>,
    ) -> Handled {
        if request.method() != Method::POST {
            return Err(Box::new(Refusal::wrong_method(Method::POST)));
        }
        if self.phases.now() != Phase::Running {
            return Err(Box::new(shutting_down()));
        }
        let (head, body) = request.into_parts();
        let body = collect_request(&head.headers, body, snapshot.max_request).await?;
        let protocol = asked.endpoint.protocol();
        let mut read = protocol.read_request(&body).map_err(|message| {
            let message = format!("the request's body {message}");
            Box::new(Refusal::new(StatusCode::BAD_REQUEST, Blame::Client, "invalid_body", message))
        })?;
        if let Some(model) = asked.model.filter(|_| read.model.is_empty()) {
            model.clone_into(&mut read.model);
        }
        let (model, stream) = (read.model.clone(), asked.stream.unwrap_or(read.stream));
        let invocation = Arc::new(invocation(&head.headers, &route, read)?);
        let begun = self.begin(snapshot, invocation)?;
        let call = Call {
            method: Method::POST,
            path: path_below_version(head.uri.path()).to_owned(),
            query: head.uri.query().map(str::to_owned),
            headers: forwarded(&head.headers),
            body,
            model,
            stream,
        };
        self.answer(snapshot, &route.provider, protocol, begun, call).await
    }

    /// Makes the ladder of an invocation.
    fn begin(&self, snapshot: &Snapshot, invocation: Arc<Invocation>) -> Result<Begun, Box<Refusal>> {
        let generation = Arc::clone(&snapshot.generation);
        let rungs: Vec<Rung<LoadedObserver>> =
            generation.rungs(&invocation).map_err(|failed| Box::new(not_made(failed, &invocation)))?;
        let observers = rungs.iter().map(|rung| (Arc::clone(&rung.plugin), Arc::clone(&rung.observer_id))).collect();
        let pulse = Arc::new(Pulse::default());
        let record = Record::begin(
            &self.invocations,
            &self.metrics,
            Arc::clone(&invocation),
            generation,
            Watched { pulse: Arc::clone(&pulse), observers },
        );
        let ladder = Ladder::new(rungs, Arc::clone(&invocation), pulse);
        Ok(Begun { ladder, record, invocation })
    }

    /// Calls the provider and gives its answer the way that it needs. Until the head is there, the call hangs on this
    /// future: hyper drops it when the client goes.
    async fn answer(
        &self,
        snapshot: &Snapshot,
        provider: &Provider,
        protocol: Protocol,
        begun: Begun,
        call: Call,
    ) -> Handled {
        let Begun { ladder, record, invocation } = begun;
        let mut unanswered = Unanswered { open: Some((ladder, record)), phases: self.phases.clone() };
        let asked_for_stream = call.stream;
        let reply = match provider.call(&self.pool, call).await {
            Ok(answer) => self.observed(snapshot, protocol, asked_for_stream, answer, &mut unanswered).await,
            Err(failed) => Err(Refusal::of_upstream(&failed)),
        };
        let reply = reply.unwrap_or_else(|refusal| {
            unanswered.end(Outcome::ProviderError, refusal.status.as_u16(), Some(&refusal.message));
            refusal.reply(protocol)
        });
        Ok(tagged(reply, &invocation))
    }

    /// A provider's answer on its way to the client.
    async fn observed(
        &self,
        snapshot: &Snapshot,
        protocol: Protocol,
        asked_for_stream: bool,
        answer: Answer,
        unanswered: &mut Unanswered,
    ) -> Result<Response<ReplyBody>, Refusal> {
        if !answer.status.is_success() {
            let status = answer.status.as_u16();
            let reply = passed_on(answer)?;
            unanswered.end(Outcome::ProviderError, status, Some("the provider answered with an error status"));
            return Ok(reply);
        }
        let answer = answer.decoded().map_err(|error| Refusal::of_upstream(&error))?;
        match framing_of(&answer.headers, protocol, asked_for_stream) {
            Some(framing) => {
                let Some((ladder, record)) = unanswered.open.take() else { return Err(taken_twice()) };
                let seam = Seam::new(protocol, framing, ladder, record.notes(), snapshot.max_frame);
                let quiet = Quiet::new(snapshot.config.server.keepalive);
                Ok(self.streamed(answer, seam, record, quiet))
            }
            None => self.whole(snapshot, protocol, answer, unanswered).await,
        }
    }

    fn streamed(
        &self,
        answer: Answer,
        seam: Seam<LoadedObserver, InvocationNotes>,
        record: Record,
        quiet: Option<Quiet>,
    ) -> Response<ReplyBody> {
        let status = answer.status;
        let streamed = StreamedAnswer::new(answer.source, seam, record, self.phases.clone(), status.as_u16(), quiet);
        let mut response = Response::new(ReplyBody::Streamed(Box::new(streamed)));
        *response.status_mut() = status;
        *response.headers_mut() = of_the_message(&answer.headers);
        let headers = response.headers_mut();
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
        headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
        response
    }

    /// An answer that is not streamed: gathered, shown to the ladder at once, sent on whole.
    async fn whole(
        &self,
        snapshot: &Snapshot,
        protocol: Protocol,
        answer: Answer,
        unanswered: &mut Unanswered,
    ) -> Result<Response<ReplyBody>, Refusal> {
        let Answer { status, headers, source } = answer;
        let body = collect_answer(source, snapshot.max_response).await?;
        if !may_be_json(&body) {
            let reason = "the provider's answer is neither JSON nor a stream of events, and cannot be observed";
            return Err(Refusal::new(StatusCode::BAD_GATEWAY, Blame::Provider, "provider_not_json", reason));
        }
        let Some((ladder, mut record)) = unanswered.open.take() else { return Err(taken_twice()) };
        let mut seam = Seam::new(protocol, Framing::Sse, ladder, record.notes(), snapshot.max_frame);
        let now = Instant::now();
        record.first_byte(now);
        let sent = seam.whole(&body, nanos(now.saturating_duration_since(record.began())));
        // An error that calls itself a success would be read as an empty answer.
        let status = if seam.is_mere_error() { StatusCode::BAD_GATEWAY } else { status };
        end(&mut seam, &record, Outcome::Completed, status.as_u16());
        let mut response = Response::new(ReplyBody::whole(sent));
        *response.status_mut() = status;
        *response.headers_mut() = of_the_message(&headers);
        Ok(response)
    }
}

/// The reply where an observer that must not be missing could not be made. Those that were made learn that it is over.
fn not_made(failed: FactoryFault, invocation: &Arc<Invocation>) -> Refusal {
    let message = failed.to_string();
    tracing::warn!(
        plugin = &*failed.plugin,
        observer = &*failed.observer_id,
        invocation = %invocation.invocation_id,
        error = message,
        "an observer could not be made"
    );
    Ladder::new(failed.made, Arc::clone(invocation), Arc::new(Pulse::default())).close(Outcome::ObserverFault);
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Blame::Plugin, "observer_fault", message)
}

/// The reply to whoever asks, or still waits for a provider, when the daemon ends.
fn shutting_down() -> Refusal {
    let message = "seamd is shutting down and takes no new streams; ask again";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Blame::Seamd, "shutdown", message)
}

fn taken_twice() -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, Blame::Seamd, "internal", "the answer was taken twice")
}

/// An invocation until it is answered. Dropped before: the client is gone, or the daemon ends.
struct Unanswered {
    open: Option<(Ladder<LoadedObserver>, Record)>,
    phases: Phases,
}

impl Unanswered {
    fn end(&mut self, outcome: Outcome, status: u16, reason: Option<&str>) {
        let Some((mut ladder, record)) = self.open.take() else { return };
        let reports = ladder.close(outcome);
        let chunks = (ladder.chunks_in(), ladder.chunks_out());
        record.end(&Ended { outcome, status, reports: &reports, chunks, reason });
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        if self.phases.now() == Phase::Cut {
            self.end(Outcome::Shutdown, 503, None);
        } else {
            self.end(Outcome::ClientGone, 499, None);
        }
    }
}

/// What is known of an invocation when it begins.
fn invocation(headers: &HeaderMap, route: &SnapshotRoute, asked: AskedFor) -> Result<Invocation, Box<Refusal>> {
    let id = uuid::Uuid::now_v7();
    let invocation_id = id.to_string();
    let turn_id = text_of(headers, &TURN_ID).map_or_else(|| invocation_id.clone(), str::to_owned);
    Ok(Invocation {
        call_class: call_class(headers, route.call_class)?,
        turn_id,
        model: asked.model,
        provider: route.provider.name().to_owned(),
        family: route.provider.family().to_owned(),
        system_prompt: asked.system_prompt,
        messages: asked.messages,
        tool_names: asked.tool_names,
        // The random half of the id.
        seed: id.as_u64_pair().1,
        correlation: correlation(headers),
        invocation_id,
    })
}

fn call_class(headers: &HeaderMap, default: CallClass) -> Result<CallClass, Box<Refusal>> {
    let Some(value) = headers.get(&CALL_CLASS) else { return Ok(default) };
    value.to_str().ok().and_then(CallClass::from_name).ok_or_else(|| {
        let known: Vec<&str> = CallClass::ALL.iter().map(|class| class.as_str()).collect();
        let message = format!("the header {CALL_CLASS} says {value:?}; it may say {}", known.join(", "));
        Box::new(Refusal::new(StatusCode::BAD_REQUEST, Blame::Client, "invalid_call_class", message))
    })
}

fn text_of<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).filter(|text| !text.is_empty())
}

fn correlation(headers: &HeaderMap) -> Vec<(String, String)> {
    let values = headers.iter().filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix(CORRELATION)?;
        Some((name.to_owned(), value.to_str().ok()?.to_owned()))
    });
    values.collect()
}

async fn collect_request(headers: &HeaderMap, body: Incoming, limit: usize) -> Result<Bytes, Box<Refusal>> {
    let announced = text_of(headers, &CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(Box::new(request_too_large(limit)));
    }
    let mut body = Limited::new(body, limit);
    let mut whole = BytesMut::new();
    loop {
        let (status, code, message) = match tokio::time::timeout(REQUEST_PAUSE, body.frame()).await {
            Ok(None) => return Ok(whole.freeze()),
            Ok(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    whole.extend_from_slice(data);
                }
                continue;
            }
            Ok(Some(Err(failed))) if failed.is::<LengthLimitError>() => {
                return Err(Box::new(request_too_large(limit)));
            }
            Ok(Some(Err(failed))) => {
                let message = format!("the request's body did not arrive: {failed}");
                (StatusCode::BAD_REQUEST, "request_broke_off", message)
            }
            Err(_) => {
                let message = format!("nothing of the request's body came for {} seconds", REQUEST_PAUSE.as_secs());
                (StatusCode::REQUEST_TIMEOUT, "request_timeout", message)
            }
        };
        return Err(Box::new(Refusal::new(status, Blame::Client, code, message)));
    }
}

fn request_too_large(limit: usize) -> Refusal {
    let message = format!("the request's body is over {limit} bytes, which is server.max_request");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, Blame::Client, "request_too_large", message)
}

/// Gathers an answer that is not streamed.
async fn collect_answer(mut source: Source, limit: usize) -> Result<Bytes, Refusal> {
    let mut body = BytesMut::new();
    loop {
        let data = std::future::poll_fn(|cx| source.poll_data(cx, Instant::now())).await;
        match data {
            None => return Ok(body.freeze()),
            Some(Ok(data)) if body.len() + data.len() <= limit => body.extend_from_slice(&data),
            Some(Ok(_)) => {
                let reason = format!("the provider's answer is over {limit} bytes, which is server.max_response");
                return Err(Refusal::new(
                    StatusCode::BAD_GATEWAY,
                    Blame::Provider,
                    "provider_answer_too_large",
                    reason,
                ));
            }
            Some(Err(failed)) => return Err(Refusal::of_upstream(&failed)),
        }
    }
}

/// The client's headers, as a provider is sent them. What is compressed cannot be observed, so nothing compressed is
/// asked for.
fn forwarded(headers: &HeaderMap) -> HeaderMap {
    let mut forwarded = of_the_message(headers);
    for name in [HOST, ACCEPT_ENCODING, EXPECT] {
        forwarded.remove(name);
    }
    let ours: Vec<HeaderName> = forwarded.keys().filter(|name| name.as_str().starts_with(OURS)).cloned().collect();
    for name in ours {
        forwarded.remove(name);
    }
    forwarded
}

/// Headers without those of the connection and of the body's framing.
fn of_the_message(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    // A connection may name further headers of its own.
    let named: Vec<String> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(|name| name.trim().to_ascii_lowercase()))
        .collect();
    for name in named {
        kept.remove(name.as_str());
    }
    for name in OF_THE_CONNECTION {
        kept.remove(name);
    }
    kept.remove(CONTENT_LENGTH);
    kept
}

/// How an answer's frames are told apart; `None` for one that is whole. A stream of events is one that says so, and one
/// that was asked for as a stream and does not say that it is JSON. What is neither in the end is refused, as nothing of
/// it could be observed.
fn framing_of(headers: &HeaderMap, protocol: Protocol, asked_for_stream: bool) -> Option<Framing> {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = kind == "application/json" || kind.ends_with("+json");
    match (asked_for_stream, is_json) {
        _ if kind == "text/event-stream" => Some(Framing::Sse),
        // What Gemini streams without `alt=sse`.
        (true, true) if protocol == Protocol::Gemini => Some(Framing::JsonArray),
        (true, false) => Some(Framing::Sse),
        _ => None,
    }
}

/// Whether a whole answer can be JSON.
fn may_be_json(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body).trim_ascii_start();
    matches!(body.first(), None | Some(b'{' | b'['))
}

/// A provider's answer that no observer is to see, as it came.
fn passed_on(answer: Answer) -> Result<Response<ReplyBody>, Refusal> {
    if answer.status.is_informational() {
        let message = format!("the provider answered with status {}, which ends no request", answer.status.as_u16());
        return Err(Refusal::new(StatusCode::BAD_GATEWAY, Blame::Provider, "provider_status", message));
    }
    let mut response = Response::new(ReplyBody::passed_on(answer.source));
    *response.status_mut() = answer.status;
    *response.headers_mut() = of_the_message(&answer.headers);
    Ok(response)
}

fn tagged(mut response: Response<ReplyBody>, invocation: &Invocation) -> Response<ReplyBody> {
    if let Ok(id) = HeaderValue::from_str(&invocation.invocation_id) {
        response.headers_mut().insert(INVOCATION_ID, id);
    }
    response
}

/// The protocol that a client on this path speaks, as far as the path says it.
fn protocol_of(path: &str) -> Protocol {
    match Endpoint::find(path) {
        Some(asked) => asked.endpoint.protocol(),
        None if path.starts_with("/v1/messages") => Protocol::AnthropicMessages,
        None if path.starts_with("/v1beta/") => Protocol::Gemini,
        None => Protocol::OpenAiChat,
    }
}

fn no_route(snapshot: &Snapshot, path: &str) -> Refusal {
    let known: Vec<&str> = snapshot.routes.iter().map(|route| route.endpoint.pattern()).collect();
    let how = match Endpoint::find(path) {
        Some(asked) => format!("a [[route]] with path = \"{}\" would make one", asked.endpoint.pattern()),
        None => "what no observer is to see is let through by a [[passthrough]] that lists it".to_owned(),
    };
    let message = format!("there is no route for {path}; there are {} and /v1/models; {how}", known.join(", "));
    Refusal::new(StatusCode::NOT_FOUND, Blame::Client, "no_route", message)
}
