"""What a command may prove, by the list words/programs.txt, which the setting `proofs` extends.

An entry is a program with the words that must follow it; `*` stands for any characters. Wrappers such as `npx`,
`poetry run` and `docker exec NAME` are taken off before the table is read. For a program that is not in the table, its
name or first word may tell the kind: `gleam test`, `make deploy`, `bin/lint`. Otherwise its run may show anything.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, NamedTuple

from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.name_kinds import kinds_of_name
from mcp_reflect.evidence.word_lists import read_word_list
from mcp_reflect.shell import VALUED, is_idle

_LISTS: Final = read_word_list("programs")
_RUNNERS: Final = frozenset(_LISTS["runners"])
_WITH_TASKS: Final = frozenset(_LISTS["with tasks"])
_PACKAGE_MANAGERS: Final = frozenset(_LISTS["package managers"])
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w{0,80}\+?=.{0,2000}", re.DOTALL)
_SHELLS: Final = frozenset(_LISTS["shells"])
_INTERPRETERS: Final = frozenset(_LISTS["interpreters"])
_LOOKS: Final = [
    (kind, program, words)
    for kind in ProofKind
    for program, *words in map(str.split, _LISTS.get(f"looks {kind}", ()))
]
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

_MOST_WORDS: Final = 6  # words behind a program among which an option or a goal is looked for
_MOST_TARGETS: Final = 3  # targets of a runner that are read
_BEFORE_NAME: Final = _RUNNERS | {"run", "exec", "call"}
"""Words before the one that says what runs: `gleam run test`."""

_BEFORE_SCRIPT: Final = frozenset({"run", "run-script", "task", "workspaces", "foreach"})
"""Words of package managers before the name of a script."""

_LOCAL_ADDRESS: Final = re.compile(
    r"localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|\$\{?\w*(?:URL|HOST)"
)
_HEALTH_REQUEST: Final = re.compile(
    r"health|ready|live|status|ping|http_code|(?:^| )-\w*[iI]\b|--head|--fail"
)
_SCRIPT_PATH: Final = re.compile(r"\.\w{2,4}$|/")


class _TableEntry(NamedTuple):
    """What a program proves where these words follow it."""

    kind: ProofKind
    wanted: list[str]


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
def _entries_by_program(extra: tuple[str, ...]) -> dict[str, list[_TableEntry]]:
    """Return the entries of the table by their programs, so that a command needs one look-up."""
    table: dict[str, list[_TableEntry]] = {}
    for kind, programs in words_of_kinds(extra).items():
        for program, *wanted in programs:
            table.setdefault(program, []).append(_TableEntry(kind, wanted))
    return table


def kinds_of(words: Sequence[str], extra: tuple[str, ...] = ()) -> frozenset[ProofKind]:
    """Return what a command, given without its wrappers, may prove; empty if it proves nothing known.

    | the command                                           | proves                                          |
    |-------------------------------------------------------|-------------------------------------------------|
    | `pytest --help`                                       | nothing: it does not do its work                |
    | `prisma migrate status`, one that only looks          | nothing (`kinds_looked_at`)                     |
    | `cargo test`, an entry of the table                   | what the table says                             |
    | `make test`, a runner                                 | what the table says, and what its target's name does |
    | `gleam test`, `bin/lint`, in no entry                 | what its name or first word does                |

    Two entries hold only in part: `make test` is no build, and `curl` proves health only where it asks a service.
    """
    if not words:
        return frozenset()
    program, *rest = words
    if program == "php" and rest:
        program, *rest = rest
    if is_idle((program, *rest)) or rest == ["-h"]:
        return frozenset()
    if kinds_looked_at(words) and not _is_named(words, extra):
        return frozenset()
    operands = _operands_of(rest)
    entries = _entries_by_program(extra).get(program, ())
    kinds = {entry.kind for entry in entries if _follows(entry.wanted, rest, operands, program)}
    if program == "make" and kinds_of_name(" ".join(operands)):
        kinds.discard(ProofKind.BUILD)
    if program in _REQUESTING and not _asks_a_service(" ".join(rest)):
        kinds.discard(ProofKind.HEALTH)
    if kinds and program not in _RUNNERS:
        return frozenset(kinds)
    name = _name_of(program, rest, operands, is_listed=bool(entries))
    return frozenset(kinds) | kinds_of_name(name)


def kinds_looked_at(words: Sequence[str]) -> frozenset[ProofKind]:
    """Return of what a command only tells what was done or would be: a migration of `manage.py migrate shop --plan`."""
    return frozenset(
        kind for kind, program, wanted in _LOOKS if program in words[:1] and _has(words, wanted)
    )


def _has(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether a command has the wanted options anywhere, and the other wanted words as its first operands."""
    options = {word for word in wanted if word.startswith("-")}
    operands = [word for word in wanted if word not in options]
    return options.issubset(words) and _operands_of(words[1:])[: len(operands)] == operands


def _is_named(words: Sequence[str], extra: Sequence[str]) -> bool:
    """Return whether an entry of the setting begins a command: a person may take `prisma migrate status` for a proof."""
    programs = [entry.partition(":")[2].split() for entry in extra]
    return any(program and list(words[: len(program)]) == program for program in programs)


def _operands_of(words: Sequence[str]) -> list[str]:
    """Return the words that are neither options nor, as far as that is known, their values: `test` of `-C web test`."""
    operands: list[str] = []
    is_value = False
    for word in words:
        if not word.startswith("-") and not is_value:
            operands.append(word)
        is_value = word in VALUED
    return operands


def _follows(
    wanted: Sequence[str], rest: Sequence[str], operands: Sequence[str], program: str
) -> bool:
    """Return whether a program is called with the words that an entry wants behind it; the first row that fits decides.

    | the entry wants                                 | the call has                                                    |
    |-------------------------------------------------|-----------------------------------------------------------------|
    | nothing                                         | any words                                                       |
    | an option, `--check`                            | it among the first words, also as `--check=…`                   |
    | a goal of a program that takes several          | it among the first operands, also in a module: `:app:test`      |
    | words, `run test`                               | them as the first operands, in their order                      |
    """
    if not wanted:
        return True
    first = wanted[0]
    if first.startswith("-"):
        return any(word == first or word.startswith(f"{first}=") for word in rest[:_MOST_WORDS])
    if program in _WITH_SEVERAL_GOALS:
        return any(_is_goal(operand, first) for operand in operands[:_MOST_WORDS])
    return len(operands) >= len(wanted) and all(map(fnmatchcase, operands, wanted))


def _is_goal(operand: str, wanted: str) -> bool:
    """Return whether an operand is a goal, which may stand behind a module: `test`, `:app:test`."""
    goal = operand.rsplit(":", 1)[-1]
    return operand == wanted or fnmatchcase(goal, wanted)


def _asks_a_service(rest: str) -> bool:
    """Return whether a request looks at a service, and does not only fetch a file."""
    return bool(_LOCAL_ADDRESS.search(rest) or _HEALTH_REQUEST.search(rest))


def _name_of(program: str, rest: Sequence[str], operands: Sequence[str], *, is_listed: bool) -> str:
    """Return the words of a command that may name what it shows, empty where none does; the first row that fits decides.

    | the program                                  | the words                                                          |
    |----------------------------------------------|--------------------------------------------------------------------|
    | is a package manager                         | its script: `test:unit` of `npm run test:unit`                     |
    | is a runner                                  | its targets: `deploy` of `make deploy ENV=prod`                    |
    | runs all checks of a project                 | `check`                                                            |
    | is a shell or an interpreter                 | its script: `scripts/lint.sh` of `bash scripts/lint.sh`            |
    | only looks or installs                       | none                                                               |
    | is in the table, and no entry fits           | its first operand alone, since its name stands for the entries     |
    | is any other                                 | its name and its first operand: `gleam test`                       |
    """
    if program in _PACKAGE_MANAGERS:
        return _script_of_package(operands)
    if program in _RUNNERS:
        targets = operands[:_MOST_TARGETS]
        return " ".join(word for word in targets if not _ASSIGNED.fullmatch(word))
    runs_hooks = program == "pre-commit" and "run" in operands
    if runs_hooks or program in _RUNNING_ALL_CHECKS:
        return "check"
    if program in _SHELLS or program in _INTERPRETERS:
        return _script_file(rest, operands)
    if not may_prove([program, *rest]):
        return ""
    words = [word for word in operands if word not in _BEFORE_NAME]
    if is_listed:
        return " ".join(words[:1])
    return " ".join((program, *words[:1]))


def _script_of_package(operands: Sequence[str]) -> str:
    """Return the script that a package manager runs: `lint` of `yarn workspace shop lint`; none for `npm install`."""
    if operands[:1] == ["workspace"]:
        operands = operands[2:]
    names = [word for word in operands if word not in _BEFORE_SCRIPT]
    if not names or names[0] in _INSTALLING:
        return ""
    return names[0]


def _script_file(rest: Sequence[str], operands: Sequence[str]) -> str:
    """Return the file that a shell or an interpreter runs; none for `python -c "..."`, and for a word that is no path."""
    script = next(iter(operands), "")
    is_code_on_the_line = "-c" in rest or "-e" in rest
    if is_code_on_the_line or not _SCRIPT_PATH.search(script):
        return ""
    return script


def may_prove(words: Sequence[str]) -> bool:
    """Return whether a command does more than look, move files, wait or get what a project needs."""
    if not words or words[0] in _SHOWS_NOTHING or kinds_looked_at(words):
        return False
    first_operands = _operands_of(words[1:])[:1]
    return _INSTALLING.isdisjoint(first_operands)


def may_show_any(
    words: Sequence[str], kinds: frozenset[ProofKind], extra: tuple[str, ...] = ()
) -> bool:
    """Return whether a command may prove more than the `kinds` that are known of it; the first row that fits decides.

    | the command                                      | may prove more                                        |
    |--------------------------------------------------|-------------------------------------------------------|
    | only looks or installs: `ls`, `npm install`      | no: it proves nothing                                 |
    | is a shell with a script: `bash -c "pytest"`     | no: the script is read as commands of its own         |
    | has tasks of the project: `rails`                | only where its words tell no kind                     |
    | runs a target or a script: `make`, `python a.py` | only where its name tells no more than a build        |
    | is any other                                     | only where the table does not have it                 |

    A build often stands for more: the tests may run in it.
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
    return program not in _entries_by_program(extra)
