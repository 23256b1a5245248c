"""Run a command's work: with an engine over the configured bank, or by a team's service (`--url`)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_reflect.config import Settings
from mcp_reflect.models.common import from_json
from mcp_reflect.services.engine import Engine

if TYPE_CHECKING:
    from argparse import Namespace  # hooks load this module, and not argparse

_Result = TypeVar("_Result")


def with_engine(
    work: Callable[[Engine], Awaitable[_Result]], settings: Settings | None = None, *, opens: bool = True
) -> _Result:
    """Run `work` with an engine over the bank of the settings (default: the environment's), and close it.

    Without `opens`, `work` opens the bank itself: it may be damaged.
    """

    async def run() -> _Result:
        engine = Engine(settings)
        try:
            return await work(await engine.open() if opens else engine)
        finally:
            await engine.close()

    return asyncio.run(run())


Do = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Carries out a use of `services.curation` with the values of a request."""


def settings_of(options: "Namespace") -> Settings:
    """Return the settings with the project of a command's options."""
    project, settings = getattr(options, "project", None), Settings.from_env()
    return settings if project is None else replace(settings, project=project)


def with_place(
    options: "Namespace", work: Callable[[Do], Awaitable[_Result]], settings: Settings | None = None
) -> _Result:
    """Run a command's work by the service that its options name, else on the bank of this machine."""
    from mcp_reflect.services.curation import USES  # noqa: PLC0415 - a recall and hooks need none of it

    if getattr(options, "url", None):
        from mcp_reflect.cli.remote import ask_as  # noqa: PLC0415 - a client of HTTP

        async def ask(use: str, sent: Mapping[str, Any]) -> Any:
            kind, value = USES[use].result, ask_as(options, use, sent)
            return value if kind is None else from_json(kind, value)

        async def asked() -> _Result:
            return await work(ask)

        return asyncio.run(asked())

    def here(engine: Engine) -> Awaitable[_Result]:
        return work(lambda use, sent: USES[use].work(engine, sent, whole=True))

    return with_engine(here, settings)
