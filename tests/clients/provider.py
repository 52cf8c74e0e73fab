"""A provider that answers as a test's script says: what recordings don't have, and what real providers do wrong.

A script is a function of one `Exchange`; the model that a request names picks it.
"""

import itertools
import json
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer

MODELS = ["scripted-large", "scripted-small"]
# How long a script waits for what a test does, or for the end of a connection.
PATIENCE_SECONDS = 20


@dataclass
class Received:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    raw_body: bytes

    @property
    def body(self) -> dict:
        """The body's JSON."""
        return json.loads(self.raw_body)


class Exchange:
    """One request and the answer to it."""

    def __init__(self, handler: BaseHTTPRequestHandler, received: Received):
        self._handler = handler
        self.received = received

    def document(self, body: dict | list, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """Answers with a JSON document."""
        self.begin_document(body, status=status, headers=headers)(None)

    def begin_document(self, body, status: int = 200, headers=None) -> Callable[[int | None], None]:
        """Sends the head of a JSON document; what is given back sends the body, or so many bytes of it."""
        data = json.dumps(body, ensure_ascii=False).encode()
        kind = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        self._head(status, {**kind, **(headers or {})})
        return lambda most: self._handler.wfile.write(data[:most])

    def begin_stream(self) -> None:
        """Sends the head of an event stream."""
        self._head(200, {"Content-Type": "text/event-stream; charset=utf-8", "Transfer-Encoding": "chunked"})

    def send(self, *events: dict | str, piece: int | None = None) -> None:
        """Sends events, in pieces of so many bytes."""
        data = "".join(f"data: {text_of(event)}\n\n" for event in events).encode()
        piece = piece or len(data)
        for at in range(0, len(data), piece):
            part = data[at : at + piece]
            self._handler.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))

    def raw(self, data: bytes) -> None:
        """Sends bytes as they are."""
        self._handler.wfile.write(data)

    def end_stream(self) -> None:
        """Ends the stream as HTTP wants it."""
        self._handler.wfile.write(b"0\r\n\r\n")

    def stream(self, events: Iterable[dict | str], piece: int | None = None) -> None:
        """A whole stream."""
        self.begin_stream()
        self.send(*events, "[DONE]", piece=piece)
        self.end_stream()

    def cut(self) -> None:
        """Ends the connection in the middle of whatever was going on."""
        self._handler.connection.shutdown(socket.SHUT_RDWR)

    def wait_until_gone(self) -> bool:
        """Whether the other side ends the connection in time."""
        self._handler.connection.settimeout(PATIENCE_SECONDS)
        try:
            return self._handler.connection.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        finally:
            self._handler.close_connection = True

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()


def text_of(event: dict | str) -> str:
    return event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)


@dataclass
class Played:
    """A script under the name of its model, and the requests that it answered."""

    model: str
    script: Callable[[Exchange], None]
    received: list[Received] = field(default_factory=list)

    @property
    def only(self) -> Received:
        """The one request that came."""
        (received,) = self.received
        return received


class ScriptedProvider:
    """The server, on a port of its own."""

    def __init__(self):
        self._played: dict[str, Played] = {}
        self._numbers = itertools.count(1)
        self.faults: list[BaseException] = []
        self.models_received: list[Received] = []
        self._server = Server(("127.0.0.1", 0), handler_of(self))
        self._server.provider = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        """Where it is, version included."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def play(self, script: Callable[[Exchange], None]) -> Played:
        """Answers with this script from now on, under a model name of its own."""
        played = Played(f"scripted-{next(self._numbers)}", script)
        self._played[played.model] = played
        return played

    def answer(self, exchange: Exchange) -> None:
        """Answers one request."""
        if exchange.received.path.split("?")[0] == "/v1/models":
            self.models_received.append(exchange.received)
            models = [{"id": name, "object": "model", "created": 0, "owned_by": "scripted"} for name in MODELS]
            exchange.document({"object": "list", "data": models})
            return
        if exchange.received.path.split("?")[0] != "/v1/chat/completions":
            raise LookupError(f"nothing is scripted for {exchange.received.path}")
        played = self._played[exchange.received.body["model"]]
        played.received.append(exchange.received)
        played.script(exchange)

    def close(self) -> None:
        """Ends the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE_SECONDS)


class Server(ThreadingTCPServer):
    """A thread for each connection; a script that fails is remembered."""

    daemon_threads = True
    allow_reuse_address = True
    provider: ScriptedProvider

    def handle_error(self, request, client_address) -> None:
        error = sys.exc_info()[1]
        # The daemon may end a connection whenever it likes.
        if not isinstance(error, ConnectionError):
            self.provider.faults.append(error)


def handler_of(provider: ScriptedProvider) -> type[BaseHTTPRequestHandler]:
    """The class of a provider's connections."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Every write is seen at once.
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            provider.answer(Exchange(self, Received(self.path, self.lower_headers(), b"")))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            provider.answer(Exchange(self, Received(self.path, self.lower_headers(), body)))

        def lower_headers(self) -> dict[str, str]:
            return {name.lower(): value for name, value in self.headers.items()}

        def log_message(self, *_) -> None:
            """What matters is in the tests."""

    return Handler
