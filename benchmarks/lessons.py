"""Lessons of rules on recorded coding sessions: `python -m benchmarks.lessons --data ../shared/data/coding_runs`.

Each session is read twice, as a hook reads it: its native file through the reader of transcripts, and its line of
runs.jsonl as the arguments of `reflect`; then redaction and rules. A lesson belongs to the labeled episode whose
failing event it names (itself, or among the failures with the same correction). Printed, and compared with a limit:

- **right**: of the lessons, the part that belongs to an episode labeled as teaching (`rule` or `model`) and whose
  correction names the labeled fix. A lesson that belongs to no episode counts as wrong. It names the fix if it shares
  two words with the labeled correction (four letters or more, compared by their first five; words of no meaning
  left out), or a file name, option or command in it.
- **noise**: of the episodes labeled `nothing`, the part of which a lesson was made.
- **found**: of the episodes labeled `rule`, the part of which a lesson was made.
- **given**: of the episodes labeled as teaching, the part whose failing event is named in the findings that a language
  model is given to write lessons from (with the events themselves, as far as they fit).
- **unfit texts**: texts of lessons, reflections and findings with the value of an argument that only labels a call, a
  cut marked by an ellipsis, or a temporary path.

`--show` prints every lesson beside its label.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json, from_json
from mcp_reflect.models.run import Correction, EventType, Trace
from mcp_reflect.schemas.fields import read
from mcp_reflect.schemas.run import ReflectArguments, plain_run
from mcp_reflect.sessions.diagnose import diagnose
from mcp_reflect.sessions.reflector import findings_text
from mcp_reflect.sessions.tools import without_labels
from mcp_reflect.sessions.transcripts import read_transcript

LEAST_RIGHT, MOST_NOISE, LEAST_FOUND = 0.90, 0.02, 0.60
Record = dict[str, Any]
_STOP = frozenset(
    "with that this from then them they have into when where which instead first file call same".split()
)
_IDENTIFIER = re.compile(r"[\w.-]*[./_-][\w./-]+|--?\w[\w-]+")
_UNFIT = re.compile(r" \.\.\. |…|(?<![\w<.])/tmp/|/var/folders")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A lesson with the indices of the failing events in runs.jsonl that it was made of.

    `lesson` is None for the events that are named in the findings of the run; `unfit` are its texts that are unfit.
    """

    run_id: str
    events: tuple[int, ...]
    lesson: Correction | None
    unfit: tuple[str, ...] = ()


def made_of(run: Record, sent: Record, responses: Sequence[int]) -> Iterator[Made]:
    """The lessons and the findings of one reading; `responses` are the indices of the answers in it, in their order."""
    trace: Trace = from_json(Trace, plain_run(read(ReflectArguments, sent), Limits()))
    answers = [event.id for event in trace.events if event.type is EventType.TOOL_RESPONSE]
    index = dict(zip(answers, responses, strict=False))
    seen = diagnose(trace)
    for lesson in seen.corrections:
        names = (lesson.failed_event_id, *lesson.also)
        yield Made(
            run_id=run["id"],
            events=tuple(index[name] for name in names if name in index),
            lesson=lesson,
        )
    named = re.findall(r"\be\d+\b", findings_text(seen))
    points = tuple(finding.text for finding in (*seen.findings, *seen.without_lesson))
    lessons = tuple(f"{one.mistake} {one.correction} {one.symptoms}" for one in seen.corrections)
    texts = (seen.summary, seen.strategy or "", *points, *lessons)
    labels = [
        str(event.arguments[name])
        for event in trace.events
        if event.tool is not None and isinstance(event.arguments, dict)
        for name in event.arguments.keys() - plain_arguments(event.tool, event.arguments)
    ]
    unfit = tuple(text for text in texts if is_unfit(text, labels))
    yield Made(
        run_id=run["id"],
        events=tuple(index[name] for name in named if name in index),
        lesson=None,
        unfit=unfit,
    )


def plain_arguments(tool: str, arguments: Json) -> set[str]:
    """The names of the arguments that decide what a call does."""
    left = without_labels(tool, arguments)
    return {*left} if isinstance(left, dict) else set()


def is_unfit(text: str, labels: Sequence[str]) -> bool:
    """True for a text with a cut, a temporary path, or a label of 12 characters or more."""
    return bool(_UNFIT.search(text)) or any(len(label) >= 12 and label in text for label in labels)


def common_form(run: Record) -> Record:
    """A line of runs.jsonl as the arguments of `reflect`."""
    events: list[Record] = []
    for event in run["events"]:
        facts = {"tool_call_id": event["call_id"]} if event.get("call_id") else {}
        if event["type"] == "tool_call":
            events.append(
                {
                    "type": "tool_call",
                    "tool": event["tool"],
                    "arguments": event["arguments"],
                    "metadata": facts,
                }
            )
            continue
        if event.get("exit_code") is not None:
            facts["exit_code"] = event["exit_code"]
        text = event["content"] or "(empty)"
        failed = {"error": text} if event.get("error") else {}
        events.append(
            {
                "type": "tool_response",
                "tool": event["tool"],
                "content": text,
                "metadata": facts,
                **failed,
            }
        )
    return {"task": run["task"] or "a task", "outcome": "partial", "events": events}


def answers_in(run: Record) -> list[int]:
    """The indices of a run's answers."""
    return [place for place, event in enumerate(run["events"]) if event["type"] == "tool_response"]


def made_of_native(run: Record, data: Path) -> list[Made] | str:
    """The lessons of the native file; why it could not be read otherwise."""
    try:
        found = read_transcript((data / run["native"]).read_text(encoding="utf-8"))
    except InputError as error:
        return str(error)
    if not all("events" in sent for _, sent in found.runs):
        return "it is of no form that is read"
    answers, taken, made = answers_in(run), 0, list[Made]()
    for _, sent in found.runs:
        count = sum(event["type"] == "tool_response" for event in sent["events"])
        made += made_of(run, sent, answers[taken : taken + count])
        taken += count
    return (
        made
        if taken == len(answers)
        else f"{taken} answers were read, the common form has {len(answers)}"
    )


def names_the_fix(lesson: Correction, label: Record) -> bool:
    """True where the correction shares two telling words, or an identifier, with the labeled one."""
    ours, theirs = f"{lesson.correction} {' '.join(lesson.symptoms)}", label["lesson"]["correction"]
    identifiers = {word.strip(".`'\"") for word in _IDENTIFIER.findall(theirs)}
    if any(len(word) > 3 and word in lesson.correction for word in identifiers):
        return True
    return len(_stems(ours) & _stems(theirs)) >= min(2, len(_stems(theirs)))


def _stems(text: str) -> set[str]:
    words = re.findall(r"[a-z]{4,}", text.lower())
    return {word[:5].removesuffix("s") for word in words if word not in _STOP}


def report(name: str, made: Sequence[Made], episodes: Sequence[Record], *, show: bool) -> bool:
    """Print the figures of one reading; True where all limits hold."""
    labels = {(episode["run_id"], episode["failed_event"]): episode for episode in episodes}
    given = {(one.run_id, event) for one in made if one.lesson is None for event in one.events}
    lessons = [(one, one.lesson) for one in made if one.lesson is not None]
    right, without_episode, touched = 0, 0, set[tuple[str, int]]()
    for one, lesson in lessons:
        keys = [(one.run_id, event) for event in one.events if (one.run_id, event) in labels]
        touched.update(keys)
        teaching = [labels[key] for key in keys if labels[key]["lesson"]]
        fits = any(names_the_fix(lesson, label) for label in teaching)
        right += fits
        without_episode += not keys
        if show:
            mark = "right" if fits else "WRONG" if keys else "NO EPISODE"
            print(
                f"\n{mark} {one.run_id} {one.events} {[labels[key]['lesson_class'] for key in keys]}"
            )
            print(f"  {lesson.mistake} {lesson.correction}")
            print(f"  symptoms: {lesson.symptoms}")
            for key in keys:
                print(f"  label: {labels[key]['lesson'] or labels[key]['why_not']}")
    unfit = [text for one in made for text in one.unfit]
    by_class = {
        kind: [e for e in episodes if e["lesson_class"] == kind]
        for kind in ("rule", "model", "nothing")
    }
    hit = {
        kind: sum((e["run_id"], e["failed_event"]) in touched for e in those)
        for kind, those in by_class.items()
    }
    parts = {kind: hit[kind] / max(len(those), 1) for kind, those in by_class.items()}
    share = right / max(len(lessons), 1)
    wanted = [key for key, episode in labels.items() if episode["lesson"]]
    told = sum(key in given for key in wanted)
    print(f"{name}: {len(lessons)} lessons, {without_episode} of them of no labeled episode")
    print(f"  right        {right} of {len(lessons)} = {share:.2f} (at least {LEAST_RIGHT})")
    print(
        f"  noise        {hit['nothing']} of {len(by_class['nothing'])} = {parts['nothing']:.2f} (at most {MOST_NOISE})"
    )
    print(
        f"  found        {hit['rule']} of {len(by_class['rule'])} = {parts['rule']:.2f} (at least {LEAST_FOUND})"
    )
    print(f"  of `model`   {hit['model']} of {len(by_class['model'])}")
    print(f"  given        {told} of {len(wanted)} = {told / max(len(wanted), 1):.2f} (all)")
    print(f"  unfit texts  {len(unfit)}")
    for text in unfit if show else ():
        print(f"    {text}")
    fine = share >= LEAST_RIGHT and parts["nothing"] <= MOST_NOISE and parts["rule"] >= LEAST_FOUND
    return fine and not unfit and told == len(wanted)


def main() -> int:
    """Run the benchmark; 1 where a limit does not hold, 2 without data."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/coding_runs"))
    parser.add_argument("--show", action="store_true", help="print every lesson beside its label")
    chosen = parser.parse_args()
    if not (chosen.data / "runs.jsonl").is_file():
        print(
            f"There is no {chosen.data / 'runs.jsonl'}. Give the recorded sessions with --data DIR.",
            file=sys.stderr,
        )
        return 2
    runs = [json.loads(line) for line in (chosen.data / "runs.jsonl").open(encoding="utf-8")]
    episodes = [
        json.loads(line) for line in (chosen.data / "episodes.jsonl").open(encoding="utf-8")
    ]
    common = [made for run in runs for made in made_of(run, common_form(run), answers_in(run))]
    native: list[Made] = []
    unread: dict[str, str] = {}
    for run in runs:
        made = made_of_native(run, chosen.data)
        if isinstance(made, str):
            unread[run["id"]] = made
        else:
            native += made
    fine = report("common form", common, episodes, show=chosen.show)
    kept = [episode for episode in episodes if episode["run_id"] not in unread]
    fine &= report("native files", native, kept, show=False)
    for name, why in unread.items():
        print(f"  {name} was not read: {why}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
