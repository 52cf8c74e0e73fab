//! The ways of the matrix: each is tried on every stream of a protocol.

mod changing;
mod ending;
mod faithful;

pub(crate) use changing::{itself, redacted, turned_to_calls, upper_cased};
pub(crate) use ending::{bodies_stopped, broken_off, stopped};
pub(crate) use faithful::{bodies_untouched, held, untouched};

use seam_wire::Framing;

use crate::corpus::Source;
use crate::frames::Frame;

/// How many bytes of one stream are run again and again for the positions of a stop or a break; in a debug build some
/// megabytes take a second.
const BUDGET: usize = 160 * 1024;

/// How many positions of a stream of that many bytes are tried.
fn positions(source: &Source) -> usize {
    (2 * BUDGET / source.bytes.len().max(1)).clamp(12, 400)
}

/// A frame, for a failure to name.
fn at(position: usize, frame: Option<&Frame>) -> String {
    let data = frame.and_then(|frame| frame.data.as_deref()).unwrap_or("without data");
    format!("frame {position} ({})", data.chars().take(300).collect::<String>())
}

/// The text of a piece of output, for a failure to show.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// How many of the first frames that came are the first bytes that left.
fn common_frames(came: &[Frame], input: &[u8], output: &[u8]) -> usize {
    let common = input.iter().zip(output).take_while(|(one, other)| one == other).count();
    came.iter().take_while(|frame| frame.range.end <= common).count()
}

/// Whether the answer is an array that may have been left without its bracket.
fn is_array(source: &Source) -> bool {
    source.framing == Framing::JsonArray
}
