"""What every checker receives and returns, the registry of checkers, and the steps of a response."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Protocol

from mcp_reflect.checkers.fences import Fence, parts
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
    """Calls a checker of another package. `name` is that of its entry point, `load` makes the checker."""

    def __init__(self, name: str, load: Callable[[], Checker]) -> None:
        self.name = name
        self._load = load

    def check(self, work: Work) -> tuple[Finding, ...]:
        """Return its findings, none where it fails."""
        findings = self.findings(work)
        return () if isinstance(findings, str) else findings

    def findings(self, work: Work) -> tuple[Finding, ...] | str:
        """Return its findings, or one sentence that says how it failed."""
        try:
            findings = tuple(self._load().check(work))
        except Exception as error:  # noqa: BLE001 - the edge to code that is not ours: its fault is no fault of the work
            return f"checker {self.name} failed: {type(error).__name__}"
        for finding in findings:
            if not isinstance(finding, Finding) or not 1 <= finding.step <= len(work.steps):  # pyright: ignore[reportUnnecessaryIsInstance]
                return f"checker {self.name} failed: it gave something that is no finding on a step"
        return findings


GROUP: Final = "mcp_reflect.checker"
"""The entry point group of checkers of other packages: its values name a class or a factory."""

# In the order in which their findings are listed; each is imported when checkers are first asked for.
SHIPPED: Final = (
    ("evidence", "mcp_reflect.checkers.evidence.checker:EvidenceChecker"),
    ("arithmetic", "mcp_reflect.checkers.arithmetic.checker:ArithmeticChecker"),
    ("proportions", "mcp_reflect.checkers.proportions:ProportionsChecker"),
    ("units", "mcp_reflect.checkers.units:UnitsChecker"),
    ("dates", "mcp_reflect.checkers.dates:DatesChecker"),
    ("consistency", "mcp_reflect.checkers.consistency:ConsistencyChecker"),
    ("order", "mcp_reflect.checkers.order:OrderChecker"),
    ("code", "mcp_reflect.checkers.code:CodeChecker"),
    ("execution", "mcp_reflect.checkers.execution:ExecutionChecker"),
)


def checkers(names: Iterable[str] | None = None) -> list[Checker]:
    """The checkers of these names, else all: ours first, then those of other packages by name."""
    wanted = None if names is None else set(names)
    return [checker for name, checker in _all() if wanted is None or name in wanted]


def forget() -> None:
    """Look for checkers anew: packages may have come or gone."""
    _all.cache_clear()


def _loaded(entry: EntryPoint) -> Checker:
    checker: Checker = entry.load()()
    return checker


@cache
def _all() -> tuple[tuple[str, Checker], ...]:
    paths = [(name, *path.split(":")) for name, path in SHIPPED]
    shipped = [(name, getattr(import_module(module), attribute)()) for name, module, attribute in paths]
    entries = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    foreign = [(e.name, ForeignChecker(e.name, partial(_loaded, e))) for e in entries if e.name not in dict(SHIPPED)]
    return (*shipped, *foreign)


MOST_STEPS: Final = 200

_NUMBERED = re.compile(r"^[ \t]{0,3}(?:(?:step[ \t]+)?\d{1,3}[.):]|step[ \t]+\d{1,3}\b)[ \t]*", re.IGNORECASE)


def split(response: str) -> tuple[str, ...]:
    """Return the steps of a response, in order; more than 200 end in the last one."""
    blocks = [
        ("\n".join(part.lines), True) if isinstance(part, Fence) else (part, False)
        for part in parts(response.replace("\r\n", "\n"))
    ]
    steps = _by_number(blocks) or _paragraphs(blocks)
    if len(steps) == 1 and "```" not in steps[0]:
        lines = [line.strip() for line in steps[0].splitlines() if line.strip()]
        # `a = b; c = d` is two steps; a sentence with a semicolon and no equation stays whole.
        clauses = [part.strip() for part in re.split(r";[ \t]+", steps[0]) if part.strip()]
        steps = lines if len(lines) > 1 else clauses if sum("=" in part for part in clauses) > 1 else lines
    if len(steps) > MOST_STEPS:
        steps[MOST_STEPS - 1 :] = ["\n\n".join(steps[MOST_STEPS - 1 :])]
    return tuple(steps)


def _by_number(blocks: list[tuple[str, bool]]) -> list[str]:
    """Steps at numbered lines, where there are two or more; what stands before the first is a step of its own."""
    starts = [place for place, (text, fence) in enumerate(blocks) if not fence and _NUMBERED.match(text)]
    if len(starts) < 2:
        return []
    cuts = [0, *starts, len(blocks)] if starts[0] else [*starts, len(blocks)]
    parts = ("\n".join(text for text, _ in blocks[cuts[i] : cuts[i + 1]]).strip() for i in range(len(cuts) - 1))
    return [part for part in parts if part]


def _paragraphs(blocks: list[tuple[str, bool]]) -> list[str]:
    paragraphs: list[list[str]] = [[]]
    for text, fence in blocks:
        if text.strip() or fence:
            paragraphs[-1].append(text)
        elif paragraphs[-1]:
            paragraphs.append([])
    return ["\n".join(lines).strip() for lines in paragraphs if lines]
