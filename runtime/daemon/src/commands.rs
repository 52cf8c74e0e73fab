//! What the other commands do: check, reload, inspect. Each prints for a person, or JSON with `--json`.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use seam_host::{Inspection, Loader};
use seam_plugin_api::abi::Description;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::cli::{self, Exit};
use crate::config::{self, AdminAddress};
use crate::control::{Refusal, make_snapshot};

/// How long a daemon may take to reload: plugins that are configured at their leisure, and then some. One that takes longer
/// has hung, or is none.
const RELOAD_LIMIT: Duration = Duration::from_secs(60);

/// Prints to standard output. A reader that has gone away does not matter.
fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
}

fn print_error(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
}

/// Prints a refusal and gives the exit code that goes with it.
#[must_use]
pub fn refuse(refusal: &Refusal, json: bool, colour: bool) -> Exit {
    if json {
        print(&refusal.to_json().to_string());
    } else {
        print_error(&refusal.to_text(colour));
    }
    match refusal {
        Refusal::System(_) => Exit::Failed,
        Refusal::Unreadable(_) | Refusal::Faults(_) => Exit::Refused,
    }
}

/// `seamd check`: everything that start-up does, without serving.
#[must_use]
pub fn check(check: &cli::Check, colour: bool) -> Exit {
    let made = config::load(&check.config).map_err(Refusal::from).and_then(|loaded| {
        // A folder that is not there yet is left to the daemon to make.
        let private_folder = loaded.config.server.state_dir.filter(|folder| folder.is_dir());
        let loader = Loader::new(private_folder).map_err(|error| Refusal::System(no_folder(&error)))?;
        make_snapshot(&check.config, &loader, None)
    });
    let made = match made {
        Ok(made) => made,
        Err(refusal) => return refuse(&refusal, check.json, colour),
    };
    if check.json {
        print("[]");
        return Exit::Ok;
    }
    for warning in &made.warnings {
        print_error(&format!("warning: {warning}"));
    }
    let counts = [
        counted(made.snapshot.providers.len(), "provider"),
        counted(made.snapshot.routes.len(), "route"),
        counted(made.snapshot.generation.plugins().len(), "plugin"),
    ];
    print(&format!("{} is good: {}", check.config.display(), counts.join(", ")));
    Exit::Ok
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `seamd plugin inspect`.
#[must_use]
pub fn inspect(inspect: &cli::Inspect) -> Exit {
    let (exit, error) = match look_at(&inspect.file, inspect.load) {
        Ok((inspection, description)) => {
            print(&if inspect.json {
                told_in_json(&inspection, description.as_ref()).to_string()
            } else {
                format!("{inspection}{}", description.as_ref().map(told).unwrap_or_default())
            });
            return Exit::Ok;
        }
        Err(failed) => failed,
    };
    let message = format!("{}: {error}", inspect.file.display());
    if inspect.json {
        print(&json!({ "error": message }).to_string());
    } else {
        print_error(&message);
    }
    exit
}

/// What a plugin's file says and, where it is loaded, what the plugin says itself; or the exit code, and why.
fn look_at(file: &Path, load: bool) -> Result<(Inspection, Option<Description>), (Exit, String)> {
    if !load {
        let inspected = seam_host::inspect(file).map_err(|refusal| (Exit::Refused, refusal.to_string()))?;
        return Ok((inspected, None));
    }
    let loader = Loader::new(None).map_err(|error| (Exit::Failed, no_folder(&error)))?;
    let (inspected, description) = loader.describe(file).map_err(|reason| (Exit::Refused, reason.to_string()))?;
    Ok((inspected, Some(description)))
}

/// What a plugin says itself, for a person: further lines of its inspection.
fn told(description: &Description) -> String {
    let Description { description, licence, panic, config_schema, .. } = description;
    let schema = as_json(config_schema);
    format!("description {description}\nlicence     {licence}\npanic       {panic}\nschema of its table\n{schema:#}\n")
}

fn told_in_json(inspection: &Inspection, description: Option<&Description>) -> Value {
    let mut told = json!(inspection);
    if let Some(own) = description {
        told["description"] = own.description.as_str().into();
        told["licence"] = own.licence.as_str().into();
        told["panic"] = own.panic.as_str().into();
        told["config_schema"] = as_json(&own.config_schema);
    }
    told
}

/// A plugin's own document; one that is none is shown as the text that it is.
fn as_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn no_folder(error: &std::io::Error) -> String {
    format!("cannot make the folder for private copies of plugins: {error}")
}

/// `seamd reload`: asks a running daemon and says what came of it.
#[must_use]
pub fn reload(reload: &cli::Reload, colour: bool) -> Exit {
    let address = match admin_address(&reload.daemon) {
        Ok(address) => address,
        Err(refusal) => return refuse(&refusal, reload.json, colour),
    };
    let (exit, answer) = match ask_for_reload(&address) {
        Ok((StatusCode::OK, answer)) => (Exit::Ok, answer),
        Ok((_, answer)) => (Exit::Refused, answer),
        Err(error) => {
            let mut text = format!("no daemon answers at {address}: {}", with_causes(&*error));
            if matches!(address, AdminAddress::Tcp(address) if address.port() == 0) {
                text += "; the port was left to the system: name the one that the daemon said with --admin";
            }
            (Exit::Unreachable, json!({ "accepted": false, "text": text }))
        }
    };
    let text = answer["text"].as_str().unwrap_or("the daemon gave no reason");
    match exit {
        _ if reload.json => print(&answer.to_string()),
        Exit::Ok => print(&format!("accepted: generation {}", answer["generation"])),
        Exit::Unreachable => print_error(text),
        _ => print_error(&format!("refused; everything stays as it was\n\n{text}")),
    }
    exit
}

fn admin_address(daemon: &cli::Daemon) -> Result<AdminAddress, Refusal> {
    match (&daemon.admin, &daemon.config) {
        (Some(address), _) => Ok(address.clone()),
        (None, Some(file)) => Ok(config::load(file)?.config.server.admin),
        // The command line takes exactly one of the two.
        (None, None) => Err(Refusal::System("name the daemon with -c or --admin".into())),
    }
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// An error and all that it goes back to, in one line.
fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn ask_for_reload(address: &AdminAddress) -> Result<(StatusCode, Value), AnyError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let asking = async {
        match address {
            AdminAddress::Tcp(address) => post_reload(tokio::net::TcpStream::connect(address).await?).await,
            AdminAddress::Unix(path) => post_reload(tokio::net::UnixStream::connect(path).await?).await,
        }
    };
    runtime.block_on(async { tokio::time::timeout(RELOAD_LIMIT, asking).await? })
}

async fn post_reload(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<(StatusCode, Value), AnyError> {
    let (mut requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let driving = tokio::spawn(connection);
    let request = Request::post("/reload").header(HOST, "localhost").body(Empty::<Bytes>::new())?;
    let response = requests.send_request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    driving.abort();
    Ok((status, serde_json::from_slice(&body)?))
}
