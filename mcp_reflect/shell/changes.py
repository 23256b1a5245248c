"""What the shell's own commands do to variables: `set`, `shift`, `read`, `unset`, `let`, `source`, and loops as a whole."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from mcp_reflect.shell.commands import Command
from mcp_reflect.shell.fed import printed
from mcp_reflect.shell.parser import Node, descendants, name_of, text_of
from mcp_reflect.shell.tables import words_of_table
from mcp_reflect.shell.variables import Variables, Word
from mcp_reflect.shell.words import text_value

_NAME: Final = re.compile(r"(?<!\w)[A-Za-z_]\w*")
_CHANGING: Final = re.compile(r"=|\+\+|--")
_DEFAULT: Final = re.compile(rb"\$\{([A-Za-z_]\w*):?=([^${}\"'`]*)")
_LOOP_NAMES: Final = re.compile(r"\b(?:for|select)\s+(\w+)")
_SETTING_LINES: Final = re.compile(
    r"\b(?:read|mapfile|readarray|getopts|unset|let|local|declare|typeset|export|printf\s+-v)\b([^;&|\n]*)"
)
_ARITHMETIC: Final = re.compile(r"\(\(([^()]*)")
_ARGUMENTS_CHANGE: Final = re.compile(r"\b(?:shift|set)\b")
_ANYTHING_CHANGES: Final = re.compile(r"\b(?:eval|source)\b|(?:^|[;&|\s])\.\s")
_ASSIGNED: Final = frozenset(("variable_assignment",))
_MOST_ASSIGNMENTS: Final = 200  # of a loop whose values are candidates
_UNKNOWN_KINDS: Final = frozenset("inulA")  # letters of `declare`: the value is not what is written


def note_command(command: Command, words: Sequence[Word], variables: Variables) -> None:
    """Note what a command of the shell's own changes: `read x`, `shift`, `cd web`.

    `_CHANGES` has a function for each such command, which gets the arguments as texts, the same as words, and the
    variables that it changes.
    """
    for invocation in command.invocations[:3]:  # `command export x`, `builtin read y`
        note_change = _CHANGES.get(invocation.name)
        if note_change is not None:
            argument_words = words[len(words) - len(invocation.arguments) :]
            note_change(invocation.arguments, argument_words, variables)


def _set(arguments: Sequence[str], words: Sequence[Word], variables: Variables) -> None:
    """Note `set -a`, which exports all that is assigned, and `set -- a b`, which gives new arguments."""
    if "-a" in arguments or "allexport" in arguments:
        variables.exports_all = True
    if "--" in arguments:
        variables.set_arguments(words[arguments.index("--") + 1 :])
    elif arguments and arguments[0][:1] not in ("-", "+"):
        variables.set_arguments(words)
    elif not all(word.is_known for word in words):
        variables.doubt_arguments()


def _shift(arguments: Sequence[str], words: Sequence[Word], variables: Variables) -> None:
    """Note `shift` and `shift 2`."""
    count = next(iter(arguments), "1")
    if count.isdecimal() and all(word.is_known for word in words):
        variables.shift(int(count))
    else:
        variables.doubt_arguments()


def _read(arguments: Sequence[str], _: Sequence[Word], variables: Variables) -> None:
    """Note that each name among the arguments is set to something that the text does not say: `read x`, `mapfile x`."""
    for word in arguments:
        if _NAME.fullmatch(word):
            variables.forget(word)


def _printf(arguments: Sequence[str], words: Sequence[Word], variables: Variables) -> None:
    """Note `printf -v x '%s-%s' a b`: `x` may be "a-b", what the form makes of the words."""
    if arguments[:1] != ("-v",) or len(arguments) == 1:
        return
    variables.forget(arguments[1].partition("[")[0])
    if len(arguments) > 2 and "[" not in arguments[1] and all(word.is_known for word in words):
        variables.may_be(arguments[1], [printed(arguments[2], arguments[3:])])


def _let(arguments: Sequence[str], _: Sequence[Word], variables: Variables) -> None:
    """Note what `let 'i = 2'` sets."""
    for word in arguments:
        note_arithmetic(word, variables)


def _unset(arguments: Sequence[str], _: Sequence[Word], variables: Variables) -> None:
    """Note `unset x`; of `unset 'a[1]'` the whole list is not known any more, and `-f` is about functions."""
    if "-f" in arguments:
        return
    for word in arguments:
        if "[" in word:
            variables.forget(word.partition("[")[0])
        elif word[:1] != "-":
            variables.unset(word)


def _export(arguments: Sequence[str], _: Sequence[Word], variables: Variables) -> None:
    """Note `export x` and `export -n x`, as behind `command`, where the parser does not see a declaration."""
    for word in arguments:
        name, equal, value = word.partition("=")
        if "-n" in arguments:
            variables.exported.discard(name)
        else:
            variables.exported.add(name)
        if equal and name not in variables.values:  # `command export x=1`
            variables.assign(name, [Word(value)])


def _change_folder(_: Sequence[str], __: Sequence[Word], variables: Variables) -> None:
    """Note `cd`: `$PWD` is another folder behind it."""
    variables.change_folder()


def _source(_: Sequence[str], __: Sequence[Word], variables: Variables) -> None:
    """Note that a file that is run here may set any variable."""
    variables.doubt_all()


_CHANGES: Final[dict[str, Callable[[Sequence[str], Sequence[Word], Variables], None]]] = {
    "set": _set,
    "shift": _shift,
    "read": _read,
    "mapfile": _read,
    "readarray": _read,
    "getopts": _read,
    "printf": _printf,
    "let": _let,
    "unset": _unset,
    "export": _export,
    **dict.fromkeys(("cd", "pushd", "popd", "chdir"), _change_folder),
    "source": _source,
    ".": _source,
}


def is_value_as_written(declaration: Sequence[str]) -> bool:
    """Return whether `declare` keeps the value that is written: with `-i`, `-n`, `-u`, `-l` or `-A` it is another."""
    options = "".join(word for word in declaration if word[:1] == "-")
    return _UNKNOWN_KINDS.isdisjoint(options)


def note_arithmetic(text: str, variables: Variables) -> None:
    """Note what `((i++))`, `$((x = 2))` and `let` change."""
    if _CHANGING.search(text):
        for name in _NAME.findall(text):
            variables.forget(name)


def note_expansions(source: bytes, variables: Variables) -> None:
    """Note what expansions in the text of a command change: `${x:=y}`, `$((i++))`."""
    if b"${" in source and b"=" in source:
        for name, text in _DEFAULT.findall(source):
            variables.may_be(name.decode(), [text.decode("utf-8", "replace")])
    if b"((" in source:
        for text in _ARITHMETIC.findall(source.decode("utf-8", "replace")):
            note_arithmetic(text, variables)


def note_loop(
    node: Node, source: bytes, variables: Variables, functions: Iterator[str] | Sequence[str]
) -> None:
    """Note before a loop what it changes: the second time through, each variable may be what the loop made of it.

    In `while …; do run $x; x=b; done` the word `$x` may be what it was before, or "b". `functions` are the names of those
    that are defined: where the loop calls one, any variable may change.
    """
    text = text_of(node, source)
    assignments = descendants(node, _ASSIGNED, frozenset())
    for assignment in assignments[:_MOST_ASSIGNMENTS]:
        _note_assignment(assignment, source, variables)
    for assignment in assignments[_MOST_ASSIGNMENTS:]:
        variables.doubt(_name_of(assignment, source))
    for changed in (*_SETTING_LINES.findall(text), *_ARITHMETIC.findall(text)):
        for name in _NAME.findall(changed):
            variables.doubt(name)
    for name in _LOOP_NAMES.findall(text):
        variables.doubt(name)
    if _ARGUMENTS_CHANGE.search(text):
        variables.doubt_arguments()
    words = frozenset(_NAME.findall(text))
    if _ANYTHING_CHANGES.search(text) or not words.isdisjoint(functions):
        variables.doubt_all()


def _note_assignment(node: Node, source: bytes, variables: Variables) -> None:
    """Note that a variable may become the value of an assignment, if that is known."""
    name = _name_of(node, source)
    value = node.child_by_field_name("value")
    variables.doubt(name)
    is_appended = any(child.type == "+=" for child in node.children)
    if value is None or value.type == "array" or is_appended:
        return
    word = text_value(value, source, variables)
    if word.is_known:
        variables.may_be(name, [word.text])


def _name_of(node: Node, source: bytes) -> str:
    """Return the variable that an assignment sets: `a` for `a=x` and for `a[1]=x`."""
    return name_of(node, "name", source).partition("[")[0]


def other_environment(programs: Sequence[str]) -> bool:
    """Return whether one of the programs that start a shell gives it other variables: `ssh`, `sudo`, `docker exec`."""
    firsts = {program.partition(" ")[0] for program in programs}
    return not firsts.isdisjoint(words_of_table("programs with another environment"))
