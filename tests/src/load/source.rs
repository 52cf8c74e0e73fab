//! The provider of the load: on one thread it fills several proxies.
//!
//! Saturated answers are written [`BATCH`] chunks at a time: what a fast provider's chunks look like by the time a
//! proxy reads them. Each is still an HTTP chunk of its own, with its own time.

use super::model::Shape;
use super::stream::Encoder;
use crate::http1::{Framing, Head, Part};
use crate::os::{IntervalTimer, monotonic_nanos};
use bytes::BytesMut;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::{TcpListener, TcpStream};

/// How many chunks of a saturated answer are written at once.
pub const BATCH: u64 = 16;

/// After so many batches another stream gets its turn.
const TURN: u64 = 4;

/// How many chunks a request gets that does not say.
const DEFAULT_CHUNKS: u64 = 500;

/// What the source has done so far, told at `GET /stats`.
#[derive(Debug, Default)]
struct Stats {
    requests: u64,
    /// The `user` of each request that is being answered.
    active: Vec<String>,
    aborts: Vec<Value>,
}

type Shared = Rc<RefCell<Stats>>;

/// Serves `listener` until the task is dropped. It must run inside a [`tokio::task::LocalSet`].
///
/// # Errors
/// When no more connections can be accepted.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let stats = Shared::default();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let stats = Rc::clone(&stats);
        tokio::task::spawn_local(async move {
            // A connection ends when its client leaves; that is counted where it matters.
            let _ = serve_connection(stream, &stats).await;
        });
    }
}

async fn serve_connection(mut stream: TcpStream, stats: &Shared) -> io::Result<()> {
    let mut buffer = BytesMut::with_capacity(8 * 1024);
    while let Some((target, body)) = read_request(&mut stream, &mut buffer).await? {
        if target.ends_with("/stats") {
            let stats = report(&stats.borrow());
            write_whole(&mut stream, &stats).await?;
            continue;
        }
        answer(&mut stream, &body, stats).await?;
    }
    Ok(())
}

/// Target and body of the next request; nothing when the client ended the connection between two.
async fn read_request(stream: &mut TcpStream, buffer: &mut BytesMut) -> io::Result<Option<(String, BytesMut)>> {
    let head = loop {
        if let Some(head) = Head::take(buffer)? {
            break head;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let mut framing = head.framing()?.unwrap_or(Framing::Length(0));
    let mut body = BytesMut::new();
    loop {
        match framing.next(buffer)? {
            Part::Data(bytes) => body.extend_from_slice(&bytes),
            Part::End => break,
            Part::Incomplete if stream.read_buf(buffer).await? > 0 => {}
            Part::Incomplete => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
    let target = head.first_line.split(' ').nth(1).unwrap_or_default();
    Ok(Some((target.to_owned(), body)))
}

fn report(stats: &Stats) -> String {
    json!({
        "requests": stats.requests,
        "active": stats.active,
        "aborts": stats.aborts,
    })
    .to_string()
}

async fn write_whole(stream: &mut TcpStream, body: &str) -> io::Result<()> {
    let length = body.len();
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(answer.as_bytes()).await
}

async fn answer(stream: &mut TcpStream, body: &[u8], stats: &Shared) -> io::Result<()> {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let model = request["model"].as_str().unwrap_or("fake");
    let user = request["user"].as_str().unwrap_or_default();
    let asked = ["max_tokens", "max_completion_tokens"];
    let chunks = asked.iter().find_map(|key| request[*key].as_u64());
    let shape = Shape::of(model, chunks.unwrap_or(DEFAULT_CHUNKS));
    let number = {
        let mut stats = stats.borrow_mut();
        stats.requests += 1;
        stats.requests
    };
    let encoder = Encoder::new(number, model);
    if request["stream"] != true {
        return write_whole(stream, &encoder.whole()).await;
    }
    stats.borrow_mut().active.push(user.to_owned());
    let mut sent = 0;
    let outcome = send(stream, &encoder, shape, &mut sent).await;
    let seen = monotonic_nanos();
    let mut stats = stats.borrow_mut();
    if let Some(place) = stats.active.iter().position(|active| active == user) {
        stats.active.swap_remove(place);
    }
    if outcome.is_err() {
        let abort = json!({"user": user, "at": seen, "sent": sent});
        stats.aborts.push(abort);
    }
    outcome
}

/// Sends the answer. Every error means that the client left.
async fn send(stream: &TcpStream, encoder: &Encoder, shape: Shape, sent: &mut u64) -> io::Result<()> {
    if shape == Shape::Mute {
        return client_leaves(stream).await;
    }
    let mut out = Vec::with_capacity(8 * 1024);
    out.extend_from_slice(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
          transfer-encoding: chunked\r\n\r\n",
    );
    encoder.role(&mut out);
    write(stream, &out).await?;
    match shape {
        Shape::Mute => {}
        Shape::Saturated { chunks } => saturate(stream, encoder, chunks, sent).await?,
        Shape::Paced { chunks, period } => pace(stream, encoder, (chunks, period), sent).await?,
    }
    out.clear();
    encoder.end(shape.chunks(), &mut out);
    write(stream, &out).await
}

async fn saturate(stream: &TcpStream, encoder: &Encoder, chunks: u64, sent: &mut u64) -> io::Result<()> {
    let mut out = Vec::with_capacity(8 * 1024);
    while *sent < chunks {
        for _ in 0..TURN {
            out.clear();
            let end = chunks.min(*sent + BATCH);
            for sequence in *sent..end {
                encoder.content(sequence, monotonic_nanos(), &mut out);
            }
            write(stream, &out).await?;
            *sent = end;
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}

async fn pace(
    stream: &TcpStream,
    encoder: &Encoder,
    (chunks, period): (u64, Duration),
    sent: &mut u64,
) -> io::Result<()> {
    let timer = IntervalTimer::new(phase(period), period)?;
    let mut out = Vec::with_capacity(512);
    while *sent < chunks {
        let due = tokio::select! {
            due = timer.fired() => due?,
            gone = client_leaves(stream) => return gone,
        };
        for _ in 0..due.min(chunks - *sent) {
            out.clear();
            encoder.content(*sent, monotonic_nanos(), &mut out);
            write(stream, &out).await?;
            *sent += 1;
        }
    }
    Ok(())
}

/// A first delay that is spread over the period: streams that start together must not all send together.
fn phase(period: Duration) -> Duration {
    let mixed = monotonic_nanos().wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(mixed % period.max(1))
}

/// Writes everything, and looks meanwhile whether the client has left: a write alone would only find out when the
/// peer's kernel answers the one before.
async fn write(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                stream.ready(Interest::READABLE | Interest::WRITABLE).await?;
                notice_leaving(stream)?;
            }
            Err(error) => return Err(error),
        }
    }
    // Costs no system call while nothing has come.
    notice_leaving(stream)
}

/// Comes back, with an error, when the client has left.
async fn client_leaves(stream: &TcpStream) -> io::Result<()> {
    loop {
        stream.readable().await?;
        notice_leaving(stream)?;
    }
}

/// An error when the client has left. What it sends in the middle of an answer is thrown away.
fn notice_leaving(stream: &TcpStream) -> io::Result<()> {
    match stream.try_read(&mut [0; 1024]) {
        Ok(0) => Err(io::ErrorKind::ConnectionAborted.into()),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(error),
    }
}
