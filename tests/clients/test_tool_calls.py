"""Tool calls: the provider's own go through, and `dialect-normalization` makes proper ones of those written as text."""

import json

import openai
import pytest

import recordings
import wire
from asking import MESSAGES, settings

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "search",
            "strict": True,
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string"}},
                "required": ["query"],
                "additionalProperties": False,
            },
        },
    }
]
ARGUMENTS = {"query": "weather in Paris"}
MARKER = '<tool name="search">{"query": "weather in Paris"}</tool>'


def fragment(index, arguments, **call):
    name = {"name": call.pop("name")} if "name" in call else {}
    return {"index": index, **call, "function": {**name, "arguments": arguments}}


def test_a_streamed_marker_becomes_a_call(ask, normalizing):
    answer = ask.streamed(normalizing, model="tool", tools=TOOLS)
    (call,) = answer.only.tool_calls
    assert (call.name, call.parsed()) == ("search", ARGUMENTS)
    assert call.id
    assert answer.only.finish_reason == "tool_calls"
    assert answer.only.text.strip() == "Let me look that up."
    assert answer.usage.total_tokens == 28


def test_a_whole_answer_that_is_a_marker_becomes_a_call(ask, provider, scripted_normalizing):
    played = provider.play(lambda exchange: exchange.document(wire.whole({"content": MARKER})))
    check_whole(ask.whole(scripted_normalizing, model=played.model, tools=TOOLS), "")


def test_a_marker_behind_text_in_a_whole_answer_becomes_a_call(ask, normalizing):
    check_whole(ask.whole(normalizing, model="tool", tools=TOOLS), "Let me look that up.")


def check_whole(completion, text):
    (choice,) = completion.choices
    assert choice.finish_reason == "tool_calls"
    assert (choice.message.content or "").strip() == text
    (call,) = choice.message.tool_calls
    assert (call.type, call.function.name) == ("function", "search")
    assert json.loads(call.function.arguments) == ARGUMENTS
    assert call.id


def test_the_accumulating_helper_has_the_call_with_its_arguments_parsed(ask, normalizing):
    events, completion = ask.helper(normalizing, model="tool", tools=TOOLS)
    (choice,) = completion.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content.strip() == "Let me look that up."
    (call,) = choice.message.tool_calls
    assert (call.function.name, call.function.parsed_arguments) == ("search", ARGUMENTS)
    (done,) = [event for event in events if event.type == "tool_calls.function.arguments.done"]
    assert (done.index, done.name, done.parsed_arguments) == (0, "search", ARGUMENTS)
    assert not any("<to" in event.to_json() for event in events)


def test_a_marker_for_a_tool_that_was_not_offered_stays_text(ask, normalizing):
    other = [{"type": "function", "function": {"name": "other", "parameters": {"type": "object", "properties": {}}}}]
    answer = ask.streamed(normalizing, model="tool", tools=other)
    assert answer.only.text == recordings.stream_text("tool")
    assert answer.only.finish_reason == "stop"
    assert answer.only.tool_calls == []


def test_an_answer_without_a_marker_is_untouched(ask, normalizing):
    answer = ask.streamed(normalizing, model="card", tools=TOOLS)
    assert [chunk.to_dict() for chunk in answer.chunks] == recordings.stream_events("card")
    assert ask.whole(normalizing, model="card").choices[0].message.content == recordings.whole_text("card")


def test_a_marker_in_one_choice_leaves_the_other_alone(ask, provider, scripted_normalizing):
    texts = [(0, "a < b"), (1, "So: <to"), (0, " and b > a"), (1, MARKER[3:30]), (1, MARKER[30:]), (0, ".")]
    events = [*(wire.text(text, index) for index, text in texts), wire.finish(index=1), wire.finish(index=0)]
    played = provider.play(lambda exchange: exchange.stream(events))
    answer = ask.streamed(scripted_normalizing, model=played.model, n=2, tools=TOOLS)
    assert (answer.choices[0].text, answer.choices[0].finish_reason) == ("a < b and b > a.", "stop")
    assert (answer.choices[1].text.strip(), answer.choices[1].finish_reason) == ("So:", "tool_calls")
    assert [(call.name, call.parsed()) for call in answer.choices[1].tool_calls] == [("search", ARGUMENTS)]


def real_calls():
    starts = [
        fragment(0, "", id="call_a", type="function", name="search"),
        fragment(1, "", id="call_b", type="function", name="search"),
    ]
    pieces = [fragment(0, '{"qu'), fragment(0, 'ery": "weather'), fragment(1, '{"query":'), fragment(0, ' in Paris"}')]
    last = fragment(1, ' "日本"}')
    deltas = [[starts[0]], [pieces[0]], [starts[1], pieces[1]], [pieces[2]], [pieces[3], last]]
    opening = wire.delta(role="assistant", content=None)
    return [opening, *(wire.delta(tool_calls=calls) for calls in deltas), wire.finish("tool_calls")]


@pytest.mark.parametrize("daemon", ["scripted", "scripted_normalizing"])
def test_the_providers_own_streamed_calls_go_through(ask, provider, request, daemon):
    played = provider.play(lambda exchange: exchange.stream(real_calls()))
    answer = ask.streamed(request.getfixturevalue(daemon), model=played.model, tools=TOOLS)
    calls = [(call.id, call.name, call.parsed()) for call in answer.only.tool_calls]
    assert calls == [("call_a", "search", ARGUMENTS), ("call_b", "search", {"query": "日本"})]
    assert answer.only.finish_reason == "tool_calls"
    assert [chunk.to_dict() for chunk in answer.chunks] == real_calls()


def test_the_providers_own_whole_calls_go_through(ask, provider, scripted):
    call = {"id": "call_a", "type": "function", "function": {"name": "search", "arguments": json.dumps(ARGUMENTS)}}
    document = wire.whole({"content": None, "tool_calls": [call]}, finish_reason="tool_calls")
    played = provider.play(lambda exchange: exchange.document(document))
    completion = ask.whole(scripted, model=played.model, tools=TOOLS)
    assert completion.to_dict() == document


def test_the_parsing_helper_has_the_providers_own_call(provider, scripted):
    call = {"id": "call_a", "type": "function", "function": {"name": "search", "arguments": json.dumps(ARGUMENTS)}}
    document = wire.whole({"content": None, "tool_calls": [call]}, finish_reason="tool_calls")
    played = provider.play(lambda exchange: exchange.document(document))
    with openai.OpenAI(**settings(scripted)) as client:
        completion = client.chat.completions.parse(model=played.model, messages=MESSAGES, tools=TOOLS)
    assert completion.choices[0].message.tool_calls[0].function.parsed_arguments == ARGUMENTS
