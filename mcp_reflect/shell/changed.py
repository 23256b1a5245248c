"""The files and folders that a command certainly writes, replaces or removes, for guards of files.

`files.written_files` has what is written, for who asks what was made. Here is also what is removed, moved away or
restored, by whatever program; patterns and searches stand as they are written, and nobody looks at the disk.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from mcp_reflect.shell.commands import Command
from mcp_reflect.shell.files import IN_PLACE, copied_into, patched_files
from mcp_reflect.shell.options import read_option, values_of
from mcp_reflect.shell.programs import Invocation
from mcp_reflect.shell.received import fetched, taken_out, written_by_subcommand
from mcp_reflect.shell.searches import FOUND, FileSearch, search_of, searches_before
from mcp_reflect.shell.tables import words_of_table

_LINKING: Final = "ln"
_ANY_NAME: Final = "*"
_TABLES_OF_OPERANDS: Final = (
    "programs that remove their operands",
    "programs that move their operands",
    "programs that write their operands",
    "programs that edit in place",
    "programs that rewrite their operands",
    "programs that copy",
    "programs that replace a pattern in files",
)
_ONLY_FOLDERS: Final = frozenset(("-d", "--directory"))  # of `install`: it makes folders
# Options of git.
_STAGED: Final = frozenset(("-S", "--staged"))
_WORKTREE: Final = frozenset(("-W", "--worktree"))
_NEW_BRANCH: Final = frozenset(("-b", "-B", "--orphan", "-t", "--track", "--detach", "-d"))
_GIT_VALUED: Final = frozenset(
    (
        "-C",
        "-c",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "-s",
        "--source",
        "-m",
        "--message",
        "-e",
    )
)
_FOLDER_VARIABLES: Final = frozenset(("GIT_DIR", "GIT_WORK_TREE"))
_NOT_DONE: Final = frozenset(("-n", "--dry-run", "--cached", "-h", "--help"))
_ONLY_SHOWN: Final = frozenset(("-p", "--preview", "-s", "--simulate"))  # of `sd` and `rpl`
_PATTERN_WORDS: Final = 2  # of `sd`: what is replaced, and what by


@dataclass(frozen=True, slots=True)
class PathChange:
    """A path that a command changes, as it is written; it may hold a pattern of the shell: `dist/*`.

    | field         | what it says of the change                                                                            |
    |---------------|-------------------------------------------------------------------------------------------------------|
    | `removes`     | the path is removed with all below it, or moved away                                                  |
    | `restores`    | the path is written with all that it had below it before: `git restore config`                        |
    | `names`       | not the path itself changes, but what has one of these names or patterns below it, as `find` searches |
    | `if_folder`   | it changes only if the last operand of a `cp` is a folder, which the words do not say                 |
    | `is_redirect` | the shell writes it, in its own folder; all else is in the folder that the program was given          |
    """

    path: str
    removes: bool = False
    restores: bool = False
    names: tuple[str, ...] = ()
    if_folder: bool = False
    is_redirect: bool = False


def changes_of(command: Command, earlier: Sequence[Command]) -> Iterator[PathChange]:
    """Yield what a command changes; `earlier` are the commands before it, of which one may feed `xargs`.

    `sudo rm -r dist > log` removes `dist` and writes `log`. What runs on other files, as behind `ssh`, changes nothing
    here.
    """
    if runs_elsewhere(command.fed_by):
        return
    for path in command.writes:
        yield PathChange(path, is_redirect=True)
    searches: list[FileSearch] = []
    for invocation in command.invocations:
        if runs_elsewhere(invocation.wrappers):
            return
        if invocation.wrappers:
            yield from _by_started(invocation, searches, command)
        else:
            yield from _by_program(invocation, command)
        if invocation.name == "xargs":
            searches = searches_before(command, earlier, invocation)
        else:
            searches = search_of(invocation) or searches
    for file in copied_into(command):
        yield PathChange(file, if_folder=True)


def _by_started(
    invocation: Invocation, searches: Sequence[FileSearch], command: Command
) -> Iterator[PathChange]:
    """Yield what a program changes that another one starts; `{}` stands for what `find` or `xargs` gives it."""
    arguments = invocation.arguments
    if searches and searches[0].is_appended:
        arguments = (*arguments, FOUND)
    for change in _by_program(_with_arguments(invocation, arguments), command):
        if FOUND not in change.path:
            yield change
        elif change.path == FOUND:
            for search in searches:
                yield from _found(search, change)


def _with_arguments(invocation: Invocation, arguments: tuple[str, ...]) -> Invocation:
    """Return a program with other arguments."""
    return Invocation(invocation.program, arguments, invocation.wrappers)


def _found(search: FileSearch, change: PathChange) -> Iterator[PathChange]:
    """Yield the change of what a search gives to a program; nothing where it is not certain what is found.

    A search without names, `find config -type f`, finds its folder, which may be a file, and all below it.
    """
    if not search.is_certain:
        return
    yield replace(change, path=search.path, names=search.names)
    if search.finds_all and not change.removes:
        yield replace(change, path=search.path, names=(_ANY_NAME,))


def _by_program(invocation: Invocation, command: Command) -> Iterator[PathChange]:
    """Yield what one program changes: the files of its options, `curl -o a.js`, and what its operands are to it.

    Which of its operands a program changes, and how, is in the first row that fits:

    | the program                                              | changes                              |
    |----------------------------------------------------------|--------------------------------------|
    | `git`                                                    | what its subcommand says (`_by_git`) |
    | `apply_patch`                                            | the files of its patch               |
    | removes its operands: `rm`                               | them all                             |
    | moves its operands: `mv`                                 | them all: the last one is written    |
    | writes its operands: `tee`, `sed -i`, `prettier --write` | them all                             |
    | copies: `cp`, `ln`                                       | its target                           |
    | `dd of=a`                                                | a                                    |
    | `tar -xf a.tar b`, `unzip -o a.zip b`                    | what it is told to take out: b       |
    | `sd old new a`                                           | a                                    |
    | fetches a file: `docker cp web:/a b`, `aws s3 cp`        | its target: b                        |
    | writes by a subcommand: `vercel env pull a`              | a                                    |
    | `find … -delete`                                         | what it finds                        |
    """
    name = invocation.name.lower()
    words = invocation.arguments
    if name == "git":
        yield from _by_git(words)
        return
    if name == "apply_patch":
        yield from map(PathChange, patched_files("\n".join((*words, command.document))))
        return
    yield from map(PathChange, _files_of_options(name, words))
    yield from _by_operands(name, words)
    yield from _by_transfer(name, words)
    yield from _deleted_by_search(search_of(invocation))


def _by_operands(name: str, words: Sequence[str]) -> Iterator[PathChange]:
    """Yield what a program changes that removes, moves, writes or copies its operands, in this order."""
    operands = _operands(name, words)
    if name in words_of_table("programs that remove their operands"):
        if _NOT_DONE.isdisjoint(words):
            yield from _removed(operands)
    elif name in words_of_table("programs that move their operands"):
        yield from _moved(operands, has_target="-t" in words)
    elif _is_written(name, words):
        yield from map(PathChange, operands)
    elif name in words_of_table("programs that copy") or name == _LINKING:
        yield from map(PathChange, _targets(name, operands, words))
    elif name in words_of_table("programs that replace a pattern in files"):
        shows_only = not _ONLY_SHOWN.isdisjoint(words)
        yield from map(PathChange, () if shows_only else operands[_PATTERN_WORDS:])


def _by_transfer(name: str, words: Sequence[str]) -> Iterator[PathChange]:
    """Yield what a program writes of what it gets elsewhere: from a device, an archive, a container or a store."""
    if name == "dd":
        yield from (PathChange(word[3:]) for word in words if word.startswith("of="))
    if name in ("tar", "unzip"):
        yield from map(PathChange, taken_out(name, words))
    operands = _operands(name, words)
    yield from map(PathChange, written_by_subcommand(name, operands, words))
    file = fetched(name, operands, words)
    if file is not None:
        yield PathChange(file.target)
        yield PathChange(f"{file.target}/{file.name}", if_folder=True)


def _removed(paths: Sequence[str]) -> Iterator[PathChange]:
    """Yield the change of paths that are removed."""
    for path in paths:
        yield PathChange(path, removes=True)


def _deleted_by_search(searches: Sequence[FileSearch]) -> Iterator[PathChange]:
    """Yield what `find -delete` removes; nothing for a search that only finds, or whose tests the words do not tell."""
    for search in searches:
        if search.deletes and search.is_certain:
            yield PathChange(search.path, removes=True, names=search.names)


@lru_cache(maxsize=128)
def changes_files(program: str) -> bool:
    """Return whether the operands of a program are files that it may write, replace or remove."""
    return program == _LINKING or any(
        program.lower() in words_of_table(table) for table in _TABLES_OF_OPERANDS
    )


def _is_written(name: str, words: Sequence[str]) -> bool:
    """Return whether a program writes each of its operands.

    | the program                | writes them                                         |
    |----------------------------|-----------------------------------------------------|
    | `tee`, `touch`, `truncate` | always                                              |
    | edits in place: `sed`      | with `-i`                                           |
    | rewrites them: `black`     | unless a word keeps it from that: `--check`         |
    | any other: `prettier`      | with a word of the table for it: `prettier:--write` |
    """
    if name in words_of_table("programs that write their operands"):
        return True
    if name in words_of_table("programs that edit in place"):
        return any(IN_PLACE.match(word) for word in words)
    if name in words_of_table("programs that rewrite their operands"):
        return words_of_table("words with which nothing is rewritten").isdisjoint(words)
    return any(
        f"{name}:{word}" in words_of_table("words with which a program rewrites its operands")
        for word in words
    )


def _moved(operands: Sequence[str], *, has_target: bool) -> Iterator[PathChange]:
    """Yield what `mv a b c` changes: a and b are away, and c is written.

    With `has_target` the target is named before the operands, `mv -t c a b`: all of them are away.
    """
    if has_target:
        yield from _removed(operands)
    elif len(operands) > 1:
        yield from _removed(operands[:-1])
        yield PathChange(operands[-1])


def _targets(name: str, operands: Sequence[str], words: Sequence[str]) -> list[str]:
    """Return what `cp`, `install` or `ln` writes; `ln -s ../a` makes a link `a` in its folder."""
    if name == "install" and not _ONLY_FOLDERS.isdisjoint(words):
        return []
    if len(operands) > 1:
        return [operands[-1]]
    if name == _LINKING and operands:
        return [operands[0].rstrip("/").rsplit("/", 1)[-1]]
    return []


@lru_cache(maxsize=128)
def _options_in(table: str, program: str) -> frozenset[str]:
    """Return the options that a table has for a program: `-o` and `--output` of `curl:-o curl:--output`."""
    options: set[str] = set()
    for entry in words_of_table(table):
        name, _, option = entry.partition(":")
        if name == program:
            options.add(option)
    return frozenset(options)


def _operands(name: str, words: Sequence[str]) -> list[str]:
    """Return the operands of a program, without the values of its options and a script that is its first operand."""
    operands = list(
        operands_behind(words, _options_in("options of programs that write, with a value", name))
    )
    if name not in words_of_table("programs whose first operand is a script"):
        return operands
    script_options = _options_in("options with a script", name)
    has_script = any(read_option(word, script_options).name for word in words if word[:1] == "-")
    if has_script:  # `sed -e 's/a/b/' file`
        return operands
    return operands[1:]


def operands_behind(words: Sequence[str], valued: frozenset[str]) -> Iterator[str]:
    """Yield the words that are neither options nor their values; behind `--` all words are operands."""
    is_value = False
    for index, word in enumerate(words):
        if is_value:
            is_value = False
        elif word == "--":
            yield from words[index + 1 :]
            return
        elif word[:1] == "-" and word != "-":
            is_value = read_option(word, valued).takes_next
        else:
            yield word


def _files_of_options(name: str, words: Sequence[str]) -> list[str]:
    """Return the files that options of a program name to be written: `dist/a.js` of `curl -o dist/a.js`."""
    return values_of(words, _options_in("options that name a file to write", name))


def named_folders(command: Command) -> list[str]:
    """Return the folders that the programs of a command are told to work in, each as seen from the one before.

    `git -C web push` and `make -C web` are told `web`, and so is `GIT_DIR=web/.git git push`. The words of a program that
    another one starts are not words of that.
    """
    folders = [
        _without_git(value)
        for name, _, value in (word.partition("=") for word in command.assignments)
        if name in _FOLDER_VARIABLES and value
    ]
    for invocation in command.invocations:
        options = _options_in("options that name the folder of a command", invocation.name.lower())
        if options:
            folders += map(_without_git, values_of(_own_words(invocation), options))
    return folders


def exported_repository(command: Command) -> str | None:
    """Return the folder whose repository git uses behind a command: `web` behind `export GIT_DIR=web/.git`.

    It is empty behind `unset GIT_DIR`, and None behind what says nothing of that.
    """
    program, *words = command.words
    ends_export = program == "unset" or "-n" in words
    if ends_export:
        return "" if "GIT_DIR" in words else None
    if program != "export":
        return None
    for word in reversed(words):
        name, equal, value = word.partition("=")
        if equal and name == "GIT_DIR":
            return _without_git(value)
    return None


def _own_words(invocation: Invocation) -> tuple[str, ...]:
    """Return the arguments of a program without the words of the one that it starts."""
    inner = invocation.inner
    if inner and invocation.arguments[-len(inner) :] == inner:
        return invocation.arguments[: -len(inner)]
    return invocation.arguments


def runs_elsewhere(programs: Sequence[str]) -> bool:
    """Return whether one of the programs that start another one runs it on other files: `ssh`, `docker exec`."""
    firsts = {program.partition(" ")[0] for program in programs}
    return not firsts.isdisjoint(words_of_table("programs that run others on other files"))


def _without_git(folder: str) -> str:
    """Return a folder, for the data of a repository the one around it: `web` for `web/.git`."""
    plain = folder.rstrip("/")
    if plain == ".git":
        return "."
    return plain.removesuffix("/.git") or folder


def _by_git(words: Sequence[str]) -> Iterator[PathChange]:
    """Yield what git changes of the working tree by a path that is named.

    | the call                 | changes its paths                                           |
    |--------------------------|-------------------------------------------------------------|
    | `git restore a`          | unless only the index is restored: `--staged` alone         |
    | `git checkout -- a`      | unless it makes a branch: `-b`                              |
    | `git rm a`, `git mv a b` | they are removed, moved; not with `--cached` or `--dry-run` |
    | `git clean -f a`         | only with `-f`, and not with `-n`                           |
    | `git stash push a`       | they are restored                                           |
    """
    operands = list(operands_behind(words, _GIT_VALUED))
    if not operands:
        return
    subcommand, *paths = operands
    flags = frozenset(word for word in words if word[:1] == "-")
    if subcommand == "restore" and (_STAGED.isdisjoint(flags) or not _WORKTREE.isdisjoint(flags)):
        yield from _restored(paths)
    elif subcommand == "checkout" and _NEW_BRANCH.isdisjoint(flags):
        yield from _restored(_checked_out(words, paths))
    elif subcommand == "rm" and _NOT_DONE.isdisjoint(flags):
        yield from _removed(paths)
    elif subcommand == "mv" and _NOT_DONE.isdisjoint(flags):
        yield from _moved(paths, has_target=False)
    elif subcommand == "clean" and _is_forced(flags) and _NOT_DONE.isdisjoint(flags):
        yield from map(PathChange, paths)
    elif subcommand == "stash" and paths[:1] in (["push"], ["save"]):
        yield from map(PathChange, paths[1:])


def _restored(paths: Sequence[str]) -> Iterator[PathChange]:
    """Yield the change of paths that git writes as they were, with all below them."""
    for path in paths:
        yield PathChange(path, restores=True)


def _checked_out(words: Sequence[str], operands: Sequence[str]) -> Sequence[str]:
    """Return the files that `git checkout` restores.

    They stand behind `--`, or behind a commit. One word alone may be a branch: only one with a dot is taken for a file.
    """
    if "--" in words:
        return words[words.index("--") + 1 :]
    if len(operands) > 1:
        return operands[1:]
    return [word for word in operands if "." in word.strip(".")]


def _is_forced(flags: frozenset[str]) -> bool:
    """Return whether `git clean` removes anything: with `-f`, alone or among other letters (`-xdf`), and without `-n`."""
    letters = "".join(flag for flag in flags if flag[:2] != "--")
    has_force = "--force" in flags or "f" in letters
    return has_force and "n" not in letters
