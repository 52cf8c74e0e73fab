//! The measuring client as a program: runs one plan and prints its report as one line of JSON.
//!
//! ```text
//! load-client --address HOST:PORT [--mode steady] [--model fake] [--chunks 500] [--streams 16] [--warm 1]
//!             [--window 3] [--pid PID] [--source HOST:PORT]
//! ```
//!
//! | mode | what it does |
//! | --- | --- |
//! | `steady` | keeps the streams open, counts chunks, delays and errors, and the process's time for each chunk |
//! | `before-first`, `after-first`, `saturated` | leaves in that moment; how long until `--source` saw it |
//! | `never-read` | asks and reads nothing; how far the process's memory grows |
//! | `hold` | opens the streams and reads them; what memory of the process each costs |
//!
//! `--warm` and `--window` are in seconds.

use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("load-client: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(target_os = "linux")]
fn run() -> io::Result<()> {
    use e2e::load::arguments::Arguments;

    const KNOWN: &[&str] = &["address", "mode", "model", "chunks", "streams", "warm", "window", "pid", "source"];
    let arguments = Arguments::parse(std::env::args().skip(1), KNOWN)?;
    e2e::os::raise_open_files_limit(1 << 20)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    let report = local.block_on(&runtime, plan::run(&arguments))?;
    println!("{report}");
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn run() -> io::Result<()> {
    Err(io::Error::other("the load is made on Linux only"))
}

#[cfg(target_os = "linux")]
mod plan {
    use e2e::load::arguments::Arguments;
    use e2e::load::connection::Target;
    use e2e::load::{hold, leave, steady};
    use serde_json::Value;
    use std::io;
    use std::time::Duration;

    pub(crate) async fn run(arguments: &Arguments) -> io::Result<Value> {
        let target = Target {
            address: arguments.require("address")?,
            model: arguments.get_or("model", "fake".to_owned())?,
            chunks: arguments.get_or("chunks", 500)?,
        };
        let streams = arguments.get_or("streams", 16)?;
        let window = seconds(arguments, "window", 3.0)?;
        let mode: String = arguments.get_or("mode", "steady".to_owned())?;
        match mode.as_str() {
            "steady" => {
                let plan = steady::Plan {
                    target,
                    streams,
                    warm: seconds(arguments, "warm", 1.0)?,
                    window,
                    pid: arguments.get("pid")?,
                };
                steady::run(plan).await
            }
            "never-read" | "hold" => {
                let plan = hold::Plan { target, streams, window, pid: arguments.require("pid")?, read: mode == "hold" };
                hold::run(plan).await
            }
            _ => {
                let plan = leave::Plan {
                    address: target.address,
                    source: arguments.require("source")?,
                    streams,
                    moment: arguments.require("mode")?,
                };
                leave::run(plan).await
            }
        }
    }

    fn seconds(arguments: &Arguments, name: &str, default: f64) -> io::Result<Duration> {
        Duration::try_from_secs_f64(arguments.get_or(name, default)?).map_err(io::Error::other)
    }
}
