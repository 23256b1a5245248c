"""Tokens of a team's service, made and listed on the command line."""

import asyncio

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.models.access import Role
from mcp_reflect.services.engine import Engine
from tests.cli.commands import Command
from tests.held_clock import HeldClock


@pytest.mark.parametrize(
    ("name", "tenant", "project", "field"),
    [
        (" ", "acme", "shop", "name:"),
        ("a\u202eb", "acme", "shop", "name:"),
        ("ada", "", "shop", "--tenant:"),
        ("ada", "acme", "shop, ", "--projects:"),
    ],
)
def test_a_name_that_nobody_can_see_is_refused(
    command: Command, name: str, tenant: str, project: str, field: str
) -> None:
    error = command("tokens", "add", name, "--tenant", tenant, "--projects", project, "--role", "reader", code=2)
    assert f"{field} it is empty, or has invisible characters" in error
    assert command.json("tokens", "list") == []


def test_the_list_says_which_tokens_work_and_until_when(command: Command) -> None:
    async def add_all() -> None:
        """Three tokens that were made in 2020, one of them for a day, and one for three hundred years."""
        async with Engine(Settings.from_env(), clock=HeldClock(1_600_000_000.0)) as engine:
            for name, days in (("ada", None), ("bob", 1.0), ("eve", None), ("joe", 109_500.0)):
                await engine.bank.tokens.add(name, tenant="acme", projects=["shop"], role=Role.READER, days=days)
            await engine.bank.tokens.revoke("eve")

    asyncio.run(add_all())
    assert [line.split("\t")[-1] for line in command("tokens", "list").splitlines()[1:]] == [
        "works",
        "expired 2020-09-14T12:26:40+00:00",
        "revoked 2020-09-13T12:26:40+00:00",
        "works until 2320-07-03T12:26:40+00:00",
    ]
