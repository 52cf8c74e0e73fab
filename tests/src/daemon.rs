//! The real `seamd`, run as a child with a folder of its own.

use crate::client::Client;
use crate::lines::Lines;
use crate::os::Signal;
use crate::patience::PATIENCE;
use crate::plugins::program;
use crate::process::Process;
use serde_json::Value;
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The built `seamd` as a command without arguments, for what it does besides running: `check`, `plugin inspect`.
///
/// # Errors
/// When it has not been built; the error says how to.
pub fn command() -> io::Result<Command> {
    Ok(Command::new(program("seamd", "seamd")?))
}

/// What a daemon is started with.
#[derive(Debug)]
pub struct Setup {
    folder: TempDir,
    stand_in: Option<Command>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    grace: Duration,
}

impl Setup {
    /// A setup with this configuration, written to `seamd.toml` in a new folder, against which its relative paths
    /// count. Ports are best 0: the daemon says which it got.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn new(toml: &str) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("seamd-").tempdir()?;
        let setup =
            Self { folder, stand_in: None, arguments: Vec::new(), environment: Vec::new(), grace: Duration::ZERO };
        setup.write("seamd.toml", toml)?;
        Ok(setup)
    }

    /// The daemon's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The path of its configuration.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.folder.path().join("seamd.toml")
    }

    /// Writes a file into the folder, and the folders that its name has.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> io::Result<PathBuf> {
        let path = self.folder.path().join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, contents)?;
        Ok(path)
    }

    /// Adds an argument behind `run --config FILE`.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn environment(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Runs this command in place of the built `seamd run --config FILE`.
    #[must_use]
    pub fn stand_in(mut self, command: Command) -> Self {
        self.stand_in = Some(command);
        self
    }

    /// When the daemon is dropped, asks it first and kills it only after so long, instead of at once.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Starts the daemon and waits until it says that it is ready.
    ///
    /// # Errors
    /// When `seamd` has not been built; when it ends before it is ready (the error carries how it ended and its
    /// log); when it is not ready within the harness's patience.
    pub fn start(mut self) -> io::Result<Daemon> {
        let mut command = match self.stand_in.take() {
            Some(command) => command,
            None => self.seamd()?,
        };
        command
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let started = Instant::now();
        let mut process = Process::start(&mut command, self.grace)?;
        let output = Lines::collect(process.child().stdout.take())?;
        let log = Lines::collect(process.child().stderr.take())?;
        let ready = wait_until_ready(&mut process, &output, &log)?;
        Ok(Daemon { started_in: started.elapsed(), process, output, log, ready, setup: self })
    }

    fn seamd(&self) -> io::Result<Command> {
        let mut command = command()?;
        command.arg("run").arg("--config").arg(self.config());
        Ok(command)
    }
}

/// What the daemon says on its standard output when it is ready.
#[derive(Clone, Debug)]
struct Ready {
    line: Value,
    listen: SocketAddr,
    admin: String,
}

impl Ready {
    fn parse(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line).ok()?;
        if line["ready"] != true {
            return None;
        }
        Some(Self { listen: line["listen"].as_str()?.parse().ok()?, admin: line["admin"].as_str()?.to_owned(), line })
    }
}

fn wait_until_ready(process: &mut Process, output: &Lines, log: &Lines) -> io::Result<Ready> {
    if let Some(ready) = output.find_blocking(PATIENCE, Ready::parse) {
        return Ok(ready);
    }
    // Its output ended, or it took too long: either way its log says more than we could.
    let ended = match process.ended_soon()? {
        Some(status) => format!("ended ({status})"),
        None => "did not say that it is ready".to_owned(),
    };
    Err(io::Error::other(format!("seamd {ended}; its output:\n{}\nits log:\n{}", output.text(), log.whole_text())))
}

/// A running daemon. It is killed when this is dropped.
#[derive(Debug)]
pub struct Daemon {
    process: Process,
    output: Lines,
    log: Lines,
    ready: Ready,
    started_in: Duration,
    setup: Setup,
}

impl Daemon {
    /// Starts a daemon with this configuration and nothing else.
    ///
    /// # Errors
    /// As [`Setup::new`] and [`Setup::start`].
    pub fn start(toml: &str) -> io::Result<Self> {
        Setup::new(toml)?.start()
    }

    /// Where it takes requests.
    #[must_use]
    pub fn listen(&self) -> SocketAddr {
        self.ready.listen
    }

    /// Where its admin surface is, as it says itself: an address, or `unix:PATH`.
    #[must_use]
    pub fn admin(&self) -> &str {
        &self.ready.admin
    }

    /// The whole line with which it said that it is ready.
    #[must_use]
    pub fn ready_line(&self) -> &Value {
        &self.ready.line
    }

    /// The time from the start of the process to its being ready.
    #[must_use]
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.setup.folder()
    }

    /// Its files, to be changed under it: `daemon.setup().write("seamd.toml", …)`.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// A new connection to where it takes requests.
    ///
    /// # Errors
    /// When it does not listen.
    pub async fn client(&self) -> io::Result<Client> {
        Client::connect(self.listen()).await
    }

    /// A new connection to its admin surface.
    ///
    /// # Errors
    /// When it does not listen.
    pub async fn admin_client(&self) -> io::Result<Client> {
        if let Some(path) = self.ready.admin.strip_prefix("unix:") {
            return Client::connect_unix(Path::new(path)).await;
        }
        let address = self.ready.admin.parse().map_err(io::Error::other)?;
        Client::connect(address).await
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// When it has ended.
    pub fn signal(&mut self, signal: Signal) -> io::Result<()> {
        self.process.signal(signal)
    }

    /// Waits for it to end.
    ///
    /// # Errors
    /// When it does not within the harness's patience.
    pub async fn exit(&mut self) -> io::Result<ExitStatus> {
        self.process.exit().await
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// When the operating system does not say.
    pub fn runs(&mut self) -> io::Result<bool> {
        Ok(self.process.ended()?.is_none())
    }

    /// Everything that it has logged (its standard error) so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Everything that it has written to its standard output so far.
    #[must_use]
    pub fn output(&self) -> String {
        self.output.text()
    }

    /// Waits for a line of its log, past or to come, for which `wanted` holds.
    ///
    /// # Errors
    /// When there is none within the harness's patience; the error carries the log.
    pub async fn log_line(&self, wanted: impl Fn(&str) -> bool) -> io::Result<String> {
        self.log.find(wanted).await
    }

    /// Waits for a line of its standard output, past or to come, for which `wanted` holds.
    ///
    /// # Errors
    /// When there is none within the harness's patience; the error carries the output.
    pub async fn output_line(&self, wanted: impl Fn(&str) -> bool) -> io::Result<String> {
        self.output.find(wanted).await
    }
}
