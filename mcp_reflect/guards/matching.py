"""Whether a call goes against a guard."""

from collections.abc import Sequence
from typing import Final

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import EDIT, POWERSHELL, SHELL, Guard
from mcp_reflect.guards.heads import HeadUse, HeadUses, after_head
from mcp_reflect.guards.items import WILDCARDS, has_words, name_of, number_in, parts_of_tool
from mcp_reflect.shell import changes_files
from mcp_reflect.shell.tables import words_of_table

# First arguments with which a program only tells something, or goes on with a step or undoes it: `git rebase --abort`.
# Such a call goes against nothing.
_ASKING_OPTIONS: Final = frozenset(
    "--help -help --version -version --list --abort --continue --quit".split()
)
_ASKING_SUBCOMMANDS: Final = frozenset("help version list ls show status info".split())
_WITHOUT_SUBCOMMANDS: Final = (
    "programs without subcommands",
    "programs that write their operands",
    "programs that edit in place",
    "programs that copy",
    "programs that remove their operands",
    "programs that move their operands",
    "programs that read files",
    "programs with a pattern first",
    "interpreters of scripts",
    "shells",
)
"""Tables of programs whose first operand may be a file of any name."""


def matches(guard: Guard, call: Call) -> bool:
    """Return whether a call goes against a guard.

    `git push -f` goes against "Bash: `git push` with `--force` or `-f`", and `git push` does not.

    | the guard is of | is met by                                                           |
    |-----------------|---------------------------------------------------------------------|
    | Edit            | a change of a file that it names                                    |
    | Bash            | one of its programs, in any shell                                   |
    | PowerShell      | one of its programs, in PowerShell                                  |
    | another tool    | a call of that tool with an item of each group, and none of `lacks` |
    """
    if guard.tool == EDIT and guard.has:
        return _is_met_by_files(guard, call)
    if guard.tool == POWERSHELL and not call.powershell:
        return False
    if guard.tool in (SHELL, POWERSHELL):
        return any(_is_met(guard, head, call.uses_of(head)) for head in guard.has[0])
    if not _is_same_tool(guard.tool, call.tool):
        return False
    has_each_group = all(_has_one_of(call, group) for group in guard.has)
    return has_each_group and not _has_one_of(call, guard.lacks)


def without_paths(guard: Guard) -> Guard:
    """Return the guard of a program without the paths of files that it names: "`rm`" for "`rm` with `web/dist/`".

    Whether a word names such a path depends on the folder, which a quick hook does not know. A call that does not meet
    the wider guard does not meet the guard itself either, so that the hook can let it pass.
    """
    if guard.tool not in (SHELL, POWERSHELL):
        return guard
    heads, *groups = guard.has
    if not any(changes_files(name_of(head)) for head in heads):
        return guard
    groups_without_paths = filter(_names_no_path, groups)
    lacks_without_paths = tuple(item for item in guard.lacks if "/" not in item)
    return Guard(guard.tool, (heads, *groups_without_paths), lacks_without_paths)


def _names_no_path(group: Sequence[str]) -> bool:
    """Return whether no item of a group is a path with folders."""
    return not any("/" in item for item in group)


def _is_met_by_files(guard: Guard, call: Call) -> bool:
    """Return whether a call changes a file that a guard names, and that is none of its exceptions.

    "Edit: dist/ without dist/README.md" is met by a change of `dist/a.js`, and not by one of `dist/README.md`.
    """
    for change in call.changes_near(guard.keys):
        is_excepted = any(map(change.is_within, guard.lacks))
        if not is_excepted and any(map(change.reaches, guard.has[0])):
            return True
    return False


def _has_one_of(call: Call, items: Sequence[str]) -> bool:
    """Return whether the arguments of a tool that is no shell have one of some items of a guard."""
    return any(_has_value(call, item) for item in items)


def may_be_met(guard: Guard, call: Call) -> bool:
    """Return whether a call may go against a guard, though nobody can say so for certain.

    Only an enforced guard refuses such a call.

    | the call                                                     | may meet a guard of               |
    |--------------------------------------------------------------|-----------------------------------|
    | could not be parsed                                          | a program or file that it names   |
    | has a variable without a known value: `terraform $X destroy` | what it runs if that one is empty |
    | any other                                                    | nothing: `matches` decides        |
    """
    if guard.tool == EDIT and guard.has and call.script.is_partial:
        return any(_may_be_named(path, call) for path in guard.has[0])
    if guard.tool not in (SHELL, POWERSHELL):
        return False
    if call.script.is_partial:
        return any(call.script.may_start(name_of(head)) for head in guard.has[0])
    if not call.programs_if_unknown_empty:
        return False
    return any(_is_met(guard, head, _uses_if_empty(head, call)) for head in guard.has[0])


def _uses_if_empty(head: str, call: Call) -> HeadUses:
    """Return the programs that are a guard's head only if variables without a known value are empty.

    | the head            | the command            | is a use | why                                                  |
    |---------------------|------------------------|----------|------------------------------------------------------|
    | `terraform destroy` | `terraform $X destroy` | yes      | `destroy` may be the subcommand, or `$X`             |
    | `rm`                | `$X rm -rf a`          | yes      | `rm` may be the program, or `$X`                     |
    | `rm`                | `sudo $X rm -rf a`     | yes      | the same behind what starts the program              |
    | `terraform`         | `terraform $X destroy` | no       | it is terraform whatever `$X` is: `matches` decides  |
    """
    head_words = head.split()
    has_subcommand = len(head_words) > 1
    uses: list[HeadUse] = []
    for program in call.programs_if_unknown_empty:
        arguments = after_head(head_words, program)
        if arguments is None:
            continue
        # The program of such a command stands behind the variable, unless the command begins with it: then the variable
        # stands in the place of its subcommand (`words_if_empty`).
        variable_is_before_program = program.command.words[0] != program.invocation.program
        if has_subcommand or variable_is_before_program:
            uses.append(HeadUse(program, arguments))
    return HeadUses(tuple(uses))


def _may_be_named(path: str, call: Call) -> bool:
    """Return whether a command that could not be parsed has each part of a path as a word: "config" and "prod.yaml".

    A part with a wildcard stands for too many words, so that it counts as there if another part is.
    """
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    plain_parts = [part for part in parts if WILDCARDS.isdisjoint(part)]
    return bool(plain_parts) and all(map(call.script.may_start, plain_parts))


def key_may_be_met(key: str, call: Call) -> bool:
    """Return whether guards with this key may be met by a call that could not be parsed.

    Their program, the name of their file, or a folder (`dist/`) is a word of it. Most guards are sorted out by that,
    before `may_be_met` is asked.
    """
    name = key.removeprefix("$ ").removesuffix("/")
    return call.script.may_start(name)


def _is_same_tool(one: str, other: str) -> bool:
    """True for tools of the same name and server: `mcp__jira__search`, `jira.search` and `search` are the same.

    Hosts write the server before the name of a tool in their own way, or leave it out.
    """
    *server, name = parts_of_tool(one)
    *other_server, other_name = parts_of_tool(other)
    if name != other_name:
        return False
    return _ends_in("__".join(server), "__".join(other_server)) or _ends_in(
        "__".join(other_server), "__".join(server)
    )


def _ends_in(server: str, end: str) -> bool:
    """Return whether a server is `end`, or `end` with a host's words before it: `mcp__plugin_db` is `db`.

    An empty `end`, where the host leaves the server out, fits every server.
    """
    if not end or server == end:
        return True
    prefix = server.removesuffix(end)
    return prefix != server and prefix[-1] in "_-.:/"


def _is_met(guard: Guard, head: str, uses: HeadUses) -> bool:
    """Return whether one of these programs, which are a head of the guard, has each group and nothing of `lacks`.

    A program that only tells something (`git push --help`), or only says what it would do (`--dry-run`), meets nothing,
    unless the guard asks for that very flag.
    """
    groups = guard.has[1:]
    if not all(uses.may_have(group) for group in groups):
        return False
    wanted_flags: set[str] = set()
    for group in groups:
        wanted_flags.update(item.partition("=")[0] for item in group)
    for program, arguments in uses.programs:
        only_pretends = not wanted_flags.issuperset(program.flags.pretending)
        if only_pretends or _only_asks(head, arguments):
            continue
        has_all = all(program.has_one_of(group, arguments) for group in groups)
        if has_all and not program.has_one_of(guard.lacks, arguments):
            return True
    return False


def _only_asks(head: str, arguments: Sequence[str]) -> bool:
    """Return whether a call only tells something, by the word behind the guard's head.

    | head       | arguments       | only asks                              |
    |------------|-----------------|----------------------------------------|
    | `git push` | `--help`        | yes                                    |
    | `helm`     | `list -n prod`  | yes                                    |
    | `rm`       | `list -rf dist` | no: `list` is a file                   |
    | `git push` | `list --force`  | no: `list` is the name of a repository |
    """
    first = next(iter(arguments), "")
    if first in _ASKING_OPTIONS:
        return True
    return first in _ASKING_SUBCOMMANDS and not _takes_operands(head)


def _takes_operands(head: str) -> bool:
    """Return whether the word behind a head is an operand for certain, and no subcommand."""
    program, *subcommands = head.split()
    if program == "git" and subcommands:
        return subcommands[-1] in words_of_table("subcommands of git with operands")
    return any(program in words_of_table(table) for table in _WITHOUT_SUBCOMMANDS)


def _has_value(call: Call, item: str) -> bool:
    """Return whether an argument of a call is what an item asks for.

    | item           | an argument that fits                       |
    |----------------|---------------------------------------------|
    | `"drop table"` | any one with these words                    |
    | `limit`        | the one of that name, whatever its value    |
    | `limit: > 100` | the one of that name, with a value over 100 |
    """
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
    """Return whether a value is what an item asks for.

    | the item asks for | the values                                                        |
    |-------------------|-------------------------------------------------------------------|
    | `> 100`, `< 5`    | numbers over or under that; other texts only if they are the same |
    | `"drop table"`    | those with these words, in any case                               |
    | `general`         | the same text in any case; `#general` and `@general` as well      |
    """
    number = number_in(value)
    limit = number_in(wanted[1:])
    if number is not None and limit is not None:
        if wanted[:1] == ">":
            return number > limit
        if wanted[:1] == "<":
            return number < limit
    if wanted[:1] == '"':
        return has_words(value, wanted.strip('"'))
    return value.strip("#@ ").lower() == wanted.strip("#@ ").lower()
