"""How long until the first answer, beside a bare `MCPServer` with one tool: `python -m benchmarks.start`.

Each round starts every contestant once, in an order that turns from round to round, so that a slow
minute of the machine is everybody's. Two estimates of a ratio are printed: the median of the ratios
within a round, and the ratio of the best times. Noise can only lengthen a time, and it seldom spoils
both, so a limit counts as broken when both are over it; then the exit code is 1.
"""

import argparse
import asyncio
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_reflect.config import Settings
from mcp_reflect.project_folders import project_of
from mcp_reflect.services.engine import Engine
from tests.clients.stdio import Era, RawServer

ROOT = Path(__file__).parent.parent
BARE = (sys.executable, "-m", "benchmarks.bare")
SERVER = (sys.executable, "-m", "mcp_reflect")
COMMAND = (*SERVER, "recall", "a flaky test", "--json")
HOOK = (*SERVER, "hook", "PreToolUse")
FAILED = (*SERVER, "hook", "PostToolUseFailure")
CALL: dict[str, Any] = {
    "session_id": "start",
    "cwd": str(ROOT),
    "tool_name": "Bash",
    "tool_input": {"command": "git push origin main"},
}
HOOK_INPUT = json.dumps(CALL)
CALLED = (*SERVER, "hook", "PostToolUse")
CALLED_INPUT = json.dumps(
    {**CALL, "tool_input": {"command": "pytest"}, "tool_response": {"stdout": "43 passed in 2s"}}
)
ERROR = "remote: error: GH006: Protected branch update failed"
FAILED_INPUT = json.dumps({**CALL, "error": ERROR})

FIRST_ANSWER_LIMIT = 1.05
FIRST_LIST_LIMIT = 1.10
COMMAND_LIMIT = 0.35

Measure = Callable[[], dict[str, float]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure of ours beside the bare server's, paired by round. Times are in seconds."""

    name: str
    bare: tuple[float, ...]
    ours: tuple[float, ...]
    limit: float

    @property
    def median_of_ratios(self) -> float:
        return statistics.median(
            ours / bare for ours, bare in zip(self.ours, self.bare, strict=True)
        )

    @property
    def ratio_of_minima(self) -> float:
        return min(self.ours) / min(self.bare)

    @property
    def within(self) -> bool:
        return min(self.median_of_ratios, self.ratio_of_minima) <= self.limit

    def as_json(self) -> dict[str, str | float | bool]:
        return {
            "name": self.name,
            "bare_median_ms": round(statistics.median(self.bare) * 1000, 1),
            "bare_min_ms": round(min(self.bare) * 1000, 1),
            "ours_median_ms": round(statistics.median(self.ours) * 1000, 1),
            "ours_min_ms": round(min(self.ours) * 1000, 1),
            "median_of_ratios": round(self.median_of_ratios, 3),
            "ratio_of_minima": round(self.ratio_of_minima, 3),
            "limit": self.limit,
            "within": self.within,
        }


def start_server(command: Sequence[str], era: Era, env: Mapping[str, str]) -> dict[str, float]:
    """Start a server; seconds from then to its first answer and to its first tools/list."""
    with RawServer(command, env=env, cwd=ROOT) as server:
        server.open(era)
        first = time.perf_counter() - server.started
        server.request("tools/list")
        listed = time.perf_counter() - server.started
    return {"first": first, "list": listed}


def run_command(
    command: Sequence[str], env: Mapping[str, str], given: str = ""
) -> dict[str, float]:
    """Run a command to its end, with `given` on stdin; how long that took. One that fails is no measurement."""
    began = time.perf_counter()
    done = subprocess.run(
        command,
        env={**os.environ, **env},
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=60,
        input=given.encode(),
    )
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        raise RuntimeError(
            f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr.decode()}"
        )
    return {"run": seconds}


def in_turn(contestants: Mapping[str, Measure], rounds: int) -> dict[str, list[dict[str, float]]]:
    """Measure all contestants once a round, each round beginning with the next one; the first round is not kept."""
    names = list(contestants)
    times: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for turn in range(rounds + 1):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            measured = contestants[name]()
            if turn > 0:
                times[name].append(measured)
    return times


async def tell_lesson(bank: Path) -> None:
    """Store a lesson on the failing call in an agent's own words: the hook after the failure shows it."""
    events = [
        {"type": "tool_call", "tool": CALL["tool_name"], "arguments": CALL["tool_input"]},
        {"type": "tool_response", "tool": CALL["tool_name"], "error": ERROR},
    ]
    told = {"mistake": "Pushed to main", "correction": "Open a pull request", "symptoms": [ERROR]}
    async with Engine(Settings(bank=bank, project=project_of(ROOT))) as engine:
        await engine.reflect(
            task="Push the fix", outcome="failure", run_id="run", events=events, analysis=told
        )


def compare(
    *, bare: Sequence[str], server: Sequence[str], command: Sequence[str], rounds: int, bank: Path
) -> list[Comparison]:
    """Measure the server in both eras, and the command and hooks (where there is one) beside the legacy bare start."""
    # An installed package has bytecode, as the bare server's has; the round that warms up writes ours.
    env = {"MCP_REFLECT_BANK": str(bank), "PYTHONDONTWRITEBYTECODE": ""}
    contestants: dict[str, Measure] = {}
    for era in Era:
        contestants[f"bare {era}"] = lambda era=era: start_server(bare, era, env)
        contestants[f"ours {era}"] = lambda era=era: start_server(server, era, env)
    if command:
        contestants["command"] = lambda: run_command(command, env)
        run_command(
            FAILED, env, FAILED_INPUT
        )  # so that the hook has something to say, and to write
        asyncio.run(tell_lesson(bank))
        contestants["hook"] = lambda: run_command(HOOK, env, HOOK_INPUT)
        contestants["called"] = lambda: run_command(CALLED, env, CALLED_INPUT)
        contestants["failed"] = lambda: run_command(FAILED, env, FAILED_INPUT)
    times = in_turn(contestants, rounds)

    def column(name: str, key: str) -> tuple[float, ...]:
        return tuple(each[key] for each in times[name])

    figures: list[Comparison] = []
    for era in Era:
        for key, label, limit in (
            ("first", "first answer", FIRST_ANSWER_LIMIT),
            ("list", "first tools/list", FIRST_LIST_LIMIT),
        ):
            pair = column(f"bare {era}", key), column(f"ours {era}", key)
            figures.append(Comparison(f"{label}, {era}", *pair, limit))
    if command:
        labels = {
            "command": "command line",
            "hook": "hook",
            "called": "hook after a call",
            "failed": "hook after a failure",
        }
        for name, label in labels.items():
            pair = column(f"bare {Era.LEGACY}", "first"), column(name, "run")
            figures.append(Comparison(label, *pair, COMMAND_LIMIT))
    return figures


def as_table(figures: Sequence[Comparison]) -> str:
    """The figures for a person."""
    lines = [
        f"{'':30}{'bare ms':>18}{'ours ms':>18}{'ratio':>22}{'limit':>8}",
        f"{'':30}{'median':>9}{'min':>9}{'median':>9}{'min':>9}{'of rounds':>11}{'of minima':>11}",
    ]
    for each in figures:
        bare, ours = statistics.median(each.bare), statistics.median(each.ours)
        lines.append(
            f"{each.name:30}{bare * 1000:9.1f}{min(each.bare) * 1000:9.1f}"
            f"{ours * 1000:9.1f}{min(each.ours) * 1000:9.1f}"
            f"{each.median_of_ratios:11.3f}{each.ratio_of_minima:11.3f}{each.limit:8.2f}"
            f"  {'ok' if each.within else 'OVER'}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and say by the exit code whether all limits hold."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.start", description="Start times, in turn."
    )
    parser.add_argument(
        "--rounds", type=int, default=15, help="rounds that count (one more warms up)"
    )
    parser.add_argument(
        "--bare", default=shlex.join(BARE), help="the command line of the server to compare with"
    )
    parser.add_argument("--server", default=shlex.join(SERVER), help="the server's command line")
    parser.add_argument(
        "--command", default=shlex.join(COMMAND), help="the command to time; '' for none"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        figures = compare(
            bare=shlex.split(options.bare),
            server=shlex.split(options.server),
            command=shlex.split(options.command),
            rounds=options.rounds,
            bank=Path(directory) / "bank.db",
        )
    if options.json:
        print(json.dumps([each.as_json() for each in figures], indent=2))
    else:
        print(as_table(figures))
    return 0 if all(each.within for each in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
