"""What every checker receives and returns, the registry of checkers, and the steps of a response."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Final, Protocol

from mcp_reflect.models.critique import Status, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work to check: what was asked, the steps of the answer, and the evidence for it.

    `decided` is the component or tool that was decided on and `executed` the one that ran, where the
    caller said so.
    """

    goal: str
    steps: tuple[str, ...]
    tool_results: tuple[ToolResult, ...] = ()
    decided: str | None = None
    executed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A computed replacement: characters `start` to `end` of the step become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One claim that a checker looked at. Steps count from 1; `claim` quotes the step."""

    step: int
    status: Status
    claim: str
    expected: str | None = None
    detail: str | None = None
    fix: Fix | None = None


class Checker(Protocol):
    """A pure function of the work with a name. It says nothing of steps it does not understand."""

    @property
    def name(self) -> str: ...

    def check(self, work: Work) -> Iterable[Finding]: ...


class ForeignChecker:
    """Calls the checker that `load` makes. `name` is that of its entry point."""

    def __init__(self, name: str, checker: Checker) -> None:
        self.name = name
        self._checker = checker

    def check(self, work: Work) -> tuple[Finding, ...]:
        """Return its findings, none where it fails."""
        found = self.findings(work)
        return () if isinstance(found, str) else found

    def findings(self, work: Work) -> tuple[Finding, ...] | str:
        """Return its findings, or one sentence that says how it failed."""
        try:
            found = tuple(self._checker.check(work))
        except Exception as error:  # noqa: BLE001 - the edge to code that is not ours: its fault is no fault of the work
            return f"checker {self.name} failed: {type(error).__name__}"
        for finding in found:
            if not isinstance(finding, Finding) or not 1 <= finding.step <= len(work.steps):  # pyright: ignore[reportUnnecessaryIsInstance]
                return f"checker {self.name} failed: it gave something that is no finding on a step"
        return found


class Absent:
    """Stands in for a checker that could not be loaded."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.name = type(error).__name__

    def check(self, work: Work) -> tuple[Finding, ...]:
        """Raises what loading raised."""
        del work
        raise self._error


# The checkers there are, by name; each is imported when it is first used.
#
# Our own stand in `SHIPPED`, one line each, in the order in which their findings are told. Others come
# through the entry point group `mcp_reflect.checker`, whose values name a class or a factory of Checkers.


GROUP = "mcp_reflect.checker"

SHIPPED: tuple[tuple[str, str], ...] = (
    ("evidence", "mcp_reflect.checkers.evidence.checker:EvidenceChecker"),
    ("arithmetic", "mcp_reflect.checkers.arithmetic.checker:ArithmeticChecker"),
    ("proportions", "mcp_reflect.checkers.proportions:ProportionsChecker"),
    ("units", "mcp_reflect.checkers.units:UnitsChecker"),
    ("dates", "mcp_reflect.checkers.dates:DatesChecker"),
    ("code", "mcp_reflect.checkers.code:CodeChecker"),
    ("order", "mcp_reflect.checkers.order:OrderChecker"),
    ("execution", "mcp_reflect.checkers.execution:ExecutionChecker"),
)


def checkers(names: Iterable[str] | None = None) -> list[Checker]:
    """The checkers of these names, else all: ours first, then those of other packages by name."""
    wanted = None if names is None else set(names)
    return [checker for name, checker in _all() if wanted is None or name in wanted]


def forget() -> None:
    """Look for checkers anew: packages may have come or gone."""
    _all.cache_clear()


@cache
def _all() -> tuple[tuple[str, Checker], ...]:
    return (*_shipped(), *_others())


def _shipped() -> Iterator[tuple[str, Checker]]:
    for name, path in SHIPPED:
        module, _, attribute = path.partition(":")
        if find_spec(module) is None:
            continue
        yield name, getattr(import_module(module), attribute)()


def _others() -> Iterator[tuple[str, Checker]]:
    ours = {name for name, _ in SHIPPED}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        if entry.name in ours:
            continue
        try:
            made: Checker = entry.load()()
        except Exception as error:  # noqa: BLE001 - the edge to code that is not ours, see foreign.py
            made = Absent(error)
        yield entry.name, ForeignChecker(entry.name, made)


MOST_STEPS: Final = 200

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_NUMBERED = re.compile(r"^[ \t]{0,3}(?:(?:step[ \t]+)?\d{1,3}[.):]|step[ \t]+\d{1,3}\b)[ \t]*", re.IGNORECASE)
_CLAUSE = re.compile(r";[ \t]+")


def split(response: str) -> tuple[str, ...]:
    """The steps of a response, in order; more than 200 end in the last one."""
    blocks = _blocks(response)
    found = _by_number(blocks) or _paragraphs(blocks)
    if len(found) == 1 and "```" not in found[0]:
        lines = [line.strip() for line in found[0].splitlines() if line.strip()]
        found = lines if len(lines) > 1 else _clauses(found[0])
    return (*found[: MOST_STEPS - 1], "\n\n".join(found[MOST_STEPS - 1 :])) if len(found) > MOST_STEPS else tuple(found)


def _blocks(response: str) -> list[tuple[str, bool]]:
    """Lines outside of fences one by one, and each fence with its content as one; true marks a fence."""
    blocks: list[tuple[str, bool]] = []
    inside: list[str] = []
    mark = ""
    for line in response.splitlines():
        fence = _FENCE.match(line)
        if mark:
            inside.append(line)
            if fence and fence[1].startswith(mark) and not line.strip().strip(mark[0]):
                blocks.append(("\n".join(inside), True))
                inside, mark = [], ""
        elif fence:
            inside, mark = [line], fence[1]
        else:
            blocks.append((line, False))
    return [*blocks, ("\n".join(inside), True)] if inside else blocks


def _by_number(blocks: list[tuple[str, bool]]) -> list[str]:
    """Steps at numbered lines, where there are two or more; what stands before the first is a step of its own."""
    starts = [place for place, (text, fence) in enumerate(blocks) if not fence and _NUMBERED.match(text)]
    if len(starts) < 2:
        return []
    cuts = [0, *starts, len(blocks)] if starts[0] else [*starts, len(blocks)]
    parts = ("\n".join(text for text, _ in blocks[cuts[i] : cuts[i + 1]]).strip() for i in range(len(cuts) - 1))
    return [part for part in parts if part]


def _paragraphs(blocks: list[tuple[str, bool]]) -> list[str]:
    found: list[list[str]] = [[]]
    for text, fence in blocks:
        if text.strip() or fence:
            found[-1].append(text)
        elif found[-1]:
            found.append([])
    return ["\n".join(lines).strip() for lines in found if lines]


def _clauses(line: str) -> list[str]:
    """`a = b; c = d` as two steps; a sentence with a semicolon and no equation stays whole."""
    parts = [part.strip() for part in _CLAUSE.split(line) if part.strip()]
    return parts if len(parts) > 1 and sum("=" in part for part in parts) > 1 else [line.strip()]
