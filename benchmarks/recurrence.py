"""Recorded runs, call by call, through before_call and after_call: `python -m benchmarks.recurrence --data DIR`.

The runs are replayed in the order in which they were made, in one bank for each file: ReAct's trials of
the same question one after another, the airline's tasks one after another. The environment's verdict is
taken out. A call *repeats* a failed one where the last call with the same text but for case, quotation
marks and white space failed, in whichever run. Printed are, of the repeats, the share that was warned; of
the warned calls, the share that did fail; warnings for each 100 calls that worked; milliseconds a call.
Exit code 1 where a figure falls short.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from mcp_reflect.config import Settings
from mcp_reflect.limits import Limits
from mcp_reflect.models.common import Json, from_json
from mcp_reflect.models.run import Trace
from mcp_reflect.schemas.reading import read
from mcp_reflect.schemas.run import ReflectArguments
from mcp_reflect.schemas.stored_runs import plain_run
from mcp_reflect.services.engine import Engine
from mcp_reflect.sessions.calls import CallWithAnswer, calls_of
from tests.sessions.trace_events import iter_cases

FILES = ("reflexion_hotpotqa", "tau_airline")
LEAST_WARNED = 0.90
LEAST_FAILED = 0.95
MOST_FALSE = 1.0  # for each 100 calls that worked
_QUOTES = str.maketrans("", "", "\"'`“”‘’«»")


@dataclass(slots=True)
class Found:
    """What one file gave."""

    counts: Counter[str] = field(default_factory=Counter[str])
    before_ms: list[float] = field(default_factory=list[float])
    after_ms: list[float] = field(default_factory=list[float])
    missed: list[str] = field(default_factory=list[str])
    wrong: list[str] = field(default_factory=list[str])


def main() -> int:
    """Run the benchmark; see the module."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="the folder with traces/"
    )
    options.add_argument(
        "--show", action="store_true", help="print the calls that were missed or wrongly warned of"
    )
    given = options.parse_args()
    if not (given.data / "traces").is_dir():
        print(f"There is no {given.data / 'traces'}: name the development data with --data.")
        return 2
    found = asyncio.run(replay(given.data))
    fine = [report(name, one, show=given.show) for name, one in found.items()]
    return 0 if all(fine) else 1


async def replay(data: Path) -> dict[str, Found]:
    """Every run of the files, call by call, each file in a bank of its own."""
    runs: dict[str, list[Trace]] = {name: [] for name in FILES}
    for name, _, case in iter_cases(data):
        if name in runs:
            runs[name].append(from_json(Trace, plain_run(read(ReflectArguments, case), Limits())))
    found = {name: Found() for name in FILES}
    for name, traces in runs.items():
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings(bank=Path(folder) / "bank.db", project="recurrence")
            async with Engine(settings) as engine:
                last: dict[tuple[str, str], bool] = {}
                for trace in traces:
                    for item in calls_of(trace):
                        if item.is_call and item.answered:
                            await one_call(engine, found[name], last, item, trace.run_id or "")
    return found


async def one_call(
    engine: Engine,
    found: Found,
    last: dict[tuple[str, str], bool],
    item: CallWithAnswer,
    session: str,
) -> None:
    """Send one call and its answer, and count what was said before it."""
    key = (item.tool.lower(), same_text(item.arguments))
    start = time.perf_counter()
    warning = await engine.before_call(item.tool, item.arguments, session=session)
    middle = time.perf_counter()
    after = await engine.after_call(
        item.tool, item.arguments, item.answer, error=item.error or None, session=session
    )
    found.after_ms.append((time.perf_counter() - middle) * 1000)
    found.before_ms.append((middle - start) * 1000)
    failed = after.failed
    repeats = last.get(key, False)
    found.counts["calls"] += 1
    found.counts["failed" if failed else "worked"] += 1
    found.counts["repeats"] += repeats
    found.counts["repeats that failed"] += repeats and failed
    found.counts["repeats warned"] += repeats and warning is not None
    found.counts["warned"] += warning is not None
    found.counts["warned and failed"] += warning is not None and failed
    found.counts["warned and worked"] += warning is not None and not failed
    found.counts["characters"] += len(warning.text) if warning else 0
    if repeats and warning is None:
        found.missed.append(f"{session}: {item.text} ({'failed' if failed else 'worked'})")
    if warning is not None and not failed:
        found.wrong.append(f"{session}: {item.text} [{warning.match}]")
    last[key] = failed


def same_text(arguments: Json) -> str:
    """The arguments as text, without case, quotation marks and white space."""
    text = json.dumps(arguments, sort_keys=True, ensure_ascii=False).replace("\\", "")
    return "".join(text.translate(_QUOTES).split()).casefold()


def report(name: str, found: Found, *, show: bool) -> bool:
    """Print what one file gave; whether every figure is good enough."""
    counts = found.counts
    print(f"{name}: {counts['calls']} calls, {counts['failed']} failed, {counts['worked']} worked")
    warned, right = (
        share(counts["repeats warned"], counts["repeats"]),
        share(counts["warned and failed"], counts["warned"]),
    )
    false = 100 * counts["warned and worked"] / max(counts["worked"], 1)
    print(
        f"  repeats of a failed call: {counts['repeats']}, of which {counts['repeats that failed']} failed again; "
        f"warned {warned} (wanted {LEAST_WARNED:.0%})"
    )
    print(
        f"  warned calls: {counts['warned']}, of which failed {right} (wanted {LEAST_FAILED:.0%})"
    )
    print(f"  false warnings for 100 calls that worked: {false:.2f} (wanted at most {MOST_FALSE})")
    print(f"  characters a warning: {counts['characters'] / max(counts['warned'], 1):.0f}")
    for what, times in (("before", found.before_ms), ("after", found.after_ms)):
        ordered = sorted(times)
        p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
        print(f"  {what} a call: p50 {statistics.median(ordered):.2f} ms, p95 {p95:.2f} ms")
    if show:
        for line in (
            *(f"missed {one}" for one in found.missed),
            *(f"wrong {one}" for one in found.wrong),
        ):
            print(f"    {line}")
    enough = counts["repeats warned"] >= LEAST_WARNED * counts["repeats"]
    sound = counts["warned and failed"] >= LEAST_FAILED * counts["warned"]
    return enough and sound and false <= MOST_FALSE


def share(part: int, whole: int) -> str:
    """A share with its cases; `none` where there are none."""
    return f"{part / whole:.1%} ({part}/{whole})" if whole else "none"


if __name__ == "__main__":
    sys.exit(main())
