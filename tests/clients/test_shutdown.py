"""A daemon that is told to end lets a client's stream finish, and ends in order."""

import threading

import openai
import pytest

import wire
from asking import MESSAGES, settings
from daemon import Daemon, Setup


@pytest.fixture
def ending(request, provider, tmp_path):
    """A daemon for one test, which ends it itself."""
    daemon = Daemon(Setup.remote(provider.base_url), request.config.getoption("--built"), tmp_path)
    yield daemon
    assert daemon.stop() == 0


def test_a_stream_that_runs_is_finished_before_the_end(provider, ending):
    told = threading.Event()

    def waits_for_the_signal(exchange):
        exchange.begin_stream()
        exchange.send(wire.text("one "))
        told.wait(10)
        exchange.send(wire.text("two"), wire.finish(), "[DONE]")
        exchange.end_stream()

    played = provider.play(waits_for_the_signal)
    with openai.OpenAI(**settings(ending)) as client:
        stream = client.chat.completions.create(model=played.model, messages=MESSAGES, stream=True)
        text = next(stream).choices[0].delta.content
        ending.tell_to_end()
        told.set()
        text += "".join(choice.delta.content or "" for chunk in stream for choice in chunk.choices)
        # The client keeps its idle connection, which must not keep the daemon.
        assert ending.stop() == 0
    assert text == "one two"
