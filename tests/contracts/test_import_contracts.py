"""Each import contract in pyproject.toml is broken here once, on purpose: a rule that cannot break holds nothing."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


@dataclass(frozen=True)
class Violation:
    """Lines that go to the end of a module, and the contract that they break."""

    what: str
    contract: str
    module: str
    lines: str


# In groups that break each contract once: a group costs one run of the linter.
_FIRST = (
    Violation(
        "a lower package imports a higher one",
        "layers",
        "models/run.py",
        "import mcp_reflect.sessions",
    ),
    Violation(
        "the command line imports mcp late",
        "mcp",
        "cli/__init__.py",
        "def late() -> None:\n    import mcp",
    ),
    Violation("a model imports a library", "models", "models/common.py", "import json_repair"),
    Violation("a hook starts a process", "children", "cli/hook.py", "import subprocess"),
)
_SECOND = (
    Violation(
        "a package imports its sibling",
        "layers",
        "sessions/__init__.py",
        "import mcp_reflect.storage",
    ),
    Violation(
        "storage imports pydantic",
        "pydantic",
        "storage/__init__.py",
        "from pydantic import BaseModel",
    ),
    Violation(
        "storage imports a language model",
        "storage",
        "storage/spool.py",
        "import mcp_reflect.llm.protocol",
    ),
    Violation(
        "the protocol imports a provider's SDK", "http", "llm/protocol.py", "import anthropic"
    ),
)
_THIRD = (
    Violation(
        "storage imports a service",
        "layers",
        "storage/lessons.py",
        "import mcp_reflect.services.replan",
    ),
    Violation(
        "a repository imports the bank for its type",
        "cycles",
        "storage/recalls.py",
        "if TYPE_CHECKING:\n    import mcp_reflect.storage.bank",
    ),
    Violation("a repository imports sqlite3", "sqlite", "storage/__init__.py", "import sqlite3"),
    Violation("sessions speaks HTTP", "http", "sessions/__init__.py", "import httpx2"),
)
_FOURTH = (
    Violation(
        "a guard parses a command itself", "shell", "guards/guard.py", "import tree_sitter_bash"
    ),
    Violation(
        "a hook reads the settings",
        "moments",
        "moments/expected_failures.py",
        "import mcp_reflect.config",
    ),
    Violation("a module has no layer", "layers", "utils.py", "import mcp_reflect.models"),
    Violation("a repository imports psycopg", "postgres", "storage/lessons.py", "import psycopg"),
    Violation("the dashboard's page serves itself", "web", "dashboard/page.py", "import starlette"),
)
VIOLATIONS = (_FIRST, _SECOND, _THIRD, _FOURTH)
HOMES = {
    "children.py": "import subprocess",
    "server/__init__.py": "import mcp\nimport mcp_types",
    "schemas/__init__.py": "import pydantic",
    "server/some_tool.py": "import mcp\nimport uvicorn",
    "dashboard/server.py": "import starlette\nimport uvicorn",
    "storage/sqlite/__init__.py": "import sqlite3",
    "storage/sqlite/some_query.py": "import sqlite3",
    "storage/postgres/some_query.py": "import psycopg",
    "llm/endpoint_calls.py": "import httpx2",
    "llm/sdk.py": "import httpx2",
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package and its contracts, to spoil."""
    shutil.copytree(
        ROOT / "mcp_reflect", tmp_path / "mcp_reflect", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def contracts() -> dict[str, str]:
    """The names of the contracts by id."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {each["id"]: each["name"] for each in settings["tool"]["importlinter"]["contracts"]}


def broken(copy: Path) -> set[str]:
    """The ids of the contracts that the copy breaks."""
    env = {**os.environ, "PYTHONPATH": str(copy), "COLUMNS": "200"}
    command = [sys.executable, "-c", LINT, "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)
    verdicts = {
        id_: re.findall(rf"^{re.escape(name)} (KEPT|BROKEN)\b", done.stdout, re.MULTILINE)
        for id_, name in contracts().items()
    }
    assert all(len(verdict) == 1 for verdict in verdicts.values()), done.stdout + done.stderr
    found = {id_ for id_, verdict in verdicts.items() if verdict == ["BROKEN"]}
    assert done.returncode == (1 if found else 0)
    return found


def plant(copy: Path, module: str, lines: str) -> None:
    with (copy / "mcp_reflect" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{lines}\n")


def test_the_untouched_package_keeps_every_contract(copy: Path) -> None:
    assert broken(copy) == set()


@pytest.mark.parametrize(
    "group", VIOLATIONS, ids=lambda group: ", ".join(each.what for each in group)
)
def test_planted_violations_break_their_contracts_and_no_other(
    copy: Path, group: tuple[Violation, ...]
) -> None:
    for violation in group:
        plant(copy, violation.module, violation.lines)
    assert sorted(broken(copy)) == sorted(violation.contract for violation in group)


def test_each_library_may_be_imported_in_its_own_package(copy: Path) -> None:
    for module, lines in HOMES.items():
        plant(copy, module, lines)
    assert broken(copy) == set()


def test_every_contract_is_broken_by_some_planted_violation() -> None:
    assert {violation.contract for group in VIOLATIONS for violation in group} == set(contracts())
