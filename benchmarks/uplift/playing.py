"""The tasks, played without and with memory: first sessions, then later ones in near and in other words."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks.uplift.agents import Agent
from benchmarks.uplift.tasks import (
    VARIANTS,
    WITH,
    WITHOUT,
    Grade,
    Task,
    grade,
    is_right,
    lay_out,
)
from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine

_MOST_LESSONS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Result:
    """A session that was played and graded."""

    task: str
    variant: str
    memory: str
    grade: Grade
    tokens: int | None
    error: str

    def record(self) -> dict[str, object]:
        """Return it for a program."""
        return asdict(self)


async def play_all(agent: Agent, tasks: Sequence[Task], out: Path) -> list[Result]:
    """Play each task in each variant without and with memory; raw outputs are kept in `out`."""
    results: list[Result] = []
    for memory in (WITHOUT, WITH):
        bank = out / memory / "bank.db" if memory == WITH else None
        (out / memory).mkdir(parents=True)
        for variant in VARIANTS:
            for number, task in enumerate(tasks, start=1):
                session = f"{variant}-{number}"
                folder = out / memory / "sandboxes" / session
                sandbox = lay_out(task, variant, folder, out / ".hidden" / memory)
                played = await agent.play(folder, task.prompt(variant), session, bank)
                raw = out / memory / "raw" / f"{session}.txt"
                raw.parent.mkdir(exist_ok=True)
                raw.write_text(played.raw, encoding="utf-8")
                results.append(
                    Result(task.name, variant, memory, grade(sandbox), played.tokens, played.error)
                )
    return results


async def kept_lessons(tasks: Sequence[Task], bank: Path) -> tuple[int, list[str]]:
    """Return of how many tasks the bank has a lesson that is right and whole, and all of its lessons."""
    async with Engine(Settings(bank=bank, project="uplift")) as engine:
        lessons = await engine.bank.lessons.latest(engine.scopes.own, limit=_MOST_LESSONS)
    texts = [" ".join(filter(None, (one.text, one.wrong_call, one.right_call))) for one in lessons]
    return sum(any(is_right(task, text) for text in texts) for task in tasks), texts


@dataclass(frozen=True, slots=True)
class Sums:
    """Sessions of one kind: how many, solved, calls that fell into a trap, tokens (None: not told), and errors."""

    played: int
    solved: int
    trapped: int
    tokens: int | None
    errors: int


def sums_of(results: Sequence[Result], memory: str, variant: str) -> Sums:
    """Return the sums of the sessions of a variant, without or with memory."""
    own = [one for one in results if (one.memory, one.variant) == (memory, variant)]
    tokens = [one.tokens for one in own if one.tokens is not None]
    return Sums(
        played=len(own),
        solved=sum(one.grade.solved for one in own),
        trapped=sum(one.grade.trapped for one in own),
        tokens=sum(tokens) if tokens else None,
        errors=sum(bool(one.error) for one in own),
    )


def harmed(results: Sequence[Result]) -> list[tuple[str, str]]:
    """Return the later sessions that were solved without memory and not with it."""
    solved: Mapping[tuple[str, str, str], bool] = {
        (one.memory, one.task, one.variant): one.grade.solved for one in results
    }
    return [
        (task, variant)
        for memory, task, variant in solved
        if memory == WITHOUT
        and variant != VARIANTS[0]
        and solved[WITHOUT, task, variant]
        and not solved.get((WITH, task, variant), False)
    ]
