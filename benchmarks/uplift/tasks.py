"""The tasks: twelve programs with a trap each, six fixes whose rule a person settled earlier; laid out and graded."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
VARIANTS: Final = ("first", "near", "other")
"""A first session, in which there is something to learn, and later ones in near and in other words."""

WITHOUT: Final = "without"
WITH: Final = "with"
"""Sessions without memory, and with it."""

_CHECK_SECONDS: Final = 20
_LONGEST: Final = 1_500  # characters of a lesson that is shown whole


@dataclass(frozen=True, slots=True)
class Task:
    """A task; `lesson` are patterns that a right and whole lesson of its first session has."""

    name: str
    kind: str
    facts: Mapping[str, Any]

    @property
    def lesson(self) -> tuple[str, ...]:
        """The patterns of a right lesson: what works, and of which program or file."""
        return (*self.facts["lesson"], *((self.facts["tool"],) if self.kind == "trap" else ()))

    def prompt(self, variant: str) -> str:
        """Return what the agent is asked."""
        text: str = self.facts["tasks"][variant]
        return text.replace("{t}", self.facts["targets"][variant]) if self.kind == "trap" else text


def all_tasks(names: Iterable[str] = ()) -> list[Task]:
    """Return the tasks, or those of these names."""
    facts = json.loads((HERE / "tasks.json").read_text(encoding="utf-8"))
    wanted = set(names)
    return [
        Task(one["name"], one["kind"], one) for one in facts if not wanted or one["name"] in wanted
    ]


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A folder in which a task is done, and the hidden file with its state."""

    task: Task
    variant: str
    folder: Path
    hidden: Path


def lay_out(task: Task, variant: str, folder: Path, hidden: Path) -> Sandbox:
    """Make the folder of a task; what decides lies outside of it."""
    folder.mkdir(parents=True)
    hidden.mkdir(parents=True, exist_ok=True)
    state = hidden / f"{task.name}-{variant}.json"
    if task.kind == "trap":
        facts = {name: task.facts[name] for name in ("help", "rules")}
        fresh: dict[str, Any] = {
            "target": task.facts["targets"][variant],
            "flags": [],
            "done": False,
            "calls": [],
        }
        state.write_text(json.dumps({**facts, **fresh}))
        tool = folder / task.facts["tool"]
        program = f'exec "{sys.executable}" -I "{HERE / "simulated.py"}" "{state}" "$@"'
        tool.write_text(f"#!/bin/sh\n{program}\n")
        tool.chmod(0o755)
    for name, text in task.facts.get("files", {}).items():
        (folder / name).write_text(text)
    return Sandbox(task, variant, folder, state)


@dataclass(frozen=True, slots=True)
class Grade:
    """Whether a task is solved, the calls of its program, and those that fell into the trap."""

    solved: bool
    calls: int = 0
    trapped: int = 0


def grade(sandbox: Sandbox) -> Grade:
    """Grade a sandbox by what the agent did not see. The chat in which a rule is settled has nothing to solve."""
    if sandbox.task.kind == "trap":
        state = json.loads(sandbox.hidden.read_text())
        trapped = sum(call["trap"] for call in state["calls"])
        return Grade(state["done"], len(state["calls"]), trapped)
    if sandbox.variant == "first":
        return Grade(solved=True)
    done = subprocess.run(
        [sys.executable, "-B", "-c", sandbox.task.facts["check"]],
        cwd=sandbox.folder,
        capture_output=True,
        timeout=_CHECK_SECONDS,
        check=False,
    )
    return Grade(done.returncode == 0)


def is_right(task: Task, lesson: str) -> bool:
    """Return whether a lesson says what works, of the program that it is about, and is short enough to be shown whole."""
    has_all = all(re.search(pattern, lesson, re.IGNORECASE) for pattern in task.lesson)
    return has_all and len(lesson) <= _LONGEST
