"""The host's own model, asked through the protocol, in both eras, as one more `LLM`.

In the old era the server asks in the middle of a call. In the modern one it may not: the call ends with a request,
the client calls again with the answer, and the tool's body runs again from the start. So a request must depend on
the call's arguments alone, and earlier answers come from the state that the client sends back (sealed by the SDK).
Each answer is tied to the text of its request.
"""

import asyncio
import json
import warnings
from typing import Any, Final

from mcp import types
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError

from mcp_reflect.llm import protocol
from mcp_reflect.llm.protocol import Reply, Request, Stop
from mcp_reflect.security.redact import quoted
from mcp_reflect.server.service import InputNeeded
from mcp_reflect.text.signature import digest

NAME: Final = "sampling"
MOST_REQUESTS: Final = 8  # of one call: a person may be asked to allow each
MODERN: Final = "2026-07-28"
"""The version of the protocol from which on a server may not ask in the middle of a call."""

_KEY: Final = "answer"
_STOPS: Final = {"maxTokens": Stop.LENGTH, "toolUse": Stop.TOOL_USE, "refusal": Stop.REFUSAL}


class Sampling:
    """The host's model for one call. At most 8 requests."""

    def __init__(self, context: Context[Any, Any]) -> None:
        self._context = context
        self._is_modern = (context.protocol_version or "") >= MODERN
        self._replies: list[dict[str, str]] = []
        if self._is_modern and context.request_state:
            self._replies = json.loads(context.request_state)  # sealed, so they are ours
        self._asked = 0

    async def complete(self, request: Request) -> Reply:
        """Return the host's reply. Raises an LLMError where it declines, fails or is too late.

        In the modern era the server may not ask within a call: where the client has not sent the reply yet, InputNeeded
        is raised, which ends the call with the request. The tool's body then runs again from its start, so that the
        same requests come in the same order and are known by their numbers.
        """
        if self._asked >= MOST_REQUESTS:
            raise protocol.BudgetExceededError(
                NAME, f"a call may ask {MOST_REQUESTS} times", "Ask for less at once"
            )
        number = self._asked  # of this request in the call, from 0
        self._asked += 1
        if self._is_modern:
            return self._from_state(number, request)
        return await self._ask(request)

    def _from_state(self, number: int, request: Request) -> Reply:
        """Return the reply to the request of this number (from 0), or end the call with the request.

        `self._replies` is the state that came back: for each request an object with its `question`, a digest. All but the
        last have `text` and `stop` from earlier rounds; the answer to the last comes beside the state.

        | the state                     | result                                                       |
        |-------------------------------|--------------------------------------------------------------|
        | ends with this request        | the answer that came beside it; UnreachableError without one |
        | has this request, answered    | that answer                                                  |
        | has another request here      | RefusedError: the arguments changed between two rounds       |
        | has no request of this number | the call ends with the request                               |
        """
        question = digest(f"{request.system}\0{request.user}", 32)
        if number >= len(self._replies):
            raise self._ask_in_next_round(question, request)
        if number == len(self._replies) - 1 and self._replies[number] == {"question": question}:
            answer = (self._context.input_responses or {}).get(_KEY)
            if not isinstance(answer, types.CreateMessageResult):
                raise protocol.UnreachableError(NAME, "the host sent no answer", "Call again")
            self._replies[number] = {"question": question, **_plain(answer)}
        answered = self._replies[number]
        if answered["question"] != question or "text" not in answered:
            raise protocol.RefusedError(
                NAME, "the question changed between two rounds of a call", "Call again"
            )
        return _reply(answered)

    def _ask_in_next_round(self, question: str, request: Request) -> InputNeeded:
        """Return what ends the call with a request, and with the replies so far as its state."""
        state = json.dumps([*self._replies, {"question": question}])
        asked = types.CreateMessageRequest(method="sampling/createMessage", params=_params(request))
        return InputNeeded(
            types.InputRequiredResult(input_requests={_KEY: asked}, request_state=state)
        )

    async def _ask(self, request: Request) -> Reply:
        """Ask the host in the middle of the call, as hosts of the old era let us."""
        params = _params(request)
        with warnings.catch_warnings():
            # Sampling is deprecated, and until July 2027 it is what hosts of the old era have.
            warnings.simplefilter("ignore")
            asking = self._context.session.create_message(  # pyright: ignore[reportDeprecated]
                params.messages,
                max_tokens=params.max_tokens,
                system_prompt=params.system_prompt,
                related_request_id=self._context.request_id,
            )
        try:
            async with asyncio.timeout(request.timeout):
                answer = await asking
        except TimeoutError:
            raise protocol.TimedOutError(
                NAME, f"the host did not answer in {request.timeout:.0f} s", "Try again"
            ) from None
        except MCPError as error:
            fault = f"the host declined: {quoted(error, 200)}"
            raise protocol.UnreachableError(NAME, fault, "Allow sampling in the host") from None
        return _reply(_plain(answer))


def _params(request: Request) -> types.CreateMessageRequestParams:
    """Return a request in the form of the protocol."""
    return types.CreateMessageRequestParams(
        messages=[
            types.SamplingMessage(
                role="user", content=types.TextContent(type="text", text=request.user)
            )
        ],
        system_prompt=request.system,
        max_tokens=request.max_tokens,
    )


def _plain(answer: types.CreateMessageResult) -> dict[str, str]:
    """Return an answer as {"text": "…", "stop": "end"}; without text its stop is "empty", if the host names no other."""
    text = ""
    if isinstance(answer.content, types.TextContent):
        text = answer.content.text
    usual_stop = Stop.END if text.strip() else Stop.EMPTY
    stop = _STOPS.get(answer.stop_reason or "", usual_stop)
    return {"text": text, "stop": stop.value}


def _reply(plain_reply: dict[str, str]) -> Reply:
    """Return a reply from its plain form, in which it may have been sealed and sent back."""
    return Reply(text=plain_reply["text"], stop=Stop(plain_reply["stop"]), llm=NAME)
