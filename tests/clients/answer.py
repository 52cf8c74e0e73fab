"""A streamed answer as a client puts it together from the chunks that it was given."""

import json
from dataclasses import dataclass, field

from openai.types.chat import ChatCompletionChunk


@dataclass
class ToolCall:
    """A call, its fragments joined."""

    id: str | None = None
    name: str = ""
    arguments: str = ""

    def parsed(self) -> dict:
        """The arguments, which must be JSON."""
        return json.loads(self.arguments)


@dataclass
class Choice:
    """One choice of an answer."""

    text: str = ""
    reasoning: str = ""
    finish_reasons: list[str] = field(default_factory=list)
    tool_calls: list[ToolCall] = field(default_factory=list)

    @property
    def finish_reason(self) -> str:
        """Why it ended; every choice ends once."""
        (reason,) = self.finish_reasons
        return reason


class Answer:
    """What came, in order, and what it amounts to."""

    def __init__(self):
        self.chunks: list[ChatCompletionChunk] = []
        self.choices: dict[int, Choice] = {}
        self.usage = None
        self.stop: dict | None = None

    def take(self, chunk: ChatCompletionChunk) -> None:
        """Takes the next chunk."""
        self.chunks.append(chunk)
        self.usage = chunk.usage or self.usage
        self.stop = (chunk.model_extra or {}).get("seam", {}).get("stop", self.stop)
        for delta in chunk.choices:
            self._take_choice(delta)

    def _take_choice(self, part) -> None:
        choice = self.choices.setdefault(part.index, Choice())
        choice.text += part.delta.content or ""
        choice.reasoning += (part.delta.model_extra or {}).get("reasoning_content") or ""
        if part.finish_reason is not None:
            choice.finish_reasons.append(part.finish_reason)
        for fragment in part.delta.tool_calls or []:
            while len(choice.tool_calls) <= fragment.index:
                choice.tool_calls.append(ToolCall())
            call = choice.tool_calls[fragment.index]
            call.id = fragment.id or call.id
            call.name += fragment.function.name or ""
            call.arguments += fragment.function.arguments or ""

    @property
    def only(self) -> Choice:
        """The one choice of an answer that has no other."""
        assert list(self.choices) == [0]
        return self.choices[0]
