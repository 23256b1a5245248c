"""Is a decision of a past chat shown when a bug report asks for it in other words: python -m benchmarks.decisions

A bank has two lessons of each chat of a set in tests/moments/decisions: a rule, and its sibling. Each bug report is the
first prompt of a session: as a developer files it (`report`), and as a user who knows no inside tells it (`symptom`).
A line for each set and form says how many rules are shown, how many of them whole, how many others are shown, and
which rules are not. The last line of a set says what prompts draw that have nothing to do with it: bug reports and
tasks of both sets, short tasks, and the plain prompts of `--data`. `--cases` gives a line for each case as well.

The set `later` was written before its author had seen the ranking; on its first run 28 of 30 reports were shown, and the
numbers of `prompt_fit` were chosen with both sets at hand. `unseen` was written after that: 5 of 12 were shown; a
lesson that no other comes near is shown at less since then, which makes them 9. `fresh` was written after that, in other
trades: 27 of 30 reports were shown at first sight, and no rule was changed with it at hand: to show what fits at .5 and
is ahead by a tenth would show 3 more of all 120, and 5 more of the unrelated prompts would bring one.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.retrieval import lines
from mcp_reflect.services.engine import Engine
from tests.moments.past_chats import DECISIONS, SETS, bank_of, outcome_of, shown_at

TESTS: Final = Path(__file__).parents[1] / "tests"
FORMS: Final = ("report", "symptom")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cases", action="store_true", help="a line for each case as well")
    arguments = parser.parse_args()
    prompts = unrelated(arguments.data)
    for name in SETS:
        asyncio.run(_measure(name, prompts, each=arguments.cases))
    return 0


async def _measure(name: str, prompts: Sequence[str], *, each: bool) -> None:
    cases = lines(DECISIONS / f"{name}.jsonl")
    async with bank_of(cases) as (engine, rules):
        for form in FORMS:
            outcomes = [
                outcome_of(
                    case, rules[case["id"]], await shown_at(engine, case["id"] + form, case[form])
                )
                for case in cases
                if form in case
            ]
            if each:
                for outcome in outcomes:
                    print(json.dumps(outcome))
            print(json.dumps({"set": name, "form": form, **_sums(outcomes)}))
        print(json.dumps({"set": name, "unrelated": len(prompts), **await _drawn(engine, prompts)}))


def _sums(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "cases": len(outcomes),
        "shown": sum(one["place"] > 0 for one in outcomes),
        "whole": sum(one["whole"] for one in outcomes),
        "others": sum(one["others"] for one in outcomes),
        "not_shown": [one["id"] for one in outcomes if not one["place"]],
    }


async def _drawn(engine: Engine, prompts: Sequence[str]) -> dict[str, Any]:
    """Return which prompts bring a lesson, and how many hits they recall in all."""
    bring = [
        prompt[:50]
        for place, prompt in enumerate(prompts)
        if await shown_at(engine, f"unrelated {place}", prompt)
    ]
    recalls = [await engine.recall(task=prompt) for prompt in prompts]
    recalled = sum(len(recall.lessons) for recall in recalls)
    return {"with_a_lesson": len(bring), "recalled": recalled, "bring": bring}


def unrelated(data: Path) -> list[str]:
    """Return prompts that have nothing to do with the banks."""
    files = (
        DECISIONS / "unrelated.jsonl",
        DECISIONS / "later_unrelated.jsonl",
        DECISIONS / "unseen_unrelated.jsonl",
        TESTS / "storage" / "cases" / "recall_unrelated_tasks.jsonl",
    )
    found = [line["task"] for file in files for line in lines(file)]
    prompts = data / "moments" / "prompts.jsonl"
    if prompts.is_file():
        found += [line["text"] for line in lines(prompts) if not line["correction"]]
    return found


if __name__ == "__main__":
    sys.exit(main())
