"""Requests through the official client, in both its forms, with one face for the tests."""

import asyncio

import openai
import pytest
from openai.types.chat import ChatCompletion, ParsedChatCompletion

from answer import Answer
from daemon import Daemon

CLIENT_KEY = "sk-of-the-client"
MESSAGES = [{"role": "user", "content": "Hello"}]


def settings(daemon: Daemon, **more) -> dict:
    """What a client is made with. A failure is shown, not retried, and nothing is waited for very long."""
    return {"base_url": daemon.base_url, "api_key": CLIENT_KEY, "max_retries": 0, "timeout": 20.0, **more}


class SyncAsking:
    """With the client that blocks."""

    def whole(self, daemon: Daemon, **request) -> ChatCompletion:
        """An answer that is not streamed."""
        with openai.OpenAI(**settings(daemon)) as client:
            return client.chat.completions.create(messages=MESSAGES, **request)

    def streamed(self, daemon: Daemon, **request) -> Answer:
        """A streamed answer, to its end."""
        answer = Answer()
        self._read(daemon, answer, request)
        return answer

    def broken(self, daemon: Daemon, **request) -> tuple[Answer, openai.APIError]:
        """A streamed answer that ends with an error: what came before, and the error."""
        answer = Answer()
        with pytest.raises(openai.APIError) as raised:
            self._read(daemon, answer, request)
        return answer, raised.value

    def helper(self, daemon: Daemon, **request) -> tuple[list, ParsedChatCompletion]:
        """A streamed answer that the client itself puts together: its events, and what it amounts to."""
        with openai.OpenAI(**settings(daemon)) as client:
            with client.chat.completions.stream(messages=MESSAGES, **request) as stream:
                events = list(stream)
                return events, stream.get_final_completion()

    def models(self, daemon: Daemon) -> list[str]:
        """The ids of the models that there are."""
        with openai.OpenAI(**settings(daemon)) as client:
            return [model.id for model in client.models.list()]

    def _read(self, daemon: Daemon, answer: Answer, request: dict) -> None:
        with openai.OpenAI(**settings(daemon)) as client:
            for chunk in client.chat.completions.create(messages=MESSAGES, stream=True, **request):
                answer.take(chunk)


class AsyncAsking:
    """With the client for asyncio."""

    def whole(self, daemon: Daemon, **request) -> ChatCompletion:
        """As `SyncAsking.whole`."""

        async def ask():
            async with openai.AsyncOpenAI(**settings(daemon)) as client:
                return await client.chat.completions.create(messages=MESSAGES, **request)

        return asyncio.run(ask())

    def streamed(self, daemon: Daemon, **request) -> Answer:
        """As `SyncAsking.streamed`."""
        answer = Answer()
        asyncio.run(self._read(daemon, answer, request))
        return answer

    def broken(self, daemon: Daemon, **request) -> tuple[Answer, openai.APIError]:
        """As `SyncAsking.broken`."""
        answer = Answer()
        with pytest.raises(openai.APIError) as raised:
            asyncio.run(self._read(daemon, answer, request))
        return answer, raised.value

    def helper(self, daemon: Daemon, **request) -> tuple[list, ParsedChatCompletion]:
        """As `SyncAsking.helper`."""

        async def ask():
            async with openai.AsyncOpenAI(**settings(daemon)) as client:
                async with client.chat.completions.stream(messages=MESSAGES, **request) as stream:
                    events = [event async for event in stream]
                    return events, await stream.get_final_completion()

        return asyncio.run(ask())

    def models(self, daemon: Daemon) -> list[str]:
        """As `SyncAsking.models`."""

        async def ask():
            async with openai.AsyncOpenAI(**settings(daemon)) as client:
                return [model.id async for model in client.models.list()]

        return asyncio.run(ask())

    async def _read(self, daemon: Daemon, answer: Answer, request: dict) -> None:
        async with openai.AsyncOpenAI(**settings(daemon)) as client:
            async for chunk in await client.chat.completions.create(messages=MESSAGES, stream=True, **request):
                answer.take(chunk)
