"""What became of one session: what it met again and avoided, what was kept, what was held and corrected."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_MOST_NAMED: Final = 3  # lessons in a line
_MOST_WORDS: Final = 100  # characters of each
_MARKS: Final = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>#|~"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCard:
    """A session at its end, by what hooks saw.

    `followed` are the lessons that it was shown and followed by a call that worked, `heeded` counts warnings after which
    another call was made, `kept` are the lessons that it left, `held` counts last messages that were held and `corrected`
    those that were put right after it, `refused` the calls that were refused once.
    """

    session: str
    started_at: float
    followed: tuple[str, ...] = ()
    heeded: int = 0
    kept: tuple[str, ...] = ()
    held: int = 0
    corrected: int = 0
    refused: int = 0

    @property
    def lines(self) -> tuple[str, str, str]:
        """The card in three lines."""
        avoided = _listed(self.followed, "followed and worked")
        heeded = f"{_times(self.heeded, 'warning')} heeded" if self.heeded else ""
        refused = f"{_times(self.refused, 'call')} refused once" if self.refused else ""
        held = (
            f"{_times(self.held, 'last message')} held, {self.corrected} corrected after it"
            if self.held
            else ""
        )
        return (
            f"Met again and avoided: {_joined(avoided, heeded)}",
            f"Kept: {_joined(_listed(self.kept, ''))}",
            f"Held and corrected: {_joined(held, refused)}",
        )

    @property
    def markdown(self) -> str:
        """The card for a pull request; nothing in the words of a lesson acts as a mark of its own."""
        items = [
            f"- **{name}:** {rest.translate(_MARKS)}"
            for name, _, rest in (line.partition(": ") for line in self.lines)
        ]
        return "\n".join(["### What mcp-reflect did in this session", "", *items])


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part) or "nothing"


def _times(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def _listed(texts: Sequence[str], what: str) -> str:
    """Return how many lessons there are, and the first of them in their words."""
    if not texts:
        return ""
    words = [" ".join(text.split()) for text in texts[:_MOST_NAMED]]
    named = " · ".join(_cut(text) for text in words)
    more = f" · {len(texts) - _MOST_NAMED} more" if len(texts) > _MOST_NAMED else ""
    return f"{_times(len(texts), 'lesson')}{f' {what}' if what else ''} ({named}{more})"


def _cut(text: str) -> str:
    return (
        text if len(text) <= _MOST_WORDS else f"{text[: _MOST_WORDS - 2].rsplit(maxsplit=1)[0]} …"
    )
