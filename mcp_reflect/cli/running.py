"""Run the work of a command: with an engine over the bank of this machine, or by a team's service (`--url`).

A *use* is one thing that a person does with lessons, such as `show` (`services.curation.USES`). A command asks for uses
by their names, so that it need not know whether the bank or the service carries them out.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_reflect.cli.service_client import ask_as
from mcp_reflect.config import Settings
from mcp_reflect.models.common import from_json
from mcp_reflect.services.claims import accept_claim
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker, speaker_of_process

if TYPE_CHECKING:
    from argparse import Namespace  # hooks load this module, and not argparse

_Result = TypeVar("_Result")


def with_engine(
    work: Callable[[Engine], Awaitable[_Result]],
    settings: Settings | None = None,
    *,
    opens: bool = True,
) -> _Result:
    """Run `work` with an engine over the bank of the settings (default: the environment's), and close it.

    Without `opens`, `work` opens the bank itself: it may be damaged.
    """

    async def run() -> _Result:
        """Work in one event loop, and close the engine also where the work fails."""
        engine = Engine(settings)
        try:
            if opens:
                await engine.open()
                await _tell_claim(engine)
            return await work(engine)
        finally:
            await engine.close()

    return asyncio.run(run())


async def _tell_claim(engine: Engine) -> None:
    """Tell a person, before anything of it is shown, that the folder belongs to a project by its origin alone."""
    if engine.scopes.claimed and speaker_of_process() is Speaker.PERSON:
        sys.stderr.write(f"{await accept_claim(engine)}\n")


Do = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Carries out a use by its name, with the values that it needs: `await do("show", {"id": "les_…"})`."""


def settings_of(options: "Namespace") -> Settings:
    """Return the settings with the project of a command's options."""
    settings = Settings.from_env()
    if options.project is None:
        return settings
    return replace(settings, project=options.project)


def with_uses(options: "Namespace", work: Callable[[Do], Awaitable[_Result]]) -> _Result:
    """Run a command's work with a function `do` that carries out uses, and return what the work returns.

    The service that the options name carries them out, else the bank of this machine. `await do("show", {"id": "les_…"})`
    returns the lesson in both cases.
    """
    if options.url:
        return _with_service(options, work)
    from mcp_reflect.services.curation import USES  # noqa: PLC0415 - a recall and hooks need none of it

    speaker = speaker_of_process()

    def work_here(engine: Engine) -> Awaitable[_Result]:
        return work(lambda use, sent: USES[use].work(engine, sent, speaker=speaker))

    return with_engine(work_here, settings_of(options))


def _with_service(options: "Namespace", work: Callable[[Do], Awaitable[_Result]]) -> _Result:
    """Run a command's work with a `do` that asks a team's service."""
    from mcp_reflect.services.curation import USES  # noqa: PLC0415 - same

    async def do(use: str, sent: Mapping[str, Any]) -> Any:
        """Ask the service for a use; its JSON becomes a value of the type that the use has here."""
        answer = ask_as(options, use, sent)
        result_type = USES[use].result
        if result_type is None:
            return answer
        return from_json(result_type, answer)

    async def work_there() -> _Result:
        return await work(do)

    return asyncio.run(work_there())
