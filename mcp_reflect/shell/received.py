"""The files that a command gets from an archive, a container, another machine or a store, and writes here."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mcp_reflect.shell.options import values_of
from mcp_reflect.shell.tables import words_of_table

_NOT_FETCHED: Final = frozenset(("--dryrun", "--dry-run", "--help"))
_TAKEN_ELSEWHERE: Final = (
    "--directory",
    "--to-stdout",
    "--to-command",
    "--transform",
    "--strip",
    "--one-top",
)
"""Begin options of `tar`: what it takes out goes into another folder, by another name, or nowhere."""

_TAR_ELSEWHERE: Final = frozenset("COkTX")
_UNZIP_ELSEWHERE: Final = frozenset("dplntvxz")
"""The same as letters; with others of them only a list is printed."""


class Fetched(NamedTuple):
    """The last name in the path of a file elsewhere, and where it is written here: a file, or a folder."""

    name: str
    target: str


def taken_out(program: str, words: Sequence[str]) -> Sequence[str]:
    """Return the files that an archive is told to give, into the folder of the command, over what is there.

    `tar -xf a.tar b`, `tar xzf a.tgz b` and `unzip -o a.zip b` name b; without a name nobody knows what comes out.
    """
    if not words or any(word.startswith(_TAKEN_ELSEWHERE) for word in words):
        return ()
    if program == "unzip":
        letters = _letters_of(words)
        is_written = "o" in letters and letters.isdisjoint(_UNZIP_ELSEWHERE)
        return [word for word in words if word[:1] != "-"][1:] if is_written else ()
    letters = _letters_of((f"-{words[0].lstrip('-')}", *words[1:]))
    is_archive_next = words[0].endswith("f")
    if "x" not in letters or not is_archive_next or not letters.isdisjoint(_TAR_ELSEWHERE):
        return ()
    return [word for word in words[2:] if word[:1] != "-"]


def _letters_of(words: Sequence[str]) -> set[str]:
    """Return the letters of the short options among words: x, z and f of `-xzf`."""
    return {letter for word in words if word[:1] == "-" and word[:2] != "--" for letter in word[1:]}


def fetched(program: str, operands: Sequence[str], words: Sequence[str]) -> Fetched | None:
    """Return the file that a command fetches: `docker cp web:/app/a b` writes b, or b/a. None where it fetches none.

    `operands` are those among the words. The way there and back is the same command: the source is what has a colon.
    """
    for entry in words_of_table("commands that fetch a file from elsewhere"):
        name, *subcommands = entry.split(":")
        count = len(subcommands)
        if name != program or list(operands[:count]) != subcommands:
            continue
        match operands[count:]:
            case [source, target] if ":" in source and ":" not in target and target != "-":
                if _NOT_FETCHED.isdisjoint(words):
                    return Fetched(source.rstrip("/").rpartition("/")[2], target)
            case _:
                return None
    return None


def written_by_subcommand(
    program: str, operands: Sequence[str], words: Sequence[str]
) -> Iterator[str]:
    """Yield the files that a subcommand writes: `.env` of `vercel env pull .env` and of `dotenvx set A b -f .env`."""
    for entry in words_of_table("subcommands that write their operands"):
        name, *subcommands = entry.split(":")
        count = len(subcommands)
        if name == program and list(operands[:count]) == subcommands:
            yield from operands[count:]
    for entry in words_of_table("options of a subcommand that name a file to write"):
        name, subcommand, option = entry.split(":")
        if name == program and operands[:1] == [subcommand]:
            yield from values_of(words, frozenset((option,)))
