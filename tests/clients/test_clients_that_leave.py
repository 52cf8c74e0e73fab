"""A client that leaves early costs nothing more: the provider's call ends with it."""

import asyncio
import threading

import openai
import pytest

import wire
from asking import MESSAGES, settings

# The provider says nothing more, so that nothing but the client's leaving ends the call: the silence itself may last a
# minute.
SOON_SECONDS = 5


class Endless:
    """A script whose answer never ends, and that sees how it is left."""

    def __init__(self, *, streamed):
        self._streamed = streamed
        self._left = threading.Event()
        self.called = threading.Event()

    def __call__(self, exchange):
        if self._streamed:
            exchange.begin_stream()
            exchange.send(wire.text("Hello"))
        self.called.set()
        if exchange.wait_until_gone():
            self._left.set()

    def is_left_soon(self):
        return self._left.wait(SOON_SECONDS)


def test_closing_a_stream_ends_the_providers_call(provider, scripted):
    endless = Endless(streamed=True)
    played = provider.play(endless)
    with openai.OpenAI(**settings(scripted)) as client:
        stream = client.chat.completions.create(model=played.model, messages=MESSAGES, stream=True)
        assert next(stream).choices[0].delta.content == "Hello"
        stream.close()
        assert endless.is_left_soon()


def test_leaving_the_helper_ends_the_providers_call(provider, scripted):
    endless = Endless(streamed=True)
    played = provider.play(endless)
    with openai.OpenAI(**settings(scripted)) as client:
        with client.chat.completions.stream(model=played.model, messages=MESSAGES) as stream:
            assert next(stream).type == "chunk"
        assert endless.is_left_soon()


@pytest.mark.parametrize("streamed", [True, False])
def test_cancelling_a_task_ends_the_providers_call(provider, scripted, streamed):
    endless = Endless(streamed=streamed)
    played = provider.play(endless)

    async def read(client):
        answer = await client.chat.completions.create(model=played.model, messages=MESSAGES, stream=streamed)
        async for _ in answer:
            pass

    async def cancel():
        async with openai.AsyncOpenAI(**settings(scripted)) as client:
            task = asyncio.create_task(read(client))
            assert await asyncio.to_thread(endless.called.wait, SOON_SECONDS)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(endless.is_left_soon)

    asyncio.run(cancel())


@pytest.mark.parametrize("streamed", [True, False])
def test_a_client_that_runs_out_of_patience_ends_the_providers_call(provider, scripted, streamed):
    endless = Endless(streamed=streamed)
    played = provider.play(endless)
    with openai.OpenAI(**settings(scripted, timeout=0.5)) as client:
        with pytest.raises(openai.APITimeoutError):
            list(client.chat.completions.create(model=played.model, messages=MESSAGES, stream=streamed))
        assert endless.is_left_soon()


def test_other_streams_go_on_when_one_client_leaves(provider, scripted):
    endless = Endless(streamed=True)
    left = provider.play(endless)
    goes_on = threading.Event()

    def waits_for_the_other(exchange):
        exchange.begin_stream()
        exchange.send(wire.text("one "))
        goes_on.wait(SOON_SECONDS)
        exchange.send(wire.text("two"), wire.finish(), "[DONE]")
        exchange.end_stream()

    stays = provider.play(waits_for_the_other)
    with openai.OpenAI(**settings(scripted)) as client:
        staying = client.chat.completions.create(model=stays.model, messages=MESSAGES, stream=True)
        text = next(staying).choices[0].delta.content
        leaving = client.chat.completions.create(model=left.model, messages=MESSAGES, stream=True)
        next(leaving)
        leaving.close()
        assert endless.is_left_soon()
        goes_on.set()
        text += "".join(choice.delta.content or "" for chunk in staying for choice in chunk.choices)
    assert text == "one two"
