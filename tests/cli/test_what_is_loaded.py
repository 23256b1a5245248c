"""What the command line and the hooks load, for each module, record class and pattern takes its part of a start.

`python -m benchmarks.start` measures the time. Here stand names and counts, which a busy machine does not change: who
goes over a count asks what the new one is for, and imports it, or compiles it where it is needed (`lazy_compile`).
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.project_folders import project_of
from mcp_reflect.services.engine import Engine

ROOT = Path(__file__).parents[2]
FAILING = {
    "session_id": "s",
    "cwd": str(ROOT),
    "tool_name": "Bash",
    "tool_input": {"command": "git push origin main"},
    "error": "remote: error: GH006: Protected branch update failed",
}

RUN = """
import json, re, sys
from mcp_reflect.cli import main
if sys.argv[1] == "hook":  # it ends itself after three seconds, which a busy machine may need
    from mcp_reflect.cli import quick_hook
    quick_hook.MAX_SECONDS = 600
assert main(sys.argv[1:]) == 0
own = {name: module for name, module in sys.modules.items() if name.startswith("mcp_reflect")}
values = [(name, value) for name, module in own.items() for value in vars(module).values()]
records = {value for _, value in values if isinstance(value, type) and "__dataclass_fields__" in vars(value)}
patterns = {value for name, value in values if isinstance(value, re.Pattern)}
print(json.dumps([sorted(sys.modules), len(records), len(patterns)]), file=sys.stderr)
"""

# What only other commands need, or takes longer to load than what a quick command does with it.
NEVER = (
    "mcp", "pydantic", "anyio", "httpx2", "anthropic", "numpy", "structlog", "json_repair", "unittest", "email", "http",
    "urllib.request", "multiprocessing", "importlib.metadata", "importlib.resources", "zipfile", "html", "xml",
    "mcp_reflect.llm", "mcp_reflect.schemas", "mcp_reflect.server", "mcp_reflect.dashboard", "mcp_reflect.evidence.judging",
    "mcp_reflect.evidence.opinion_fields",
    "mcp_reflect.replan", "mcp_reflect.services.reflect", "mcp_reflect.services.critique",
    "mcp_reflect.services.replan",
    "mcp_reflect.models.critique", "mcp_reflect.models.reflection", "mcp_reflect.models.search",
    "mcp_reflect.storage.consolidation", "mcp_reflect.storage.transfer", "mcp_reflect.storage.views",
)  # fmt: skip
JUDGING = ("tomllib", "mcp_reflect.sessions.calls")  # tomllib reads the rules on suspicious text
WATCHING = (
    "mcp_reflect.services.warnings",
    "mcp_reflect.sessions",
    "mcp_reflect.models.warning",
    "mcp_reflect.models.run",
)


@dataclass(frozen=True)
class Loaded:
    """What a command said and loaded: every module's name; how many records and compiled patterns of ours.

    Patterns count that stand in a module as compiled ones, and so were compiled as it was imported.
    """

    said: str
    names: frozenset[str]
    records: int
    patterns: int

    def of(self, rooms: tuple[str, ...]) -> list[str]:
        return sorted(
            name
            for name in self.names
            if name in rooms or name.startswith(tuple(f"{one}." for one in rooms))
        )


def loaded(bank: Path, *words: str, given: str = "") -> Loaded:
    """Run a quick command in a process of its own."""
    env = {**os.environ, "MCP_REFLECT_BANK": str(bank)}
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        cwd=ROOT,
        env=env,
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    names, *counts = json.loads(done.stderr)
    return Loaded(done.stdout, frozenset(names), *counts)


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("loaded") / "bank.db"


@pytest.fixture(scope="module")
def after_a_failure(bank: Path) -> Loaded:
    return loaded(bank, "hook", "PostToolUseFailure", given=json.dumps(FAILING))


def test_a_hook_after_a_failure_loads_what_judges_it_and_no_more(after_a_failure: Loaded) -> None:
    found = after_a_failure
    assert found.of(JUDGING)
    assert found.of((*NEVER, "argparse")) == []


async def tell_lesson(bank: Path) -> None:
    """Reflect on the failing call in words of one's own, as an agent does."""
    events = [
        {"type": "tool_call", "tool": "Bash", "arguments": FAILING["tool_input"]},
        {"type": "tool_response", "tool": "Bash", "error": FAILING["error"]},
    ]
    told = {
        "mistake": "Pushed to main",
        "correction": "Open a pull request",
        "symptoms": [FAILING["error"]],
    }
    async with Engine(Settings(bank=bank, project=project_of(ROOT))) as engine:
        await engine.reflect(
            task="Push the fix", outcome="failure", run_id="run", events=events, analysis=told
        )


async def test_a_hook_after_a_failure_reads_no_rules_to_show_a_lesson_in_own_words(
    tmp_path: Path,
) -> None:
    bank = tmp_path / "bank.db"
    await tell_lesson(bank)
    found = loaded(
        bank, "hook", "PostToolUseFailure", given=json.dumps({**FAILING, "session_id": "later"})
    )
    assert "Open a pull request" in found.said
    assert found.of(("tomllib",)) == []


async def test_a_hook_before_a_call_loads_nothing_that_judges(tmp_path: Path) -> None:
    bank = tmp_path / "bank.db"
    await tell_lesson(bank)
    found = loaded(bank, "hook", "PreToolUse", given=json.dumps({**FAILING, "session_id": "later"}))
    assert found.of((*NEVER, *JUDGING, "argparse")) == []


def test_a_hook_with_nothing_to_say_loads_no_services_no_records_and_little_of_the_library(
    tmp_path: Path,
) -> None:
    bank = tmp_path / "bank.db"  # of its own: what another test stored may be worth saying
    loaded(bank, "hook", "PostToolUseFailure", given=json.dumps(FAILING))
    for event in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
        sent = {
            **FAILING,
            "tool_input": {"command": "ls src"},
            "error": None,
            "tool_response": {"stdout": "app.py"},
        }
        if event == "PostToolUseFailure":  # in a way that is new here
            sent = {
                **sent,
                "tool_input": {"command": "make all"},
                "error": "make: *** No rule to make target 'all'.",
            }
        found = loaded(bank, "hook", event, given=json.dumps(sent))
        slow = (
            "asyncio",
            "dataclasses",
            "inspect",
            "threading",
            "logging",
            "subprocess",
            "hashlib",
            "argparse",
        )
        assert (
            found.of(
                (
                    *NEVER,
                    *JUDGING,
                    *slow,
                    "mcp_reflect.services",
                    "mcp_reflect.config",
                    "mcp_reflect.models",
                )
            )
            == []
        )
        assert (found.records, found.patterns) == (0, 0)


@pytest.mark.usefixtures("after_a_failure")  # there is a bank
def test_a_recall_loads_nothing_that_watches(bank: Path) -> None:
    found = loaded(bank, "recall", "a flaky test", "--json")
    assert found.of((*NEVER, *JUDGING, *WATCHING)) == []
