//! The embedded provider: plays streams that were recorded before. Nothing leaves the machine.

use std::collections::BTreeMap;
use std::fs;
use std::future::Future as _;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::time::{Instant, Sleep};

use super::UpstreamError;
use super::provider::ProviderError;
use crate::config::{Pace, Recorded};

/// How long after the one before it a frame is played where nothing was recorded about it: a usual pace of providers.
const USUAL_PACE: Duration = Duration::from_millis(20);

/// The longest recorded stream, in bytes: all of them are kept in memory.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The streams of one folder: `NAME.sse`, beside it `NAME.times` with one duration per frame since the request
/// (`120ms`), one a line, and `NAME.json` for requests that ask for no stream. Only the first must be there.
pub struct RecordedStreams {
    provider: String,
    streams: BTreeMap<String, Arc<RecordedStream>>,
}

struct RecordedStream {
    /// Each frame, and when it is played, since the request.
    frames: Vec<(Bytes, Duration)>,
    /// The answer to a request that asks for no stream.
    whole: Option<Bytes>,
}

impl RecordedStreams {
    /// Reads a folder.
    ///
    /// # Errors
    /// A folder or file that cannot be read.
    pub(super) fn read(provider: &str, recorded: &Recorded) -> Result<Self, ProviderError> {
        let unreadable = |path: &Path, error: &dyn std::fmt::Display| ProviderError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let mut streams = BTreeMap::new();
        let entries = fs::read_dir(&recorded.folder).map_err(|error| unreadable(&recorded.folder, &error))?;
        for entry in entries {
            let path = entry.map_err(|error| unreadable(&recorded.folder, &error))?.path();
            let name = path.file_stem().and_then(|name| name.to_str());
            if let (Some(name), Some("sse")) = (name, path.extension().and_then(|ending| ending.to_str())) {
                let stream = read_stream(&path, recorded.pace).map_err(|reason| unreadable(&path, &reason))?;
                streams.insert(name.to_owned(), Arc::new(stream));
            }
        }
        Ok(Self { provider: provider.to_owned(), streams })
    }

    /// The names of the streams, in order.
    pub(super) fn names(&self) -> Vec<String> {
        self.streams.keys().cloned().collect()
    }

    /// The head of an answer and its playback.
    pub(super) fn play(&self, model: &str, streamed: bool) -> Result<(HeaderMap, Playback), UpstreamError> {
        let stream = self.streams.get(model).filter(|stream| streamed || stream.whole.is_some()).ok_or_else(|| {
            let known = self.streams.iter().filter(|(_, stream)| streamed || stream.whole.is_some());
            UpstreamError::NoSuchStream {
                provider: self.provider.clone(),
                model: model.to_owned(),
                known: known.map(|(name, _)| name.clone()).collect(),
            }
        })?;
        let kind = if streamed { "text/event-stream" } else { "application/json" };
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
        Ok((headers, Playback::new(Arc::clone(stream), streamed)))
    }
}

fn read_stream(path: &Path, pace: Pace) -> Result<RecordedStream, String> {
    let length = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > MOST_BYTES {
        return Err(format!("a recorded stream may have {MOST_BYTES} bytes and it has {length}"));
    }
    let frames = split_frames(fs::read(path).map_err(|error| error.to_string())?.into())?;
    let times = frame_times(path, pace, frames.len())?;
    let whole = match fs::read(path.with_extension("json")) {
        Ok(bytes) => Some(bytes.into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.to_string()),
    };
    Ok(RecordedStream { frames: frames.into_iter().zip(times).collect(), whole })
}

fn split_frames(bytes: Bytes) -> Result<Vec<Bytes>, String> {
    let mut decoder = seam_wire::SseDecoder::new(bytes.len().max(1));
    decoder.feed(bytes);
    let mut frames = Vec::new();
    while let Some(frame) = decoder.next_frame().map_err(|error| error.to_string())? {
        frames.push(frame.raw().clone());
    }
    frames.extend(decoder.finish().map(|frame| frame.raw().clone()));
    Ok(frames)
}

fn frame_times(path: &Path, pace: Pace, frames: usize) -> Result<Vec<Duration>, String> {
    let every = |step: Duration| (1..).map(|nth: u32| step.saturating_mul(nth)).take(frames).collect();
    match pace {
        Pace::Max => Ok(vec![Duration::ZERO; frames]),
        Pace::Every(step) => Ok(every(step)),
        Pace::Recorded => match fs::read_to_string(path.with_extension("times")) {
            Ok(text) => read_times(&text, frames),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(every(USUAL_PACE)),
            Err(error) => Err(error.to_string()),
        },
    }
}

fn read_times(text: &str, frames: usize) -> Result<Vec<Duration>, String> {
    let times: Vec<Duration> = text
        .lines()
        .map(|line| humantime::parse_duration(line.trim()).map_err(|error| format!("time {line:?}: {error}")))
        .collect::<Result<_, _>>()?;
    if times.len() == frames {
        Ok(times)
    } else {
        Err(format!("{frames} frames and {} times; each frame needs one", times.len()))
    }
}

/// A recorded stream that is being played.
pub(super) struct Playback {
    stream: Arc<RecordedStream>,
    /// The next frame; past the end: over.
    next: usize,
    streamed: bool,
    start: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Playback {
    fn new(stream: Arc<RecordedStream>, streamed: bool) -> Self {
        let start = Instant::now();
        Self { stream, next: 0, streamed, start, timer: Box::pin(tokio::time::sleep_until(start)) }
    }

    pub(super) fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let nth = self.next;
        if !self.streamed {
            self.next += 1;
            return Poll::Ready(self.stream.whole.clone().filter(|_| nth == 0));
        }
        let Some((frame, at)) = self.stream.frames.get(nth) else { return Poll::Ready(None) };
        if !at.is_zero() {
            let due = self.start + *at;
            if self.timer.deadline() != due {
                self.timer.as_mut().reset(due);
            }
            ready!(self.timer.as_mut().poll(cx));
        }
        self.next += 1;
        Poll::Ready(Some(frame.clone()))
    }
}
