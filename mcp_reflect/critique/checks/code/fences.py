"""Finds the fenced blocks of a step."""

import re
import textwrap
from dataclasses import dataclass

_MOST_BLOCKS = 60
_LONGEST_STEP = 200_000
_NEAR = 240

_FENCE = re.compile(r"^([ \t]{0,40})(`{3,40}|~{3,40})[ \t]*(.{0,200})$")
_LANGUAGE = re.compile(r"^\{?\.?([A-Za-z][\w+#-]{0,30})")


@dataclass(frozen=True, slots=True)
class Block:
    """One closed fence: `language` in lower case, `body` without common indentation, the prose around it."""

    language: str
    body: str
    before: str
    after: str


def blocks(step: str) -> list[Block]:
    """The closed, outermost fences that name a language, in order; lines are looked at once."""
    found: list[Block] = []
    lines = step[:_LONGEST_STEP].split("\n")
    opened: tuple[int, str, str] | None = None
    for place, line in enumerate(lines):
        mark = _FENCE.match(line) if line.lstrip()[:3] in ("```", "~~~") else None
        if mark is None:
            continue
        if opened is None:
            named = _LANGUAGE.match(mark[3])
            opened = (place, mark[2], named[1].lower() if named else "")
        elif mark[2].startswith(opened[1]) and not mark[3].strip():
            if opened[2]:
                found.append(_block(lines, opened, place))
            opened = None
            if len(found) >= _MOST_BLOCKS:
                break
    return found


def _block(lines: list[str], opened: tuple[int, str, str], end: int) -> Block:
    start, _, language = opened
    return Block(
        language=language,
        body=textwrap.dedent("\n".join(lines[start + 1 : end])),
        before="\n".join(lines[max(0, start - 3) : start])[-_NEAR:],
        after="\n".join(lines[end + 1 : end + 3])[:_NEAR],
    )
