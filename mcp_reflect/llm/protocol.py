"""The interface to a language model: one question, one reply, one method; and its errors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, cast

from mcp_reflect.errors import McpReflectError
from mcp_reflect.models.common import Json


class LLMError(McpReflectError):
    """A completion that failed. No tool fails with it: each falls back to rules.

    `llm` names who was asked (`provider:model`), `fault` says what happened, `fix` what to do about it; the three
    together are the message. None of them holds a key.
    """

    def __init__(self, llm: str, fault: str, fix: str) -> None:
        super().__init__(f"{llm}: {fault}. {fix}")
        self.llm = llm
        self.fault = fault
        self.fix = fix


class LLMSettingError(LLMError):
    """A setting that cannot be used; `setting` is its name and stands first in the message."""

    def __init__(self, setting: str, fault: str, fix: str) -> None:
        super().__init__(setting, fault, fix)
        self.setting = setting


class RefusedError(LLMError):
    """The endpoint, the agent program or the host does not answer the request; `status` is the HTTP status, if any.

    The key may be wrong (401), the model unknown (404), the load too high (429, 5xx), the request unusable (400).
    """

    def __init__(self, llm: str, fault: str, fix: str, *, status: int | None = None) -> None:
        super().__init__(llm, fault, fix)
        self.status = status


class UnreachableError(LLMError):
    """No connection, or one that broke before the reply was whole."""


class TimedOutError(LLMError):
    """The reply was not there in time. There is no time left to try again in."""


class GarbledReplyError(LLMError):
    """The endpoint says all is well, and what it sent is not a reply of its API."""


class BudgetExceededError(LLMError):
    """The completion might cost more than a limit leaves. Nothing was sent."""


class Role(StrEnum):
    """The task that a language model is asked to do. Settings may name a model for each role."""

    REFLECTOR = "reflector"
    CRITIC = "critic"
    CORRECTOR = "corrector"
    PLANNER = "planner"
    EVALUATOR = "evaluator"
    DREAMER = "dreamer"


class Stop(StrEnum):
    """The reason why a reply ends. Only END is an answer."""

    END = "end"  # it is whole
    LENGTH = "length"  # it was cut off at `max_tokens`, or at the end of the context
    REFUSAL = "refusal"  # the model declined, with or without words
    TOOL_USE = "tool_use"  # it called a tool that nobody offered
    EMPTY = "empty"  # it has no words


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one completion, those of the provider's prompt cache included; zero where it did not count them."""

    input_tokens: int = 0
    output_tokens: int = 0


NOTHING_USED = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChunk:
    """A piece of a reply's text, as the model of `role` writes it. One that is `first` starts the text again."""

    role: Role
    text: str
    first: bool


TextListener = Callable[[TextChunk], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question."""

    role: Role
    system: str  # the same for every question of a role, so that a provider can cache it
    user: str  # what changes
    schema: Mapping[str, Json] | None = None  # the JSON schema of the reply, None for free text
    max_tokens: int = 2000  # of the reply, 1 or more
    timeout: float = 40.0  # seconds in which the reply must be there, retries included
    on_text: TextListener | None = None  # hears the text as it is written, if the model streams


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply, whose text `json_replies` reads. `llm` names the model that answered, as `provider:model`."""

    text: str
    stop: Stop
    llm: str
    usage: Usage = NOTHING_USED


class LLM(Protocol):
    """A language model, or a wrapper around one.

    `complete` returns within `request.timeout` or raises an `LLMError`; it raises nothing else on
    purpose, and leaves nothing running when it is canceled.
    """

    async def complete(self, request: Request) -> Reply:
        """Return the reply to a request."""
        ...


def reply_of(llm: str, text: str, stop: Stop, usage: Usage) -> Reply:
    """Return the reply; a blank text is an empty one."""
    text = without_lone_surrogates(text)
    if stop is Stop.END and not text.strip():
        stop = Stop.EMPTY
    return Reply(text=text, stop=stop, llm=llm, usage=usage)


def count_of(usage: object, *names: str) -> int:
    """Return the sum of the counts under these names in an object or a mapping; a value that is no count is 0.

    {"input_tokens": 20, "cached": None} with "input_tokens", "cached" -> 20
    """
    fields: object = usage
    if not isinstance(usage, Mapping):
        fields = getattr(usage, "__dict__", {})
    counts = [cast("Mapping[str, object]", fields).get(name) for name in names]
    return sum(count for count in counts if isinstance(count, int) and count > 0)


def without_lone_surrogates(text: str) -> str:
    """Return `text` with U+FFFD for each half of a surrogate pair that stands alone: no encoding has a place for it.

    "a\ud83d" -> "a\ufffd"
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
