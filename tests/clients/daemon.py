"""The real daemon as a child process, with a configuration in a folder of its own."""

import json
import os
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

STREAMS = Path(__file__).resolve().parents[2] / "runtime" / "daemon" / "demo" / "streams"
LIBRARY_SUFFIX = "dylib" if sys.platform == "darwin" else "so"
# Debug builds of several plugins are read, hashed and mapped before a daemon is ready.
READY_SECONDS = 60
END_SECONDS = 20

SERVER = """
[server]
listen = "127.0.0.1:0"
admin = "127.0.0.1:0"

[reload]
watch = false

[[route]]
path = "/v1/chat/completions"
provider = "tested"
call_class = "synthesize"
"""

# Redaction must not fail open.
GUARD = """
on_fault = "stop"
on_end_held = "discard"
"""


@dataclass(frozen=True)
class Setup:
    """What a daemon is started with."""

    provider: str
    plugins: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    @classmethod
    def recorded(cls, *plugins: str) -> "Setup":
        """The embedded provider that plays the demo's recordings."""
        return cls(f"recorded = {json.dumps(str(STREAMS))}\npace = \"1ms\"\n", plugins)

    @classmethod
    def remote(cls, base_url: str, *plugins: str, more: str = "", environment: dict[str, str] | None = None) -> "Setup":
        """A provider over HTTP; `more` are further lines of its table."""
        variables = tuple(sorted((environment or {}).items()))
        return cls(f"base_url = {json.dumps(base_url)}\n{more}", plugins, variables)

    def toml(self, built: Path) -> str:
        """The configuration file; plugins come from the folder `built`."""
        provider = f"[[provider]]\nname = \"tested\"\nfamily = \"openai\"\n{self.provider}"
        return "\n".join([SERVER, provider, *(plugin_table(name, built) for name in self.plugins)])


def plugin_table(name: str, built: Path) -> str:
    library = built / f"lib{name}.{LIBRARY_SUFFIX}"
    return f"[[plugin]]\npath = {json.dumps(str(library))}\n{GUARD if name == 'redaction' else ''}"


class Daemon:
    """A running daemon."""

    def __init__(self, setup: Setup, built: Path, folder: Path):
        file = folder / "seamd.toml"
        file.write_text(setup.toml(built))
        self._log = folder / "log"
        self._told = False
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [built / "seamd", "run", "-c", file],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **dict(setup.environment)},
            )
        try:
            ready = self._ready()
        except BaseException:
            self._process.kill()
            self._release()
            raise
        self.base_url = f"http://{ready['listen']}/v1"

    def _ready(self) -> dict:
        readable, _, _ = select.select([self._process.stdout], [], [], READY_SECONDS)
        line = self._process.stdout.readline() if readable else b""
        ready = json.loads(line) if line else {}
        assert ready.get("ready") is True, f"seamd is not ready: {line!r}\n{self.log()}"
        return ready

    def log(self) -> str:
        """What it has said on standard error."""
        return self._log.read_text()

    def tell_to_end(self) -> None:
        """Sends it SIGTERM."""
        self._told = True
        self._process.terminate()

    def stop(self) -> int:
        """Tells it to end unless it was told before, waits for that, and gives its exit status; one that does not end in
        time is killed."""
        try:
            if not self._told:
                self.tell_to_end()
            return self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self._release()

    def _release(self) -> None:
        self._process.wait()
        self._process.stdout.close()
