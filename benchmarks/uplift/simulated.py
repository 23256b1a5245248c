"""A program of a sandbox: it answers by the rules of a file that lies outside of the sandbox, and keeps its state there.

It stands alone, so that the sandbox needs nothing of this repository: `simulated.py STATE_FILE WORD...`.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any


def answer(state: dict[str, Any], words: str) -> tuple[str, int]:
    """Return what the program says to words, and its exit code; the state takes note of the call."""
    target = state["target"]
    for rule in state["rules"]:
        pattern = rule["when"].replace("{t}", re.escape(target))
        has_all = set(rule.get("needs", ())) <= set(state["flags"])
        if not has_all or not re.fullmatch(pattern, words):
            continue
        state["flags"] = [*state["flags"], *rule.get("sets", ())]
        state["done"] = state["done"] or bool(rule.get("done"))
        state["calls"].append({"words": words, "trap": bool(rule.get("trap"))})
        return rule["says"].replace("{t}", target), rule["code"]
    state["calls"].append({"words": words, "trap": False})
    is_help = words in ("", "help", "--help", "-h")
    return state["help"], 0 if is_help else 64


def main() -> int:
    """Answer one call."""
    file, *words = sys.argv[1:]
    state = json.loads(Path(file).read_text())
    said, code = answer(state, " ".join(words))
    Path(file).write_text(json.dumps(state))
    sys.stdout.write(f"{said}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
