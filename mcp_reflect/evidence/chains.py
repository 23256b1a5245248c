"""Chains of commands, such as `cd src && pytest | tail`: which of them the end of the chain speaks of."""

from collections.abc import Sequence
from typing import Final

from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.shell import Command, is_viewer, unwrapped

_PREPARING: Final = frozenset(
    "cd pushd popd export set source . true echo printf sleep mkdir clear date pwd wait ls cat".split()
)

Link = tuple[Command, list[str]]
"""A command of a chain, and its words without wrappers."""


def chains_of(commands: Sequence[Command]) -> dict[int, list[Link]]:
    """Return the commands by the script that they stand in; 0 is the outermost one."""
    chains: dict[int, list[Link]] = {}
    for command in commands:
        if command.script >= 0:
            chains.setdefault(command.script, []).append((command, unwrapped(command.words)))
    return chains


def ends_the_chain(links: Sequence[Link], at: int, text: str) -> bool:
    """True where a command that fails makes the whole chain fail: nothing but `&&` follows, or pipes under `pipefail`."""
    if text.rstrip().endswith("&"):
        return False
    passing = ["&&"]
    if "pipefail" in text:
        passing.append("|")
    return all(command.before in passing for command, _ in links[at + 1 :])


def is_shown_by_all(
    kind: ProofKind, links: Sequence[Link], kinds: Sequence[frozenset[ProofKind]], at: int
) -> bool:
    """True where every other command of a chain shows the same kind, or only prepares: then the end is that kind's."""
    others = [place for place in range(len(links)) if place != at]
    return all(kind in kinds[place] or prepares(links[place][1]) for place in others)


def prepares(words: Sequence[str]) -> bool:
    """Return whether a command only prepares or looks, as `cd src` and `git add` do: how a chain ends is not its doing."""
    return (
        not words
        or words[0] in _PREPARING
        or is_viewer(words)
        or (words[0] == "git" and words[1:2] in (["add"], ["log"], ["status"]))
    )
