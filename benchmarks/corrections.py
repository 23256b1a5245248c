"""Which prompts read as a person's correction: `python -m benchmarks.corrections --data ../shared/data`.

The own set is tests/data/prompts.jsonl, half of it kept aside by a hash of the text; `--data` adds the prompts of a
sample. `--show` prints the prompts that are read wrongly, of the half kept aside and of the sample only with `all`.
"""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any, Final

from mcp_reflect.hooks.corrections import corrects

OWN: Final = Path(__file__).parent.parent / "tests" / "data" / "prompts.jsonl"


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def aside(record: dict[str, Any]) -> bool:
    return hashlib.sha256(record["text"].encode()).digest()[0] % 2 == 1


def measure(name: str, records: list[dict[str, Any]], *, show: bool) -> None:
    for kind, wanted in (("corrections", True), ("other prompts", False)):
        group = [record for record in records if record["correction"] is wanted]
        read_so = [record for record in group if corrects(record["text"])]
        print(f"{name:10} {kind:14} read as corrections: {len(read_so):3} of {len(group):3}")
        if show:
            for record in group:
                if corrects(record["text"]) is not wanted:
                    print("   ", record["text"][:200])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--show", choices=("open", "all"))
    options = parser.parse_args()
    own = read(OWN)
    measure("open", [record for record in own if not aside(record)], show=bool(options.show))
    measure("aside", [record for record in own if aside(record)], show=options.show == "all")
    if options.data:
        measure("sample", read(options.data / "moments" / "prompts.jsonl"), show=options.show == "all")


if __name__ == "__main__":
    main()
