"""A response as steps: at its own numbering, else by paragraphs, lines, or clauses. Code in a fence stays whole."""

import re
from typing import Final

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
