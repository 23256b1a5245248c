"""Only `mcp_reflect.shell` takes a command apart: no other module splits one by itself."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "mcp_reflect"
# A program of a person's settings, which no shell runs.
OTHERS = {"children.py"}


def splits(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "shlex"
        and node.attr in ("split", "shlex")
        for node in ast.walk(tree)
    )


def test_no_module_but_the_shell_splits_commands() -> None:
    found = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if splits(path)}
    assert {name for name in found if not name.startswith("shell/")} == OTHERS
