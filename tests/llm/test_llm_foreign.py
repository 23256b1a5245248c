"""A provider that another package brings: bound by name, and its bugs cost a rung, never the tool."""

import importlib
import sys
from pathlib import Path

import pytest

from mcp_reflect.llm.anthropic import Anthropic
from mcp_reflect.llm.protocol import GarbledReplyError, OverloadedError, Role
from mcp_reflect.llm.providers import Model, Registry
from tests.llm.requests import asking

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-1", "OPENAI_API_KEY": "sk-oai-2"}


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
from mcp_reflect.llm.protocol import Reply, Stop

class Echo:
    def __init__(self, spec):
        self.spec = spec

    async def complete(self, request):
        return Reply(text=request.user, stop=Stop.END, llm=self.spec.name)

def open_llm(spec, settings):
    return Echo(spec)
"""


async def test_another_package_brings_a_provider_and_cannot_take_the_name_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, ECHO, monkeypatch)
    registry = Registry({**KEYS, "MCP_REFLECT_LLM": "echo:loud", "MCP_REFLECT_LLM_CRITIC": "anthropic:x"})
    llm = registry.llm(Role.REFLECTOR)
    assert llm is not None
    reply = await llm.complete(asking("hello"))
    assert (reply.text, reply.llm) == ("hello", "echo:loud")
    critic = registry.llm(Role.CRITIC)
    assert isinstance(critic, Model)
    assert isinstance(critic.llm, Anthropic)


def test_an_unknown_provider_is_told_the_known_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, ECHO, monkeypatch)
    (problem,) = Registry({"MCP_REFLECT_LLM_CRITIC": "olama:qwen3"}).problems()
    assert problem.setting == "MCP_REFLECT_LLM_CRITIC"
    assert "anthropic, claude-code, codex, echo, gemini, openai, off" in problem.fix


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("import nowhere_at_all", "echo_llm:open_llm"),
        ("", "echo_llm:nothing"),
        ("this is no Python", "echo_llm:open_llm"),
        ("def open_llm(spec): return 1", "echo_llm:open_llm"),
        ("open_llm = 5", "echo_llm:open_llm"),
    ],
)
def test_a_provider_that_cannot_be_loaded_is_a_setting_that_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, target: str
) -> None:
    install(tmp_path, body, monkeypatch, target)
    (problem,) = Registry({"MCP_REFLECT_LLM": "echo:loud"}).problems()
    assert "cannot be loaded" in problem.fault
    assert "echo-llm" in problem.fix


RAISES = ECHO.replace(
    "return Reply(text=request.user", "raise ValueError(f'key sk-secret of {request.user}'); Reply(x=1"
)
RETURNS = ECHO.replace("return Reply(text=request.user, stop=Stop.END, llm=self.spec.name)", "return 'just text'")
DECLINES = ECHO.replace("return Reply(text=request.user", "raise OverloadedError('echo', 'busy', 'Wait'); Reply(x=1")


@pytest.mark.parametrize(("body", "did"), [(RAISES, "raised ValueError"), (RETURNS, "returned str")])
async def test_a_bug_of_another_package_is_an_error_that_names_it_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, did: str
) -> None:
    install(tmp_path, body, monkeypatch)
    llm = Registry({"MCP_REFLECT_LLM": "echo:loud"}).llm(Role.REFLECTOR)
    assert llm is not None
    with pytest.raises(GarbledReplyError) as caught:
        await llm.complete(asking())
    assert caught.value.fault == f"the package echo-llm {did}"
    assert "sk-secret" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


async def test_an_error_of_the_contract_passes_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, f"from mcp_reflect.llm.protocol import OverloadedError\n{DECLINES}", monkeypatch)
    llm = Registry({"MCP_REFLECT_LLM": "echo:loud"}).llm(Role.REFLECTOR)
    assert llm is not None
    with pytest.raises(OverloadedError, match="busy"):
        await llm.complete(asking())


def test_another_package_may_find_its_settings_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = "from mcp_reflect.llm.protocol import LLMSettingError\n"
    install(
        tmp_path, f"{own}def open_llm(spec, settings):\n    raise LLMSettingError('ECHO_KEY', 'no', 'y')", monkeypatch
    )
    (problem,) = Registry({"MCP_REFLECT_LLM": "echo:loud"}).problems()
    assert problem.setting == "ECHO_KEY"
