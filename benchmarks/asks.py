"""When a session is asked for a lesson: `python -m benchmarks.asks --data ../shared/data`.

Each recorded session is replayed call by call as a hook sees it: the call, its answer, whether the host marks it as
failed. After each call something hard-won may be noticed; a session is asked at most three times,
once for one act. Printed for each set, and compared with a limit:

- **asked**: of the sessions whose lesson the session itself proved, the part that is asked.
- **right call**: of these sessions, the part that is asked about a labeled call that failed.
- **nothing**: of the sessions whose failures teach nothing, the part that is asked.
- **clean**: of the sessions, or stretches of 30 calls, without a failing call, the part that is asked in.
- **asks a session**: on average, over all sessions.

The detectors were made on `coding_runs`. They were not made on `traces`: an airline's agent with tools, code that
several agents wrote, and searches. Their labels, `asks_traces.json`, were written by reading before a detector had run
on them; sessions whose failures nothing put right have none. `later` and `last` are short sessions, written one after
the other in other tools (`tests/sessions/cases`). At first sight 13 of 18 hard ones were asked, 12 about the right call,
and 1 of 10 that teach nothing; then 14 of 15, 13, and 3 of 10; ten rules were mended with them at hand. `--show` prints
each ask beside its session's label.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from mcp_reflect.limits import Limits
from mcp_reflect.models.common import from_json
from mcp_reflect.models.finding import Finding, SessionCall
from mcp_reflect.models.run import Trace
from mcp_reflect.schemas.reading import read
from mcp_reflect.schemas.run import ReflectArguments
from mcp_reflect.schemas.stored_runs import plain_run
from mcp_reflect.sessions.calls import CallWithAnswer
from mcp_reflect.sessions.calls import calls_of as calls_of_run
from mcp_reflect.sessions.found import facts_of
from mcp_reflect.sessions.noticing import MOST_ASKS, found_after
from mcp_reflect.sessions.session_calls import session_call
from mcp_reflect.sessions.tools import without_labels
from tests.sessions import asks
from tests.sessions.trace_events import TERMINAL, iter_cases

LEAST_ASKED, LEAST_RIGHT, MOST_NOTHING, MOST_CLEAN, MOST_A_SESSION = 0.75, 0.5, 0.5, 0.02, 1.2
STRETCH: Final = 30
LABELS: Final = Path(__file__).with_name("asks_traces.json")
Record = dict[str, Any]


class Teaches(StrEnum):
    """What a reader says of a session."""

    HARD = "hard"  # it proves a lesson itself
    NOTHING = "nothing"  # it has failures, and they teach nothing
    CLEAN = "clean"  # no call failed
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Session:
    """A recorded session; `failed` are the numbers of the calls that a lesson is about."""

    name: str
    calls: Sequence[SessionCall]
    teaches: Teaches
    failed: frozenset[int] = frozenset()


@dataclass(slots=True)
class Share:
    """How many of those looked at."""

    count: int = 0
    of: int = 0

    def add(self, *, is_one: bool) -> None:
        self.count += is_one
        self.of += 1

    @property
    def value(self) -> float:
        return self.count / max(self.of, 1)


def asks_in(calls: Sequence[SessionCall]) -> list[Finding]:
    """What a session is asked about."""
    asked: dict[str, Finding] = {}
    for place, call in enumerate(calls):
        finding = found_after(calls[:place], call)
        if finding is not None and finding.act not in asked and len(asked) < MOST_ASKS:
            asked[finding.act] = finding
    return list(asked.values())


def coding_sessions(data: Path) -> Iterator[Session]:
    """The sessions that the detectors were made on."""
    folder = data / "coding_runs"
    episodes: dict[str, list[Record]] = defaultdict(list)
    for line in (folder / "episodes.jsonl").open(encoding="utf-8"):
        episode = json.loads(line)
        episodes[episode["run_id"]].append(episode)
    for line in (folder / "runs.jsonl").open(encoding="utf-8"):
        run = json.loads(line)
        seen = list(calls_of(run))
        numbers = {place: call.number for place, call in seen}
        labels = episodes[run["id"]]
        taught = [episode for episode in labels if episode["lesson"] and episode["proved_in_run"]]
        failed = {numbers[episode["failed_event"]] for episode in taught}
        calls = [call for _, call in seen]
        yield Session(run["id"], calls, _told(labels, taught), frozenset(failed))


def _told(labels: Sequence[Record], taught: Sequence[Record]) -> Teaches:
    if taught:
        return Teaches.HARD
    if labels and all(episode["lesson_class"] == "nothing" for episode in labels):
        return Teaches.NOTHING
    return Teaches.UNDECIDED


def calls_of(run: Record) -> Iterator[tuple[int, SessionCall]]:
    """The calls of a session in the order of their answers, each with the index of its answer."""
    sent: dict[str, Record] = {}
    number = 0
    for place, event in enumerate(run["events"]):
        if event["type"] == "tool_call":
            sent[event.get("call_id") or ""] = event
            continue
        call = sent.get(event.get("call_id") or "")
        if call is None:
            continue
        number += 1
        answer = event["content"] or ""
        seen = CallWithAnswer(
            event_id="",
            tool=call["tool"],
            arguments=without_labels(call["tool"], call["arguments"]),
            answer=answer,
            answered=True,
            error=answer if event.get("error") else "",
            marked_failed=bool(event.get("error")),
        )
        yield place, session_call(number, seen)


def other_sessions(data: Path) -> Iterator[Session]:
    """The sessions that no detector was made on; what runs code is named as hosts name such a tool."""
    labels = json.loads(LABELS.read_text(encoding="utf-8"))
    for _, record, case in iter_cases(data):
        for event in case["events"]:
            if event.get("tool") == TERMINAL:
                event["tool"] = "execute_code"
        trace = from_json(Trace, plain_run(read(ReflectArguments, case), Limits()))
        calls = [
            session_call(number, call) for number, call in enumerate(calls_of_run(trace), start=1)
        ]
        name = record.get("id", "")
        failed = frozenset(labels["hard"].get(name, ()))
        teaches = Teaches.UNDECIDED
        if failed:
            teaches = Teaches.HARD
        elif name in labels["nothing"]:
            teaches = Teaches.NOTHING
        elif not any(call.failed for call in calls):
            teaches = Teaches.CLEAN
        yield Session(name or record["task"][:40], calls, teaches, failed)


def written_sessions(name: str) -> Iterator[Session]:
    """Short sessions that were written after the detectors, in other tools."""
    kinds = {"hard": Teaches.HARD, "plain": Teaches.NOTHING, "clean": Teaches.CLEAN}
    for episode in asks.episodes(name):
        calls = asks.calls_of(episode.steps)
        yield Session(episode.name, calls, kinds[episode.kind], frozenset(episode.failed))


def measure(name: str, sessions: Sequence[Session], *, shows: bool) -> bool:
    """Print the figures of a set; True where all limits hold."""
    asked, right, nothing, clean = Share(), Share(), Share(), Share()
    asked_in_all = 0
    for session in sessions:
        found = asks_in(session.calls)
        asked_in_all += len(found)
        is_right = any(
            finding.failed and finding.failed.number in session.failed for finding in found
        )
        if session.teaches is Teaches.HARD:
            asked.add(is_one=bool(found))
            right.add(is_one=is_right)
        elif session.teaches is Teaches.NOTHING:
            nothing.add(is_one=bool(found))
        elif session.teaches is Teaches.CLEAN:
            clean.add(is_one=bool(found))
        for stretch in _quiet(session.calls):
            clean.add(is_one=bool(asks_in(stretch)))
        if shows:
            _show(session, found, is_right=is_right)
    print(f"{name}: {len(sessions)} sessions")
    rows = (
        ("asked", asked, asked.value >= LEAST_ASKED, f"at least {LEAST_ASKED}"),
        ("right call", right, right.value >= LEAST_RIGHT, f"at least {LEAST_RIGHT}"),
        ("nothing", nothing, nothing.value <= MOST_NOTHING, f"at most {MOST_NOTHING}"),
        ("clean", clean, clean.value <= MOST_CLEAN, f"at most {MOST_CLEAN}"),
    )
    for row, share, _, limit in rows:
        print(f"  {row:15} {share.count} of {share.of} = {share.value:.2f} ({limit})")
    a_session = asked_in_all / len(sessions)
    print(f"  {'asks a session':15} {a_session:.2f} (at most {MOST_A_SESSION})")
    return all(holds for _, _, holds, _ in rows) and a_session <= MOST_A_SESSION


def _quiet(calls: Sequence[SessionCall]) -> Iterator[list[SessionCall]]:
    """The stretches of a session without a failing call."""
    stretch: list[SessionCall] = []
    for call in calls:
        stretch = [] if call.failed else [*stretch, call]
        if len(stretch) == STRETCH:
            yield stretch
            stretch = []


def _show(session: Session, found: Sequence[Finding], *, is_right: bool) -> None:
    if not found and session.teaches in (Teaches.CLEAN, Teaches.UNDECIDED):
        return
    print(f"\n=== {session.name}: {session.teaches} {sorted(session.failed)}, right: {is_right}")
    for finding in found:
        numbers = [call.number for call in (finding.failed, finding.worked) if call]
        print(f"  {finding.kind} {numbers}: {facts_of(finding)}")


def main() -> int:
    """Run the benchmark; 1 where a limit does not hold, 2 without data."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--show", action="store_true", help="print each ask beside the label of its session"
    )
    chosen = parser.parse_args()
    needed = [chosen.data / "coding_runs" / "runs.jsonl", chosen.data / "traces"]
    absent = [str(path) for path in needed if not path.exists()]
    if absent:
        print(
            f"There is no {absent[0]}. Give the recorded sessions with --data DIR.", file=sys.stderr
        )
        return 2
    sets = {
        "coding_runs (the detectors were made on them)": coding_sessions(chosen.data),
        "traces (they were not made on them)": other_sessions(chosen.data),
        "later (written after them, six rules mended with it)": written_sessions("later"),
        "last (written after these, four rules mended with it)": written_sessions("last"),
    }
    holds = [measure(name, list(sessions), shows=chosen.show) for name, sessions in sets.items()]
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
