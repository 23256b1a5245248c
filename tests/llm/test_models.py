"""A model is held to its time and its limits, and its bugs cost a rung of the ladder, never the tool."""

import asyncio
import importlib
import sys
from pathlib import Path

import pytest

from mcp_reflect.llm.protocol import (
    BudgetExceededError,
    GarbledReplyError,
    LLMSettingError,
    Reply,
    Request,
    Role,
    TimedOutError,
)
from mcp_reflect.llm.providers import Model
from mcp_reflect.llm.sdk import Anthropic
from tests.llm.reflect_calls import reflect, rows, serving
from tests.llm.requests import asking, model, registry
from tests.scripted import Scripted

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-1", "OPENAI_API_KEY": "sk-oai-2"}


class Stuck:
    """Never answers; `ended` says that it was told to stop."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.ended = False

    async def complete(self, request: Request) -> Reply:
        del request
        self.started.set()
        try:
            return await asyncio.Future()
        finally:
            self.ended = True


async def test_a_stuck_model_is_cancelled_and_the_error_names_it() -> None:
    stuck = Stuck()
    with pytest.raises(TimedOutError, match=r"x:y: no reply within 0\.01 s") as caught:
        await model(stuck).complete(asking(timeout=0.01))
    assert stuck.ended
    assert caught.value.__context__ is None
    with Scripted(TimeoutError()) as llm, pytest.raises(GarbledReplyError, match="raised TimeoutError"):
        await model(llm).complete(asking())


async def test_a_cancelled_caller_stays_cancelled() -> None:
    stuck = Stuck()
    call = asyncio.create_task(model(stuck).complete(asking()))
    await stuck.started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert stuck.ended


LOCAL = "openai:a@http://localhost:9/v1"


async def test_roles_share_the_budget_of_the_day() -> None:
    limits = {"MCP_REFLECT_LLM_TOKENS_PER_DAY": "10"}
    settings = {"MCP_REFLECT_LLM": LOCAL, "MCP_REFLECT_LLM_CRITIC": LOCAL.replace("a@", "b@"), **limits}
    models = registry(settings)
    for role in (Role.REFLECTOR, Role.CRITIC):
        llm = models.llm(role)
        assert llm is not None
        with pytest.raises(BudgetExceededError):
            await llm.complete(asking())


async def test_a_limit_that_is_no_number_stops_no_start_and_is_found() -> None:
    settings = {"MCP_REFLECT_LLM": LOCAL, "MCP_REFLECT_LLM_TOKENS_PER_DAY": "cheap"}
    models = registry(settings)
    assert [problem.setting for problem in models.problems()] == ["MCP_REFLECT_LLM_TOKENS_PER_DAY"]
    llm = models.llm(Role.REFLECTOR)
    assert llm is not None
    with pytest.raises(LLMSettingError, match="cheap"):
        await llm.complete(asking())


# A provider that another package brings


def install(folder: Path, body: str, patch: pytest.MonkeyPatch, target: str = "echo_llm:open_llm") -> None:
    """A package that offers the provider `echo` through an entry point, for as long as the test runs."""
    patch.setattr(sys, "path", [str(folder), *sys.path])
    patch.delitem(sys.modules, "echo_llm", raising=False)
    importlib.invalidate_caches()
    (folder / "echo_llm.py").write_text(body, "utf-8")
    info = folder / "echo_llm-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echo-llm\nVersion: 1.0\n", "utf-8")
    points = f"[mcp_reflect.llm]\necho = {target}\nanthropic = {target}\n"
    (info / "entry_points.txt").write_text(points, "utf-8")


ECHO = """
from mcp_reflect.llm.protocol import LLMSettingError, RefusedError, Reply, Stop

class Echo:
    def __init__(self, spec):
        self.spec = spec

    async def complete(self, request):
        return Reply(text=request.user, stop=Stop.END, llm=self.spec.name)

def open_llm(spec, settings):
    return Echo(spec)
"""
RETURN = "return Reply(text=request.user, stop=Stop.END, llm=self.spec.name)"
RAISES = ECHO.replace(RETURN, "raise ValueError(f'key sk-secret of {request.user}')")
RETURNS = ECHO.replace(RETURN, "return 'just text'")
DECLINES = ECHO.replace(RETURN, "raise RefusedError('echo', 'busy', 'Wait')")


async def test_another_package_brings_a_provider_and_cannot_take_the_name_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, ECHO, monkeypatch)
    models = registry({**KEYS, "MCP_REFLECT_LLM": "echo:loud", "MCP_REFLECT_LLM_CRITIC": "anthropic:x"})
    llm = models.llm(Role.REFLECTOR)
    assert llm is not None
    reply = await llm.complete(asking("hello"))
    assert (reply.text, reply.llm) == ("hello", "echo:loud")
    critic = models.llm(Role.CRITIC)
    assert isinstance(critic, Model)
    assert isinstance(critic.llm, Anthropic)
    (problem,) = registry({"MCP_REFLECT_LLM_CRITIC": "olama:qwen3"}).problems()
    assert problem.setting == "MCP_REFLECT_LLM_CRITIC"
    assert "anthropic, claude-code, codex, echo, gemini, openai, off" in problem.fix


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("import nowhere_at_all", "echo_llm:open_llm"),
        ("", "echo_llm:nothing"),
        ("this is no Python", "echo_llm:open_llm"),
        ("open_llm = 5", "echo_llm:open_llm"),
    ],
)
def test_a_provider_that_cannot_be_loaded_is_a_setting_that_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, target: str
) -> None:
    install(tmp_path, body, monkeypatch, target)
    (problem,) = registry({"MCP_REFLECT_LLM": "echo:loud"}).problems()
    assert "cannot be loaded" in problem.fault
    assert "echo-llm" in problem.fix


def test_another_package_may_find_its_settings_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, ECHO.replace("return Echo(spec)", "raise LLMSettingError('ECHO_KEY', 'no', 'y')"), monkeypatch)
    (problem,) = registry({"MCP_REFLECT_LLM": "echo:loud"}).problems()
    assert problem.setting == "ECHO_KEY"


@pytest.mark.parametrize(("body", "did"), [(RAISES, "raised ValueError"), (RETURNS, "returned str")])
async def test_a_bug_of_another_package_is_an_error_that_names_it_and_leaves_it_to_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, did: str
) -> None:
    install(tmp_path, body, monkeypatch)
    llm = registry({"MCP_REFLECT_LLM": "echo:loud"}).llm(Role.REFLECTOR)
    assert llm is not None
    with pytest.raises(GarbledReplyError) as caught:
        await llm.complete(asking())
    assert caught.value.fault == f"the package echo-llm {did}"
    assert "sk-secret" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    async with serving(tmp_path, llm="echo:loud") as (client, _):
        found = await reflect(client)
    assert found["thinker"] == "rules"
    assert found["note"].startswith(f"echo:loud: the package echo-llm {did}")
    assert rows(tmp_path)["reflections"] == 1


async def test_an_error_of_the_contract_passes_as_it_is_and_a_text_is_read_like_any_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, body in (
        ("declines", DECLINES),
        ("says", ECHO.replace("text=request.user", "text='The namespace was missing.'")),
    ):
        (tmp_path / name).mkdir()
        install(tmp_path / name, body, monkeypatch)
        async with serving(tmp_path / name, llm="echo:loud") as (client, _):
            found = await reflect(client)
        assert (found["thinker"], found.get("note")) == (
            ("rules", "echo: busy. Wait") if name == "declines" else ("echo:loud", found.get("note"))
        )
    assert found["reflection"] == "The namespace was missing."
