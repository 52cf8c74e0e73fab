//! The floor: nginx as a plain reverse proxy that buffers nothing.

use e2e::patience::{Backoff, PATIENCE};
use e2e::process::Process;
use e2e::provider::unused_address;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub(crate) struct Nginx {
    process: Process,
    address: SocketAddr,
    // Its files, for as long as it runs.
    _folder: TempDir,
}

impl Nginx {
    /// Starts nginx in front of `source`, with files of its own in a temporary folder.
    pub(crate) fn start(source: SocketAddr) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("nginx-").tempdir()?;
        let address = unused_address()?;
        let config = folder.path().join("nginx.conf");
        std::fs::write(&config, configuration(address, source))?;
        let mut command = Command::new("nginx");
        command
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(&config)
            .arg("-e")
            .arg(folder.path().join("error.log"))
            .stdin(Stdio::null());
        let process = Process::start(&mut command, Duration::from_secs(5)).map_err(|error| {
            let hint = "the figures are held against it; Debian's package is nginx-light";
            io::Error::new(error.kind(), format!("{error} ({hint})"))
        })?;
        let mut nginx = Self { process, address, _folder: folder };
        nginx.wait_until_it_listens()?;
        Ok(nginx)
    }

    fn wait_until_it_listens(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let mut backoff = Backoff::default();
        while TcpStream::connect(self.address).is_err() {
            if let Some(status) = self.process.ended()? {
                return Err(io::Error::other(format!("nginx ended: {status}")));
            }
            if Instant::now() > deadline {
                return Err(io::Error::other("nginx does not listen"));
            }
            std::thread::sleep(backoff.pause());
        }
        Ok(())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

fn configuration(address: SocketAddr, source: SocketAddr) -> String {
    format!(
        r#"daemon off;
pid nginx.pid;
worker_processes 2;
worker_rlimit_nofile 20000;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  keepalive_requests 1000000;
  upstream source {{ server {source}; keepalive 2048; keepalive_requests 1000000; }}
  server {{
    listen {address} backlog=4096;
    location / {{
      proxy_pass http://source;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_read_timeout 600s;
      tcp_nodelay on;
    }}
  }}
}}
"#
    )
}
