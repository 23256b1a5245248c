"""The cases of these tests: secrets, look-alikes, attacks, honest texts. All are made up; no secret was ever in use."""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

CASES: Final = Path(__file__).parent / "cases"


@cache
def cases(name: str) -> tuple[dict[str, Any], ...]:
    """The lines of `attacks`, `honest`, `lookalikes` or `secrets`."""
    with (CASES / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return tuple(map(json.loads, lines))


def texts(name: str) -> list[str]:
    """The texts of those cases."""
    return [case["text"] for case in cases(name)]
