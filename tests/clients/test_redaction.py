"""`redaction`: what must not be seen is not seen, however it was cut into chunks."""

import recordings

NUMBER = "4111"
REDACTED = "Your order is paid with card [REDACTED:card]; the receipt went to [REDACTED:email]. Thank you!"


def test_the_recording_spreads_the_card_number_over_several_chunks():
    texts = [choice["delta"].get("content") or "" for event in recordings.stream_events("card") for choice in event["choices"]]
    assert "4111 1111 1111 1111" in "".join(texts)
    assert not any("4111 1111 1111 1111" in text for text in texts)


def test_a_streamed_card_number_is_redacted(ask, redacting):
    answer = ask.streamed(redacting, model="card")
    assert answer.only.text == REDACTED
    assert answer.only.finish_reason == "stop"
    assert not any(NUMBER in chunk.to_json() for chunk in answer.chunks)
    assert answer.usage.total_tokens == 37


def test_a_whole_answers_card_number_is_redacted(ask, redacting):
    completion = ask.whole(redacting, model="card")
    assert completion.choices[0].message.content == REDACTED
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage.total_tokens == 37


def test_the_accumulating_helper_never_has_the_card_number(ask, redacting):
    events, completion = ask.helper(redacting, model="card")
    assert completion.choices[0].message.content == REDACTED
    assert not any(NUMBER in event.to_json() for event in events)


def test_text_without_anything_to_redact_is_untouched(ask, redacting):
    assert ask.streamed(redacting, model="refusal").only.text == recordings.stream_text("refusal")
    assert ask.whole(redacting, model="refusal").choices[0].message.content == recordings.whole_text("refusal")
