//! The figures that need no second process, each beside its bar. Ratios are taken between two things that are measured
//! in turn, within one run, as medians: the machine's own speed cancels out.

mod counting;
mod framing;
mod ladder;
mod loaded;
mod rounds;
mod stream;
mod work;

fn main() -> std::io::Result<()> {
    // Under an instrument that counts instructions, only the loop that is counted runs.
    if let Some(chunks) = std::env::args().skip_while(|argument| argument != "--count").nth(1) {
        return stream::run_chunks(chunks.parse().map_err(std::io::Error::other)?);
    }
    ladder::measure()?;
    stream::measure()?;
    framing::measure()
}
