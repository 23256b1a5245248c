"""The roles of commands: what an output of one can show, named alike for a command and for a claim on it.

A claim on commits is decided by outputs of git, one on removed files by a command that removes files. Beside the roles below
each kind of proof is one.
"""

from collections.abc import Sequence
from typing import Final

from mcp_reflect.evidence import claim_words
from mcp_reflect.evidence.command_kinds import kinds_looked_at, kinds_of, may_show_any
from mcp_reflect.evidence.kinds import CHECKS
from mcp_reflect.evidence.word_lists import pattern_of, read_word_list

HISTORY: Final = "history"
"""The role of commands that show commits, branches and changed files."""

MENDED: Final = "mended"
"""The role of commands that show whether a fault is gone: checks, and programs that nobody knows."""

RAN: Final = "ran"
"""The role of the same commands for a claim on what a run printed or how it ended."""

CHANGED: Final = "changed"
"""The role of edits, rejected ones too."""

REMOVED: Final = "removed"
"""The role of commands that remove files."""


_WORDS_OF_ROLES: Final = {
    HISTORY: pattern_of("history words", "roles"),
    MENDED: pattern_of("mended words", "roles"),
    RAN: pattern_of("ran words", "roles"),
    CHANGED: pattern_of("changed words", "roles"),
    REMOVED: pattern_of("removed words", "roles"),
}

HISTORY_COMMANDS: Final = frozenset(read_word_list("roles")["history commands"])
_REMOVING: Final = tuple(read_word_list("roles")["removing commands"])


def roles_in(text: str) -> frozenset[str]:
    """Return the roles of commands of which a claim speaks, in any of nine languages."""
    roles: set[str] = {kind for kind, words in claim_words.NOUNS.items() if words.search(text)}
    roles |= {kind for kind, words in claim_words.DIRECT.items() if words.search(text)}
    roles |= {role for role, words in _WORDS_OF_ROLES.items() if words.search(text)}
    return frozenset(roles)


def roles_of_command(words: Sequence[str]) -> set[str]:
    """Return the roles of a command without its wrappers: of `pytest -q` these are tests, MENDED and RAN."""
    kinds = kinds_of(words)
    roles: set[str] = set(kinds | kinds_looked_at(words))
    if not words:
        return roles
    if words[0] in HISTORY_COMMANDS:
        roles.add(HISTORY)
    if " ".join(words[:2]).startswith(_REMOVING):
        roles.add(REMOVED)
    if kinds & CHECKS or may_show_any(words, kinds):
        roles |= {MENDED, RAN}
    return roles
