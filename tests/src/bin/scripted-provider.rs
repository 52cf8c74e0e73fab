//! `scripted-provider PORT`: the provider of the load as a program. Model `fake` sends `max_tokens` chunks as fast as
//! they are taken, `fake-<N>x<D>ms` N chunks, one each D milliseconds, `fake-mute` nothing at all; `GET /stats` tells
//! what it saw. With port 0 it takes a free one. It prints one line of JSON with its address when it is ready.

use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scripted-provider: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(target_os = "linux")]
fn run() -> io::Result<()> {
    use std::net::SocketAddr;

    let port = std::env::args().nth(1).unwrap_or_else(|| "0".to_owned());
    let port: u16 = port.parse().map_err(io::Error::other)?;
    e2e::os::raise_open_files_limit(1 << 20)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(SocketAddr::from(([127, 0, 0, 1], port)))?;
        let listener = socket.listen(4096)?;
        let address = listener.local_addr()?.to_string();
        println!("{}", serde_json::json!({"ready": true, "listen": address}));
        e2e::load::source::serve(listener).await
    })
}

#[cfg(not(target_os = "linux"))]
fn run() -> io::Result<()> {
    Err(io::Error::other("the load is made on Linux only"))
}
