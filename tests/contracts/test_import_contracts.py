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


VIOLATIONS = (
    Violation("a lower room imports a higher one", "layers", "records/scope.py", "import mcp_reflect.reflect"),
    Violation("a room imports its sibling", "layers", "reflect/__init__.py", "import mcp_reflect.bank"),
    Violation("a work imports its sibling", "layers", "remembering.py", "import mcp_reflect.searching"),
    Violation("a module has no place in the house", "layers", "utils.py", "import mcp_reflect.records"),
    Violation("the command line imports mcp late", "mcp", "cli/__init__.py", "def late() -> None:\n    import mcp"),
    Violation("the bank imports pydantic", "pydantic", "bank/__init__.py", "from pydantic import BaseModel"),
    Violation("the bank's face imports sqlite3", "sqlite", "bank/__init__.py", "import sqlite3"),
    Violation("the seam imports a provider's SDK", "anthropic", "llm/__init__.py", "import anthropic"),
    Violation("a room speaks HTTP", "http", "reflect/__init__.py", "import httpx2"),
    Violation("the board's page serves itself", "web", "board/page.py", "import starlette"),
    Violation("the bank imports numpy", "numpy", "bank/__init__.py", "import numpy"),
    Violation("a record imports a library", "records", "records/trace.py", "import structlog"),
)
HOMES = {
    "server/__init__.py": "import mcp\nimport mcp_types",
    "arguments/__init__.py": "import pydantic",
    "server/some_tool.py": "import mcp\nimport uvicorn",
    "board/serving.py": "import starlette\nimport uvicorn",
    "bank/sqlite/__init__.py": "import aiosqlite\nimport sqlite3",
    "bank/sqlite/some_query.py": "import sqlite3",
    "llm/anthropic.py": "import anthropic",
    "llm/http.py": "import httpx2",
    "embedding/some_model.py": "import numpy\nimport tokenizers",
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package and its contracts, to spoil."""
    shutil.copytree(ROOT / "mcp_reflect", tmp_path / "mcp_reflect", ignore=shutil.ignore_patterns("__pycache__"))
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


@pytest.mark.parametrize("violation", VIOLATIONS, ids=lambda each: each.what)
def test_a_planted_violation_breaks_its_contract_and_no_other(copy: Path, violation: Violation) -> None:
    plant(copy, violation.module, violation.lines)
    assert broken(copy) == {violation.contract}


def test_each_library_may_be_imported_in_its_own_room(copy: Path) -> None:
    for module, lines in HOMES.items():
        plant(copy, module, lines)
    assert broken(copy) == set()


def test_every_contract_is_broken_by_some_planted_violation() -> None:
    assert {violation.contract for violation in VIOLATIONS} == set(contracts())
