"""Short sessions in which something is hard-won, or is not: `cases/asks_*.txt`.

A session is a paragraph. Its first line has a name and a label: `hard FAILED>WORKED` with numbers of calls (of several
failed ones with commas), `plain` for a failure that teaches nothing, `clean` for none. `$ COMMAND` is a call of a
shell, `@TOOL JSON` of another tool; the answer follows, its first line after `: ` or, where it failed, `! `.
The rules were written with `seen` at hand, `held` was put away and measured once; `kept` is the behavior of 0.2.0 that stays.
`later` was written afterward in other tools: 13 of its 18 hard ones were asked at first sight, 12 about the right pair;
six rules were mended with it at hand, and with what was missed in `held`. `last` was written after these: 14 of 15, 13 about
the right pair, and 3 of 10 that teach nothing; four rules were mended.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import Finding, SessionCall
from mcp_reflect.sessions.calls import CallWithAnswer
from mcp_reflect.sessions.noticing import found_after
from mcp_reflect.sessions.session_calls import session_call

FOLDER = Path(__file__).parent / "cases"


@dataclass
class Step:
    """A call and its answer."""

    tool: str
    arguments: Json
    answer: str = ""
    failed: bool = False


@dataclass(frozen=True)
class Episode:
    """A session with its label."""

    name: str
    kind: str
    failed: tuple[int, ...]
    worked: int
    steps: list[Step]


def episodes(name: str) -> Iterator[Episode]:
    """The sessions of a file."""
    text = (FOLDER / f"asks_{name}.txt").read_text(encoding="utf-8").strip()
    for paragraph in re.split(r"\n\n(?=# )", text):
        head, *lines = paragraph.split("\n")
        title, label = head.removeprefix("# ").split(" | ")
        kind, _, numbers = label.partition(" ")
        failed, _, worked = numbers.partition(">")
        calls = tuple(map(int, failed.split(","))) if failed else ()
        yield Episode(title, kind, calls, int(worked or 0), _steps(lines))


def _steps(lines: Sequence[str]) -> list[Step]:
    steps: list[Step] = []
    answered = False
    for line in lines:
        if line.startswith("$ "):
            steps.append(Step("Bash", {"command": line[2:]}))
            answered = False
        elif line.startswith("@"):
            tool, _, arguments = line[1:].partition(" ")
            steps.append(Step(tool, json.loads(arguments)))
            answered = False
        else:
            steps[-1].failed |= line.startswith("!")
            steps[-1].answer += f"\n{line[2:]}" if answered else line[2:]
            answered = True
    return steps


def calls_of(steps: Sequence[Step]) -> list[SessionCall]:
    """The steps as a session keeps them."""
    calls: list[SessionCall] = []
    for number, step in enumerate(steps, start=1):
        error = step.answer or "error" if step.failed else ""
        call = CallWithAnswer(
            event_id="", tool=step.tool, arguments=step.arguments, answer=step.answer, answered=True
        )
        call.error, call.marked_failed = error, step.failed
        calls.append(session_call(number, call))
    return calls


def asked_about(steps: Sequence[Step]) -> list[Finding]:
    """What a session is asked about: each act once."""
    calls = calls_of(steps)
    found: dict[str, Finding] = {}
    for place, call in enumerate(calls):
        finding = found_after(calls[:place], call)
        if finding is not None:
            found.setdefault(finding.act, finding)
    return list(found.values())
