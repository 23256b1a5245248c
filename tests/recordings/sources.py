"""What hosts rest on, as it was recorded: input and answers of hooks.

    python -m tests.recordings.sources                  # record anew; then read the diff

Hosts and scripts of users rest on these forms, so a change of one is made on purpose.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.recordings import hook_inputs

HERE = Path(__file__).parent

Recording = dict[str, Any]

SOURCES: dict[str, Callable[[], Recording]] = {"hooks": hook_inputs.hooks}


def recorded(name: str) -> Recording:
    """Return what was recorded."""
    text = (HERE / f"{name}.jsonl").read_text("utf-8")
    return {key: value for line in text.splitlines() for key, value in json.loads(line).items()}


if __name__ == "__main__":
    for name in sys.argv[1:] or SOURCES:
        text = "".join(json.dumps({key: value}, ensure_ascii=False) + "\n" for key, value in SOURCES[name]().items())
        (HERE / f"{name}.jsonl").write_text(text, "utf-8")
