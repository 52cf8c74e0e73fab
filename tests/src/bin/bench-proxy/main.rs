//! `bench-proxy`: the whole-daemon figures, each beside its bar.
//!
//! ```text
//!                      ┌─▶ nginx (the floor: proxy_pass without buffering) ─┐
//!   load-client ───────┤                in turn, A B A B                    ├──▶ scripted-provider
//!                      └─▶ seamd, five observers loaded ────────────────────┘
//! ```
//!
//! Everything runs on loopback, in this build's profile (`--release` for figures that mean something), and ends with
//! this program. Ratios are of medians over windows taken in turn, so that whatever else the machine does hits both.
//! Figures never fail the run: the exit code says only whether everything could be run.
//!
//! ```text
//! bench-proxy [--windows 5] [--seconds 3] [--lanes nginx,seamd]
//! ```
//!
//! `--lanes nginx` runs the floor alone and records nothing: what this machine can do at best.

#[cfg(target_os = "linux")]
mod measures;
#[cfg(target_os = "linux")]
mod nginx;
#[cfg(target_os = "linux")]
mod rig;
#[cfg(target_os = "linux")]
mod seamd;

use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-proxy: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(target_os = "linux")]
fn run() -> io::Result<()> {
    use e2e::load::arguments::Arguments;

    let arguments = Arguments::parse(std::env::args().skip(1), &["windows", "seconds", "lanes"])?;
    let lanes: String = arguments.get_or("lanes", "nginx,seamd".to_owned())?;
    let settings =
        rig::Settings { windows: arguments.get_or("windows", 5)?, seconds: arguments.get_or("seconds", 3.0)? };
    if settings.windows == 0 {
        return Err(io::Error::other("--windows 0: nothing to take a median of"));
    }
    // What is started inherits it: a proxy has two connections for each of a thousand streams.
    e2e::os::raise_open_files_limit(1 << 16)?;
    if cfg!(debug_assertions) {
        println!("This is a debug build: its figures mean nothing.");
    }
    match lanes.as_str() {
        "nginx" => measures::floor(&settings),
        "nginx,seamd" => measures::all(&settings),
        other => Err(io::Error::other(format!("--lanes {other}: either nginx or nginx,seamd"))),
    }
}

#[cfg(not(target_os = "linux"))]
fn run() -> io::Result<()> {
    Err(io::Error::other("the figures are taken on Linux only"))
}
