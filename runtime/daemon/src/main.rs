//! The `seamd` program.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{ColorChoice, Parser};
use seamd::cli::{Cli, Command, Exit, Plugin};
use seamd::{commands, run, telemetry};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let colour = match cli.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => telemetry::stderr_takes_colour(),
    };
    let exit = match &cli.command {
        Command::Run(command) => match run::run(&command.config, colour) {
            Ok(()) => Exit::Ok,
            Err(refusal) => commands::refuse(&refusal, false, colour),
        },
        Command::Check(command) => commands::check(command, colour),
        Command::Reload(command) => commands::reload(command, colour),
        Command::Plugin(Plugin::Inspect(command)) => commands::inspect(command),
    };
    exit.into()
}
