"""A provider of another package that breaks in the middle of a call costs a rung, never the tool."""

from pathlib import Path

import pytest

from tests.llm.reflect_calls import reflect, rows, serving
from tests.llm.test_llm_foreign import ECHO, RAISES, install


async def test_a_bug_of_another_package_leaves_it_to_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, RAISES, monkeypatch)
    async with serving(tmp_path, llm="echo:loud") as (client, _):
        found = await reflect(client)
    assert found["thinker"] == "rules"
    assert found["note"].startswith("echo:loud: the package echo-llm raised ValueError")
    assert rows(tmp_path)["reflections"] == 1


async def test_what_another_package_says_is_read_like_any_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, ECHO.replace("text=request.user", "text='The namespace was missing.'"), monkeypatch)
    async with serving(tmp_path, llm="echo:loud") as (client, _):
        found = await reflect(client)
    assert (found["thinker"], found["reflection"]) == ("echo:loud", "The namespace was missing.")
