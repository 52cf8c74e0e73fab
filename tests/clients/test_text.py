"""Without plugins the daemon is not noticed."""

import json
import threading

import openai
import pytest

import recordings
import wire
from asking import MESSAGES, settings


@pytest.mark.parametrize("model", recordings.names())
def test_a_streamed_answer_is_the_recorded_one(ask, recorded, model):
    answer = ask.streamed(recorded, model=model)
    assert answer.only.text == recordings.stream_text(model)
    assert answer.only.finish_reason == "stop"
    assert [chunk.to_dict() for chunk in answer.chunks] == recordings.stream_events(model)


@pytest.mark.parametrize("model", recordings.names())
def test_a_whole_answer_is_the_recorded_one(ask, recorded, model):
    completion = ask.whole(recorded, model=model)
    assert completion.to_dict() == json.loads(recordings.whole_bytes(model))


def test_a_streaming_response_has_the_very_bytes_of_the_provider(recorded):
    with openai.OpenAI(**settings(recorded)) as client:
        request = {"model": "card", "messages": MESSAGES, "stream": True}
        with client.chat.completions.with_streaming_response.create(**request) as response:
            assert response.headers["content-type"] == "text/event-stream"
            assert b"".join(response.iter_bytes()) == recordings.stream_bytes("card")


def test_a_streaming_response_of_a_whole_answer_has_the_very_bytes_of_the_provider(recorded):
    with openai.OpenAI(**settings(recorded)) as client:
        with client.chat.completions.with_streaming_response.create(model="card", messages=MESSAGES) as response:
            assert response.read() == recordings.whole_bytes("card")


def test_a_raw_response_names_its_invocation_and_parses(recorded):
    with openai.OpenAI(**settings(recorded)) as client:
        create = client.chat.completions.with_raw_response.create
        raw = create(model="card", messages=MESSAGES)
        assert raw.status_code == 200
        assert raw.http_response.content == recordings.whole_bytes("card")
        assert raw.parse().choices[0].message.content == recordings.whole_text("card")
        again = create(model="card", messages=MESSAGES)
        assert raw.headers["x-seam-invocation-id"] != again.headers["x-seam-invocation-id"]


def test_a_raw_response_parses_to_a_stream(recorded):
    with openai.OpenAI(**settings(recorded)) as client:
        raw = client.chat.completions.with_raw_response.create(model="card", messages=MESSAGES, stream=True)
        assert raw.headers["x-seam-invocation-id"]
        pieces = [choice.delta.content or "" for chunk in raw.parse() for choice in chunk.choices]
        assert "".join(pieces) == recordings.stream_text("card")


def test_the_accumulating_helper_has_the_whole_text(ask, recorded):
    events, completion = ask.helper(recorded, model="card")
    assert completion.choices[0].message.content == recordings.stream_text("card")
    assert [event.content for event in events if event.type == "content.done"] == [recordings.stream_text("card")]


def test_a_client_has_each_event_before_the_provider_sends_the_next(provider, scripted):
    taken = threading.Semaphore(0)
    words = ["one ", "two ", "three"]
    in_time = []

    def word_for_word(exchange):
        exchange.begin_stream()
        for word in words:
            exchange.send(wire.text(word))
            in_time.append(taken.acquire(timeout=10))
        exchange.send(wire.finish(), "[DONE]")
        exchange.end_stream()

    played = provider.play(word_for_word)
    text = ""
    with openai.OpenAI(**settings(scripted)) as client:
        for chunk in client.chat.completions.create(model=played.model, messages=MESSAGES, stream=True):
            text += chunk.choices[0].delta.content or ""
            taken.release()
    assert text == "one two three"
    assert in_time == [True, True, True]


@pytest.mark.parametrize("piece", [1, 2, 7])
def test_events_that_arrive_in_pieces_are_put_together(ask, provider, scripted, piece):
    words = ["naïve ", "日本語 ", "👩‍👩‍👧 ", "\u2028\r\n", "end"]
    events = [*map(wire.text, words), wire.finish()]
    played = provider.play(lambda exchange: exchange.stream(events, piece=piece))
    assert ask.streamed(scripted, model=played.model).only.text == "".join(words)


def test_a_model_without_a_recording_is_not_found(ask, recorded):
    with pytest.raises(openai.NotFoundError) as raised:
        ask.whole(recorded, model="nothing")
    assert raised.value.code == "model_not_found"
    assert "card, refusal, tool" in raised.value.message
    with pytest.raises(openai.NotFoundError):
        ask.streamed(recorded, model="nothing")
