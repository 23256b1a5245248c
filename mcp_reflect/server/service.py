"""The service behind the tools: the engine does the work, and its results and errors become answers for an agent."""

import asyncio
import json
import math
import re
import time
import traceback
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp.types import CallToolResult, InputRequiredResult, TextContent

from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError, InputError, McpReflectError, NotFoundError, did_you_mean
from mcp_reflect.log import Log, logged_with
from mcp_reflect.models.common import Scope
from mcp_reflect.security.clean import Clean, Sayable
from mcp_reflect.server import board_app

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from mcp_reflect.llm.runner import ClientCapabilities
    from mcp_reflect.services.engine import Engine


_HOOK: Final = "hook"
"""The tool that hosts' hooks call, which is not listed."""

_HOOK_SECONDS: Final = 0.25
"""For which a hook waits for another writer before it leaves the call in the spool, a file beside the bank."""

_TOOLS_USING_OUTPUTS: Final = ("record_outcome", "critique", "store_lesson")
"""Tools that use the calls which hooks saw: those in the spool have to be noted first."""

_TOOLS_STORING_WORDS: Final = ("store_lesson", "reflect", "record_outcome")
"""Tools that say which of the sent words they did not keep."""

_DREAM_SECONDS: Final = 300
"""From the start, and between two looks whether a dream is due."""

_NOTING_SECONDS: Final = 5
"""In which calls of the spool are noted beside a call."""


@cache
def tools() -> list[dict[str, Any]]:
    """Return the tools as the generated file lists them."""
    return json.loads(Path(__file__).with_name("tools.json").read_text(encoding="utf-8"))


class Service:
    """Calls tools; creates the engine at the first call. There is one per process, or one per scope of a team.

    It imports nothing of the engine before that: a host that only lists the tools does not wait for it.
    """

    is_of_team = False

    def __init__(self, settings: Settings, engine: "Engine | None" = None) -> None:
        self.settings = settings
        self._engine = engine
        self._own_engine = engine is None
        self._for_hooks: Engine | None = None
        self._transcripts: dict[Scope, str] = {}
        self.next_dream = math.inf
        if settings.mode == "full":
            self.next_dream = time.monotonic() + _DREAM_SECONDS
        self.dreaming: asyncio.Task[None] | None = None
        self._noting_spool: asyncio.Task[None] | None = None
        self.log = Log.of(settings)
        if settings.unknown:
            for problem in settings.misspelled():
                self.log.warning("setting_unknown", problem=problem)
        for problem in settings.fading():
            self.log.warning("setting_fades", problem=problem)

    def engine(self) -> "Engine":
        """Return the engine, imported and made with the first call."""
        if self._engine is None:
            from mcp_reflect.services.engine import Engine  # noqa: PLC0415 - see above

            self._engine = self._knowing_transcripts(Engine(self.settings))
        return self._engine

    def _knowing_transcripts(self, engine: "Engine") -> "Engine":
        """Let the two engines share the transcripts: the hooks' engine learns of them, critique's reads them."""
        engine.context = replace(engine.context, transcripts=self._transcripts)
        return engine

    async def close(self) -> None:
        """Give up dreaming, and close the engine, if this service made one."""
        if self.dreaming is not None:
            self.dreaming.cancel()  # it has changed nothing: a dream is applied in one transaction at its end
            with suppress(asyncio.CancelledError):
                await self.dreaming
        if self._noting_spool is not None:
            await self._noting_spool
        if self._for_hooks is not None:
            await self._for_hooks.close()
        if self._engine is not None and self._own_engine:
            await self._engine.close()

    def _dream_sometimes(self) -> None:
        """Begin the dream of the day beside a call, if nobody looked lately whether it is due."""
        if time.monotonic() < self.next_dream:
            return
        self.next_dream = time.monotonic() + _DREAM_SECONDS
        self.dreaming = asyncio.create_task(self._dream_if_due())

    async def _dream_if_due(self) -> None:
        """Consolidate the bank (merge lessons that say the same, archive useless ones) if that is due today."""
        from mcp_reflect.services import consolidate  # noqa: PLC0415 - see the class

        engine = self.engine()
        try:
            if await consolidate.due(engine.context):
                await consolidate.dream(engine.context)
        except McpReflectError as error:  # the bank is busy
            engine.log.info("dream_failed", error=type(error).__name__)

    def _begin_noting_spool(self) -> None:
        """Begin to note the calls that hooks left in the spool, if there are any and nobody does it yet.

        The service of a team leaves it alone: hooks of this machine wrote it, for a bank of this machine.
        """
        from mcp_reflect.storage.spool import ENDING  # noqa: PLC0415 - see the class

        if self.is_of_team:
            return
        is_noting = self._noting_spool is not None and not self._noting_spool.done()
        bank = self.settings.bank_path
        file = bank.with_name(bank.name + ENDING)
        if not is_noting and file.exists() and file.stat().st_size:
            self._noting_spool = asyncio.create_task(self._note_spool())

    async def _note_spool(self) -> None:
        """Note the calls in the spool, for a few seconds at most."""
        from mcp_reflect import services  # noqa: PLC0415 - see the class
        from mcp_reflect.storage.spool import Spool  # noqa: PLC0415 - same

        # The first use imports the module, which takes .3 s.
        spooled_calls = await asyncio.to_thread(lambda: services.spooled_calls)
        engine = await self.engine().open()
        spool = Spool(self.settings.bank_path)
        await spooled_calls.note_spooled(engine.context, spool, _NOTING_SECONDS)

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        context: "Context[Any, Any] | None" = None,
        agent: str = "",
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; the client of `context` may be asked for its model. `agent` replaces the client's name.

        An error of the caller or of the bank becomes text; one of ours is logged.
        """
        about: dict[str, Any] = {"tool": name}
        if context is not None:
            about["request"] = context.request_id
        with logged_with(**about):
            return await self._answered(name, arguments, context, agent)

    async def _answered(
        self, name: str, arguments: dict[str, Any], context: "Context[Any, Any] | None", agent: str
    ) -> CallToolResult | InputRequiredResult:
        """Answer a call by the hook's tool, the board, or one of the eight tools.

        | what ends the call                          | the agent reads                                             |
        |---------------------------------------------|-------------------------------------------------------------|
        | a result                                    | the result                                                  |
        | a question to the client (`InputNeeded`)    | the question, which its client answers                      |
        | the bank fails                              | what is wrong; in a team nothing about where the bank lies  |
        | what was sent cannot be used                | the fault and the fix, with an example that works           |
        | a fault of ours                             | that nothing was stored; the log has the trace              |
        """
        if name == _HOOK and not self.is_of_team:
            return await self._answer_hook(arguments)
        names = _callable_names(context)
        if name not in names:
            return _unknown(name, names)
        try:
            name_agent(agent or _client_name(context))
            if name == board_app.TOOL.name:
                return await board_app.show(await self.engine().open())
            return await self._answer_tool(name, arguments, context)
        except InputNeeded as needed:
            return needed.result
        except BankError as error:
            return self._bank_failed(error)
        except McpReflectError as error:
            return failure(_clean(f"{error}{_example(name, arguments, error)}"))
        except Exception as error:  # noqa: BLE001 - the outermost handler: no traceback reaches a model
            trace = _clean(traceback.format_exc())  # a message may quote what was sent
            self.log.error("tool_failed", error=type(error).__name__, trace=trace)
            text = f"mcp-reflect failed inside {name}; nothing was stored. See its log for details."
            return failure(_clean(text))
        finally:
            name_agent("")

    async def _answer_tool(
        self, name: str, arguments: dict[str, Any], context: "Context[Any, Any] | None"
    ) -> CallToolResult:
        """Call one of the eight tools, and say which of the sent words were not kept."""
        from mcp_reflect.server.short_results import answer, wants_detail  # noqa: PLC0415 - same

        engine = self.engine()
        if name in _TOOLS_USING_OUTPUTS:
            self._begin_noting_spool()
            if self._noting_spool is not None:
                await asyncio.shield(self._noting_spool)
        cuts: list[str] = []
        with logged_with(session=engine.context.session, project=engine.scopes.own.project):
            result = await engine.call(name, arguments, _client(context), on_cut=cuts.append)
        self._begin_noting_spool()
        self._dream_sometimes()
        value = answer(result, detail=wants_detail(arguments))
        if name in _TOOLS_STORING_WORDS and cuts:
            value["redacted"] = cuts[0]
        return CallToolResult(content=[_json(value)], structured_content=value)

    def _bank_failed(self, error: BankError) -> CallToolResult:
        """Return the fault of the bank in words; a team's callers do not learn where the bank lies."""
        if not self.is_of_team:
            return failure(_clean(str(error)))
        self.log.error("bank_failed", error=str(error))
        return failure(
            "The bank of this service cannot be used now; nothing was stored. Try again later."
        )

    async def _answer_hook(self, arguments: dict[str, Any]) -> CallToolResult:
        """Answer a hook of the host. Our failure must not become the host's: then nothing is said."""
        hook_tool = await asyncio.to_thread(import_module, "mcp_reflect.server.hook_tool")
        value: dict[str, Any] = {}
        try:
            value = await hook_tool.answer((await self._hook_engine()).context, arguments)
        except Exception as error:  # noqa: BLE001 - the outermost handler
            self.log.error("hook_failed", error=type(error).__name__)
        return CallToolResult(content=[_json(value)])

    async def _hook_engine(self) -> "Engine":
        """Return an engine that waits for other writers as briefly as a hook may.

        The bank's name for the project is looked up at each hook: a hook comes before the first call of a tool, and
        another process may have renamed the project. If the bank cannot be read now, the name that the folder's files
        give has to do.
        """
        if not self._own_engine:
            return self.engine()
        if self._for_hooks is None:
            from mcp_reflect.services.engine import Engine  # noqa: PLC0415 - see the class

            settings = replace(
                self.settings,
                embeddings="words",
                bank_busy_seconds=_HOOK_SECONDS,
                sets_aside=False,
                durable=False,
                stores_names=False,
            )
            self._for_hooks = self._knowing_transcripts(Engine(settings))
        with suppress(BankError):
            await self._for_hooks.open()
            scopes = await self._for_hooks.bank.projects.renamed(self._for_hooks.scopes)
            if scopes is not self._for_hooks.scopes:
                self._for_hooks.use(scopes)
        return self._for_hooks


class InputNeeded(BaseException):
    """Ends a call with a question to the client (protocol 2026-07-28). No handler of Exception catches it."""

    def __init__(self, result: InputRequiredResult) -> None:
        self.result = result


def _callable_names(context: "Context[Any, Any] | None") -> list[str]:
    """Return the tools that a caller may call: the listed ones, and the board where pages are shown."""
    names = [tool["name"] for tool in tools()]
    if board_app.is_offered(context):
        names.append(board_app.TOOL.name)
    return names


def _unknown(name: str, names: Collection[str]) -> CallToolResult:
    """Return the error for a tool that there is not, with the nearest name that there is."""
    from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - see the class

    fix = did_you_mean(name, names, f"Call one of {', '.join(names)}.")
    return failure(_clean(f"name: there is no tool '{quoted(name)}'. {fix}"))


def _example(tool: str, sent: Mapping[str, Any], error: McpReflectError) -> str:
    """Return ` Example: {…}`: a call of the tool that works and has the argument at fault; empty if there is none.

    Of several, it is the one that shares the most arguments with what was sent. The argument at fault of an error at
    `events[3].tool` is `events`.
    """
    if not isinstance(error, InputError) or isinstance(error, NotFoundError):
        return ""
    from mcp_reflect.server.catalog import TOOLS  # noqa: PLC0415 - only an error needs it

    argument_at_fault = re.split(r"[.\[]", error.field)[0]
    examples: list[dict[str, Any]] = []
    for spec in TOOLS:
        if spec.name == tool:
            examples += [example for example in spec.examples if argument_at_fault in example]
    nearest = max(examples, key=lambda example: len(example.keys() & sent.keys()), default=None)
    if nearest is None:
        return ""
    return f" Example: {json.dumps(nearest, ensure_ascii=False)}"


def _client(context: "Context[Any, Any] | None") -> "ClientCapabilities | None":
    """Return what the client of a call offers: its model and its questions to a person, where it declares them.

    None for a call without a client. Progress is reported to any.
    """
    if context is None:
        return None
    from mcp_reflect.llm.runner import ClientCapabilities  # noqa: PLC0415 - see the class

    async def progress(step: float, text: str) -> None:
        """Report a step to the client."""
        await context.report_progress(step, message=text)

    llm = confirm = None
    declared = None
    if context.protocol_version is not None:  # None before a client has introduced itself
        declared = context.client_capabilities
    if declared is not None and declared.sampling is not None:
        from mcp_reflect.server.sampling import Sampling  # noqa: PLC0415 - see the class

        llm = Sampling(context)
    if declared is not None and declared.elicitation is not None:
        from mcp_reflect.server.confirmation import Confirmation  # noqa: PLC0415 - see the class

        confirm = Confirmation(context)
    return ClientCapabilities(llm=llm, progress=progress, confirm=confirm)


def _client_name(context: "Context[Any, Any] | None") -> str:
    """Return the name by which the client introduced itself, empty if it has not."""
    if context is None or context.session.client_params is None:
        return ""
    return context.session.client_params.client_info.name


def name_agent(name: str) -> None:
    """Store a name, if there is one, with every record that the present task stores."""
    from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - see the class
    from mcp_reflect.storage.screening import AGENT  # noqa: PLC0415 - same

    AGENT.set(quoted(name) if name else None)


def _json(value: dict[str, Any]) -> TextContent:
    """Return a value as JSON without blanks, as the content of a result."""
    return TextContent(
        type="text", text=json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    )


def _clean(text: str) -> Clean:
    """Return a text without secrets."""
    from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - see the class

    return clean_text(text)


def failure(text: Sayable) -> CallToolResult:
    """Return a result that tells an error."""
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
