"""Before an act on a lesson that others can change: show it as it is now, say what the act does, and ask the person.

What is shown is what the act is bound to: if the lesson changes while the person reads, nothing is done.
"""

import sys
from argparse import Namespace
from collections.abc import Sequence

from mcp_reflect.cli.lesson_text import lines_in_question
from mcp_reflect.cli.output import ask, folded, is_interactive
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.speaker import Speaker, speaker_to_service

_REFUSED = "Nothing was done."


def agrees_about(options: Namespace, lessons: Sequence[Lesson], act: str) -> bool:
    """Show lessons and return whether the person wants the act that is done to them, which completes "Shall I …".

    A person's own are neither shown nor asked about, since no agent can have changed them.
    """
    if all(lesson.is_kept_by_person for lesson in lessons):
        return True
    for lesson in lessons:
        if _is_person_there():
            _write(options, "\n".join([*lines_in_question(lesson), ""]))
    return agrees(options, act)


def agrees(options: Namespace, act: str) -> bool:
    """Return whether the person wants an act about what was just shown.

    Where nobody can be asked, an agent or a script speaks, to whom less is allowed; or a script with an admin's token,
    for which whoever gave it that answers.
    """
    if not _is_person_there():
        return True
    _write(options, f"Shall I {act}? [y/N] ", end="")
    if (ask("") or "").lower() in ("y", "yes"):
        return True
    _write(options, _REFUSED)
    return False


def _is_person_there() -> bool:
    """Return whether a person is at the terminal, and no agent of a host."""
    return is_interactive() and speaker_to_service() is Speaker.PERSON


def _write(options: Namespace, text: str, end: str = "\n") -> None:
    """Print for the person: beside the answer, where that is JSON."""
    stream = sys.stderr if options.json else sys.stdout
    stream.write(f"{folded(text)}{end}")
    stream.flush()
