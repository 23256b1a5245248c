"""Replay past sessions with today's lessons: `mcp-reflect replay`."""

from argparse import Namespace
from collections import Counter, defaultdict
from dataclasses import asdict
from typing import Any, Final

from mcp_reflect.cli.commands import CliParser, add_number
from mcp_reflect.cli.learn import show_progress
from mcp_reflect.cli.output import counted, visible, write_json, write_line
from mcp_reflect.cli.place import with_engine
from mcp_reflect.clock import iso
from mcp_reflect.models.lesson import short_id
from mcp_reflect.models.replay import SpokenMoment, Trigger, Verdict
from mcp_reflect.models.shown_lesson import first_sentences
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.replay import Replayed, replay

_MOST_SHOWN: Final = 5  # moments of a lesson
_MOST_LESSON: Final = 160  # characters of a lesson in the list
_SHORT: Final = {
    Verdict.HELPED: "helped",
    Verdict.NOISE: "noise",
    Verdict.REFUSED: "refused a call that worked",
}


def add_replay_arguments(parser: CliParser) -> None:
    about = "one session: the name that its file begins with, or a file"
    parser.add_argument("--session", metavar="SESSION", help=about)
    add_number(
        parser, "--days", 0.0, 36_500.0, metavar="N", help="only sessions of the last N days"
    )
    about = "all moments, not only the first of each lesson"
    parser.add_argument("--all", action="store_true", help=about)


def run_replay(options: Namespace) -> None:
    """Walk the past sessions of this project in all hosts with today's lessons and guards; nothing is stored.

    For each lesson it shows where it would have spoken (the prompt or the call), what came next there, and the minutes of
    work until it was solved; and in sum how often it would have helped, have been noise, or have refused a call that
    worked. Guards that are off are tried too, and marked.
    """

    async def work(engine: Engine) -> None:
        replayed = await replay(
            engine.context, session=options.session, days=options.days, progress=show_progress
        )
        write_replayed(replayed, options, every=options.all)

    with_engine(work)


def write_replayed(replayed: Replayed, options: Namespace, *, every: bool = False) -> None:
    """Print what was replayed, for a program or a person."""
    if options.json:
        write_json(record_of_replay(replayed))
        return
    for path, fault in replayed.faults:
        write_line(visible(f"{path}: {fault}"))
    most: int | None = _MOST_SHOWN
    if every:
        most = None
    write_line("\n".join(lines_of_replay(replayed, most)))


def record_of_replay(replayed: Replayed) -> dict[str, Any]:
    """Return what was replayed for a program."""
    return {
        "sessions": replayed.sessions,
        "bytes": replayed.bytes,
        "prompts": replayed.prompts,
        "calls": replayed.calls,
        "sums": {_SHORT[verdict]: count for verdict, count in replayed.sums.items()},
        "moments": [_record_of_moment(moment) for moment in replayed.moments],
        "faults": [{"file": path, "fault": fault} for path, fault in replayed.faults],
    }


def _record_of_moment(moment: SpokenMoment) -> dict[str, Any]:
    record = {**asdict(moment), "date": None}
    if moment.at is not None:
        record["date"] = iso(moment.at)
    return record


def lines_of_replay(replayed: Replayed, most: int | None = _MOST_SHOWN) -> list[str]:
    """Return what was replayed for a person: each lesson with its moments, then the sums."""
    by_lesson: dict[str, list[SpokenMoment]] = defaultdict(list)
    for moment in replayed.moments:
        by_lesson[moment.lesson_id].append(moment)
    lines: list[str] = []
    for moments in sorted(by_lesson.values(), key=_helps_most):
        lines += [*_of_lesson(moments, most), ""]
    read = (
        f"{counted(replayed.sessions, 'session')} ({replayed.bytes / 1e6:.1f} MB): "
        f"{counted(replayed.prompts, 'prompt')}, {counted(replayed.calls, 'call')}."
    )
    if not replayed.moments:
        return [read, "No lesson of this project would have spoken in them."]
    sums = ", ".join(f"{_SHORT[verdict]} {count}" for verdict, count in replayed.sums.items())
    return [*lines, read, f"Lessons and guards that are on would have: {sums}."]


def _helps_most(moments: list[SpokenMoment]) -> tuple[int, int]:
    helped = sum(moment.verdict is Verdict.HELPED for moment in moments)
    return -helped, -len(moments)


def _of_lesson(moments: list[SpokenMoment], most: int | None) -> list[str]:
    first = moments[0]
    verdicts = Counter(moment.verdict for moment in moments)
    effects = ", ".join(
        f"{_SHORT[verdict]} {verdicts[verdict]}" for verdict in Verdict if verdicts[verdict]
    )
    off = ""
    if not all(moment.armed for moment in moments):
        off = " (its guard is off)"
    text = first_sentences(" ".join(first.lesson.split()), _MOST_LESSON)
    lines = [f"{short_id(first.lesson_id)}: {text}", f"  would have: {effects}{off}"]
    shown = moments[:most]
    for moment in shown:
        lines += _of_moment(moment)
    left = len(moments) - len(shown)
    if left:
        lines.append(f"  and {left} more: --all")
    return [visible(line) for line in lines]


def _of_moment(moment: SpokenMoment) -> list[str]:
    place = f"{_time_of(moment)} {moment.host} {moment.session}, line {moment.line}"
    return [f"  {place}, {_trigger_of(moment)}: {moment.said}", f"    next: {_sequel_of(moment)}"]


def _time_of(moment: SpokenMoment) -> str:
    if moment.at is None:
        return "no date"
    return iso(moment.at)[: len("2026-01-31T12:00")].replace("T", " ")


def _trigger_of(moment: SpokenMoment) -> str:
    text = "at the call"
    if moment.trigger is Trigger.PROMPT:
        text = "at the prompt"
    if moment.holds:
        text += ", refused once"
    return text


def _sequel_of(moment: SpokenMoment) -> str:
    """Return what came next in the session: what the verdict rests on, and when the work was done."""
    text = moment.next.value
    if moment.fact:
        text += f": {moment.fact}"
    if moment.minutes is not None:
        text += f"; solved after {moment.minutes:g} min"
    return text
