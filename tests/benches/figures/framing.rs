//! Framing is linear: a byte of a long event costs what a byte of a short one does, whatever the reads.

use std::hint::black_box;
use std::io;

use bytes::Bytes;
use e2e::figures::{Direction, record};
use seam_wire::SseDecoder;

use crate::rounds::compare;

const MEGABYTE: usize = 1 << 20;

pub(crate) fn measure() -> io::Result<()> {
    let (short, long) = (event(MEGABYTE), event(8 * MEGABYTE));
    for read in [1, 1_400, 65_536] {
        // Eight short events against one long one: the same number of bytes on both sides.
        let (ratio, long_nanos, short_nanos) = compare(
            || frame(&long, read),
            || {
                for _ in 0..8 {
                    frame(&short, read);
                }
            },
        );
        let per_byte = |nanos: f64| nanos / (8 * MEGABYTE) as f64;
        println!(
            "reads of {read}: {:.3} ns a byte at 8 MB, {:.3} at 1 MB",
            per_byte(long_nanos),
            per_byte(short_nanos)
        );
        let name = format!("framing per byte in reads of {read}, one event of 8 MB against 1 MB");
        record(&name, ratio.max(1.0 / ratio), "to 1", 1.15, Direction::AtMost)?;
    }
    Ok(())
}

fn event(size: usize) -> Bytes {
    let mut event = b"data: {\"b\":\"".to_vec();
    event.resize(size - 4, b'x');
    event.extend_from_slice(b"\"}\n\n");
    event.into()
}

fn frame(event: &Bytes, read: usize) {
    let mut decoder = SseDecoder::new(16 * MEGABYTE);
    let mut frames = 0;
    for start in (0..event.len()).step_by(read) {
        decoder.feed(event.slice(start..event.len().min(start + read)));
        while let Ok(Some(frame)) = decoder.next_frame() {
            frames += black_box(frame).raw().len();
        }
    }
    assert_eq!(frames, event.len());
}
