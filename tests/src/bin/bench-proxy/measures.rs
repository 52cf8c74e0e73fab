//! The measures, in the order in which they run.

use crate::nginx::Nginx;
use crate::rig::{Lane, Settings, Source, in_turn, load, median, median_of};
use crate::seamd;
use e2e::daemon::Daemon;
use e2e::figures::{Direction, record, short};
use e2e::load::steady::report_place::{CPU, DELAY_P50, DELAY_P99};
use serde_json::Value;
use std::io;

const SATURATED: &[(&str, &str)] = &[("model", "fake"), ("chunks", "500"), ("streams", "16")];
const PACED: &[(&str, &str)] = &[("model", "fake-100000x20ms"), ("streams", "100")];

/// The floor alone, beside the source without any proxy.
pub(crate) fn floor(settings: &Settings) -> io::Result<()> {
    let source = Source::start()?;
    let nginx = Nginx::start(source.address())?;
    for (what, arguments) in
        [("saturated by 16 streams", SATURATED), ("paced: 100 streams, one chunk per 20 ms", PACED)]
    {
        println!("{what}");
        let [direct, floor] = in_turn(settings, [direct_lane(&source), nginx_lane(&nginx)], arguments)?;
        tell("direct", &direct);
        tell("nginx", &floor);
    }
    for moment in ["after-first", "before-first"] {
        let delay = time_until_seen(settings, nginx_lane(&nginx), &source, moment)?;
        println!("nginx: client gone, {moment}: {delay:.2} ms");
    }
    Ok(())
}

/// All measures, nginx beside seamd, each recorded beside its bar.
pub(crate) fn all(settings: &Settings) -> io::Result<()> {
    let source = Source::start()?;
    let nginx = Nginx::start(source.address())?;
    start_to_ready(settings, &source)?;
    {
        let daemon = seamd::start(source.address())?;
        processor_time(settings, &nginx, &daemon)?;
        pace(settings, &source, &nginx, &daemon)?;
        leaving(settings, &source, &daemon)?;
    }
    never_reading(&source)?;
    open_streams(settings, &source)?;
    println!("recorded in {}", e2e::figures::path()?.display());
    Ok(())
}

fn direct_lane(source: &Source) -> Lane {
    Lane { name: "direct", address: source.address(), pid: None }
}

fn nginx_lane(nginx: &Nginx) -> Lane {
    Lane { name: "nginx", address: nginx.address(), pid: Some(nginx.id()) }
}

fn seamd_lane(daemon: &Daemon) -> Lane {
    Lane { name: "seamd", address: daemon.listen(), pid: Some(daemon.id()) }
}

fn tell(name: &str, reports: &[Value]) {
    let told = [(CPU, "s/M chunks"), (DELAY_P50, "us p50"), (DELAY_P99, "us p99")];
    let mut line = format!("  median {name:<5}");
    for (place, unit) in told {
        let value = median_of(reports, place);
        if value.is_finite() {
            line += &format!("  {:>8} {unit}", short(value));
        }
    }
    println!("{line}");
}

fn at_most(name: &str, value: f64, unit: &str, bar: f64) -> io::Result<()> {
    record(name, value, unit, bar, Direction::AtMost).map(|_| ())
}

fn ratio(ours: &[Value], theirs: &[Value], place: &str) -> f64 {
    median_of(ours, place) / median_of(theirs, place)
}

fn start_to_ready(settings: &Settings, source: &Source) -> io::Result<()> {
    println!("start to ready with four plugins");
    let mut times = Vec::new();
    // The first start reads the files from the disk; it is not what is asked for.
    seamd::start_with_four_plugins(source.address())?;
    for _ in 0..settings.windows {
        let daemon = seamd::start_with_four_plugins(source.address())?;
        times.push(daemon.started_in().as_secs_f64() * 1e3);
    }
    at_most("start to ready with four plugins", median(times), "ms", 100.0)
}

fn processor_time(settings: &Settings, nginx: &Nginx, daemon: &Daemon) -> io::Result<()> {
    println!("saturated by 16 streams, five observers");
    let lanes = [nginx_lane(nginx), seamd_lane(daemon)];
    let [floor, ours] = in_turn(settings, lanes, SATURATED)?;
    tell("nginx", &floor);
    tell("seamd", &ours);
    at_most(
        "processor time per chunk with five observers, saturated by 16 streams, against nginx",
        ratio(&ours, &floor, CPU),
        "times",
        2.5,
    )
}

fn pace(settings: &Settings, source: &Source, nginx: &Nginx, daemon: &Daemon) -> io::Result<()> {
    println!("paced: 100 streams, one chunk per 20 ms, five observers");
    let lanes = [direct_lane(source), nginx_lane(nginx), seamd_lane(daemon)];
    let [direct, floor, ours] = in_turn(settings, lanes, PACED)?;
    tell("direct", &direct);
    tell("nginx", &floor);
    tell("seamd", &ours);
    let streams = "100 streams of one chunk per 20 ms, five observers, against nginx";
    at_most(&format!("processor time per chunk, {streams}"), ratio(&ours, &floor, CPU), "times", 1.4)?;
    for (quantile, place) in [("p50", DELAY_P50), ("p99", DELAY_P99)] {
        at_most(&format!("delay of a chunk, {quantile}, {streams}"), ratio(&ours, &floor, place), "times", 1.3)?;
    }
    Ok(())
}

fn leaving(settings: &Settings, source: &Source, daemon: &Daemon) -> io::Result<()> {
    for (moment, what) in [("after-first", "after"), ("before-first", "before")] {
        println!("20 clients leave {what} the first token");
        let delay = time_until_seen(settings, seamd_lane(daemon), source, moment)?;
        at_most(
            &format!("until the provider sees that a client is gone, slowest of 20, {what} the first token"),
            delay,
            "ms",
            10.0,
        )?;
    }
    Ok(())
}

/// The median over the windows of the slowest of 20 clients, in milliseconds.
fn time_until_seen(settings: &Settings, lane: Lane, source: &Source, moment: &str) -> io::Result<f64> {
    let source = source.address().to_string();
    let arguments = [("mode", moment), ("streams", "20"), ("source", &source)];
    let mut reports = Vec::new();
    for _ in 0..settings.windows {
        let report = load(lane, &arguments)?;
        println!("  {}: {report}", lane.name);
        reports.push(report);
    }
    Ok(median_of(&reports, "/delay_ms/max"))
}

/// A daemon that has already served as many streams as are then held, so that what it keeps for good is not counted
/// as growth.
fn warmed_daemon(source: &Source, streams: &str) -> io::Result<Daemon> {
    let daemon = seamd::start(source.address())?;
    let warm = [("model", "fake"), ("streams", streams), ("warm", "0.1"), ("window", "0.5")];
    load(seamd_lane(&daemon), &warm)?;
    Ok(daemon)
}

fn never_reading(source: &Source) -> io::Result<()> {
    println!("16 clients that never read 500,000 chunks");
    let daemon = warmed_daemon(source, "16")?;
    let arguments =
        [("mode", "never-read"), ("model", "fake"), ("chunks", "500000"), ("streams", "16"), ("window", "10")];
    let report = load(seamd_lane(&daemon), &arguments)?;
    println!("  seamd: {report}");
    at_most(
        "growth of memory in 10 s with 16 clients that never read",
        median_of(&[report], "/growth_bytes") / 1e6,
        "MB",
        4.0,
    )
}

fn open_streams(settings: &Settings, source: &Source) -> io::Result<()> {
    println!("1,000 open slow streams, five observers");
    let arguments = [("mode", "hold"), ("model", "fake-600x1000ms"), ("streams", "1000"), ("window", "3")];
    let mut reports = Vec::new();
    // A daemon of its own for each: what one run made it keep would be free for the next.
    for _ in 0..settings.windows.min(3) {
        let daemon = warmed_daemon(source, "16")?;
        let report = load(seamd_lane(&daemon), &arguments)?;
        println!("  seamd: {report}");
        reports.push(report);
    }
    at_most(
        "memory for each of 1,000 open slow streams, five observers",
        median_of(&reports, "/growth_per_stream_bytes") / 1024.0,
        "KiB",
        40.0,
    )
}
