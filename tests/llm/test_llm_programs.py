"""The person's own agent program as a model: a stand-in on PATH, started as the real one is."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.cli import main
from mcp_reflect.llm.protocol import LLM, LLMSettingError, RefusedError, Role, TimedOutError
from mcp_reflect.places import NESTED
from tests.llm.reflect_calls import reflect, serving
from tests.llm.requests import MemoryUsageStore, asking, registry

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="the stand-ins are scripts with a shebang"
)

CLAUDE = {
    "type": "result",
    "is_error": False,
    "result": "yes",
    "usage": {"input_tokens": 7, "output_tokens": 2},
}
CODEX = [
    {"type": "thread.started"},
    {"type": "item.completed", "item": {"type": "reasoning", "text": "hm"}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "yes"}},
    {
        "type": "turn.completed",
        "usage": {"input_tokens": 7, "cached_input_tokens": 3, "output_tokens": 2},
    },
]
GEMINI = {
    "response": "yes",
    "stats": {"models": {"m": {"tokens": {"prompt": 7, "candidates": 1, "thoughts": 1}}}},
}
ANSWERS = {
    "claude-code": ("claude", json.dumps(CLAUDE)),
    "codex": ("codex", "\n".join(map(json.dumps, CODEX))),
    "gemini": ("gemini", f"Loaded credentials.\n{json.dumps(GEMINI)}"),
}


class StandIn:
    """Puts a program on PATH that notes how it was started and prints an answer."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder / "bin"
        self.folder.mkdir()
        self.noted = folder / "noted.json"
        monkeypatch.setenv("PATH", str(self.folder))

    def write(self, command: str, answer: str, *, code: int = 0, body: str = "") -> None:
        path = self.folder / command
        path.write_text(
            f"#!{sys.executable}\n"
            "import json, os, sys, time, subprocess\n"
            "noted = {'words': sys.argv[1:], 'prompt': sys.stdin.read(), 'env': dict(os.environ), 'cwd': os.getcwd(),"
            " 'files': os.listdir()}\n"
            f"open({str(self.noted)!r}, 'w').write(json.dumps(noted))\n{body}\n"
            f"print({answer!r})\nsys.exit({code})\n"
        )
        path.chmod(0o755)

    def call(self) -> dict[str, Any]:
        return json.loads(self.noted.read_text())


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    return StandIn(tmp_path, monkeypatch)


def bound(spec: str, store: MemoryUsageStore | None = None, **settings: str) -> LLM:
    llm = registry({"MCP_REFLECT_LLM": spec, **settings}, store).llm(Role.REFLECTOR)
    assert llm is not None
    return llm


@pytest.mark.parametrize("provider", ANSWERS)
async def test_a_program_answers_with_its_tokens_and_counts_toward_the_day(
    stand_in: StandIn, provider: str
) -> None:
    stand_in.write(*ANSWERS[provider])
    store = MemoryUsageStore()
    llm = bound(provider, store, MCP_REFLECT_LLM_TOKENS_PER_DAY="10000")
    reply = await llm.complete(asking("the question"))
    assert (reply.text, reply.llm) == ("yes", provider)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (7, 2)
    assert await store.spent_today() == 9


@pytest.mark.parametrize("provider", ANSWERS)
async def test_the_prompt_goes_by_stdin_alone_into_an_empty_folder(
    stand_in: StandIn, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    stand_in.write(*ANSWERS[provider])
    await bound(f"{provider}:some-model").complete(asking("the secret question"))
    call = stand_in.call()
    assert "the secret question" in call["prompt"]
    assert asking().system in call["prompt"]
    assert "secret" not in str(call["words"])
    assert call["words"][-2:] == ["--model", "some-model"]
    assert (call["env"][NESTED], "CLAUDECODE" in call["env"]) == ("1", False)
    assert call["files"] == []
    assert not Path(call["cwd"]).exists()


async def test_claude_code_has_no_tools_no_hooks_and_no_servers(stand_in: StandIn) -> None:
    stand_in.write(*ANSWERS["claude-code"])
    await bound("claude-code").complete(asking())
    words = stand_in.call()["words"]
    assert words[words.index("--tools") + 1] == ""
    assert "--strict-mcp-config" in words
    assert json.loads(words[words.index("--settings") + 1]) == {"disableAllHooks": True}


@pytest.mark.parametrize(
    ("provider", "answer", "fix"),
    [
        (
            "claude-code",
            {**CLAUDE, "is_error": True, "result": "Not logged in · Please run /login"},
            "log in",
        ),
        (
            "claude-code",
            {**CLAUDE, "is_error": True, "result": "Prompt is too long"},
            "in a terminal",
        ),
        ("codex", {"type": "turn.failed", "error": {"message": "unexpected status 401"}}, "log in"),
        ("codex", {"type": "error", "message": "no such model"}, "in a terminal"),
        ("gemini", {"error": {"message": "Please set an Auth method", "code": 41}}, "log in"),
    ],
)
async def test_a_program_that_cannot_answer_says_why_and_what_to_do(
    stand_in: StandIn, provider: str, answer: dict[str, Any], fix: str
) -> None:
    command = ANSWERS[provider][0]
    stand_in.write(command, json.dumps(answer), code=1)
    with pytest.raises(RefusedError, match=f"`{command}`") as caught:
        await bound(provider).complete(asking())
    assert fix in caught.value.fix
    assert "Traceback" not in str(caught.value)


async def test_a_program_that_prints_nonsense_is_quoted(stand_in: StandIn) -> None:
    stand_in.write("claude", "Segmentation fault", code=139)
    with pytest.raises(RefusedError, match="Segmentation fault"):
        await bound("claude-code").complete(asking())


async def test_a_program_that_is_not_there_is_a_setting_that_is_wrong(stand_in: StandIn) -> None:
    del stand_in
    models = registry({"MCP_REFLECT_LLM": "codex"})
    (problem,) = models.problems()
    assert '"codex" of Codex is not on PATH' in problem.fault
    assert models.describe(Role.CRITIC) == "unusable"


async def test_a_program_that_is_too_late_is_killed_with_its_children(
    stand_in: StandIn, tmp_path: Path
) -> None:
    child = (
        f"subprocess.Popen(['/bin/sh', '-c', 'echo $$ > {tmp_path}/child; exec /bin/sleep 600'])\n"
    )
    stand_in.write("claude", "", body=f"{child}time.sleep(600)")
    call = asyncio.create_task(bound("claude-code", MemoryUsageStore()).complete(asking(timeout=5)))
    with pytest.raises(TimedOutError):
        await call
    pid = int((tmp_path / "child").read_text())
    async with asyncio.timeout(60):
        while _runs(pid):  # noqa: ASYNC110 - init reaps it
            await asyncio.sleep(0.01)


def _runs(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().split(") ")[1][0] != "Z"


async def test_a_program_serves_reflection_and_its_absence_leaves_it_to_rules(
    stand_in: StandIn, tmp_path: Path
) -> None:
    async with serving(tmp_path, llm="claude-code") as (client, _):
        found = await reflect(client)
    assert found["thinker"] == "rules"
    assert "not on PATH" in found["note"]
    analysis = json.dumps(
        {"reflection": "The namespace was missing.", "strategy": "Name it.", "importance": 0.5}
    )
    stand_in.write("claude", json.dumps({**CLAUDE, "result": f"```json\n{analysis}\n```"}))
    async with serving(tmp_path / "other", llm="claude-code") as (client, _):
        found = await reflect(client)
    assert (found["thinker"], found["reflection"]) == ("claude-code", "The namespace was missing.")


async def test_inside_such_a_program_nothing_of_ours_speaks_or_starts_another(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.write(*ANSWERS["claude-code"])
    monkeypatch.setenv(NESTED, "1")
    with pytest.raises(LLMSettingError, match="inside itself"):
        await bound("claude-code").complete(asking())
    assert main(["hook", "SessionStart"]) == main(["serve"]) == 0
    assert capsys.readouterr().out == ""
