"""When a session is asked for a lesson: `python -m benchmarks.asks --data ../shared/data/coding_runs`.

Each recorded session is replayed call by call as a hook sees it: the call, its answer, whether the host marks it as
failed. After each call something hard-won may be noticed; a session is asked at most three times,
once for one act. Printed, and compared with a limit:

- **asked**: of the sessions with an episode whose lesson the session itself proved, the part that is asked.
- **right call**: of these sessions, the part that is asked about a labeled call that failed.
- **nothing**: of the sessions whose failures teach nothing, the part that is asked.
- **quiet**: of the stretches of 30 calls without a failing one, the part that is asked in.
- **asks a session**: on average, over all sessions.

`--show` prints each ask beside the labels of its session.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mcp_reflect.models.finding import Finding, SessionCall
from mcp_reflect.sessions.calls import Call
from mcp_reflect.sessions.found import facts_of
from mcp_reflect.sessions.noticing import MOST_ASKS, found_after
from mcp_reflect.sessions.session_calls import session_call
from mcp_reflect.sessions.tools import without_labels

LEAST_ASKED, LEAST_RIGHT, MOST_NOTHING, MOST_QUIET, MOST_A_SESSION = 0.75, 0.5, 0.5, 0.02, 1.2
STRETCH = 30
Record = dict[str, Any]


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
        seen = Call(
            event_id="",
            tool=call["tool"],
            arguments=without_labels(call["tool"], call["arguments"]),
            answer=answer,
            answered=True,
            error=answer if event.get("error") else "",
            marked=bool(event.get("error")),
        )
        yield place, session_call(number, seen)


def asks_in(calls: Sequence[SessionCall]) -> list[Finding]:
    """What a session is asked about."""
    asked: dict[str, Finding] = {}
    for place, call in enumerate(calls):
        finding = found_after(calls[:place], call)
        if finding is not None and finding.act not in asked and len(asked) < MOST_ASKS:
            asked[finding.act] = finding
    return list(asked.values())


def main() -> int:
    """Run the benchmark; 1 where a limit does not hold, 2 without data."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/coding_runs"))
    parser.add_argument(
        "--show", action="store_true", help="print each ask beside the labels of its session"
    )
    chosen = parser.parse_args()
    if not (chosen.data / "runs.jsonl").is_file():
        print(
            f"There is no {chosen.data / 'runs.jsonl'}. Give the recorded sessions with --data DIR.",
            file=sys.stderr,
        )
        return 2
    runs = [json.loads(line) for line in (chosen.data / "runs.jsonl").open(encoding="utf-8")]
    episodes: dict[str, list[Record]] = defaultdict(list)
    for line in (chosen.data / "episodes.jsonl").open(encoding="utf-8"):
        episodes[(episode := json.loads(line))["run_id"]].append(episode)
    proven = asked = right = nothing = asked_nothing = quiet = asked_quiet = asks = 0
    for run in runs:
        seen = list(calls_of(run))
        calls, index = [call for _, call in seen], {call.number: place for place, call in seen}
        found, labels = asks_in(calls), episodes[run["id"]]
        asks += len(found)
        taught = [episode for episode in labels if episode["lesson"] and episode["proved_in_run"]]
        events = {index[finding.failed.number] for finding in found if finding.failed}
        hit = bool(events & {episode["failed_event"] for episode in taught})
        if taught:
            proven, asked, right = proven + 1, asked + bool(found), right + hit
        elif labels and all(episode["lesson_class"] == "nothing" for episode in labels):
            nothing, asked_nothing = nothing + 1, asked_nothing + bool(found)
        for stretch in _quiet(calls):
            quiet, asked_quiet = quiet + 1, asked_quiet + bool(noise := asks_in(stretch))
            for finding in noise if chosen.show else ():
                print(f"QUIET {run['id']}: {facts_of(finding)}")
        if chosen.show:
            _show(run["id"], labels, found, index, hit=hit, proven=bool(taught))
    rows = (
        ("asked", asked, proven, LEAST_ASKED, "at least"),
        ("right call", right, proven, LEAST_RIGHT, "at least"),
        ("nothing", asked_nothing, nothing, MOST_NOTHING, "at most"),
        ("quiet", asked_quiet, quiet, MOST_QUIET, "at most"),
        ("asks a session", asks, len(runs), MOST_A_SESSION, "at most"),
    )
    fine = True
    for name, count, of, limit, bound in rows:
        share = count / max(of, 1)
        fine &= share >= limit if bound == "at least" else share <= limit
        print(f"{name:15} {count} of {of} = {share:.2f} ({bound} {limit})")
    return 0 if fine else 1


def _quiet(calls: Sequence[SessionCall]) -> Iterator[list[SessionCall]]:
    """The stretches of a session without a failing call."""
    stretch: list[SessionCall] = []
    for call in calls:
        stretch = [] if call.failed else [*stretch, call]
        if len(stretch) == STRETCH:
            yield stretch
            stretch = []


def _show(
    name: str,
    labels: Sequence[Record],
    found: Sequence[Finding],
    index: dict[int, int],
    *,
    hit: bool,
    proven: bool,
) -> None:
    mark = (
        ("right" if hit else "WRONG CALL" if found else "NOT ASKED")
        if proven
        else "ASKED"
        if found
        else "silent"
    )
    print(
        f"\n=== {mark} {name} {[(e['lesson_class'], e['kind'], e['failed_event']) for e in labels]}"
    )
    for finding in found:
        numbers = [index[call.number] for call in (finding.failed, finding.worked) if call]
        print(f"  {finding.kind} {numbers}: {facts_of(finding)}")


if __name__ == "__main__":
    sys.exit(main())
