//! What redaction costs: to build, and per chunk.

use divan::{Bencher, black_box};
use redaction::kinds::Kind;
use redaction::redactor::{DEFAULT_REPLACEMENT, Redactor};
use redaction::stream::Stream;

/// Shows that a chunk which passes allocates nothing.
#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

fn every_kind() -> Redactor {
    match Redactor::new(&Kind::ALL, &[], DEFAULT_REPLACEMENT, Vec::new()) {
        Ok(redactor) => redactor,
        Err(faults) => unreachable!("{faults:?}"),
    }
}

/// The automata of every built-in kind.
#[divan::bench]
fn build() -> Redactor {
    every_kind()
}

/// One 23-byte chunk after the other through one stream.
fn push(bencher: Bencher<'_, '_>, chunk: &str) {
    assert_eq!(chunk.len(), 23);
    let redactor = every_kind();
    let mut stream = Stream::default();
    bencher.bench_local(|| {
        stream.push(&redactor, black_box(chunk));
        black_box(stream.settled())
    });
}

/// Nothing is held behind it.
#[divan::bench(sample_size = 1000)]
fn plain_chunk(bencher: Bencher<'_, '_>) {
    push(bencher, "the quick brown foxes, ");
}

/// Its last word is held.
#[divan::bench(sample_size = 1000)]
fn plain_chunk_open_word(bencher: Bencher<'_, '_>) {
    push(bencher, " quick brown foxes jump");
}

/// With a sentence's end and a number.
#[divan::bench(sample_size = 1000)]
fn chunk_with_number(bencher: Bencher<'_, '_>) {
    push(bencher, " is 42. It was 7, then ");
}

/// Ideographs.
#[divan::bench(sample_size = 1000)]
fn chunk_of_ideographs(bencher: Bencher<'_, '_>) {
    push(bencher, "我的答案很好吧 x");
}

/// Seven pieces with a card number across them.
#[divan::bench(sample_size = 100)]
fn card_in_pieces(bencher: Bencher<'_, '_>) {
    let redactor = every_kind();
    let mut stream = Stream::default();
    bencher.bench_local(|| {
        for piece in ["card ", "4111", " 1111", " 1111", " 1111", " ok", ". "] {
            stream.push(&redactor, black_box(piece));
        }
        black_box(stream.take_edits())
    });
}
