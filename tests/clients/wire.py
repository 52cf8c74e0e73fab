"""The provider's side of the protocol: events of a stream and whole answers, as scripts send them."""

CREATED = 1764500000


def event(choices: list[dict], **more) -> dict:
    """An event of a stream."""
    head = {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": CREATED, "model": "scripted"}
    return {**head, "choices": choices, **more}


def delta(index: int = 0, finish_reason: str | None = None, **members) -> dict:
    """An event with one choice."""
    return event([{"index": index, "delta": members, "finish_reason": finish_reason}])


def text(content: str, index: int = 0) -> dict:
    """An event with a piece of the answer."""
    return delta(index, content=content)


def finish(reason: str = "stop", index: int = 0) -> dict:
    """An event that ends a choice."""
    return delta(index, finish_reason=reason)


def whole(*messages: dict, finish_reason: str = "stop", **more) -> dict:
    """A whole answer, with a choice for each message."""
    choices = [
        {"index": index, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
        for index, message in enumerate(messages)
    ]
    head = {"id": "chatcmpl-scripted", "object": "chat.completion", "created": CREATED, "model": "scripted"}
    return {**head, "choices": choices, **more}


def error(message: str, kind: str, code: str) -> dict:
    """An error, as a whole answer or as an event of a stream."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
