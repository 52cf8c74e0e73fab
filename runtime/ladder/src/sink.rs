//! What comes out of a ladder.

use seam_plugin_api::abi::{Answer, BodyView, Fault};
use seam_plugin_api::{Chunk, ChunkKind};

use crate::policy::OnFault;

/// The channel on which the seam itself publishes; closed to plugins.
pub const SEAM_CHANNEL: &str = "seam";

/// Where everything goes that comes out of a ladder, in the order in which it happens.
///
/// Each `seq` that was pushed arrives exactly once, by [`pass`](Self::pass), [`amended`](Self::amended) or
/// [`discard`](Self::discard), in ascending order; the others come at once, beside that order.
pub trait Sink {
    /// A chunk goes out as it came in.
    fn pass(&mut self, chunk: &Chunk<'_>);
    /// A chunk goes out that at least one observer replaced.
    fn amended(&mut self, amended: &Amended<'_>);
    /// A chunk that came in will never go out.
    fn discard(&mut self, seq: u64);
    /// An event was published.
    fn envelope(&mut self, envelope: &Envelope<'_>);
    /// Delivered text is taken back. What went out by `pass` and `amended` before this is the text that it counts in.
    fn strip(&mut self, strip: &Strip<'_>);
    /// An observer was at fault. What the fault does to the stream follows.
    fn fault(&mut self, report: &FaultReport<'_>);

    /// An observer answered, before anything of its answer is applied: what a fingerprint is made of. `rung` counts from 0.
    #[inline]
    fn verdict(&mut self, rung: usize, chunk: &Chunk<'_>, answer: &Answer<'_>) {
        let _ = (rung, chunk, answer);
    }
}

/// A chunk that goes out replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amended<'a> {
    /// The chunk's number.
    pub seq: u64,
    /// The chunk's choice.
    pub choice: u32,
    /// What kind the chunk was of when it came in.
    pub original: ChunkKind,
    /// What goes out in its place.
    pub body: BodyView<'a>,
}

/// A side-event on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// The channel: a name, and [`SEAM_CHANNEL`] only from the ladder itself.
    pub channel: &'a str,
    /// The author's word for the event.
    pub kind: &'a str,
    /// One JSON document.
    pub payload: &'a str,
    /// The observer whose verdict it belongs to.
    pub observer_id: &'a str,
    /// That observer's plugin.
    pub plugin: &'a str,
    /// The chunk that the observer answered.
    pub seq: u64,
    /// The envelope's number within the invocation: from 0, gapless.
    pub ordinal: u64,
}

/// Delivered text that is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strip<'a> {
    /// The choice whose text it is.
    pub choice: u32,
    /// How much of its end, in Unicode scalar values: at least 1, at most what was delivered.
    pub cleared: u64,
    /// The observer that asked for it.
    pub observer_id: &'a str,
    /// That observer's plugin.
    pub plugin: &'a str,
    /// The chunk that it answered.
    pub seq: u64,
}

/// A fault of an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultReport<'a> {
    /// The observer's plugin.
    pub plugin: &'a str,
    /// The observer.
    pub observer_id: &'a str,
    /// The chunk that it was answering.
    pub seq: u64,
    /// What happened.
    pub fault: &'a Fault,
    /// What is done about it.
    pub action: OnFault,
}
