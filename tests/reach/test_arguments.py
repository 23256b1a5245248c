"""No argument reaches a shell, a path, an address or the text of SQL: tried by an audit hook, and read off the code."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "mcp_reflect"
SQL_METHODS = {"execute", "executemany", "executescript", "execute_fetchall"}


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.reach.audited", str(tmp_path_factory.mktemp("bank") / "bank.db")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_marked_arguments_reach_no_file_process_socket_or_library(audited: dict[str, Any]) -> None:
    assert audited["reached"] == []
    assert audited["answered"] >= 30  # else only refusals would have been tried
    assert audited["events"]  # and the hook heard something


def test_marked_arguments_reach_no_statement(audited: dict[str, Any]) -> None:
    assert audited["statements"] == []
    assert audited["different"] > 50


def calls_of_sql(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SQL_METHODS:
            yield node


def faults(source: str) -> list[str]:
    """The calls in `source` whose SQL is neither a constant nor a query by its name.

    A place in an f-string may hold a constant of the module, a number, or a choice between two constants.
    """
    tree = ast.parse(source)
    constants: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            constants |= {target.id for target in targets if isinstance(target, ast.Name)}
    return [ast.unparse(call) for call in calls_of_sql(tree) if call.args and not _is_ours(call.args[0], constants)]


def _is_ours(sql: ast.expr, constants: set[str]) -> bool:
    match sql:
        case ast.Constant(value=str()):
            return True
        case ast.Call(func=ast.Name(id="query" | "int" | "max" | "newest" | "quoted_name")):
            return True
        case ast.Name(id=name):
            return name in constants
        case ast.IfExp(body=one, orelse=other):
            return _is_ours(one, constants) and _is_ours(other, constants)
        case ast.JoinedStr(values=values):
            return all(_is_ours(part, constants) for part in values)
        case ast.FormattedValue(value=value):
            return _is_ours(value, constants)
        case _:
            return False


ELSEWHERE = {
    # A migration is a file of ours; the pragmas' names are constants where `number_of` and `_mode` are called.
    "schema.py": ["connection.execute(statement)", "connection.execute(f'PRAGMA {pragma}')"],
    "journal.py": ['connection.execute(f"PRAGMA journal_mode'],
    # Tables and columns are those of our own schema, read off a bank that this release has just made.
    "damage.py": ['looking.execute(f\'\'\'INSERT INTO "{name}" ("{name}") VALUES'],
    "rescue.py": [
        "connection.execute(_insertion(table.name, ",
        'connection.execute(f\'SELECT 1 FROM "{table.name}" WHERE',
    ],
}


RUNNERS = {"eval", "exec", "__import__", "system", "popen", "spawnv"}


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="os" | "builtins"), attr=name):
            return name
        case _:
            return ""
