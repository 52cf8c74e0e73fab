"""What the provider is sent: the client's request, the right key, and nothing that is meant for the daemon."""

import openai
import pytest

import wire
from asking import CLIENT_KEY, MESSAGES, settings
from daemon import Setup

PROVIDER_KEY = "sk-of-the-provider"
PROVIDER_TABLE = """
api_key = { env = "TESTED_PROVIDER_KEY" }
headers = { x-team = "blue" }
"""


@pytest.fixture(scope="module")
def keyed(start, provider):
    """The scripted provider, its key in the environment and a header added."""
    environment = {"TESTED_PROVIDER_KEY": PROVIDER_KEY}
    return start(Setup.remote(provider.base_url, more=PROVIDER_TABLE, environment=environment))


def hello(exchange):
    if exchange.received.body.get("stream"):
        exchange.stream([wire.text("Hello"), wire.finish()])
    else:
        exchange.document(wire.whole({"content": "Hello"}))


def test_a_configured_key_takes_the_place_of_the_clients(ask, provider, keyed):
    played = provider.play(hello)
    ask.whole(keyed, model=played.model)
    ask.streamed(keyed, model=played.model)
    assert [received.headers["authorization"] for received in played.received] == [f"Bearer {PROVIDER_KEY}"] * 2
    assert [received.headers["x-team"] for received in played.received] == ["blue"] * 2
    assert not any(CLIENT_KEY in value for received in played.received for value in received.headers.values())


def test_the_clients_own_key_is_passed_on_where_none_is_configured(ask, provider, scripted):
    played = provider.play(hello)
    ask.whole(scripted, model=played.model)
    ask.streamed(scripted, model=played.model)
    assert [received.headers["authorization"] for received in played.received] == [f"Bearer {CLIENT_KEY}"] * 2


def test_headers_are_forwarded_but_not_those_for_the_daemon(ask, provider, scripted):
    extra = {
        "x-extra": "kept",
        "x-seam-call-class": "utility",
        "x-seam-turn-id": "turn-1",
        "x-seam-correlation-user": "ann",
        "x-seam-unknown": "1",
    }
    played = provider.play(hello)
    ask.whole(scripted, model=played.model, extra_headers=extra)
    ask.streamed(scripted, model=played.model, extra_headers=extra)
    for received in played.received:
        assert received.headers["x-extra"] == "kept"
        assert received.headers["user-agent"].endswith(openai.__version__)
        assert received.headers["host"] == provider.base_url.split("/")[2]
        assert [name for name in received.headers if name.startswith("x-seam-")] == []


def test_organization_and_project_are_forwarded(provider, scripted):
    played = provider.play(hello)
    with openai.OpenAI(**settings(scripted, organization="org-1", project="proj-1")) as client:
        client.chat.completions.create(model=played.model, messages=MESSAGES)
    assert played.only.headers["openai-organization"] == "org-1"
    assert played.only.headers["openai-project"] == "proj-1"


def test_nothing_compressed_is_asked_for(ask, provider, scripted):
    played = provider.play(hello)
    ask.streamed(scripted, model=played.model)
    assert played.only.headers.get("accept-encoding", "identity") == "identity"


def test_path_query_and_body_are_the_clients(ask, provider, scripted):
    played = provider.play(hello)
    body = {"temperature": 0.25, "unknown": {"to": ["the", "daemon"]}, "名": "日本"}
    ask.whole(scripted, model=played.model, extra_body=body, extra_query={"api-version": "2026-01-01"})
    assert played.only.path == "/v1/chat/completions?api-version=2026-01-01"
    assert played.only.body == {"model": played.model, "messages": MESSAGES, **body}


def test_an_unknown_call_class_is_a_bad_request(ask, provider, scripted):
    played = provider.play(hello)
    with pytest.raises(openai.BadRequestError) as raised:
        ask.whole(scripted, model=played.model, extra_headers={"x-seam-call-class": "nonsense"})
    assert raised.value.code == "invalid_call_class"
    assert played.received == []


def test_recorded_models_are_listed(ask, recorded):
    assert ask.models(recorded) == ["card", "refusal", "tool"]


def test_the_providers_models_are_listed_with_the_right_key(ask, provider, keyed, scripted):
    for daemon, key in ((keyed, PROVIDER_KEY), (scripted, CLIENT_KEY)):
        assert ask.models(daemon) == ["scripted-large", "scripted-small"]
        assert provider.models_received[-1].headers["authorization"] == f"Bearer {key}"
