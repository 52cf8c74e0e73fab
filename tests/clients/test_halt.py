"""`halt-on-pattern`: a stop is an ordinary end to a client, and says why."""

import threading

import openai
import pytest

import recordings
import wire
from asking import MESSAGES, settings

REFUSAL = ["I'm sorry", ", but I am", " unable to", " help", " with that", ". Here is", " an explanation."]


def check_stop(stop, text):
    assert stop["plugin"] == "halt-on-pattern"
    assert stop["observer_id"] == "halt-on-pattern"
    assert "unable to help" in stop["reason"]
    assert stop["accumulated_content_length"] == stop["delivered_length"] == len(text)
    assert stop["discarded"] >= 1
    assert stop["seq"] >= 0


def test_a_streamed_refusal_is_stopped(ask, halting):
    answer = ask.streamed(halting, model="refusal")
    assert answer.only.finish_reason == "content_filter"
    assert answer.only.text == "I'm sorry, but I am unable to help"
    check_stop(answer.stop, answer.only.text)


def test_a_whole_refusal_is_stopped(ask, halting):
    completion = ask.whole(halting, model="refusal")
    assert completion.choices[0].finish_reason == "content_filter"
    text = completion.choices[0].message.content
    assert recordings.whole_text("refusal").startswith(text)
    assert "explanation" not in text
    check_stop(completion.model_extra["seam"]["stop"], text)


def test_the_accumulating_helper_says_that_the_content_was_filtered(halting):
    with openai.OpenAI(**settings(halting)) as client:
        with client.chat.completions.stream(model="refusal", messages=MESSAGES) as stream:
            chunks = [event.chunk for event in stream if event.type == "chunk"]
            (choice,) = stream.current_completion_snapshot.choices
            assert choice.finish_reason == "content_filter"
            assert choice.message.content == "I'm sorry, but I am unable to help"
            check_stop(chunks[-1].model_extra["seam"]["stop"], choice.message.content)
            # What the client makes of every provider's content filter.
            with pytest.raises(openai.ContentFilterFinishReasonError):
                stream.get_final_completion()


def test_the_parsing_helper_says_that_the_content_was_filtered(halting):
    with openai.OpenAI(**settings(halting)) as client:
        with pytest.raises(openai.ContentFilterFinishReasonError):
            client.chat.completions.parse(model="refusal", messages=MESSAGES)


def test_an_answer_without_the_pattern_is_untouched(ask, halting):
    answer = ask.streamed(halting, model="card")
    assert [chunk.to_dict() for chunk in answer.chunks] == recordings.stream_events("card")
    assert ask.whole(halting, model="card").choices[0].message.content == recordings.whole_text("card")


def test_the_connection_serves_on_after_a_stop(halting):
    with openai.OpenAI(**settings(halting)) as client:
        for _ in range(3):
            stopped = list(client.chat.completions.create(model="refusal", messages=MESSAGES, stream=True))
            assert stopped[-1].choices[0].finish_reason == "content_filter"
            pieces = client.chat.completions.create(model="card", messages=MESSAGES, stream=True)
            text = "".join(choice.delta.content or "" for chunk in pieces for choice in chunk.choices)
            assert text == recordings.stream_text("card")


def test_the_provider_is_left_at_once(ask, provider, scripted_halting):
    gone = []
    left = threading.Event()

    def never_ends(exchange):
        exchange.begin_stream()
        exchange.send(*map(wire.text, REFUSAL))
        gone.append(exchange.wait_until_gone())
        left.set()

    played = provider.play(never_ends)
    answer = ask.streamed(scripted_halting, model=played.model)
    assert answer.only.finish_reason == "content_filter"
    assert left.wait(5)
    assert gone == [True]


def test_a_stop_ends_every_choice(ask, provider, scripted_halting):
    other = [wire.text("All is well, and ", index=1), wire.text("it goes on.", index=1)]
    refusal = [wire.text(piece, index=0) for piece in REFUSAL]
    events = [other[0], *refusal, other[1], wire.finish(index=0), wire.finish(index=1)]
    played = provider.play(lambda exchange: exchange.stream(events))
    answer = ask.streamed(scripted_halting, model=played.model, n=2)
    assert {index: choice.finish_reason for index, choice in answer.choices.items()} == {
        0: "content_filter",
        1: "content_filter",
    }
    assert answer.choices[0].text == "I'm sorry, but I am unable to help"
    assert answer.choices[1].text == "All is well, and "
