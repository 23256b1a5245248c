"""The examples of docs/frameworks.md, as they stand there."""

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent.parent / "docs" / "frameworks.md"


def examples(part: str, framework: str = "") -> dict[str, Any]:
    """The blocks of Python in a part of the page (of one framework alone, where named), run in one namespace."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {part}\n")[1].split("\n## ")[0]
    if framework:
        text = text.split(f"\n### {framework}\n")[1].split("\n### ")[0]
    space: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block, space)  # noqa: S102 - it is our own page that is tried
    return space
