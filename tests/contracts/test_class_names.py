"""Each class has a name of its own, so that a name in a message or a search leads to one place."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_two_classes_of_the_package_share_a_name() -> None:
    files: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "mcp_reflect").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "class " in text else ():
            if isinstance(node, ast.ClassDef):
                files[node.name].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in files.items() if len(where) > 1} == {}
