//! The command line: what was asked for, without doing any of it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ColorChoice, Parser, Subcommand};

use crate::config::AdminAddress;

const EXIT_CODES: &str = "\
Exit codes:
  0  it went well
  1  seamd itself failed
  2  the command line cannot be understood
  3  the configuration or a plugin was refused
  4  the daemon could not be reached";

/// A daemon between programs and language-model providers that runs every streamed chunk through native plugins.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(name = "seamd", version, after_help = EXIT_CODES, subcommand_required = true)]
pub struct Cli {
    /// When to use colour; with auto, on a terminal and unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What seamd can be asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Serve until told to end
    #[command(after_help = EXIT_CODES)]
    Run(Run),
    /// Say everything that is wrong with a configuration, its plugins included, and change nothing
    #[command(after_help = EXIT_CODES)]
    Check(Check),
    /// Have a running daemon take up its configuration and plugins again
    #[command(after_help = EXIT_CODES)]
    Reload(Reload),
    /// Look at plugins
    #[command(subcommand, after_help = EXIT_CODES)]
    Plugin(Plugin),
}

/// `seamd run`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct Run {
    /// The configuration
    #[arg(short, long, value_name = "FILE")]
    pub config: PathBuf,
}

/// `seamd check`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct Check {
    /// The configuration
    #[arg(short, long, value_name = "FILE")]
    pub config: PathBuf,
    /// Answer in JSON on standard output: a list of {file, line, column, key, message}
    #[arg(long)]
    pub json: bool,
}

/// `seamd reload`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct Reload {
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
    /// Answer in JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Which running daemon is meant: exactly one of the two is given.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[group(required = true, multiple = false)]
pub struct Daemon {
    /// The configuration that the daemon runs with, for its admin address
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The daemon's admin address: 127.0.0.1:8081 or unix:PATH
    #[arg(long, value_name = "ADDR")]
    pub admin: Option<AdminAddress>,
}

/// `seamd plugin`.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Plugin {
    /// Show what can be told of a plugin without running it: name, version, what it was built with
    #[command(after_help = EXIT_CODES)]
    Inspect(Inspect),
}

/// `seamd plugin inspect`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct Inspect {
    /// The plugin
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Load it as well, which runs code of it, and show what else it says: description, licence, the schema of its table
    #[arg(long)]
    pub load: bool,
    /// Answer in JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// How a command ended, as the exit code says it. The command line itself answers 2 before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It went well.
    Ok,
    /// seamd itself failed.
    Failed,
    /// The configuration or a plugin was refused.
    Refused,
    /// The daemon could not be reached.
    Unreachable,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Refused => 3,
            Exit::Unreachable => 4,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    /// What `--help` prints at a width of 100, whatever terminal the tests run in.
    fn help(line: &str) -> String {
        let arguments = line.split_whitespace().chain(["--help"]);
        let command = Cli::command().term_width(100).color(ColorChoice::Never);
        command.try_get_matches_from(arguments).unwrap_err().to_string()
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_says_what_each_command_does() {
        insta::assert_snapshot!("help", help("seamd"));
        insta::assert_snapshot!("help_run", help("seamd run"));
        insta::assert_snapshot!("help_check", help("seamd check"));
        insta::assert_snapshot!("help_reload", help("seamd reload"));
        insta::assert_snapshot!("help_plugin", help("seamd plugin"));
        insta::assert_snapshot!("help_plugin_inspect", help("seamd plugin inspect"));
    }

    #[test]
    fn commands_are_what_was_typed() {
        let run = parse("seamd run -c seamd.toml --color never").unwrap();
        assert_eq!(run.command, Command::Run(Run { config: "seamd.toml".into() }));
        assert_eq!(run.color, ColorChoice::Never);
        let check = parse("seamd check --config seamd.toml --json").unwrap();
        assert_eq!(check.command, Command::Check(Check { config: "seamd.toml".into(), json: true }));
        let inspect = parse("seamd plugin inspect libx.so").unwrap();
        let wanted = Inspect { file: "libx.so".into(), load: false, json: false };
        assert_eq!(inspect.command, Command::Plugin(Plugin::Inspect(wanted)));
    }

    #[test]
    fn reload_names_the_daemon_in_one_of_two_ways() {
        let by_address = parse("seamd reload --admin unix:/run/seamd.sock").unwrap();
        let daemon = Daemon { config: None, admin: Some(AdminAddress::Unix("/run/seamd.sock".into())) };
        assert_eq!(by_address.command, Command::Reload(Reload { daemon, json: false }));
        for line in ["seamd reload", "seamd reload -c seamd.toml --admin 127.0.0.1:8081"] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn an_admin_address_of_another_machine_is_a_usage_error() {
        let error = parse("seamd reload --admin 192.0.2.1:8081").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        insta::assert_snapshot!("admin_address_refused", error.to_string());
    }

    #[test]
    fn exit_codes_are_those_that_help_names() {
        for (exit, code) in [(Exit::Ok, 0), (Exit::Failed, 1), (Exit::Refused, 3), (Exit::Unreachable, 4)] {
            assert_eq!(ExitCode::from(exit), ExitCode::from(code));
            assert!(EXIT_CODES.contains(&format!("\n  {code}  ")), "{code}");
        }
    }
}
