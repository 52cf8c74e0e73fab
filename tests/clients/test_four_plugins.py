"""The four plugins at once, as `make run` has them: each does its part, none gets in another's way."""

import json


def test_a_card_number_is_redacted(ask, guarded):
    for text in (
        ask.streamed(guarded, model="card").only.text,
        ask.whole(guarded, model="card").choices[0].message.content,
    ):
        assert "4111" not in text
        assert "[REDACTED:card]" in text


def test_a_refusal_is_stopped(ask, guarded):
    answer = ask.streamed(guarded, model="refusal")
    assert answer.only.finish_reason == "content_filter"
    assert answer.stop["plugin"] == "halt-on-pattern"
    assert answer.only.text.startswith("I'm sorry")
    assert "explanation" not in answer.only.text
    completion = ask.whole(guarded, model="refusal")
    assert completion.choices[0].finish_reason == "content_filter"
    assert completion.model_extra["seam"]["stop"]["plugin"] == "halt-on-pattern"


def test_a_streamed_marker_becomes_a_call(ask, guarded):
    answer = ask.streamed(guarded, model="tool")
    assert answer.only.text.strip() == "Let me look that up."
    assert [(call.name, call.parsed()) for call in answer.only.tool_calls] == [("search", {"query": "weather in Paris"})]
    assert answer.only.finish_reason == "tool_calls"


def test_a_marker_in_a_whole_answer_becomes_a_call(ask, guarded):
    (choice,) = ask.whole(guarded, model="tool").choices
    assert choice.finish_reason == "tool_calls"
    assert [call.function.name for call in choice.message.tool_calls] == ["search"]
    assert json.loads(choice.message.tool_calls[0].function.arguments) == {"query": "weather in Paris"}
