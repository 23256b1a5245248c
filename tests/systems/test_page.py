"""The examples of docs/systems.md run."""

import re
from pathlib import Path

from mcp_reflect.config import Settings

PAGE = (Path(__file__).parent.parent.parent / "docs" / "systems.md").read_text(encoding="utf-8")


def test_the_examples_of_the_page_run(settings: Settings) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "docs/systems.md", "exec"), {"settings": settings})  # noqa: S102 - our own page
