"""A yes or no of the host's person, asked through the protocol (elicitation) in both eras.

In the modern era the call ends with the question, and the client calls again with the answer: nothing may have been
written before. The answer is tied to the text of its question.
"""

import asyncio
from typing import Any, Final

from mcp import types
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError

from mcp_reflect.server.service import InputNeeded
from mcp_reflect.speaker import Speaker, speaker_of_answer
from mcp_reflect.text.signature import digest

MODERN: Final = "2026-07-28"
_KEY: Final = "confirmation"
_FIELD: Final = "confirm"
_SECONDS: Final = 300.0  # in which a person answers
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        _FIELD: {"type": "boolean", "title": "Make this change", "default": False},
    },
    "required": [_FIELD],
}


class Confirmation:
    """Asks the person of one call's host."""

    def __init__(self, context: Context[Any, Any]) -> None:
        self._context = context

    async def __call__(self, question: str) -> Speaker | None:
        """Return whose word counts for the call, None if the host cannot ask or nobody answered.

        | the host                          | result              |
        |-----------------------------------|---------------------|
        | shows no forms                    | None                |
        | shows it, and it is closed        | None                |
        | sends the form with the box set   | PERSON: they agreed |
        | sends it without, or declines     | AGENT               |
        """
        if not self._shows_forms():
            return None
        if (self._context.protocol_version or "") >= MODERN:
            answer = self._sent_back(question)
        else:
            answer = await self._ask(question)
        if not isinstance(answer, types.ElicitResult) or answer.action == "cancel":
            return None
        agreed = (answer.content or {}).get(_FIELD) is True
        return speaker_of_answer(accepted=answer.action == "accept" and agreed)

    def _shows_forms(self) -> bool:
        """Return whether the host shows forms.

        `elicitation: {}` of older hosts means forms; a host that lists `url` alone shows none.
        """
        capabilities = self._context.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            return False
        ways = capabilities.elicitation
        return ways.form is not None or ways.url is None

    def _sent_back(self, question: str) -> Any:
        """Return the answer that the client sent back, or end the call with the question.

        The question's digest is the state that the client sends back: an answer to another question does not count.
        """
        question_key = digest(question, 32)
        if self._context.request_state == question_key:
            return (self._context.input_responses or {}).get(_KEY)
        params = types.ElicitRequestFormParams(message=question, requested_schema=_SCHEMA)
        raise InputNeeded(
            types.InputRequiredResult(
                input_requests={_KEY: types.ElicitRequest(params=params)},
                request_state=question_key,
            )
        )

    async def _ask(self, question: str) -> types.ElicitResult | None:
        """Ask the person in the middle of the call, as hosts of the old era let us; None if nobody answers in time."""
        asking = self._context.session.elicit_form(question, _SCHEMA, self._context.request_id)
        try:
            async with asyncio.timeout(_SECONDS):
                return await asking
        except (TimeoutError, MCPError):
            return None
