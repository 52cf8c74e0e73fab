//! The body of a reply: whole, streamed through a ladder, or passed on as it comes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;

use super::answer::StreamedAnswer;
use crate::upstream::Source;

/// The body of a reply.
pub enum ReplyBody {
    /// Known in full.
    Whole(Full<Bytes>),
    /// A stream that runs through a ladder.
    Streamed(Box<StreamedAnswer>),
    /// What a provider sends that no observer is to see: an error's body, a list of models.
    PassedOn(Box<PassedOn>),
}

/// A provider's body on its way past the ladder.
pub struct PassedOn {
    source: Source,
    /// What broke it off, until that is told.
    broken: Option<io::Error>,
}

impl ReplyBody {
    /// A body that is known in full.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Full::new(bytes.into()))
    }

    /// A provider's body that no observer is to see.
    pub fn passed_on(source: Source) -> Self {
        Self::PassedOn(Box::new(PassedOn { source, broken: None }))
    }
}

impl PassedOn {
    /// An error breaks the client's connection off: it sees that the body is not whole. The error is told one turn late,
    /// because what came before it, the head not least, leaves only when a turn has nothing new to say.
    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(error) = self.broken.take() {
            return Poll::Ready(Some(Err(error)));
        }
        match ready!(self.source.poll_data(cx, Instant::now())) {
            Some(Err(error)) => {
                self.broken = Some(io::Error::other(error));
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            data => Poll::Ready(data.and_then(Result::ok).map(|data| Ok(Frame::data(data)))),
        }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            Self::Whole(full) => Pin::new(full).poll_frame(cx).map_err(|never| match never {}),
            Self::Streamed(answer) => answer.poll_bytes(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes)))),
            Self::PassedOn(passed_on) => passed_on.poll_data(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(full) if full.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(full) => full.size_hint(),
            Self::Streamed(_) | Self::PassedOn(_) => SizeHint::default(),
        }
    }
}
