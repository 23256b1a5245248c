"""The kinds of proof and the programs that give one: the list words/programs.txt, which the setting `proofs` extends.

An entry is a program with the words that must follow it; `*` stands for any characters. Wrappers such as `npx`,
`poetry run` and `docker exec NAME` are taken off before the table is read. For a program that is not in the table, its
name or first word may tell the kind: `gleam test`, `make deploy`, `bin/lint`. Otherwise its run may show anything.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from mcp_reflect.evidence.word_lists import read_word_list
from mcp_reflect.shell import VALUED, is_idle


class ProofKind(StrEnum):
    """What a run of a program shows."""

    TESTS = "tests"
    BUILD = "build"
    TYPES = "types"
    LINT = "lint"
    FORMAT = "format"
    COMMIT = "commit"
    PUSH = "push"
    MIGRATION = "migration"
    DEPLOYMENT = "deployment"
    HEALTH = "health"
    IMAGE = "image"
    ANY = "any"
    """A run of a program that is not known: it may show any of these."""


CHECKS: Final = frozenset(
    {ProofKind.TESTS, ProofKind.BUILD, ProofKind.TYPES, ProofKind.LINT, ProofKind.FORMAT}
)
"""The kinds that a run of `make check` or `pre-commit` may show, whichever of them it holds."""

_LISTS: Final = read_word_list("programs")
_NAMES: Final = {name: kind.value for kind in ProofKind for name in _LISTS.get(f"names {kind}", ())}
"""Words in the names of scripts and targets: `npm run test:unit`, `make deploy`, `./scripts/lint.sh`."""

_SHORTEST_PREFIX: Final = 5
_ALL_NAMES: Final = frozenset(_LISTS["names all"])
_RUNNERS: Final = frozenset(_LISTS["runners"])
_WITH_TASKS: Final = frozenset(_LISTS["with tasks"])
_PACKAGE_MANAGERS: Final = frozenset(_LISTS["package managers"])
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w{0,80}\+?=.{0,2000}", re.DOTALL)
_SHELLS: Final = frozenset(_LISTS["shells"])
_INTERPRETERS: Final = frozenset(_LISTS["interpreters"])
_SHOWS_NOTHING: Final = frozenset(_LISTS["shows nothing"])
_INSTALLING: Final = frozenset(_LISTS["installing"])
_WITH_WORDS: Final = frozenset({"-c", "-lc", "-Command"})
"""Options with which a shell runs the words behind them."""

_WITH_SEVERAL_GOALS: Final = frozenset({"mvn", "gradle", "sbt", "xcodebuild", "cargo", "bazel"})
"""Programs of which one call takes several goals: `mvn clean test`."""

_REQUESTING: Final = frozenset({"curl", "wget"})
"""Programs of the list that fetch files as well as ask a service."""

_RUNNING_ALL_CHECKS: Final = frozenset({"act", "lefthook"})
"""Programs that run all checks of a project, with any words; `pre-commit` does with `run` alone."""

_SCRIPT: Final = re.compile(
    r"(?:.*[/\\])?([\w.:-]{1,80}?)(?:\.(?:sh|bash|py|js|mjs|cjs|ts|rb|ps1|bat|cmd|pl))?"
)


def words_of_kinds(extra: Sequence[str] = ()) -> dict[ProofKind, list[list[str]]]:
    """Return the table with the entries of the setting, each `KIND: PROGRAM WORDS`; others than its kinds are left out."""
    table: dict[ProofKind, list[list[str]]] = {}
    for kind in ProofKind:
        if kind in _LISTS:
            table[kind] = [program.split() for program in _LISTS[kind]]
    for entry in extra:
        name, _, program = entry.partition(":")
        kind = name.strip()
        if kind in table and program.strip():
            table[ProofKind(kind)].append(program.split())
    return table


@lru_cache(maxsize=4)
def _by_program(extra: tuple[str, ...]) -> dict[str, list[tuple[ProofKind, list[str]]]]:
    """Return what each program may prove with which words behind it, so that a command needs one look-up."""
    table: dict[str, list[tuple[ProofKind, list[str]]]] = {}
    for kind, programs in words_of_kinds(extra).items():
        for program, *rest in programs:
            table.setdefault(program, []).append((kind, rest))
    return table


def kinds_of(words: Sequence[str], extra: tuple[str, ...] = ()) -> frozenset[ProofKind]:
    """Return what a command, given without its wrappers, may prove; empty if it proves nothing known."""
    if not words:
        return frozenset()
    program, *rest = words
    if program == "php" and rest:
        program, *rest = rest
    plain = _plain(rest)
    if is_idle((program, *rest)) or rest == ["-h"]:
        return frozenset()
    listed = _by_program(extra).get(program, ())
    found = {kind for kind, wanted in listed if _follows(wanted, rest, plain, program)}
    if program == "make" and kinds_of_name(" ".join(plain)):
        found.discard(ProofKind.BUILD)
    if program in _REQUESTING and not _asks_a_service(" ".join(rest)):
        found.discard(ProofKind.HEALTH)
    if found and program not in _RUNNERS:
        return frozenset(found)
    name = _name_of(program, rest, plain, listed=bool(listed))
    return frozenset(found) | kinds_of_name(name)


def _plain(rest: Sequence[str]) -> list[str]:
    """Return the words that are neither options nor, as far as that is known, their values."""
    plain: list[str] = []
    valued = False
    for word in rest:
        if not word.startswith("-") and not valued:
            plain.append(word)
        valued = word in VALUED
    return plain


def _follows(
    wanted: Sequence[str], rest: Sequence[str], plain: Sequence[str], program: str
) -> bool:
    """True if a program is called with the words that the list wants behind it.

    - none are wanted: any call
    - an option is wanted, "--check": among the first words, also as "--check=…"
    - programs that take several goals, `mvn clean test`: any of the first ones, also in a module, ":app:test"
    - else: the first plain words, in their order, `npm run test`
    """
    if not wanted:
        return True
    if wanted[0].startswith("-"):
        return any(word == wanted[0] or word.startswith(f"{wanted[0]}=") for word in rest[:6])
    if program in _WITH_SEVERAL_GOALS:
        return any(
            fnmatchcase(word.rsplit(":", 1)[-1], wanted[0]) or word == wanted[0]
            for word in plain[:6]
        )
    return len(plain) >= len(wanted) and all(map(fnmatchcase, plain, wanted))


def _asks_a_service(rest: str) -> bool:
    """Return whether a request looks at a service, and does not only fetch a file."""
    local = re.search(r"localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|\$\{?\w*(?:URL|HOST)", rest)
    return bool(
        local
        or re.search(
            r"health|ready|live|status|ping|http_code|(?:^| )-\w*[iI]\b|--head|--fail", rest
        )
    )


def _name_of(program: str, rest: Sequence[str], plain: Sequence[str], *, listed: bool) -> str:
    """Return the words of a command that may name what it shows, empty where none does. The first kind that fits decides.

    - a package manager: its script, `test:unit` of `npm run test:unit`
    - a runner: its targets, `deploy` of `make deploy ENV=prod`
    - a program that runs all checks of a project: `check`
    - a shell or an interpreter: its script, `scripts/lint.sh` of `bash scripts/lint.sh`
    - a program that only looks or installs: nothing
    - one of the table, none of whose entries fits: its first word alone, since its name stands for those entries
    - any other: its name and its first word, `gleam test`
    """
    if program in _PACKAGE_MANAGERS:
        return _script_of_package(plain)
    if program in _RUNNERS:
        return " ".join(word for word in plain[:3] if not _ASSIGNED.fullmatch(word))
    if (program == "pre-commit" and "run" in plain) or program in _RUNNING_ALL_CHECKS:
        return "check"
    if program in _SHELLS or program in _INTERPRETERS:
        return _script_file(rest, plain)
    if not may_prove([program, *rest]):
        return ""
    words = [word for word in plain if word not in _RUNNERS and word not in {"run", "exec", "call"}]
    if listed:
        return " ".join(words[:1])
    return " ".join((program, *words[:1]))


def _script_of_package(plain: Sequence[str]) -> str:
    """Return the script that a package manager runs: `lint` of `yarn workspace shop lint`; none for `npm install`."""
    named = plain[2:] if plain[:1] == ["workspace"] else plain
    before_script = {"run", "run-script", "task", "workspaces", "foreach"}
    names = [word for word in named if word not in before_script]
    if not names or names[0] in _INSTALLING:
        return ""
    return names[0]


def _script_file(rest: Sequence[str], plain: Sequence[str]) -> str:
    """Return the file that a shell or an interpreter runs; none for `python -c "..."`, and for a word that is no path."""
    script = next(iter(plain), "")
    is_given_in_words = "-c" in rest or "-e" in rest
    if is_given_in_words or not re.search(r"\.\w{2,4}$|/", script):
        return ""
    return script


def may_prove(words: Sequence[str]) -> bool:
    """Return whether a command does more than look, move files, wait or get what a project needs."""
    looks = not words or words[0] in _SHOWS_NOTHING
    return not looks and not set(_plain(words[1:])[:1]) & _INSTALLING


def may_show_any(
    words: Sequence[str], kinds: frozenset[ProofKind], extra: tuple[str, ...] = ()
) -> bool:
    """Return whether a command may prove more than the `kinds` that are known of it. The first rule that fits decides.

    - `ls`, `npm install`: no, they prove nothing
    - `bash -c "pytest"`: no, what is in the quotation marks is read as commands of its own
    - a program to which a project adds tasks, such as `rails`: only where its words tell no kind
    - `make`, `npm run dist`, `python tool.py`: unless the name tells more than a build, for which it often stands when
      the tests run in it
    - any other: only if the table does not have it
    """
    if not may_prove(words):
        return False
    program = words[0]
    if program in _SHELLS and not _WITH_WORDS.isdisjoint(words):
        return False
    if program in _WITH_TASKS:
        return not kinds
    if program in _RUNNERS | _PACKAGE_MANAGERS | _INTERPRETERS | _SHELLS:
        return kinds <= {ProofKind.BUILD}
    return program not in _by_program(extra)


def kinds_of_name(name: str) -> frozenset[ProofKind]:
    """Return the kinds that the words of a name tell: tests and lint of `test-and-lint.sh`, all checks of `verify`."""
    kinds: set[ProofKind] = set()
    for word in name.split():
        stem = word
        if script := _SCRIPT.fullmatch(word):
            stem = script[1]
        parts = re.split(r"[^a-z0-9]+", stem.lower().replace("type-check", "typecheck"))
        kinds |= {ProofKind(kind) for kind in map(_kind_of_part, parts) if kind}
        if not _ALL_NAMES.isdisjoint(parts):
            kinds |= CHECKS
    return frozenset(kinds)


def _kind_of_part(part: str) -> str | None:
    """Return the kind of a word, or of the long word that it begins with, as `deploy` in `deployctl`."""
    long = (word for word in _NAMES if len(word) >= _SHORTEST_PREFIX and part.startswith(word))
    return _NAMES.get(part) or _NAMES.get(next(long, ""))
