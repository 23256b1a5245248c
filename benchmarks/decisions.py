"""Is a decision of a past chat shown when a bug report asks for it in other words: python -m benchmarks.decisions

The bank has two lessons of each chat in tests/moments/decisions/decisions.jsonl: a rule, and its sibling. Each bug
report, symptoms alone, is the first prompt of a session. A case is a line: the place at which the rule is shown (0:
not at all), whether it is whole, and how many others are shown. The last lines sum up each half, and say what prompts
that have nothing to do with the bank draw: bug reports and tasks of decisions/unrelated.jsonl, short tasks, and the
plain prompts of `--data`. Of the cases that were kept aside, sums alone were looked at until the choice stood; then two
that failed. The fresh ones were written afterwards and measured once: 10 of 12; one that failed was looked at.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.retrieval import lines
from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import short_id
from mcp_reflect.models.shown_lesson import MOST_SHOWN
from mcp_reflect.services.engine import Engine

TESTS: Final = Path(__file__).parents[1] / "tests"
DECISIONS: Final = TESTS / "moments" / "decisions"
HALVES: Final = ("worked on", "kept aside", "fresh")


@asynccontextmanager
async def bank_of(
    cases: Sequence[Mapping[str, Any]],
) -> AsyncGenerator[tuple[Engine, dict[str, str]]]:
    """Open a bank with both lessons of each chat; yield it with the short ids of the rules by the ids of the cases."""
    with TemporaryDirectory() as folder:
        engine = Engine(Settings(bank=Path(folder) / "bank.db", project="decisions"))
        rules: dict[str, str] = {}
        try:
            for case in cases:
                stored = await engine.store_lesson(**case["rule"], evidence="user")
                rules[case["id"]] = short_id(stored.lesson_id)
                await engine.store_lesson(**case["sibling"], evidence="user")
            yield engine, rules
        finally:
            await engine.close()


async def shown_at(engine: Engine, session: str, prompt: str) -> str:
    """Return what a hook says at a prompt of a session about lessons, empty for nothing."""
    return await services.reminders.at_prompt(engine.context, session, prompt) or ""


def outcome_of(case: Mapping[str, Any], rule: str, text: str) -> dict[str, Any]:
    """Return the place at which a rule is shown (0: not at all), whether it is whole, and how many others are shown."""
    shown = {line[2:12]: line for line in text.splitlines() if line.startswith("- les_")}
    ids = [*shown]
    place = ids.index(rule) + 1 if rule in shown else 0
    line, correction = shown.get(rule, ""), case["rule"]["correction"]
    is_whole = correction in line or (len(correction) > MOST_SHOWN and "(shortened; " in line)
    whole = is_whole and all(word in line for word in case["words"])
    return {"id": case["id"], "place": place, "whole": whole, "others": len(ids) - (place > 0)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--half", choices=HALVES, help="this half of the cases alone")
    asyncio.run(_measure(parser.parse_args()))
    return 0


async def _measure(arguments: argparse.Namespace) -> None:
    cases = lines(DECISIONS / "decisions.jsonl")
    halves = (arguments.half,) if arguments.half else HALVES
    async with bank_of(cases) as (engine, rules):
        for half in halves:
            outcomes = [
                outcome_of(
                    case, rules[case["id"]], await shown_at(engine, case["id"], case["report"])
                )
                for case in cases
                if case["half"] == half
            ]
            for outcome in outcomes:
                print(json.dumps(outcome))
            sums = {name: sum(bool(one[name]) for one in outcomes) for name in ("place", "whole")}
            shown = {**sums, "others": sum(one["others"] for one in outcomes)}
            print(json.dumps({"half": half, "cases": len(outcomes), **shown}))
        for name, half, prompts in _unrelated(arguments.data):
            if half in halves and prompts:
                drawn = await _drawn_by(engine, f"{name} {half}", prompts)
                print(
                    json.dumps({"unrelated": name, "half": half, "prompts": len(prompts), **drawn})
                )


async def _drawn_by(engine: Engine, name: str, prompts: Sequence[str]) -> dict[str, int]:
    """Return how many prompts bring a lesson, and how many hits they recall in all."""
    texts = [await shown_at(engine, f"{name} {place}", text) for place, text in enumerate(prompts)]
    recalls = [await engine.recall(task=prompt) for prompt in prompts]
    recalled = sum(len(recall.lessons) for recall in recalls)
    return {"with_a_lesson": sum(map(bool, texts)), "recalled": recalled}


def _unrelated(data: Path) -> list[tuple[str, str, list[str]]]:
    """Return the prompts that have nothing to do with the bank: their name, their half, their texts."""
    sets = [
        ("reports", lines(DECISIONS / "unrelated.jsonl"), "task"),
        ("tasks", lines(TESTS / "storage" / "cases" / "recall_unrelated_tasks.jsonl"), "task"),
    ]
    found = [
        (name, half, [line[key] for line in some if line["half"] == half])
        for name, some, key in sets
        for half in HALVES
    ]
    prompts = data / "moments" / "prompts.jsonl"
    if prompts.is_file():
        plain = [line["text"] for line in lines(prompts) if not line["correction"]]
        found += [("prompts", half, plain[place::2]) for place, half in enumerate(HALVES)]
    return found


if __name__ == "__main__":
    sys.exit(main())
