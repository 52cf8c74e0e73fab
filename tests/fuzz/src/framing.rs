//! Framing: every byte belongs to exactly one frame, whatever the reads.

use bytes::Bytes;
use seam_wire::{Frame, FrameDecoder, Framing};

use crate::case::Case;
use crate::memory::Held;

/// A frame's longest length: so short that inputs reach it.
const LONGEST: usize = 2048;

pub(crate) fn check(framing: Framing, input: &[u8]) {
    let case = Case::read(input);
    let planned = frames(framing, LONGEST, case.reads());
    assert_eq!(planned.said(), frames(framing, LONGEST, case.whole()).said(), "cut as planned against whole");
    assert_eq!(planned.said(), frames(framing, LONGEST, case.bytes()).said(), "cut as planned against byte by byte");
    let joined: Vec<u8> = planned.frames.iter().flat_map(|frame| frame.raw.iter().copied()).collect();
    if planned.is_too_large {
        assert!(case.stream.starts_with(&joined), "the frames before one that is too large");
    } else {
        assert_eq!(joined, case.stream, "every byte in exactly one frame");
    }
    bounded(framing, &case);
}

/// The decoder holds no more than the open frame and the read at hand.
fn bounded(framing: Framing, case: &Case<'_>) {
    let reads = case.reads();
    let held = Held::start();
    let mut decoder = FrameDecoder::new(framing, LONGEST);
    for read in reads {
        decoder.feed(read);
        while let Ok(Some(frame)) = decoder.next_frame() {
            drop(frame);
        }
        held.at_most(8 * LONGEST + 4096, "the frame decoder");
    }
}

/// The data of a frame, and the event's name if it has one.
type DataAndName<'a> = (&'a [u8], Option<&'a [u8]>);

/// Everything that a stream's frames say.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    pub(crate) frames: Vec<Said>,
    pub(crate) is_too_large: bool,
}

impl Cut {
    /// What the frames with data say. A frame that ends with a CR does not wait for the LF that may come with the next
    /// read, so that LF is its last byte or starts the bytes after it, and a block without data may be two.
    fn said(&self) -> (Vec<DataAndName<'_>>, bool) {
        let said = self.frames.iter().filter_map(|frame| Some((frame.data.as_deref()?, frame.event.as_deref())));
        (said.collect(), self.is_too_large)
    }
}

/// What one frame says.
#[derive(Debug)]
pub(crate) struct Said {
    raw: Bytes,
    data: Option<Vec<u8>>,
    event: Option<Vec<u8>>,
}

impl Said {
    fn of(frame: &Frame) -> Self {
        Self {
            raw: frame.raw().clone(),
            data: frame.data().map(<[u8]>::to_vec),
            event: frame.event().map(<[u8]>::to_vec),
        }
    }
}

fn frames(framing: Framing, longest: usize, reads: Vec<Bytes>) -> Cut {
    let mut cut = Cut::default();
    cut.is_too_large = !each_frame(framing, longest, reads, |frame| cut.frames.push(Said::of(&frame)));
    cut
}

/// Calls `take` with every frame of a stream; answers whether all were short enough.
pub(crate) fn each_frame(framing: Framing, longest: usize, reads: Vec<Bytes>, mut take: impl FnMut(Frame)) -> bool {
    let mut decoder = FrameDecoder::new(framing, longest);
    for read in reads {
        decoder.feed(read);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => take(frame),
                Ok(None) => break,
                Err(_) => return false,
            }
        }
    }
    while let Some(frame) = decoder.finish() {
        take(frame);
    }
    true
}
