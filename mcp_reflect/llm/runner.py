"""Asks the configured language model of a role, else the host's model; what cannot be had is left to rules."""

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError, McpReflectError
from mcp_reflect.llm.budget import UsageStore, one_call
from mcp_reflect.llm.json_replies import read_object
from mcp_reflect.llm.prompts import Input, Prompts, Rendered
from mcp_reflect.llm.protocol import LLM, LLMError, Reply, Request, Role, Stop, TimedOutError
from mcp_reflect.llm.providers import Foreign, Registry, Stack, Timeout
from mcp_reflect.llm.reply_schema import schema_of
from mcp_reflect.log import Log
from mcp_reflect.models.common import Json
from mcp_reflect.security.fencing import fence
from mcp_reflect.security.redact import quoted

CALL_SECONDS: Final = 45.0
"""Hosts give up on a call at 60 s; ours ends before, with the best so far."""

GIVEN: Final = "given in Python"
"""The name of a language model that was given in Python."""

_LEAST_SECONDS: Final = 1.0  # less is not worth asking for a second time
_SHOWN_ERROR: Final = 400  # characters of the error that a reply is shown

_Read = TypeVar("_Read")

Progress = Callable[[float, str], Awaitable[None]]
"""Receives the progress of a call: the number of steps done, and a sentence for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCapabilities:
    """The capabilities of a call's client: its own model (`sampling`), and progress reports."""

    llm: LLM | None = None
    progress: Progress | None = None


NO_CLIENT: Final = ClientCapabilities()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult(Generic[_Read]):
    """The result of a request to a model. `value` is None where no model gave a usable reply, and `note` says why.

    `note` also marks a value that was read from plain text. `thinker` names who answered, and the tokens
    are those of all its replies. `late` says that nobody answered in time.
    """

    value: _Read | None = None
    thinker: str | None = None
    note: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    late: bool = False


class ModelRunner:
    """Asks the language model of a role with a prompt template, and reads the reply."""

    def __init__(self, settings: Settings, store: UsageStore, *, llm: LLM | None, log: Log, clock: Clock) -> None:
        self.prompts = Prompts(settings.prompts_folder)
        self._seconds = min(settings.llm_seconds, CALL_SECONDS)
        self._llm = Timeout(Foreign(llm, GIVEN, "the model"), GIVEN) if llm else None
        self._log = log
        env = settings.llm_settings
        self._registry = Registry(env, Stack(env, store=store, clock=clock))

    def llm(self, role: Role, host: ClientCapabilities) -> LLM | None:
        """Return the model for a role: the one given in Python, the configured one, the host's, or None."""
        return self._llm or self._registry.llm(role) or host.llm

    def overridden(self) -> list[str]:
        """Return the prompts that a person's own template serves."""
        return [name for name in self.prompts.names() if self.prompts.load(name).overridden]

    def bound(self) -> dict[str, str]:
        """Return the model of each role: `provider:model`, `off`, or `unusable`. Never a key."""
        if self._llm is not None:
            return dict.fromkeys(Role, GIVEN)
        return {role.value: self._registry.describe(role) for role in Role}

    def problems(self) -> list[str]:
        """Return the errors of the settings of language models and of the prompt overrides."""
        return [*map(str, self._registry.problems()), *map(str, self.prompts.check())]

    async def generate(
        self,
        role: Role,
        prompt: str,
        inputs: Mapping[str, Input],
        *,
        host: ClientCapabilities,
        read: Callable[[Json], _Read],
        read_text: Callable[[str], _Read] | None = None,
        seconds: float = CALL_SECONDS,
    ) -> ModelResult[_Read]:
        """Ask once, and once more where the reply cannot be used.

        `read` makes the value of a JSON object, `read_text` of plain text; both raise InputError for
        what is none. `seconds` is what the whole may take.
        """
        llm = self.llm(role, host)
        if llm is None:
            return ModelResult()
        try:
            rendered = self.render(prompt, inputs)
            if host.progress:
                await host.progress(0, f"asking the {role.value}")
            with one_call():
                return await _Conversation(llm, role, rendered, read).run(read_text, min(seconds, self._seconds))
        except McpReflectError as error:
            llm_name = error.llm if isinstance(error, LLMError) else None
            self._log("llm_failed", "warning", role=role.value, kind=type(error).__name__, llm=llm_name)
            return ModelResult(note=str(error), late=isinstance(error, TimedOutError))

    def render(self, prompt: str, inputs: Mapping[str, Input]) -> Rendered:
        """Return a prompt with its places filled; an override that is broken is passed over, and the log says why."""
        rendered = self.prompts.render(prompt, **inputs)
        if rendered.problem is not None:
            self._log("prompt_override_refused", "warning", prompt=prompt, problem=str(rendered.problem))
        return rendered


class _Conversation(Generic[_Read]):
    """One request, one retry that shows the model its error, and the tokens of both."""

    def __init__(self, llm: LLM, role: Role, rendered: Rendered, read: Callable[[Json], _Read]) -> None:
        self._llm = llm
        self._role = role
        self._rendered = rendered
        self._read = read
        self._input = self._output = 0

    async def run(self, read_text: Callable[[str], _Read] | None, seconds: float) -> ModelResult[_Read]:
        """Return the value of one of at most two replies in `seconds`; else of the plain text of the last one."""
        end = time.monotonic() + seconds
        user, fault = self._rendered.user, ""
        reply: Reply | None = None
        for turn in range(2):
            left = end - time.monotonic()
            if turn and left < _LEAST_SECONDS:
                break
            reply = await self._ask(user, left)
            if reply.stop not in (Stop.END, Stop.LENGTH):
                return self._result(note=f"{reply.llm} gave no answer ({reply.stop.value})")
            try:
                return self._result(value=self._value(reply), thinker=reply.llm)
            except InputError as error:
                fault = quoted(error, _SHOWN_ERROR)
                # The fault may quote the reply, and the reply a text of the trace: it is data too.
                shown = f"Your reply could not be used, and this is why:\n{fence('fault', fault)}"
                user = f"{self._rendered.user}\n\n{shown}\nReply again with the JSON object alone."
        if reply is not None and read_text is not None and reply.stop is Stop.END and reply.text.strip():
            with suppress(InputError):
                value = read_text(reply.text)
                return self._result(value=value, thinker=reply.llm, note="read from plain text: the reply was not JSON")
        name = reply.llm if reply else "the language model"
        return self._result(note=f"{name} sent nothing that can be used: {fault}")

    async def _ask(self, user: str, seconds: float) -> Reply:
        rendered = self._rendered
        reply = await self._llm.complete(
            Request(
                role=self._role,
                system=rendered.system,
                user=user,
                schema=schema_of(rendered.output) if rendered.output else None,
                max_tokens=rendered.token_limit,
                timeout=seconds,
            )
        )
        self._input += reply.usage.input_tokens
        self._output += reply.usage.output_tokens
        return reply

    def _value(self, reply: Reply) -> _Read:
        names = set(self._rendered.output or {})
        value = reply.parsed if isinstance(reply.parsed, dict) else read_object(reply.text, names)
        if value is None:
            raise InputError("reply", "it holds no JSON object", "Send one object of the shape that was asked for.")
        if reply.stop is Stop.LENGTH and reply.parsed is None:
            raise InputError("reply", "it was cut off", "Be shorter.")
        return self._read(value)

    def _result(
        self, *, value: _Read | None = None, thinker: str | None = None, note: str | None = None
    ) -> ModelResult[_Read]:
        return ModelResult(
            value=value, thinker=thinker, note=note, input_tokens=self._input, output_tokens=self._output
        )
