"""What every test is given: daemons, a scripted provider, the official client in both its forms, and a deadline."""

import os
import signal
from pathlib import Path

import pytest

from asking import AsyncAsking, SyncAsking
from daemon import Daemon, Setup
from provider import ScriptedProvider

# Far beyond what any test takes on a busy machine.
DEADLINE_SECONDS = 60


def pytest_addoption(parser):
    parser.addoption("--built", required=True, type=Path, help="the folder with seamd and the plugins' libraries")


def pytest_configure(config):
    # The tests say themselves what the client is configured with, and loopback needs no proxy.
    for name in [name for name in os.environ if name.upper().startswith("OPENAI_") or name.upper().endswith("_PROXY")]:
        del os.environ[name]


@pytest.fixture(autouse=True)
def deadline():
    """Fails a test that hangs, and lets what it has open be closed as after any failure."""

    def give_up(_number, _frame):
        raise TimeoutError(f"the test took over {DEADLINE_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(DEADLINE_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def provider():
    """The scripted provider. A script that failed fails the run."""
    provider = ScriptedProvider()
    yield provider
    provider.close()
    assert provider.faults == []


@pytest.fixture(scope="session")
def start(request, tmp_path_factory):
    """Starts a daemon for a setup, once; at the end of the run each must end in order when it is told to."""
    running: dict[Setup, Daemon] = {}

    def start(setup: Setup) -> Daemon:
        if setup not in running:
            folder = tmp_path_factory.mktemp("seamd")
            running[setup] = Daemon(setup, request.config.getoption("--built"), folder)
        return running[setup]

    yield start
    for daemon in running.values():
        daemon.tell_to_end()
    statuses = [daemon.stop() for daemon in running.values()]
    assert statuses == [0] * len(statuses), [daemon.log() for daemon in running.values()]


@pytest.fixture(params=[SyncAsking, AsyncAsking], ids=["sync", "async"])
def ask(request):
    """Asks a daemon, with the client that blocks and with the one for asyncio."""
    return request.param()


@pytest.fixture(scope="session")
def recorded(start):
    """The embedded provider's recordings, no plugins."""
    return start(Setup.recorded())


@pytest.fixture(scope="session")
def redacting(start):
    """The recordings behind `redaction`, set up as a guard."""
    return start(Setup.recorded("redaction"))


@pytest.fixture(scope="session")
def halting(start):
    """The recordings behind `halt-on-pattern`."""
    return start(Setup.recorded("halt_on_pattern"))


@pytest.fixture(scope="session")
def normalizing(start):
    """The recordings behind `dialect-normalization`."""
    return start(Setup.recorded("dialect_normalization"))


@pytest.fixture(scope="session")
def guarded(start):
    """The recordings behind the four plugins, in the order of `make run`."""
    return start(Setup.recorded("redaction", "halt_on_pattern", "dialect_normalization", "stream_metrics"))


@pytest.fixture(scope="session")
def scripted(start, provider):
    """The scripted provider, no key configured, no plugins."""
    return start(Setup.remote(provider.base_url))


@pytest.fixture(scope="session")
def scripted_halting(start, provider):
    """The scripted provider behind `halt-on-pattern`."""
    return start(Setup.remote(provider.base_url, "halt_on_pattern"))


@pytest.fixture(scope="session")
def scripted_normalizing(start, provider):
    """The scripted provider behind `dialect-normalization`."""
    return start(Setup.remote(provider.base_url, "dialect_normalization"))
