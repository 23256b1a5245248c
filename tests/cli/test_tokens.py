"""Tokens of a team's service, made and listed on the command line."""

import pytest

from tests.cli.commands import Command


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
    assert f"{field} it is empty, or has signs that nobody can see" in error
    assert command.json("tokens", "list") == []
