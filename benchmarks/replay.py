"""What lessons of past sessions would have done in later ones: `python -m benchmarks.replay --data ../shared/data/coding_runs`.

The lessons are those that a person wrote while reading the first half of the recorded sessions of Claude Code (each with
the call that failed and the one that put it right, where both are calls of one tool). They are replayed on the second
half. Printed: how often they would have helped, have been noise, and have refused a call that worked. With `--person`
the lessons count as a person's, whose guards hold; else as an agent's.

`--megabytes N` makes a home of N megabytes of the same sessions instead, and prints how long its replay takes.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.learn_sessions import make_home
from benchmarks.retrieval import lines
from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.replay import Replayed, replay

AGENT = "claude-code"


def halves(data: Path) -> tuple[list[Any], list[Any]]:
    """Return the recorded runs of Claude Code in two halves, by their ids."""
    runs = sorted(
        (run for run in lines(data / "runs.jsonl") if run["agent"] == AGENT),
        key=lambda run: run["id"],
    )
    return runs[: len(runs) // 2], runs[len(runs) // 2 :]


def lessons_of(data: Path, runs: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the lessons of the episodes of some runs, as they are stored."""
    events = {run["id"]: run["events"] for run in runs}
    return [
        {
            **{name: episode["lesson"][name] for name in ("mistake", "correction")},
            **_calls_of(events[episode["run_id"]], episode),
        }
        for episode in lines(data / "episodes.jsonl")
        if episode["run_id"] in events and episode["lesson"]
    ]


def _calls_of(events: Sequence[Any], episode: Any) -> dict[str, Any]:
    """Return the call that failed and the one that put it right; nothing unless both are calls of one tool."""
    found = [_call_before(events, episode[name]) for name in ("failed_event", "fixed_event")]
    wrong, right = found
    if wrong is None or right is None or wrong["tool"] != right["tool"] or wrong == right:
        return {}
    return {"wrong_call": wrong, "right_call": right}


def _call_before(events: Sequence[Any], place: int | None) -> dict[str, Any] | None:
    """Return the call that a response answers."""
    if place is None:
        return None
    response = events[place]
    for event in reversed(events[:place]):
        is_call = event["type"] == "tool_call"
        if is_call and event.get("call_id") == response.get("call_id"):
            return {"tool": event["tool"], "arguments": event["arguments"]}
    return None


async def _store(engine: Engine, fields: dict[str, Any], *, by_person: bool) -> None:
    """Store a lesson; the same call made again gives no guard, so it is stored without calls then."""
    store = services.lessons.add if by_person else services.lessons.store
    try:
        await store(engine.context, fields)
    except InputError:
        words = {name: fields[name] for name in ("mistake", "correction")}
        await store(engine.context, words)


async def replay_halves(data: Path, *, by_person: bool) -> tuple[int, Replayed]:
    """Store the lessons of the first half and replay the second; return how many there are, and what was found."""
    first, second = halves(data)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(bank=Path(folder) / "bank.db", folder=Path(folder))
        async with Engine(settings) as engine:
            stored = 0
            for fields in lessons_of(data, first):
                await _store(engine, fields, by_person=by_person)
                stored += 1
            every = Replayed()
            for run in second:
                one = await replay(engine.context, session=str(data / run["native"]))
                every.sessions += one.sessions
                every.prompts += one.prompts
                every.calls += one.calls
                every.moments += one.moments
                every.faults += one.faults
            return stored, every


async def replay_home(data: Path, megabytes: int) -> tuple[Replayed, float, float]:
    """Replay a home of that size; return what was found, the seconds and the processor seconds."""
    first, _ = halves(data)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        make_home(data, home, megabytes * 1_000_000)
        with_bank = Settings(bank=home / "bank.db", folder=home)
        async with Engine(with_bank) as engine:
            for fields in lessons_of(data, first):
                await _store(engine, fields, by_person=False)
            began, processor = time.perf_counter(), time.process_time()
            every = Replayed()
            for file in sorted((home / ".claude" / "projects").glob("*/*.jsonl")):
                one = await replay(engine.context, session=str(file))
                every.sessions += one.sessions
                every.bytes += one.bytes
                every.prompts += one.prompts
                every.calls += one.calls
                every.moments += one.moments
            return every, time.perf_counter() - began, time.process_time() - processor


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--person", action="store_true")
    parser.add_argument("--megabytes", type=int)
    parser.add_argument("--show", action="store_true", help="each moment as a line of JSON")
    options = parser.parse_args()
    if options.megabytes:
        every, seconds, processor = asyncio.run(replay_home(options.data, options.megabytes))
        size = every.bytes / 1e6
        print(
            f"{every.sessions} sessions, {size:.0f} MB, {every.prompts} prompts, {every.calls} calls: {seconds:.1f} s, "
            f"{processor:.1f} s of a processor; a gigabyte at this rate {processor / size * 1000:.0f} s"
        )
        return
    stored, every = asyncio.run(replay_halves(options.data, by_person=options.person))
    print(f"{stored} lessons of the first half, {every.sessions} sessions of the second")
    print(f"{every.prompts} prompts, {every.calls} calls, {len(every.moments)} moments")
    print(json.dumps({verdict.value: count for verdict, count in every.sums.items()}))
    if options.show:
        for moment in every.moments:
            print(
                json.dumps(
                    [
                        moment.trigger,
                        moment.verdict,
                        moment.said,
                        moment.lesson,
                        moment.next,
                        moment.fact,
                    ]
                )
            )


if __name__ == "__main__":
    main()
