"""Ask the configured language model of a role, else the host's model; if neither gives a usable reply, rules answer."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError, McpReflectError
from mcp_reflect.llm.budget import Account, TokenCounter, spent_in_call
from mcp_reflect.llm.json_replies import read_object, without_thinking
from mcp_reflect.llm.prompts import Input, Prompts, Rendered
from mcp_reflect.llm.protocol import (
    LLM,
    LLMError,
    Reply,
    Request,
    Role,
    Stop,
    TextChunk,
    TextListener,
)
from mcp_reflect.llm.providers import Model, Registry
from mcp_reflect.llm.reply_schemas import schema_of
from mcp_reflect.log import Log
from mcp_reflect.models.common import Json
from mcp_reflect.security.injection import fence
from mcp_reflect.security.redact import quoted
from mcp_reflect.speaker import Confirm

CALL_SECONDS: Final = 45.0
"""Hosts give up on a call at 60 s; ours ends before, with the best so far."""

GIVEN: Final = "given in Python"
"""The name of a language model that was given in Python."""

_MOST_REPLIES: Final = 2
_LEAST_SECONDS: Final = 1.0  # less is not worth asking for a second time
_SHOWN_ERROR: Final = 400  # characters of the error that a reply is shown

_Read = TypeVar("_Read")

Progress = Callable[[float, str], Awaitable[None]]
"""Receives the progress of a call: the number of steps done, and a sentence for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCapabilities:
    """What the client of a call offers; None for what it does not."""

    llm: LLM | None = None  # its own model, which it lets us ask (`sampling`)
    progress: Progress | None = None
    on_text: TextListener | None = None
    confirm: Confirm | None = None  # asks its person


NO_CLIENT: Final = ClientCapabilities()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult(Generic[_Read]):
    """The result of a request to a model. The tokens are those of all its replies."""

    value: _Read | None = None  # None where no model gave a usable reply
    thinker: str | None = None  # who gave it
    note: str | None = None  # why there is no value, or that it was read from plain text
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def failed(self) -> bool:
        """True if a model was asked and gave nothing that can be used."""
        return self.value is None and bool(self.note)


class ModelRunner:
    """Asks the language model of a role with a prompt template, and reads the reply."""

    def __init__(
        self, settings: Settings, store: TokenCounter, *, llm: LLM | None, log: Log
    ) -> None:
        self.prompts = Prompts(settings.prompts_dir)
        self._seconds = min(settings.llm_seconds, CALL_SECONDS)
        # Its tokens are counted; limits are those of configured models.
        self._llm: Model | None = None
        if llm:
            self._llm = Model(llm, GIVEN, "the model", Account(store))
        self._log = log
        self._registry = Registry(settings.llm_settings, store)

    def llm(self, role: Role, host: ClientCapabilities) -> LLM | None:
        """Return the model for a role: the one given in Python, the configured one, the host's unless it is `off`."""
        configured = self._llm or self._registry.llm(role)
        if configured:
            return configured
        if self._registry.is_off(role):
            return None
        return host.llm

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
        reads_text: bool = False,
        same_call: bool = False,
        seconds: float = CALL_SECONDS,
    ) -> ModelResult[_Read]:
        """Ask the model of a role, and once more where its reply cannot be used.

        `read` converts a JSON object and, with `reads_text`, plain text to the value; it raises InputError for anything
        else. With `same_call`, the tokens count toward the limit per call together with those of the question before.
        `seconds` is what both replies together may take. Whatever fails becomes the `note` of a result without a value.
        """
        llm = self.llm(role, host)
        if llm is None:
            return ModelResult()
        try:
            rendered = self.render(prompt, inputs)
            if host.progress:
                await host.progress(0, f"asking the {role.value}")
            request = Request(
                role=role,
                system=rendered.system,
                user=rendered.user,
                schema=_schema_of_reply(rendered),
                max_tokens=rendered.template.token_limit,
                timeout=min(seconds, self._seconds),
                on_text=host.on_text,
            )
            if not same_call:
                spent_in_call.set([])
            return await _converse(llm, request, rendered, read, reads_text=reads_text)
        except McpReflectError as error:
            self._log_failure(role, error)
            return ModelResult(note=str(error))

    def _log_failure(self, role: Role, error: McpReflectError) -> None:
        """Log why no model gave a reply, with the model's name where the error has one."""
        llm_name = None
        if isinstance(error, LLMError):
            llm_name = error.llm
        error_type = type(error).__name__
        self._log.warning(
            "llm_failed", role=role.value, kind=error_type, llm=llm_name, problem=str(error)
        )

    def render(self, prompt: str, inputs: Mapping[str, Input]) -> Rendered:
        """Return a prompt with its places filled; an override that is broken is passed over, and the log says why."""
        rendered = self.prompts.render(prompt, **inputs)
        problem = rendered.template.problem
        if problem:
            self._log.warning("prompt_override_refused", prompt=prompt, problem=str(problem))
        return rendered


def _schema_of_reply(rendered: Rendered) -> dict[str, Json] | None:
    """Return the schema that holds the reply to the template's shape, None where the template asks for a text."""
    if not rendered.template.output:
        return None
    return schema_of(rendered.template.output)


def _result_of(
    replies: Sequence[Reply], value: _Read | None = None, note: str | None = None
) -> ModelResult[_Read]:
    """Return what came of some replies of a model, with the tokens of all."""
    thinker = None
    if value is not None:
        thinker = replies[-1].llm
    return ModelResult(
        value=value,
        thinker=thinker,
        note=note,
        input_tokens=sum(reply.usage.input_tokens for reply in replies),
        output_tokens=sum(reply.usage.output_tokens for reply in replies),
    )


def _with_fault(request: Request, rendered: Rendered, fault: str) -> Request:
    """Return the question again, with why the reply could not be used.

    The fault is fenced as data: it may quote the reply, and the reply a text of the run, which may give orders.
    """
    shown_fault = f"Your reply could not be used, and this is why:\n{fence('fault', fault)}"
    user_part = f"{rendered.user}\n\n{shown_fault}\nReply again with the JSON object alone."
    return replace(request, user=user_part)


async def _converse(
    llm: LLM,
    request: Request,
    rendered: Rendered,
    read: Callable[[Json], _Read],
    *,
    reads_text: bool,
) -> ModelResult[_Read]:
    """Return the value of the first of at most two replies that has one.

    | the reply                                        | result                                                       |
    |--------------------------------------------------|--------------------------------------------------------------|
    | ends neither whole nor cut off                   | no value, and why                                            |
    | has an object that `read` takes                  | its value                                                    |
    | has none, and there is time for another          | the question once more, with the fault                       |
    | has none, and is the last; `reads_text`          | the value of its plain text, noted as such, if `read` takes it |
    | has none, and is the last                        | no value, and the fault                                      |
    """
    deadline = time.monotonic() + request.timeout
    field_names = set(rendered.template.output or {})
    replies: list[Reply] = []
    fault = ""
    while len(replies) < _MOST_REPLIES:
        if replies and deadline - time.monotonic() < _LEAST_SECONDS:
            break
        reply = await _complete(llm, replace(request, timeout=deadline - time.monotonic()))
        replies.append(reply)
        if reply.stop not in (Stop.END, Stop.LENGTH):
            return _result_of(replies, note=f"{reply.llm} gave no answer ({reply.stop.value})")
        try:
            return _result_of(replies, read(_object(reply, field_names)))
        except InputError as error:
            fault = quoted(error, _SHOWN_ERROR)
            request = _with_fault(request, rendered, fault)
    last = replies[-1]
    if reads_text and last.stop is Stop.END:
        with suppress(InputError):
            value = read(without_thinking(last.text))
            return _result_of(replies, value, "read from plain text: the reply was not JSON")
    return _result_of(replies, note=f"{last.llm} sent nothing that can be used: {fault}")


async def _complete(llm: LLM, request: Request) -> Reply:
    """Return the reply; the listener of a request hears its text as one chunk where the model did not stream it.

    An error of the listener is raised after the reply is there, since it is not a fault of the model.
    """
    listener = request.on_text
    if listener is None:
        return await llm.complete(request)
    heard: list[TextChunk] = []
    errors: list[Exception] = []

    def on_text(chunk: TextChunk) -> None:
        """Pass a chunk on, and keep an error of the listener for later."""
        heard.append(chunk)
        try:
            listener(chunk)
        except Exception as error:  # noqa: BLE001 - raised below: it is not a fault of the model
            errors.append(error)

    reply = await llm.complete(replace(request, on_text=on_text))
    if not heard:
        on_text(TextChunk(role=request.role, text=reply.text, first=True))
    if errors:
        raise errors[0]
    return reply


def _object(reply: Reply, names: set[str]) -> dict[str, Json]:
    """Return the JSON object of a reply. Raises InputError, which the model reads."""
    value = read_object(reply.text, names)
    if value is None:
        raise InputError(
            "reply", "it holds no JSON object", "Send one object of the shape that was asked for."
        )
    if reply.stop is Stop.LENGTH:
        raise InputError("reply", "it was cut off", "Be shorter.")
    return value
