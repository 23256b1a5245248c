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
    """Show lessons and return whether the person wants an act on them; `act` completes "Shall I …", as "change it so".

    | the lessons                           | what is done                                             |
    |---------------------------------------|----------------------------------------------------------|
    | are all kept by the person            | True, without a question: no agent can have changed them |
    | others, and a person is at a terminal | they are shown, and the person is asked                  |
    | others, and nobody can be asked       | True: to an agent or a script the bank allows less       |
    """
    if all(lesson.is_kept_by_person for lesson in lessons):
        return True
    if _is_person_there():
        for lesson in lessons:
            _write_beside_answer(options, "\n".join([*lines_in_question(lesson), ""]))
    return agrees(options, act)


def agrees(options: Namespace, act: str) -> bool:
    """Ask the person whether to do an act on what was just shown, and return whether they agree.

    True where nobody can be asked: an agent or a script runs the command then, and the bank allows it less; or a script
    with an admin's token, for which whoever gave it the token answers.
    """
    if not _is_person_there():
        return True
    _write_beside_answer(options, f"Shall I {act}? [y/N] ", end="")
    answer = ask("") or ""
    if answer.lower() in ("y", "yes"):
        return True
    _write_beside_answer(options, _REFUSED)
    return False


def _is_person_there() -> bool:
    """Return whether a person is at the terminal, and no agent of a host."""
    return is_interactive() and speaker_to_service() is Speaker.PERSON


def _write_beside_answer(options: Namespace, text: str, end: str = "\n") -> None:
    """Print for the person: to stderr where the command's answer is JSON, which a program reads from stdout."""
    stream = sys.stdout
    if options.json:
        stream = sys.stderr
    stream.write(f"{folded(text)}{end}")
    stream.flush()
