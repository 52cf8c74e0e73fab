"""What real providers send beyond plain text reaches the client as they sent it."""

import wire


def test_two_streamed_choices_stay_apart(ask, provider, scripted):
    events = [
        wire.delta(0, role="assistant", content=""),
        wire.delta(1, role="assistant", content=""),
        wire.text("red", index=1),
        wire.text("blue", index=0),
        wire.event([
            {"index": 0, "delta": {"content": " sky"}, "finish_reason": None},
            {"index": 1, "delta": {"content": " rose"}, "finish_reason": None},
        ]),
        wire.finish("length", index=1),
        wire.finish("stop", index=0),
    ]
    played = provider.play(lambda exchange: exchange.stream(events))
    answer = ask.streamed(scripted, model=played.model, n=2)
    assert played.only.body["n"] == 2
    assert (answer.choices[0].text, answer.choices[0].finish_reason) == ("blue sky", "stop")
    assert (answer.choices[1].text, answer.choices[1].finish_reason) == ("red rose", "length")


def test_two_whole_choices_stay_apart(ask, provider, scripted):
    document = wire.whole({"content": "blue"}, {"content": "red"})
    played = provider.play(lambda exchange: exchange.document(document))
    completion = ask.whole(scripted, model=played.model, n=2)
    assert completion.to_dict() == document


def test_usage_comes_in_a_last_chunk_when_it_is_asked_for(ask, provider, scripted):
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1}}

    def with_usage_if_asked(exchange):
        asked = exchange.received.body.get("stream_options", {}).get("include_usage", False)
        last = [wire.event([], usage=usage)] if asked else []
        exchange.stream([wire.text("Hello"), wire.finish(), *last])

    played = provider.play(with_usage_if_asked)
    answer = ask.streamed(scripted, model=played.model, stream_options={"include_usage": True})
    assert answer.chunks[-1].choices == []
    assert answer.usage.to_dict() == usage
    assert ask.streamed(scripted, model=played.model).usage is None


def test_streamed_reasoning_stays_apart_from_the_answer(ask, provider, scripted):
    events = [
        wire.delta(role="assistant", reasoning_content="They "),
        wire.delta(reasoning_content="ask."),
        wire.text("Hello"),
        wire.finish(),
    ]
    played = provider.play(lambda exchange: exchange.stream(events))
    answer = ask.streamed(scripted, model=played.model)
    assert (answer.only.reasoning, answer.only.text) == ("They ask.", "Hello")


def test_whole_reasoning_stays_apart_from_the_answer(ask, provider, scripted):
    document = wire.whole({"content": "Hello", "reasoning_content": "They ask."})
    played = provider.play(lambda exchange: exchange.document(document))
    message = ask.whole(scripted, model=played.model).choices[0].message
    assert (message.model_extra["reasoning_content"], message.content) == ("They ask.", "Hello")


def test_a_first_chunk_without_choices_is_passed_on(ask, provider, scripted):
    filters = [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}}]
    opening = {**wire.event([], prompt_filter_results=filters), "id": "", "model": "", "created": 0}
    events = [opening, wire.delta(role="assistant", content=""), wire.text("Hello"), wire.finish()]
    played = provider.play(lambda exchange: exchange.stream(events))
    answer = ask.streamed(scripted, model=played.model)
    assert answer.only.text == "Hello"
    assert answer.chunks[0].model_extra["prompt_filter_results"] == filters
    assert [chunk.to_dict() for chunk in answer.chunks] == events
    _, completion = ask.helper(scripted, model=played.model)
    assert completion.choices[0].message.content == "Hello"


def test_members_that_nobody_knows_are_passed_on(ask, provider, scripted):
    known = {"index": 0, "delta": {"content": "Hello", "mood": "fair"}, "finish_reason": None, "native": {"a": [1, None]}}
    events = [wire.event([known], service_tier="default", number=1e300, deep={"er": [{}]}), wire.finish()]
    played = provider.play(lambda exchange: exchange.stream(events))
    assert [chunk.to_dict() for chunk in ask.streamed(scripted, model=played.model).chunks] == events


def test_log_probabilities_are_passed_on(ask, provider, scripted):
    logprobs = {"content": [{"token": "Hi", "logprob": -0.25, "bytes": [72, 105], "top_logprobs": []}], "refusal": None}
    choice = {"index": 0, "delta": {"content": "Hi"}, "logprobs": logprobs, "finish_reason": None}
    played = provider.play(lambda exchange: exchange.stream([wire.event([choice]), wire.finish()]))
    answer = ask.streamed(scripted, model=played.model, logprobs=True)
    assert answer.chunks[0].choices[0].logprobs.to_dict() == logprobs


def test_a_providers_own_refusal_is_passed_on(ask, provider, scripted):
    events = [wire.delta(role="assistant", refusal="I "), wire.delta(refusal="won't."), wire.finish()]
    played = provider.play(lambda exchange: exchange.stream(events))
    _, completion = ask.helper(scripted, model=played.model)
    assert completion.choices[0].message.refusal == "I won't."
