"""What the demo's recordings hold, read without the client."""

import json

from daemon import STREAMS


def names() -> list[str]:
    """The names of the recordings, which are its models."""
    return sorted(file.stem for file in STREAMS.glob("*.sse"))


def stream_bytes(name: str) -> bytes:
    """A recorded stream, to the byte."""
    return (STREAMS / f"{name}.sse").read_bytes()


def stream_events(name: str) -> list[dict]:
    """The events of a recorded stream, without its end marker."""
    lines = stream_bytes(name).decode().splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]


def stream_text(name: str) -> str:
    """The text of a recorded stream."""
    choices = [choice for event in stream_events(name) for choice in event["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def whole_bytes(name: str) -> bytes:
    """A recorded whole answer, to the byte."""
    return (STREAMS / f"{name}.json").read_bytes()


def whole_text(name: str) -> str:
    """The text of a recorded whole answer."""
    return json.loads(whole_bytes(name))["choices"][0]["message"]["content"]
