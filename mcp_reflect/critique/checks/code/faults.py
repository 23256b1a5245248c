"""What every reader of a block shares: its answer, and the marks of text that is no whole program."""

import re
from dataclasses import dataclass

LONGEST = 12_000
DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a block does not parse. `line` counts from 1, None where the whole block is meant."""

    message: str
    line: int | None = None


# A snippet with these is cut short, a template, a diff, or a session: that it does not parse says nothing.
_PARTIAL = re.compile(
    r"\.\.\.|…|\{\{|\{%|<[A-Za-z_][\w .-]{0,60}>|\[(?:[a-z]+ ){1,8}(?:code|here|omitted|goes here)\]|"
    r"^\s{0,80}(?:@@ |diff --git|\+\+\+ |--- a/)|\bomitted\b|\byour[_ ]|\brest of\b",
    re.MULTILINE | re.IGNORECASE,
)
_ADDED = re.compile(r"^\+(?=\s|[^\s\d+-])", re.MULTILINE)
_TAKEN = re.compile(r"^-(?=\s|[^\s\d+-])", re.MULTILINE)


def is_partial(body: str, *, dashes: bool = False) -> bool:
    """Whether the text marks itself as incomplete, as a template or as a diff; `dashes` may begin lines in YAML."""
    if _PARTIAL.search(body) or _ADDED.search(body):
        return True
    return not dashes and bool(_TAKEN.search(body))


def too_deep(body: str) -> bool:
    """Whether brackets nest deeper than a parser should be asked to go, quotes or not: one pass."""
    depth = 0
    for char in body:
        if char in "([{":
            depth += 1
            if depth > DEEPEST:
                return True
        elif char in ")]}":
            depth -= 1
    return False
