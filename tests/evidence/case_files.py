"""Cases in files, and outputs of real tools."""

import json
from pathlib import Path
from typing import Any, cast

HERE = Path(__file__).parent


def lines(name: str) -> list[dict[str, Any]]:
    """The records of a file of cases."""
    text = (HERE / "cases" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [cast("dict[str, Any]", json.loads(line)) for line in text.splitlines()]


def output(name: str) -> str:
    """What a real tool printed."""
    return (HERE / "outputs" / name).read_text(encoding="utf-8")
