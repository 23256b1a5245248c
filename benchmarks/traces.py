"""Every recorded run through `reflect`, over stdio: `python -m benchmarks.traces --data ../shared/data`.

Prints, for each file, how many runs gave a first failing event, a category and a lesson, and how long a call took.
An answer is not a right answer: where a person has labeled the step that failed (Who&When), it also prints how many
first failing events are that step, or at most one step off. For the ReAct runs also: loops (and how many of them are
successes, which must be none), and the share of runs that failed or were halted of which the answer says why. Exit
status 1 where a tool error came back or a figure falls short.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.stdio import RawServer
from benchmarks.trace_events import iter_cases
from mcp_reflect.analysis.diagnose import diagnose
from mcp_reflect.config import Limits
from mcp_reflect.models.common import Json, from_json
from mcp_reflect.models.run import FindingKind, Trace
from mcp_reflect.schemas.fields import read
from mcp_reflect.schemas.run import ReflectArguments, plain_run

REACT = "reflexion_hotpotqa"
LEAST_LOOPS = 15
LEAST_SAID = 0.65
MOST_BYTES = 2_500


def main() -> int:
    """Run the benchmark; see the module."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder with traces/")
    data: Path = options.parse_args().data
    if not (data / "traces").is_dir():
        print(f"There is no {data / 'traces'}: name the development data with --data.")
        return 2
    counts: dict[str, Counter[str]] = {}
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        env = {"MCP_REFLECT_BANK": f"{folder}/bank.db", "MCP_REFLECT_PROJECT": "traces"}
        with RawServer((sys.executable, "-m", "mcp_reflect"), env=env, timeout=60) as server:
            server.open()
            server.call_tool("recall_lessons", {"task": "warm the engine up"})
            for name, record, case in iter_cases(data):
                start = time.perf_counter()
                answer = server.call_tool("reflect", case)
                seconds.setdefault(name, []).append(time.perf_counter() - start)
                count(counts.setdefault(name, Counter()), record, case, answer)
    return report(counts, seconds)


def count(found: Counter[str], record: Mapping[str, Any], case: Mapping[str, Any], answer: Mapping[str, Json]) -> None:
    """Count the answer of one call."""
    recorded = record["outcome"]
    found["runs"] += 1
    if answer.get("isError"):
        found["tool errors"] += 1
        return
    result = answer["structuredContent"]
    assert isinstance(result, dict)  # noqa: S101 - the protocol says so
    found["first failing event"] += "first_failing_event" in result
    if "mistake_step" in record:
        steps = {event["id"]: event.get("metadata", {}).get("step") for event in case["events"]}
        step = steps.get(result.get("first_failing_event"))
        found["at the labeled step"] += step == record["mistake_step"]
        found["at most one step off"] += step is not None and abs(step - record["mistake_step"]) <= 1
    found["category"] += result.get("error_category", "unknown_error") != "unknown_error"
    found["lesson"] += "lessons" in result
    found["over 2.5 kB"] += len(json.dumps(result, separators=(",", ":"), ensure_ascii=False).encode()) > MOST_BYTES
    kinds = {finding.kind for finding in diagnose(_trace(case)).findings}
    found["loop"] += FindingKind.LOOP in kinds
    found["loop in a success"] += FindingKind.LOOP in kinds and recorded == "success"
    if recorded != "success":
        found["failed or halted"] += 1
        telling = result.get("error_category", "unknown_error") != "unknown_error"
        found["something said"] += telling or bool(kinds & {FindingKind.LOOP, FindingKind.ZERO_RESULTS})


def report(counts: Mapping[str, Counter[str]], seconds: Mapping[str, list[float]]) -> int:
    """Print the table; 1 where a figure falls short."""
    for name, found in counts.items():
        times = sorted(seconds[name])
        p95 = times[min(len(times) - 1, int(len(times) * 0.95))]
        print(f"{name}: " + ", ".join(f"{what} {number}" for what, number in found.items()))
        print(f"  a call: p50 {statistics.median(times) * 1000:.1f} ms, p95 {p95 * 1000:.1f} ms")
    react = counts.get(REACT, Counter())
    said = react["something said"] / max(react["failed or halted"], 1)
    print(f"{REACT}: something said of {said:.1%} of the runs that failed or were halted (wanted {LEAST_SAID:.0%})")
    fine = said >= LEAST_SAID and react["loop"] >= LEAST_LOOPS and not react["loop in a success"]
    return 0 if fine and not any(found["tool errors"] for found in counts.values()) else 1


def _trace(case: Mapping[str, Json]) -> Trace:
    return from_json(Trace, plain_run(read(ReflectArguments, case), Limits()))


if __name__ == "__main__":
    sys.exit(main())
