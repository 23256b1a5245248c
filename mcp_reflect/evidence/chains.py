"""Chains of commands, such as `cd src && pytest | tail`: which of them the end of the chain speaks of."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.shell import Command, is_viewer, unwrapped

_PREPARING: Final = frozenset(
    "cd pushd popd export set source . true echo printf sleep mkdir clear date pwd wait ls cat".split()
)


class ChainedCommand(NamedTuple):
    """A command of a chain, and its words without wrappers: `sudo npx tsc` has the words `tsc`."""

    command: Command
    words: list[str]


def chains_of(commands: Sequence[Command]) -> dict[int, list[ChainedCommand]]:
    """Return the commands by the script that they stand in; 0 is the outermost one.

    `cd src && bash -c "pytest -q"` has two chains: `cd`, `bash` by 0, and `pytest` by 1. What stands in `$(…)` is left out:
    its end is not that of the command.
    """
    chains: dict[int, list[ChainedCommand]] = {}
    for command in commands:
        if command.script >= 0:
            chains.setdefault(command.script, []).append(
                ChainedCommand(command, unwrapped(command.words))
            )
    return chains


def ends_the_chain(links: Sequence[ChainedCommand], index: int, text: str) -> bool:
    """Return whether the chain fails where its command at an index fails: nothing but `&&` follows, or pipes under `pipefail`.

    So it is for `pytest` in `pytest && git push`, and not in `pytest | tail`, `pytest; ls` or `pytest &`.
    """
    if text.rstrip().endswith("&"):
        return False
    passing = ["&&"]
    if "pipefail" in text:
        passing.append("|")
    return all(command.before in passing for command, _ in links[index + 1 :])


def is_shown_by_all(
    kind: ProofKind,
    links: Sequence[ChainedCommand],
    kinds: Sequence[frozenset[ProofKind]],
    index: int,
) -> bool:
    """Return whether every command but the one at an index shows the same kind, or only prepares.

    Then the end of the chain is that of a run of this kind: `cd web && npm test`, not `npm test && git push`. `kinds` has
    what each command shows.
    """
    others = [other for other in range(len(links)) if other != index]
    return all(kind in kinds[other] or prepares(links[other].words) for other in others)


def prepares(words: Sequence[str]) -> bool:
    """Return whether a command only prepares or looks, as `cd src` and `git add` do: how a chain ends is not its doing."""
    if not words or words[0] in _PREPARING or is_viewer(words):
        return True
    return words[0] == "git" and words[1:2] in (["add"], ["log"], ["status"])
