//! A stream through the whole seam: framing, decoding, a ladder of five, the unchanged bytes out.

use std::hint::black_box;
use std::io;
use std::process::Command;
use std::sync::Arc;

use crate::loaded::{Nowhere, five_observers, ladder_of};
use bytes::{Bytes, BytesMut};
use e2e::figures::{Direction, record};
use seam_host::Generation;
use seamd::seam::Seam;

use crate::rounds::median_nanos;

/// Chunks of one stream.
const CHUNKS: usize = 2_000;

/// Frames that arrive together: about what a full network packet of a fast provider holds.
const TOGETHER: usize = 16;

pub(crate) fn measure() -> io::Result<()> {
    let generation = five_observers()?;
    let reads = reads();
    let size = reads.iter().map(Bytes::len).sum::<usize>() / (reads.len() * TOGETHER);
    let nanos = median_nanos(|| run(&generation, &reads, CHUNKS)) / CHUNKS as f64;
    println!("a chunk of {size} bytes through framing, decoding, five observers and out: {nanos:.0} ns");
    record(
        "framing, decoding, ladder of five and unchanged output, per chunk",
        nanos / 1000.0,
        "microseconds",
        1.2,
        Direction::AtMost,
    )?;
    match instructions_per_chunk() {
        Some(instructions) => println!("       that is {instructions:.0} instructions per chunk"),
        None => println!("       instructions are not counted: valgrind is not here"),
    }
    Ok(())
}

/// Runs one stream of `chunks` chunks and nothing else, for an instrument that counts.
pub(crate) fn run_chunks(chunks: usize) -> io::Result<()> {
    let generation = five_observers()?;
    run(&generation, &reads(), chunks);
    Ok(())
}

/// Chunks whose instructions are counted: so many that what differs between two starts of the program is lost in them.
const COUNTED: usize = 200_000;

/// What a chunk costs in instructions, as callgrind counts them: a long run less one without a chunk.
fn instructions_per_chunk() -> Option<f64> {
    Some((counted(COUNTED)? - counted(0)?) / COUNTED as f64)
}

fn counted(chunks: usize) -> Option<f64> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["--count", &chunks.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stderr).ok()?;
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// A few reads, of which a stream of any length is made: making them is no part of what is counted.
fn reads() -> Vec<Bytes> {
    let frames: Vec<String> = (0..8 * TOGETHER).map(frame).collect();
    frames.chunks(TOGETHER).map(|frames| Bytes::from(frames.concat())).collect()
}

/// A frame whose text ends between words: one that ends inside a word may be the begin of an address, which redaction
/// waits for the next chunk to know, so it would not leave with its read.
fn frame(nth: usize) -> String {
    const WORDS: [&str; 8] =
        ["river ", "a quiet ", "stones ", "under the ", "morning ", "she said ", "along ", "nothing more "];
    format!(
        "data: {{\"id\":\"chatcmpl-B9hqkkYyVdUWv1cUq8sVdT2Q0xGkm\",\"object\":\"chat.completion.chunk\",\"created\":1741569952,\
         \"model\":\"gpt-4.1-nano-2025-04-14\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_44added55e\",\
         \"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}},\"finish_reason\":null}}]}}\n\n",
        WORDS[nth % WORDS.len()]
    )
}

fn run(generation: &Arc<Generation>, reads: &[Bytes], chunks: usize) {
    let mut seam =
        Seam::new(seam_wire::Protocol::OpenAiChat, seam_wire::Framing::Sse, ladder_of(generation), Nowhere, 1 << 20);
    let mut out = BytesMut::new();
    for (nth, read) in reads.iter().cycle().take(chunks / TOGETHER).enumerate() {
        seam.feed(read.clone(), nth as u64, &mut out);
        assert_eq!(out.len(), read.len(), "unchanged, byte for byte");
        black_box(&out);
        out.clear();
    }
}
