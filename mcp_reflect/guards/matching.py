"""Whether a call goes against a guard."""

from collections.abc import Sequence
from typing import Final

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import EDIT, POWERSHELL, SHELL, Guard
from mcp_reflect.guards.items import NUMBER, has_words, is_path, name_of
from mcp_reflect.guards.program import HeadUses, Program, after_head

_ASKING: Final = frozenset(
    "--help -help --version -version help version list ls --list show status info --abort --continue --quit".split()
)


def matches(guard: Guard, call: Call) -> bool:
    """True for a call that goes against the guard."""
    if guard.tool == EDIT and guard.has:
        in_folders = [path for path in guard.has[0] if "/" in path]
        return _changes(call.written, guard.has[0], guard.lacks) or _changes(
            call.written_in_folders, in_folders, guard.lacks
        )
    if guard.tool in (SHELL, POWERSHELL):
        here = guard.tool == SHELL or call.powershell
        return here and any(_is_met(guard, call.uses_of(head)) for head in guard.has[0])
    return (
        _is_same_tool(guard.tool, call.tool)
        and all(_has_one_of(call, group) for group in guard.has)
        and not _has_one_of(call, guard.lacks)
    )


def _changes(files: Sequence[str], paths: Sequence[str], others: Sequence[str]) -> bool:
    return any(_is_one_of(file, paths) and not _is_one_of(file, others) for file in files)


def _is_one_of(file: str, paths: Sequence[str]) -> bool:
    return any(is_path(file, path) for path in paths)


def _has_one_of(call: Call, items: Sequence[str]) -> bool:
    return any(_has_value(call, item) for item in items)


def may_be_met(guard: Guard, call: Call) -> bool:
    """True for a call of which nobody can say that it does not go against a guard.

    It was not read to its end, and has the program of the guard as a word; or it goes against the guard where a variable
    that nobody here knows is empty: `terraform $X destroy`. Nothing is concluded from it but that an enforced guard
    cannot let the call pass.
    """
    if guard.tool not in (SHELL, POWERSHELL):
        return False
    if call.script.is_partial:
        return any(call.script.may_start(name_of(head)) for head in guard.has[0])
    return bool(call.without_unknown) and any(
        _is_met(guard, _uses_if_empty(head, call)) for head in guard.has[0]
    )


def _uses_if_empty(head: str, call: Call) -> HeadUses:
    """Return the programs of a guard's head where unknown variables are empty.

    Of a head without a subcommand those count alone whose program was unknown: the others name it as it is.
    """
    words = head.split()
    uses: list[tuple[Program, tuple[str, ...]]] = []
    for program in call.without_unknown:
        rest = after_head(words, program)
        is_new = len(words) > 1 or program.command.words[0] != program.found.program
        if rest is not None and is_new:
            uses.append((program, rest))
    return HeadUses(tuple(uses))


def key_may_be_met(key: str, call: Call) -> bool:
    """Return whether a key may be of a guard that `may_be_met` says yes to."""
    return key.startswith("$ ") and call.script.may_start(key[2:])


def _is_same_tool(one: str, other: str) -> bool:
    """True for one name; hosts write the server before it in their own way, or leave it out."""
    (servers, _, name), (others, _, same) = (
        one.lower().rpartition("__"),
        other.lower().rpartition("__"),
    )
    return name == same and (servers.endswith(others) or others.endswith(servers))


def _is_met(guard: Guard, uses: HeadUses) -> bool:
    """Return whether one of the programs of a guard's head has each of its groups, and nothing that it has to lack."""
    groups = guard.has[1:]
    if not all(uses.may_have(group) for group in groups):
        return False
    for program, rest in uses.programs:
        if rest and rest[0] in _ASKING:
            continue
        has_all = all(program.has_one_of(group, rest) for group in groups)
        if has_all and not program.has_one_of(guard.lacks, rest):
            return True
    return False


def _has_value(call: Call, item: str) -> bool:
    if item[:1] == '"':
        return any(has_words(value, item.strip('"')) for _, value in call.values)
    name, colon, wanted = item.partition(": ")
    for key, value in call.values:
        if key != name:
            continue
        if not colon or _is_value(value, wanted):
            return True
    return False


def _is_value(value: str, wanted: str) -> bool:
    """Return whether a value is what an item asks for: `> 100`, `"words"`, or the same in any case."""
    limit = wanted[1:].strip()
    if wanted[:1] in "<>" and NUMBER.fullmatch(value) and NUMBER.fullmatch(limit):
        if wanted[0] == ">":
            return float(value) > float(limit)
        return float(value) < float(limit)
    if wanted[:1] == '"':
        return has_words(value, wanted.strip('"'))
    return value.strip("#@ ").lower() == wanted.strip("#@ ").lower()
