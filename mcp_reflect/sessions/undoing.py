"""Calls that undo work: an edit that turns an earlier one round, or a command such as `git restore`."""

from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.finding import SessionCall
from mcp_reflect.sessions.tools import (
    file_of,
    first_text,
    named_arguments,
)
from mcp_reflect.shell import Command, act_of, read_script

_OLD_TEXTS: Final = ("old_string", "old_str", "oldText", "old_text")
_NEW_TEXTS: Final = ("new_string", "new_str", "newText", "new_text")


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit of a file: the text that it replaced (`old`), and the text that it wrote (`new`)."""

    file: str
    old: str
    new: str


def edit_of(call: SessionCall) -> Edit | None:
    """Return the edit that a call makes, None for any other call and for an edit without both of its texts."""
    values = named_arguments(call.arguments)
    file = file_of(values)
    old = first_text(values, _OLD_TEXTS)
    new = first_text(values, _NEW_TEXTS)
    if file is None or old is None or new is None or old == new:
        return None
    return Edit(file, old, new)


def undoes_changes(command: str) -> bool:
    """Return whether a command turns files back to what they were: `git restore`, `git checkout -- FILE`."""
    return any(_turns_back(one) for one in read_script(command).commands)


def _turns_back(command: Command) -> bool:
    """Return whether a command of git takes back changes: `restore`, `revert`, `stash`, `checkout --`, `reset --hard`."""
    act = act_of(command)
    if act is None or act.program != "git":
        return False
    if act.subcommand == "checkout":
        return "--" in command.words
    if act.subcommand == "reset":
        return "--hard" in command.words
    return act.subcommand in ("restore", "revert") or act.subcommand.startswith("stash")
