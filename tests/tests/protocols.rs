//! The provider over TLS and HTTP/2, spoken to by hyper's client.
#![expect(clippy::unwrap_used, reason = "what the tests share says by panicking what must hold, as they do")]

use bytes::Bytes;
use e2e::provider::{Call, CallEnd, Gate, Protocol, Provider, Script};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A connection that trusts the provider's certificate and nothing else.
async fn connect(provider: &Provider, alpn: &[u8]) -> TlsStream<TcpStream> {
    let pem = provider.certificate_pem().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    let stream = TcpStream::connect(provider.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
}

fn request(provider: &Provider) -> Request<Full<Bytes>> {
    let uri = format!("{}/v1/chat/completions", provider.base_url());
    Request::post(uri).header("x-a", "b").body(Full::from("{}")).unwrap()
}

type Sender = http2::SendRequest<Full<Bytes>>;

async fn http2_connection(provider: &Provider) -> Sender {
    let stream = TokioIo::new(connect(provider, b"h2").await);
    let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn ask(provider: &Provider, sender: &mut Sender) -> (Response<Incoming>, Call) {
    let response = sender.send_request(request(provider)).await.unwrap();
    (response, provider.next_call().await.unwrap())
}

#[tokio::test]
async fn http1_in_tls_is_the_same_script() {
    let provider = Provider::start_with(Protocol::Http1Tls).unwrap();
    provider.answer(Script::events(["data: a\n\n", "data: b\n\n"]));
    provider.answer(Script::stream().chunk("data: a\n\n").cut());
    let stream = connect(&provider, b"http/1.1").await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(request(&provider)).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "data: a\n\ndata: b\n\n");
    sender.ready().await.unwrap();
    let response = sender.send_request(request(&provider)).await.unwrap();
    assert!(response.into_body().collect().await.is_err());
}

#[tokio::test]
async fn http1_in_tls_sees_its_client_leave() {
    let provider = Provider::start_with(Protocol::Http1Tls).unwrap();
    provider.answer(Script::stream().chunk("data: a\n\n").stall());
    let stream = connect(&provider, b"http/1.1").await;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(request(&provider)).await.unwrap();
    drop((response, sender));
    provider.next_call().await.unwrap().client_gone().await.unwrap();
}

#[tokio::test]
async fn http2_plays_chunks_and_waits() {
    let provider = Provider::start_with(Protocol::Http2Tls).unwrap();
    let gate = Gate::new();
    provider.answer(Script::stream().chunk("data: a\n\n").wait(&gate).chunk("data: b\n\n").end());
    let mut sender = http2_connection(&provider).await;
    let (response, call) = ask(&provider, &mut sender).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(call.request().header("x-a"), Some("b"));
    assert_eq!(call.request().body, "{}");
    assert_eq!(call.request().target, "/v1/chat/completions");
    let mut body = response.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, "data: a\n\n");
    gate.open();
    assert_eq!(body.collect().await.unwrap().to_bytes(), "data: b\n\n");
    assert_eq!(call.over().await.unwrap(), CallEnd::Finished);
}

#[tokio::test]
async fn http2_streams_end_alone_and_connections_end_all() {
    let provider = Provider::start_with(Protocol::Http2Tls).unwrap();
    provider.answer(Script::stream().chunk("data: a\n\n").reset());
    provider.answer(Script::json(200, "{}"));
    provider.answer(Script::stream().chunk("data: a\n\n").cut());
    let mut sender = http2_connection(&provider).await;
    let (response, call) = ask(&provider, &mut sender).await;
    assert!(response.into_body().collect().await.is_err());
    assert_eq!(call.over().await.unwrap(), CallEnd::Broken);
    let (response, _) = ask(&provider, &mut sender).await;
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "{}");
    assert_eq!(provider.connections(), 1);
    // The head may be lost with the connection; if it came, the body is cut.
    if let Ok(response) = sender.send_request(request(&provider)).await {
        assert!(response.into_body().collect().await.is_err());
    }
    assert!(sender.ready().await.is_err() || sender.is_closed());
}

#[tokio::test]
async fn http2_sees_its_client_leave_in_every_state_of_the_answer() {
    let provider = Provider::start_with(Protocol::Http2Tls).unwrap();
    provider.answer(Script::mute());
    provider.answer(Script::stream().chunk("data: a\n\n").stall());
    let mut sender = http2_connection(&provider).await;
    let asking = tokio::spawn({
        let request = sender.send_request(request(&provider));
        async move { request.await.map(|_| ()) }
    });
    let call = provider.next_call().await.unwrap();
    assert_eq!(call.end(), None);
    asking.abort();
    call.client_gone().await.unwrap();
    let (response, call) = ask(&provider, &mut sender).await;
    assert_eq!(call.end(), None);
    drop(response);
    call.client_gone().await.unwrap();
}

#[tokio::test]
async fn http2_in_the_clear_needs_no_agreement() {
    let provider = Provider::start_with(Protocol::Http2).unwrap();
    provider.answer(Script::json(201, "{}"));
    let stream = TokioIo::new(TcpStream::connect(provider.address()).await.unwrap());
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let (response, _) = ask(&provider, &mut sender).await;
    assert_eq!(response.status(), 201);
}
