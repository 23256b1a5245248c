"""Writes down what was asked and what came back, to be replayed or read by a person."""

import json
import os
from pathlib import Path

from mcp_reflect.llm.errors import LLMError
from mcp_reflect.llm.protocol import LLM, Reply, Request
from mcp_reflect.llm.tape import Redact, error_json, reply_json, request_json
from mcp_reflect.records.json import Json


class Recording:
    """Appends each completion of `llm` to a JSON Lines file of mode 0600, when it has ended.

    `redact` cuts secrets out of every text first. A request holds no key, so none can be recorded. A
    cancelled completion leaves no line. Raises `OSError` where the file cannot be written.
    """

    def __init__(self, llm: LLM, path: Path, redact: Redact) -> None:
        self._llm = llm
        self._path = path
        self._redact = redact

    async def complete(self, request: Request) -> Reply:
        """The reply of the wrapped one, or its error, written down."""
        try:
            reply = await self._llm.complete(request)
        except LLMError as error:
            self._append(request, "error", error_json(error, self._redact))
            raise
        self._append(request, "reply", reply_json(reply, self._redact))
        return reply

    def _append(self, request: Request, name: str, ended: dict[str, Json]) -> None:
        """One write for the whole line: lines of several processes do not mix."""
        line = json.dumps({"request": request_json(request, self._redact), name: ended}) + "\n"
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line.encode("ascii"))
        finally:
            os.close(handle)
