"""Replay past sessions with today's lessons: `mcp-reflect replay`."""

from argparse import Namespace
from dataclasses import asdict
from typing import Any

from mcp_reflect.cli.commands import CliParser, add_number
from mcp_reflect.cli.learn import show_progress
from mcp_reflect.cli.output import write_json, write_line
from mcp_reflect.cli.replay_facts import sum_of_lesson
from mcp_reflect.cli.replay_text import MOST_MOMENTS, SHORT, lines_of_replay
from mcp_reflect.cli.running import with_engine
from mcp_reflect.clock import iso
from mcp_reflect.models.replay import ReplayedLesson, SpokenMoment
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.replay import Replayed, replay
from mcp_reflect.text.one_line import visible


def add_replay_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect replay`."""
    about = "one session: the name that its file begins with, or a file"
    parser.add_argument("--session", metavar="SESSION", help=about)
    add_number(
        parser, "--days", 0.0, 36_500.0, metavar="N", help="only sessions of the last N days"
    )
    about = "all moments, not only the first three of each lesson"
    parser.add_argument("--all", action="store_true", help=about)


def run_replay(options: Namespace) -> None:
    """Walk the past sessions of this project in all hosts with today's lessons and guards; nothing is stored.

    For each lesson it shows where it would have spoken (the prompt or the call), what came next there, and the minutes of
    work until it was solved; and in a last line what it came to, the decisive fact first: how often its failure came and
    it spoke before it, or spoke for nothing, and what became of the calls that it names. Lessons that would not have
    spoken are listed as well, but not of one session alone. Guards that are off are tried too, and marked. The last lines
    say what you can do about each fact.
    """

    async def replay_and_print(engine: Engine) -> None:
        """Replay with the lessons of one bank, and write what came of it."""
        replayed = await replay(
            engine.context, session=options.session, days=options.days, progress=show_progress
        )
        write_replayed(replayed, options, every=options.all)

    with_engine(replay_and_print)


def write_replayed(replayed: Replayed, options: Namespace, *, every: bool = False) -> None:
    """Print what was replayed, for a program or a person."""
    if options.json:
        write_json(record_of_replay(replayed))
        return
    for path, fault in replayed.faults:
        write_line(visible(f"{path}: {fault}"))
    most: int | None = MOST_MOMENTS
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
        "sums": {SHORT[verdict]: count for verdict, count in replayed.sums.items()},
        "lessons": [_record_of_lesson(lesson, replayed) for lesson in replayed.lessons],
        "untouched": replayed.untouched,
        "moments": [_record_of_moment(moment) for moment in replayed.moments],
        "faults": [{"file": path, "fault": fault} for path, fault in replayed.faults],
    }


def _record_of_lesson(lesson: ReplayedLesson, replayed: Replayed) -> dict[str, Any]:
    """Return a replayed lesson as a record for a program: with the number of its moments, and its facts in a line."""
    record = asdict(lesson)
    record["moments"] = len(lesson.moments)
    return {**record, "sum": sum_of_lesson(lesson, replayed)}


def _record_of_moment(moment: SpokenMoment) -> dict[str, Any]:
    """Return a moment for a program: with the date of its `at`."""
    record = {**asdict(moment), "date": None}
    if moment.at is not None:
        record["date"] = iso(moment.at)
    return record
