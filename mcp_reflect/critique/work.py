"""A piece of work with its evidence, what a rule finds in it, and the steps of a response."""

import re
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.critique import ToolResult

_FENCE: Final = re.compile(r"^[ \t]{0,40}(`{3,40}|~{3,40})[ \t]*(.{0,200})$")
_LANGUAGE: Final = re.compile(r"^\{?\.?([A-Za-z][\w+#-]{0,30})")


@dataclass(frozen=True, slots=True)
class Fence:
    """An outermost fenced block: `language` in lower case, empty where none is named; `lines` with the marks."""

    language: str
    lines: tuple[str, ...]
    closed: bool

    @property
    def body(self) -> tuple[str, ...]:
        return self.lines[1:-1] if self.closed else self.lines[1:]


def parts(text: str) -> list[str | Fence]:
    """Return the lines outside of fences one by one, and each fence as a whole; each line is looked at once."""
    found: list[str | Fence] = []
    inside: list[str] = []
    mark = language = ""
    for line in text.split("\n"):
        fence = _FENCE.match(line) if line.lstrip()[:3] in ("```", "~~~") else None
        if inside:
            inside.append(line)
            if fence and fence[1].startswith(mark) and not fence[2].strip():
                found.append(Fence(language, tuple(inside), closed=True))
                inside = []
        elif fence:
            named = _LANGUAGE.match(fence[2])
            inside, mark, language = [line], fence[1], named[1].lower() if named else ""
        else:
            found.append(line)
    return [*found, Fence(language, tuple(inside), closed=False)] if inside else found


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
    """What a rule found of one claim, which it quotes. Steps count from 1.

    `wrong`: it is certainly false. Else it is a computation that holds, which does not say that it is the one to make.
    """

    step: int
    wrong: bool
    claim: str
    expected: str | None = None
    detail: str | None = None
    fix: Fix | None = None


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
