//! The body of a reply: whole, streamed through a ladder, or passed on as it comes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
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
    PassedOn(Box<Source>),
}

impl ReplyBody {
    /// A body that is known in full.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Full::new(bytes.into()))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            Self::Whole(full) => Pin::new(full).poll_frame(cx).map_err(|never| match never {}),
            Self::Streamed(answer) => answer.poll_bytes(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes)))),
            // An error breaks the connection off: the client sees that the body is not whole.
            Self::PassedOn(source) => source
                .poll_data(cx, Instant::now())
                .map(|data| data.map(|data| data.map(Frame::data).map_err(io::Error::other))),
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
