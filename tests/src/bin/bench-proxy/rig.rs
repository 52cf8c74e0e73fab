//! What every measure needs: the provider, the client, and how reports become one value.

use e2e::figures::short;
use e2e::load::steady::report_place::{CPU, DELAY_P50, DELAY_P99};
use e2e::plugins::program;
use e2e::process::Process;
use serde_json::Value;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How much is measured.
pub(crate) struct Settings {
    /// How many windows each median is over.
    pub(crate) windows: usize,
    /// How long each is.
    pub(crate) seconds: f64,
}

/// The provider of the load, in a process of its own.
pub(crate) struct Source {
    _process: Process,
    address: SocketAddr,
}

impl Source {
    pub(crate) fn start() -> io::Result<Self> {
        let mut command = Command::new(program("scripted-provider", "e2e")?);
        command.arg("0").stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = Process::start(&mut command, Duration::ZERO)?;
        let mut line = String::new();
        if let Some(stdout) = process.child().stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let ready: Value = serde_json::from_str(&line).unwrap_or_default();
        let address = ready["listen"].as_str().unwrap_or_default().parse();
        Ok(Self {
            address: address.map_err(|_| io::Error::other("scripted-provider did not start"))?,
            _process: process,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// One of those that are measured in turn.
#[derive(Clone, Copy)]
pub(crate) struct Lane {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    /// Absent for the source itself.
    pub(crate) pid: Option<u32>,
}

/// Runs the client against a lane with these further arguments; its report.
pub(crate) fn load(lane: Lane, arguments: &[(&str, &str)]) -> io::Result<Value> {
    let mut command = Command::new(program("load-client", "e2e")?);
    command.arg("--address").arg(lane.address.to_string());
    if let Some(pid) = lane.pid {
        command.arg("--pid").arg(pid.to_string());
    }
    for (name, value) in arguments {
        command.arg(format!("--{name}")).arg(value);
    }
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("load on {}: {}", lane.name, output.status)));
    }
    let report: Value = serde_json::from_slice(&output.stdout)?;
    if let Some(errors) = report["errors"].as_object().filter(|errors| !errors.is_empty()) {
        let errors = serde_json::to_string(errors)?;
        println!("  {}: NOT EVERY ANSWER CAME WHOLE: {errors}", lane.name);
    }
    Ok(report)
}

/// Takes windows of each lane in turn; the reports of each.
pub(crate) fn in_turn<const N: usize>(
    settings: &Settings,
    lanes: [Lane; N],
    arguments: &[(&str, &str)],
) -> io::Result<[Vec<Value>; N]> {
    let window = settings.seconds.to_string();
    let mut arguments = arguments.to_vec();
    arguments.push(("window", &window));
    let mut reports = [const { Vec::new() }; N];
    for turn in 1..=settings.windows {
        for (lane, reports) in lanes.iter().zip(&mut reports) {
            let report = load(*lane, &arguments)?;
            println!("  {turn}/{} {:<6} {}", settings.windows, lane.name, told(&report));
            reports.push(report);
        }
    }
    Ok(reports)
}

/// A report of a steady load in one line. The source itself has no processor time or memory to tell.
fn told(report: &Value) -> String {
    let number = |place| report.pointer(place).and_then(Value::as_f64);
    let mut line = format!("{:>8.0} chunks/s", number("/chunks_per_second").unwrap_or(0.0));
    for (place, unit, scale) in [
        (CPU, "s/M chunks", 1.0),
        (DELAY_P50, "us p50", 1.0),
        (DELAY_P99, "us p99", 1.0),
        ("/resident_bytes", "MB resident", 1e-6),
    ] {
        if let Some(value) = number(place) {
            line += &format!("  {:>8} {unit}", short(value * scale));
        }
    }
    line
}

/// The median of what the reports have at this place. Not a number when none has it.
pub(crate) fn median_of(reports: &[Value], place: &str) -> f64 {
    let value = |report: &Value| report.pointer(place).and_then(Value::as_f64);
    median(reports.iter().filter_map(value).collect())
}

/// The median; of an even number, the mean of the middle two.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle), values.len() % 2) {
        (Some(upper), 0) => f64::midpoint(values[middle - 1], *upper),
        (Some(value), _) => *value,
        (None, _) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_numbers() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![9.0, 1.0, 2.0, 4.0]), 3.0);
        assert!(median(Vec::new()).is_nan());
    }
}
