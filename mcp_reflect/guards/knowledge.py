"""What guards know of programs, from `programs.txt`: subcommands, forms of flags, programs that every session uses."""

from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def _tables() -> dict[str, list[str]]:
    """Return the words of each section of the file by the section's name."""
    tables: dict[str, list[str]] = {}
    words: list[str] = []
    text = Path(__file__).with_name("programs.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("[") and line.endswith("]") and line[1:2].isalpha():
            words = tables.setdefault(line[1:-1], [])
        elif not line.startswith("#"):
            words += line.split()
    return tables


@lru_cache(maxsize=16)
def words_about(name: str) -> frozenset[str]:
    """Return the words of a section of the file."""
    return frozenset(_tables()[name])


@lru_cache(maxsize=1)
def _depths() -> dict[str, int]:
    """Return, by the name of a known program, how many words behind it say what it does."""
    names = ("without subcommands", "with one subcommand", "with two subcommands")
    depths: dict[str, int] = {}
    for depth, name in enumerate(names):
        depths.update(dict.fromkeys(_tables()[name], depth))
    return depths


def subcommand_depth(program: str) -> int:
    """Return how many words behind a program say what it does; 0 of one that nobody knows."""
    return _depths().get(program, 0)


def subcommands_of(program: str, words: list[str]) -> list[str] | None:
    """Return the first words behind a program that say what it does; None for a program that nobody knows.

    Of git with `push`, `origin` it is `push`; of kubectl with `rollout`, `undo`, `web` they are `rollout`, `undo`.
    """
    depth = _depths().get(program)
    if depth is None:
        return None
    is_group = bool(words) and f"{program}:{words[0]}" in words_about("groups with one more")
    return words[: depth + is_group]


def is_open_group(head: list[str]) -> bool:
    """Return whether a program and subcommand only name a group of things to do: `git stash`, `kubectl rollout`."""
    return len(head) == 2 and ":".join(head) in words_about("groups with one more")


@lru_cache(maxsize=1)
def _forms_of_flags() -> dict[str, list[tuple[str, ...]]]:
    """Return, by a program or by it and its subcommand, the groups of flags that mean the same: `-f`, `--force`."""
    forms: dict[str, list[tuple[str, ...]]] = {}
    for entry in _tables()["same flags"]:
        head, _, flags = entry.partition(":")
        forms.setdefault(head.replace("-", " "), []).append(tuple(flags.split("=")))
    return forms


def forms_of_flag(flag: str, head: list[str]) -> tuple[str, ...]:
    """Return a flag with the other ways to write it behind a head: ("-f", "--force") for `-f` behind `git push`.

    What the file says of the subcommand counts first, then of the program, then of all programs.
    """
    for name in (" ".join(head[:2]), head[0], "*"):
        for forms in _forms_of_flags().get(name, ()):
            if flag in forms:
                return (flag, *(form for form in forms if form != flag))
    return (flag,)


def forms_of_head(head: list[str]) -> tuple[str, ...]:
    """Return a program with its subcommands, and the other ways to write it."""
    name = "-".join(head)
    plain = " ".join(head)
    for entry in _tables()["same heads"]:
        known_name, other_name = entry.split("=")
        if known_name == name:
            return (plain, _spaced(other_name))
    return (plain,)


def _spaced(name: str) -> str:
    """Return a head of the file, which joins its words with hyphens, as words: `apt-get install` for `apt-get-install`.

    The hyphen in `apt-get` is its own; no other program in the list has one.
    """
    program = name.partition("-")[0]
    if name.startswith("apt-get-"):
        program = "apt-get"
    return f"{program} {name.removeprefix(f'{program}-')}"
