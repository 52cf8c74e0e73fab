//! Rounds of measurement: what is compared is run in turn, and the median counts.

use std::time::{Duration, Instant};

/// How often each side is run: enough for a median that a busy moment does not move.
const ROUNDS: usize = 21;

/// How long one run of `work` takes.
pub(crate) fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// The median of `one / other` over rounds in which both are run, and the median of each alone in nanoseconds.
pub(crate) fn compare(mut one: impl FnMut(), mut other: impl FnMut()) -> (f64, f64, f64) {
    one();
    other();
    let rounds: Vec<(f64, f64)> =
        (0..ROUNDS).map(|_| (time(&mut one).as_nanos() as f64, time(&mut other).as_nanos() as f64)).collect();
    let ratio = median(rounds.iter().map(|(one, other)| one / other));
    (ratio, median(rounds.iter().map(|round| round.0)), median(rounds.iter().map(|round| round.1)))
}

/// The median time of `work` in nanoseconds.
pub(crate) fn median_nanos(mut work: impl FnMut()) -> f64 {
    work();
    median((0..ROUNDS).map(|_| time(&mut work).as_nanos() as f64))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
