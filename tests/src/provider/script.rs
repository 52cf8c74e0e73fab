//! What the provider is told to do with a request, to the byte.

use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// A point at which a script waits for the test. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Semaphore>);

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// A gate that is shut.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Lets one [`Step::Wait`] pass: one that waits now, or else the next one.
    pub fn open(&self) {
        self.0.add_permits(1);
    }

    /// Lets every wait pass from now on.
    pub fn open_for_good(&self) {
        self.0.close();
    }

    pub(super) async fn pass(&self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}

/// How the body of an answer is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFraming {
    /// Chunked; each [`Step::Chunk`] is one HTTP chunk.
    Chunked,
    /// By a `content-length` of so many bytes, true or not.
    Length(u64),
    /// By the end of the connection.
    UntilClose,
}

/// One thing that the provider does. Over HTTP/2 a chunk is one DATA frame, and raw bytes are one too: the framing
/// is not the script's to break there.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends the head of the answer.
    Head {
        /// The status code.
        status: u16,
        /// Headers, after which those that the framing needs follow.
        headers: Vec<(String, String)>,
        /// How the body is delimited.
        framing: BodyFraming,
    },
    /// Sends one HTTP chunk in one write.
    Chunk(Bytes),
    /// Sends the same chunk so many times, each in a write of its own.
    Repeat {
        /// The chunk.
        chunk: Bytes,
        /// How many times.
        times: u64,
    },
    /// Writes these bytes as they are: a malformed chunk, a head of one's own, noise.
    Raw(Bytes),
    /// Waits until the test opens the gate.
    Wait(Gate),
}

/// How a script is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Properly: with the last, empty chunk where the body is chunked. The connection is kept for the next request.
    End,
    /// The connection ends without the last chunk (TCP FIN; with TLS no `close_notify`; HTTP/2: the connection).
    Cut,
    /// The connection is reset (TCP RST; HTTP/2: RST_STREAM, the connection stays).
    Reset,
    /// Nothing more happens until the client leaves.
    Stall,
}

/// All that the provider does with one request.
#[derive(Clone, Debug)]
pub struct Script {
    pub(super) steps: Vec<Step>,
    pub(super) finish: Finish,
}

impl Script {
    /// A stream of server-sent events: status 200, chunked.
    #[must_use]
    pub fn stream() -> Draft {
        Draft::default().head(
            200,
            &[("content-type", "text/event-stream"), ("cache-control", "no-cache")],
            BodyFraming::Chunked,
        )
    }

    /// A script with nothing in it: not even a head is sent unless a step says so.
    #[must_use]
    pub fn blank() -> Draft {
        Draft::default()
    }

    /// A whole JSON answer with its length.
    #[must_use]
    pub fn json(status: u16, body: &str) -> Self {
        Self::whole(status, &[("content-type", "application/json")], body)
    }

    /// A whole answer with its length.
    #[must_use]
    pub fn whole(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        Draft::default().head(status, headers, BodyFraming::Length(body.len() as u64)).raw(body).end()
    }

    /// The request is read and never answered.
    #[must_use]
    pub fn mute() -> Self {
        Draft::default().stall()
    }

    /// Every event in a chunk of its own, then a proper end.
    #[must_use]
    pub fn events<T: AsRef<[u8]>>(events: impl IntoIterator<Item = T>) -> Self {
        events.into_iter().fold(Self::stream(), |draft, event| draft.chunk(event)).end()
    }
}

/// A script that does not yet say how it is over.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    steps: Vec<Step>,
}

impl Draft {
    /// Adds a step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Sends a head.
    #[must_use]
    pub fn head(self, status: u16, headers: &[(&str, &str)], framing: BodyFraming) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.step(Step::Head { status, headers, framing })
    }

    /// Sends one chunk in one write.
    #[must_use]
    pub fn chunk(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(Step::Chunk(Bytes::copy_from_slice(bytes.as_ref())))
    }

    /// Sends `bytes` in several chunks, cut at these offsets (ascending; those outside are left out).
    #[must_use]
    pub fn cut_chunks(mut self, bytes: impl AsRef<[u8]>, cuts: &[usize]) -> Self {
        let bytes = bytes.as_ref();
        let mut start = 0;
        for &cut in cuts.iter().chain([&bytes.len()]) {
            if start < cut && cut <= bytes.len() {
                self = self.chunk(&bytes[start..cut]);
                start = cut;
            }
        }
        self
    }

    /// Sends each byte in a chunk of its own.
    #[must_use]
    pub fn bytewise(self, bytes: impl AsRef<[u8]>) -> Self {
        bytes.as_ref().chunks(1).fold(self, |draft, byte| draft.chunk(byte))
    }

    /// Sends the same chunk many times.
    #[must_use]
    pub fn repeat(self, bytes: impl AsRef<[u8]>, times: u64) -> Self {
        self.step(Step::Repeat { chunk: Bytes::copy_from_slice(bytes.as_ref()), times })
    }

    /// Writes bytes as they are.
    #[must_use]
    pub fn raw(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(Step::Raw(Bytes::copy_from_slice(bytes.as_ref())))
    }

    /// Waits for the test.
    #[must_use]
    pub fn wait(self, gate: &Gate) -> Self {
        self.step(Step::Wait(gate.clone()))
    }

    /// The proper end.
    #[must_use]
    pub fn end(self) -> Script {
        self.finish(Finish::End)
    }

    /// The connection ends in the middle.
    #[must_use]
    pub fn cut(self) -> Script {
        self.finish(Finish::Cut)
    }

    /// The connection is reset in the middle.
    #[must_use]
    pub fn reset(self) -> Script {
        self.finish(Finish::Reset)
    }

    /// Nothing more comes.
    #[must_use]
    pub fn stall(self) -> Script {
        self.finish(Finish::Stall)
    }

    fn finish(self, finish: Finish) -> Script {
        Script { steps: self.steps, finish }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(script: &Script) -> Vec<&[u8]> {
        let mut chunks = Vec::new();
        for step in &script.steps {
            if let Step::Chunk(bytes) = step {
                chunks.push(&bytes[..]);
            }
        }
        chunks
    }

    #[test]
    fn cuts_outside_the_bytes_are_left_out() {
        let script = Script::blank().cut_chunks("abcdef", &[0, 2, 2, 5, 6, 9]).end();
        assert_eq!(chunks(&script), [&b"ab"[..], b"cde", b"f"]);
    }

    #[test]
    fn bytewise_has_one_chunk_for_each_byte() {
        assert_eq!(chunks(&Script::blank().bytewise("ab").end()), [b"a", b"b"]);
    }
}
