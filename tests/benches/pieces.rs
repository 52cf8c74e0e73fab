//! The pieces of the way of a chunk, each by itself, for whoever changes one of them.

use std::hint::black_box;

use bytes::Bytes;
use divan::{Bencher, counter::BytesCount};
use seam_wire::{Decoded, Frame, Framing, Protocol, SseDecoder, Wire};

const FRAME: &str = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1741569952,\
                     \"model\":\"gpt-4.1-nano\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" some words\"},\
                     \"logprobs\":null,\"finish_reason\":null}]}\n\n";

fn main() {
    divan::main();
}

#[expect(clippy::unwrap_used, reason = "a measurement without a frame means nothing")]
fn one_frame(decoder: &mut SseDecoder, bytes: &Bytes) -> Frame {
    decoder.feed(bytes.clone());
    decoder.next_frame().unwrap().unwrap()
}

#[divan::bench]
fn framing(bencher: Bencher<'_, '_>) {
    let bytes = Bytes::from_static(FRAME.as_bytes());
    let mut decoder = SseDecoder::new(1 << 20);
    bencher.counter(BytesCount::of_str(FRAME)).bench_local(|| black_box(one_frame(&mut decoder, &bytes)));
}

#[divan::bench]
fn decoding(bencher: Bencher<'_, '_>) {
    let frame = one_frame(&mut SseDecoder::new(1 << 20), &Bytes::from_static(FRAME.as_bytes()));
    let (mut wire, mut decoded) = (Wire::new(Protocol::OpenAiChat, Framing::Sse), Decoded::default());
    bencher.counter(BytesCount::of_str(FRAME)).bench_local(|| {
        wire.decode(black_box(&frame), &mut decoded);
        wire.passed(&frame, &decoded);
    });
}
