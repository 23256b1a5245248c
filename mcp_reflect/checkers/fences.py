"""Fenced blocks of a text, and the lines outside of them."""

import re
from dataclasses import dataclass
from typing import Final

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
