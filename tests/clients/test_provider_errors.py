"""What goes wrong at the provider is an exception of the right class at the client, with the provider's own words."""

import socket

import openai
import pytest

import wire
from asking import MESSAGES, settings
from daemon import Setup

STATUSES = [
    (400, openai.BadRequestError),
    (401, openai.AuthenticationError),
    (403, openai.PermissionDeniedError),
    (404, openai.NotFoundError),
    (422, openai.UnprocessableEntityError),
    (429, openai.RateLimitError),
    (500, openai.InternalServerError),
    (503, openai.InternalServerError),
]


@pytest.mark.parametrize(("status", "exception"), STATUSES, ids=[str(status) for status, _ in STATUSES])
def test_an_error_status_is_passed_on(ask, provider, scripted, status, exception):
    document = wire.error(f"the provider says {status}", "of_the_provider", f"code_{status}")
    headers = {"x-request-id": f"request-{status}", "x-ratelimit-remaining-requests": "0"}
    played = provider.play(lambda exchange: exchange.document(document, status=status, headers=headers))
    for asked in (ask.whole, ask.streamed):
        with pytest.raises(exception) as raised:
            asked(scripted, model=played.model)
        error = raised.value
        assert (error.status_code, error.code, error.type) == (status, f"code_{status}", "of_the_provider")
        assert f"the provider says {status}" in error.message
        assert error.body == document["error"]
        assert error.request_id == f"request-{status}"
        assert error.response.headers["x-ratelimit-remaining-requests"] == "0"


def test_a_client_that_retries_waits_as_the_provider_says(provider, scripted):
    def limited_once(exchange):
        if len(played.received) == 1:
            error = wire.error("too fast", "requests", "rate_limit_exceeded")
            exchange.document(error, status=429, headers={"retry-after-ms": "1"})
        else:
            exchange.document(wire.whole({"content": "Hello"}))

    played = provider.play(limited_once)
    with openai.OpenAI(**settings(scripted, max_retries=1)) as client:
        completion = client.chat.completions.create(model=played.model, messages=MESSAGES)
    assert completion.choices[0].message.content == "Hello"
    assert len(played.received) == 2


def test_an_error_event_inside_a_stream_is_raised(ask, provider, scripted):
    error = wire.error("the server is overloaded", "server_error", "overloaded")
    played = provider.play(lambda exchange: exchange.stream([wire.text("Hello"), wire.text(", "), error]))
    answer, raised = ask.broken(scripted, model=played.model)
    assert answer.only.text == "Hello, "
    assert raised.message == "the server is overloaded"
    assert (raised.code, raised.type, raised.body) == ("overloaded", "server_error", error["error"])


def test_an_error_event_may_be_the_first(ask, provider, scripted):
    error = wire.error("nothing today", "server_error", "overloaded")
    played = provider.play(lambda exchange: exchange.stream([error]))
    answer, raised = ask.broken(scripted, model=played.model)
    assert (answer.chunks, raised.message) == ([], "nothing today")


def cut_connection(exchange):
    exchange.begin_stream()
    exchange.send(wire.text("Hello"), wire.text(", "))
    exchange.cut()


def cut_inside_an_event(exchange):
    exchange.begin_stream()
    exchange.send(wire.text("Hello"), wire.text(", "))
    exchange.raw(b"10\r\ndata: {\"id\":")
    exchange.cut()


def end_before_the_finish(exchange):
    exchange.begin_stream()
    exchange.send(wire.text("Hello"), wire.text(", "))
    exchange.end_stream()


@pytest.mark.parametrize("script", [cut_connection, cut_inside_an_event, end_before_the_finish])
def test_a_stream_that_breaks_off_is_no_clean_end(ask, provider, scripted, script):
    played = provider.play(script)
    answer, raised = ask.broken(scripted, model=played.model)
    assert answer.only.text == "Hello, "
    assert raised.code == "provider_broke_off"
    assert raised.type == "provider_error"
    assert "broke off" in raised.message


def test_a_finished_stream_without_an_end_marker_is_a_clean_end(ask, provider, scripted):
    def without_done(exchange):
        exchange.begin_stream()
        exchange.send(wire.text("Hello"), wire.finish())
        exchange.end_stream()

    played = provider.play(without_done)
    assert ask.streamed(scripted, model=played.model).only.text == "Hello"


def test_a_whole_answer_that_breaks_off_is_raised(ask, provider, scripted):
    def half(exchange):
        send = exchange.begin_document(wire.whole({"content": "Hello"}))
        send(20)
        exchange.cut()

    played = provider.play(half)
    with pytest.raises(openai.InternalServerError) as raised:
        ask.whole(scripted, model=played.model)
    assert (raised.value.status_code, raised.value.code) == (502, "provider_broke_off")


def test_a_provider_that_is_not_there_is_raised(ask, start):
    with socket.socket() as nobody:
        # Bound, so that nobody else is given the port, and not listening.
        nobody.bind(("127.0.0.1", 0))
        daemon = start(Setup.remote(f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"))
        for asked in (ask.whole, ask.streamed):
            with pytest.raises(openai.InternalServerError) as raised:
                asked(daemon, model="any")
            assert (raised.value.status_code, raised.value.code) == (502, "provider_unreachable")


def test_a_provider_that_falls_silent_is_raised(ask, provider, start):
    def fall_silent(exchange):
        exchange.begin_stream()
        exchange.send(wire.text("Hello"))
        exchange.wait_until_gone()

    daemon = start(Setup.remote(provider.base_url, more='idle_timeout = "200ms"\n'))
    played = provider.play(fall_silent)
    answer, raised = ask.broken(daemon, model=played.model)
    assert answer.only.text == "Hello"
    assert raised.code == "provider_idle_timeout"
