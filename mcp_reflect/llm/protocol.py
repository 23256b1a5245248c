"""The seam to a language model: one question, one reply, one method.

A provider implements `complete`; retries, limits, metering and recording are wrappers that implement
it too, so whoever asks cannot tell a bare provider from a wrapped one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from mcp_reflect.models.common import Json


class Role(StrEnum):
    """What the language model is asked to be. Configuration binds one to each role."""

    REFLECTOR = "reflector"
    CRITIC = "critic"
    CORRECTOR = "corrector"
    PLANNER = "planner"
    EVALUATOR = "evaluator"
    DREAMER = "dreamer"


class Stop(StrEnum):
    """Why the reply ends where it does. Only END is an answer; the others leave whoever asked on its own.

    end: the reply is whole. length: it was cut off at `max_tokens` or the context's end. refusal: the
    language model declined, with or without words. tool_use: it called a tool nobody offered. empty:
    it said nothing.
    """

    END = "end"
    LENGTH = "length"
    REFUSAL = "refusal"
    TOOL_USE = "tool_use"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one completion, as the provider counted them; all zero where it did not say.

    `input_tokens` is everything that was read; `cache_read` and `cache_write` are the parts of it that
    came from, or went into, the provider's prompt cache.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read: int = 0
    cache_write: int = 0


NOTHING_USED = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question.

    `system` is the same for every question of a role, so that a provider can cache it; `user` is what
    changes. `schema` is the JSON schema of the reply, null for free text. `max_tokens` (1 or more)
    limits the reply; `timeout` is the seconds (more than 0) in which the reply must be there, retries
    included.
    """

    role: Role
    system: str
    user: str
    schema: Mapping[str, Json] | None = None
    max_tokens: int = 2000
    timeout: float = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back. `llm` names who answered, as `provider:model`.

    `parsed` is the JSON value of `text` where a schema was asked for and the text is JSON as it stands;
    it is not checked against the schema. Null otherwise: the reading of messier text is another matter.
    """

    text: str
    stop: Stop
    llm: str
    parsed: Json = None
    usage: Usage = NOTHING_USED


class LLM(Protocol):
    """A language model, or a wrapper around one.

    `complete` returns within `request.timeout` or raises an `LLMError`; it raises nothing else on
    purpose, and leaves nothing running when it is cancelled.
    """

    async def complete(self, request: Request) -> Reply: ...
