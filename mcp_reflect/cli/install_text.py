"""What `mcp-reflect install` tells a person after a change of a host: what was done, and what it changes for them."""

import shutil
from argparse import Namespace
from collections.abc import Sequence
from typing import Final

from mcp_reflect.cli.host_state import hooks_switched_off, running
from mcp_reflect.cli.host_table import HOOK_SETTINGS, HOSTS, ROWS
from mcp_reflect.cli.hosts import HostConfig
from mcp_reflect.config import Settings

_TOOLS_FROM_START: Final = (
    "Its model sees five of the tools from the start, which takes about 870 tokens of each session (3.5 kB); "
    "MCP_REFLECT_ALWAYS_LOAD=false changes that."
)
_LAST_WORD: Final = (
    "A last message that claims what its session does not show (tests pass, it builds, pushed) is held once; "
    "MCP_REFLECT_LAST_WORD=tell or off changes that."
)
_ON_PATH: Final = (
    "Everybody needs `mcp-reflect` on PATH: the file names the command without a path."
)


def done_text(host: HostConfig, options: Namespace) -> str:
    """Return what a person is told after the change, in one paragraph."""
    if options.uninstall:
        return _paragraph(_notes_on_removal(host, options))
    return _paragraph(_notes_on_entry(host, options))


def nothing_text(options: Namespace) -> str:
    """Return what a person is told where nothing is to be changed."""
    if options.uninstall:
        return "Nothing to change: it is not there."
    return "Nothing to change: it is there."


def _paragraph(sentences: Sequence[str]) -> str:
    """Return sentences as one paragraph, empty ones left out."""
    return " ".join(sentence for sentence in sentences if sentence)


def _notes_on_entry(host: HostConfig, options: Namespace) -> list[str]:
    """Return the sentences about what was registered, and what it changes for the person; empty ones are dropped."""
    notes = [f"Registered in {host.title}.", host.restart]
    if options.here:
        notes.append(_ON_PATH)
    notes.append(ROWS[options.host].note)
    if options.host == "claude-code":
        notes.append(_TOOLS_FROM_START)
    if options.hooks:
        notes.append(HOOK_SETTINGS[options.host].note)
        if ROWS[options.host].moments.last_word != "no":
            notes.append(_LAST_WORD)
    if options.distil:
        notes.append(f"When a session ends, {host.title} reads it once more, on your account.")
    notes.append(_missing_program(options.host))
    if options.hooks:
        notes += hooks_switched_off(options.host)
    notes.append(running(options.host) or "")
    return notes


def _notes_on_removal(host: HostConfig, options: Namespace) -> list[str]:
    """Return the sentences about what was removed, what stays, and a host that runs; empty ones are dropped."""
    notes = [f"Removed from {host.title}."]
    if not options.url:
        notes.append(f"What was learned stays in {Settings.from_env().bank_path}.")
    notes.append(running(options.host) or "")
    return notes


def _missing_program(host: str) -> str:
    """Return a sentence where the program of a host is not on PATH; an empty one where it is, or has a window."""
    program = ROWS[host].program
    if program is None or shutil.which(program):
        return ""
    return f"There is no `{program}` on PATH here: {HOSTS[host].title} reads the file once it is installed."
