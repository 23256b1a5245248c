"""Serves recorded completions instead of asking anybody."""

import json
from collections import defaultdict, deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from mcp_reflect.errors import McpReflectError
from mcp_reflect.llm.errors import LLMError
from mcp_reflect.llm.protocol import Reply, Request
from mcp_reflect.llm.tape import Redact, read_reply, request_json
from mcp_reflect.llm.wire import section, strict_json


class ReplayError(McpReflectError):
    """The replay differs from the recording: an unknown request, one too many, or one that never came.

    It is no `LLMError`, so that it ends the run and does not pass for a failing provider.
    """


class Replay:
    """Answers each request with what was recorded for the same one, in the order of the recording.

    As a context manager it raises `ReplayError` at the end where recorded completions were not asked
    for, unless the block raised already. `redact` must be the one of the recording.
    """

    def __init__(self, path: Path, redact: Redact) -> None:
        self._redact = redact
        self._waiting: defaultdict[str, deque[Reply | LLMError]] = defaultdict(deque)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            value = strict_json(line)
            try:
                recorded = value if isinstance(value, dict) else {}
                self._waiting[_identity(section(recorded, "request"))].append(read_reply(recorded))
            except ValueError as error:
                raise ReplayError(f"{path}:{number}: this is no recorded completion ({error})") from error

    async def complete(self, request: Request) -> Reply:
        """The recorded reply, or the recorded error raised; `ReplayError` where there is none."""
        waiting = self._waiting.get(_identity(request_json(request, self._redact)))
        if not waiting:
            raise ReplayError(f"no recorded completion is left for this {request.role}: {request.user[:200]!r}")
        recorded = waiting.popleft()
        if isinstance(recorded, LLMError):
            raise recorded
        return recorded

    def leftover(self) -> int:
        """How many recorded completions were not asked for."""
        return sum(len(waiting) for waiting in self._waiting.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None and self.leftover():
            raise ReplayError(f"{self.leftover()} recorded completions were not asked for")


def _identity(request: Mapping[str, object]) -> str:
    return json.dumps(request, sort_keys=True)
