"""A scripted language model: it says what the test wrote down, and fails on any call the test did not expect."""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from mcp_reflect.llm.protocol import NOTHING_USED, Reply, Request, Role, Stop, reply_of

Answer = str | Reply | Exception | Callable[[Request], "str | Reply"]
"""What it says next: a text, a whole reply, an error to raise, or a function of the request."""

NAME = "scripted:model"


class ScriptError(AssertionError):
    """The calls were not those of the script."""


class Scripted:
    """Gives `answers` in order, one for each call, and keeps the requests in `asked`.

    `roles`, where given, are the roles that the calls must be of, in order. As a context manager it
    fails where answers are left over, unless the block failed already.
    """

    def __init__(self, *answers: Answer, roles: Sequence[Role] | None = None) -> None:
        self._answers = list(answers)
        self._roles = roles
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        number = len(self.asked)
        if not self._answers:
            raise ScriptError(
                f"unexpected call {number + 1} ({request.role}): {request.user[:300]!r}"
            )
        if self._roles is not None and self._roles[number] is not request.role:
            raise ScriptError(
                f"call {number + 1} was expected of the {self._roles[number]}, not the {request.role}"
            )
        self.asked.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        said = answer if isinstance(answer, str | Reply) else answer(request)
        return reply_of(NAME, said, Stop.END, NOTHING_USED) if isinstance(said, str) else said

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        if kind is None and self._answers:
            raise ScriptError(f"{len(self._answers)} answers of the script were never asked for")
