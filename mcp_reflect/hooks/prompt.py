"""At the start of a session and at each prompt: the few lessons that it has not been shown."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from mcp_reflect.hooks.corrections import corrects
from mcp_reflect.hooks.texts import lessons_text
from mcp_reflect.models.lesson import with_id

MOST_LESSONS: Final = 3
_KEEP: Final = (
    "mcp-reflect: this prompt seems to correct how you work. If it holds beyond this task, keep it: call store_lesson "
    'with what you did as mistake, what the person wants as correction, and evidence "user". Otherwise do nothing.'
)


def unseen(lessons: Iterable[tuple[str, str]], shown: Sequence[str]) -> dict[str, str]:
    """Return the texts of at most three lessons, given as (id, text), by their ids, that a session was not shown."""
    return dict(islice((pair for pair in lessons if pair[0] not in shown), MOST_LESSONS))


def reminder(lessons: dict[str, str]) -> str | None:
    """Return what is said of the lessons, None for none."""
    return lessons_text([with_id(*pair) for pair in lessons.items()]) if lessons else None


def ask_to_keep(prompt: str, setting: str) -> str | None:
    """Return the ask to keep what a person's prompt corrects, None if it corrects nothing; "off" asks for nothing."""
    return _KEEP if setting != "off" and corrects(prompt) else None
