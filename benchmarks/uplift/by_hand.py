"""Tasks for an agent that has a shell and nothing else: laid out, and graded later.

`python -m benchmarks.uplift --agent hand lay DIR` lays them out, `… grade DIR` grades what was played. In between an agent
plays each kind of sessions by the `host` of its folder; the README beside it says how. What is not begun is not graded.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.uplift import host
from benchmarks.uplift.host import Play, read_play
from benchmarks.uplift.playing import Result
from benchmarks.uplift.tasks import (
    VARIANTS,
    WITH,
    WITHOUT,
    Grade,
    Sandbox,
    Task,
    all_tasks,
    grade,
    lay_out,
)

_ROOT: Final = Path(__file__).parents[2]
_HIDDEN: Final = ".hidden"
_README: Final = """\
{count} tasks. For N from 1 to {count}, in order: `{host} begin N` shows the task. Do it by `{host} bash 'COMMAND'` alone
(it runs in the task's folder){tools}, and finish with `{host} end 'YOUR LAST MESSAGE TO THE USER'`. Each task is a
session of its own: do what its user asks, as you would for a person. Look at nothing outside of the task's folder, and
keep no notes of your own between tasks.
"""
_TOOLS: Final = ", call tools of the MCP server by `{host} mcp TOOL 'JSON'`"


def lay(out: Path, tasks: Sequence[Task]) -> list[str]:
    """Lay out first sessions with memory, and later ones with and without; return how each is to be played."""
    told: list[str] = []
    for memory, variants in ((WITH, VARIANTS), (WITHOUT, VARIANTS[1:])):
        for variant in variants:
            play = Play(
                folder=str(out / memory / variant),
                hidden=str(out / _HIDDEN),
                memory=memory,
                variant=variant,
                tasks=tuple(task.name for task in tasks),
            )
            _lay_play(play, tasks)
            told.append(str(out / memory / variant / "README"))
    return told


def _lay_play(play: Play, tasks: Sequence[Task]) -> None:
    hidden = Path(play.hidden)
    for number, task in enumerate(tasks, start=1):
        lay_out(task, play.variant, Path(play.folder) / str(number), hidden / play.memory)
    play.keep()
    script = Path(play.folder) / "host"
    program = f'cd "{_ROOT}" && exec "{sys.executable}" -m {host.__name__} "{play.file}" "$@"'
    script.write_text(f"#!/bin/sh\n{program}\n")
    script.chmod(0o755)
    tools = _TOOLS.format(host=script) if play.has_memory else ""
    readme = _README.format(count=len(tasks), host=script, tools=tools)
    (Path(play.folder) / "README").write_text(readme)


def laid_out(out: Path) -> list[Task]:
    """Return the tasks that were laid out."""
    names = {name for file in (out / _HIDDEN).glob("*.json") for name in read_play(file).tasks}
    return all_tasks(names)


def played_results(out: Path) -> list[Result]:
    """Grade the sessions that were begun."""
    results: list[Result] = []
    for file in sorted((out / _HIDDEN).glob("*.json")):
        play = read_play(file)
        tasks = {task.name: task for task in all_tasks(play.tasks)}
        for place in sorted(play.begun):
            task = tasks[play.tasks[place - 1]]
            graded = _grade(play, place, task)
            results.append(Result(task.name, play.variant, play.memory, graded, None, ""))
    return results


def _grade(play: Play, place: int, task: Task) -> Grade:
    state = Path(play.hidden) / play.memory / f"{task.name}-{play.variant}.json"
    return grade(Sandbox(task, play.variant, Path(play.folder) / str(place), state))
