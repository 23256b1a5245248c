"""The refusal of a call that could not be checked: the machine is slow, or the bank does not answer.

`quick_hook` asks here before its process ends without an answer. Only a call that may go against a guard which a person
enforces is refused; any other one passes.
"""

import os
from typing import Any, Final

from mcp_reflect.moments.payload import refusal, unpacked
from mcp_reflect.places import BANK, GUARDS, PROJECT, bank_file

UNCHECKED: Final = (
    "mcp-reflect: this call may go against lesson {}, which a person enforces, and it could not be checked: "
    "the machine is slow, or the bank does not answer. It was not made. Make it again; if this stays, ask the person to "
    "run `mcp-reflect doctor`."
)
"""What is said where a call could not be checked, with the id of the lesson."""

_ESCAPED_BLANKS: Final = (r"\n", r"\t", r"\r")
"""Blanks as JSON writes them in a text: a word begins after them."""


def refusal_unchecked(
    event: str, sent: dict[str, Any], options: dict[str, str]
) -> dict[str, Any] | None:
    """Return the refusal of a call that may go against a lesson which a person enforces; None where no guard may.

    The words of the call are compared with the names of the guards, as the bank's file has them: that needs no time.
    Of a bank elsewhere this machine keeps the guards themselves.
    """
    named = os.environ.get(BANK) or ""
    bank = bank_file(named)
    if bank is None and "://" not in named:
        bank = bank_file(
            None
        )  # what names no file that can be a bank lifts no guard of the usual one
    if "url" in options or bank is None:
        return _refusal_unanswered(event, sent, options)
    from mcp_reflect.cli.quick_hook import call_at_hand  # noqa: PLC0415 - calls alone need it
    from mcp_reflect.storage.hook_projects import folder_key, project_in  # noqa: PLC0415 - the same
    from mcp_reflect.storage.sqlite.hook_reader import enforced_by_name  # noqa: PLC0415 - the same

    folder = sent.get("cwd")
    if not isinstance(sent.get("tool_name"), str) or os.environ.get(GUARDS) == "off":
        return None
    project = os.environ.get(PROJECT)
    if project is None and isinstance(folder, str):
        project = project_in(bank, folder_key(folder))
    call = call_at_hand(bank, project, sent)
    text = call.text
    for escape in _ESCAPED_BLANKS:
        text = text.replace(escape, " ")
    lesson_id = enforced_by_name(bank, call._replace(text=text))
    if lesson_id is None:
        return None
    return refusal(event, UNCHECKED.format(lesson_id))


def _refusal_unanswered(
    event: str, sent: dict[str, Any], options: dict[str, str]
) -> dict[str, Any] | None:
    """Return the refusal of a call that the bank elsewhere did not answer, by the guards that this machine keeps."""
    from mcp_reflect.cli.kept_guards import kept_file, refusal_text  # noqa: PLC0415 - a bank elsewhere alone needs it

    tool = sent.get("tool_name")
    folder = sent.get("cwd")
    if not isinstance(folder, str):
        folder = None
    file = kept_file(options.get("url"), folder)
    if file is None or not isinstance(tool, str):
        return None
    text = refusal_text(file, tool, unpacked(sent.get("tool_input")))
    if text is None:
        return None
    return refusal(event, text)
