"""What became of one session: what it met again and avoided, what was kept, what was held and corrected."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_MOST_NAMED: Final = 3  # lessons in a line
_MOST_CHARS: Final = 100  # of each
_CUT: Final = " …"  # ends one that is longer
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
    def lines(self) -> tuple[str, ...]:
        """The card in three lines, each with what it names and what came of it or "nothing": "Kept: nothing"."""
        return tuple(f"{name}: {came or 'nothing'}" for name, came in self._parts)

    @property
    def lines_of_what_came(self) -> tuple[str, ...]:
        """The lines that say something; none for a session of which nothing came."""
        return tuple(f"{name}: {came}" for name, came in self._parts if came)

    @property
    def _parts(self) -> tuple[tuple[str, str], ...]:
        """What each line names, and what came of it; empty where nothing did."""
        avoided = _listed(self.followed, "followed and worked")
        heeded = _counted(self.heeded, "warning", "heeded")
        held = _counted(self.held, "last message", f"held, {self.corrected} corrected after it")
        refused = _counted(self.refused, "call", "refused once")
        return (
            ("Met again and avoided", _joined(avoided, heeded)),
            ("Kept", _listed(self.kept)),
            ("Held and corrected", _joined(held, refused)),
        )

    @property
    def markdown(self) -> str:
        """The card for a pull request; nothing in the words of a lesson acts as a mark of its own."""
        items = [_item_of(line) for line in self.lines]
        return "\n".join(["### What mcp-reflect did in this session", "", *items])


def _item_of(line: str) -> str:
    """Return a line of the card as an item of a list in Markdown."""
    name, _, rest = line.partition(": ")
    return f"- **{name}:** {rest.translate(_MARKS)}"


def _joined(*parts: str) -> str:
    """Return the parts that say something as one line, empty where none does."""
    return "; ".join(part for part in parts if part)


def _counted(count: int, name: str, what: str) -> str:
    """Return a count with its noun and what became of them: 2, "lesson", "shown" -> "2 lessons shown"; empty for 0."""
    if not count:
        return ""
    return f"{_number_of(count, name)} {what}"


def _number_of(count: int, name: str) -> str:
    """Return a count with its noun: 1, "lesson" -> "1 lesson"; 3, "lesson" -> "3 lessons"."""
    if count == 1:
        return f"1 {name}"
    return f"{count} {name}s"


def _listed(texts: Sequence[str], what: str = "") -> str:
    """Return how many lessons there are, what became of them, and the first ones in their words.

    ["Use uv.", "Quote paths."], "learned" -> "2 lessons learned (Use uv. · Quote paths.)"; empty for none.
    """
    if not texts:
        return ""
    named = [_cut(" ".join(text.split())) for text in texts[:_MOST_NAMED]]
    if len(texts) > _MOST_NAMED:
        named.append(f"{len(texts) - _MOST_NAMED} more")
    count = f"{_number_of(len(texts), 'lesson')} {what}".strip()
    return f"{count} ({' · '.join(named)})"


def _cut(text: str) -> str:
    """Return a text in at most _MOST_CHARS characters, cut between words where it has any: "Use uv for …"."""
    if len(text) <= _MOST_CHARS:
        return text
    start = text[: _MOST_CHARS - len(_CUT)].rsplit(maxsplit=1)[0]
    return f"{start}{_CUT}"
