"""Secrets that a command line or a statement of configuration holds at a place of its program.

`mysql -pX`, `curl -u ada:X`, `rclone obscure X`, `enable secret 0 X`: the value may be any word there, so the table
says which program holds one where. A program without its flag, or with a variable as its value, holds none.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_command_forms import CommandForm, FormWord, forms_in
from mcp_reflect.security.secret_command_words import (
    ShellWord,
    words_of_command,
    words_of_statement,
)
from mcp_reflect.security.secret_labels import kind_of_name
from mcp_reflect.security.secret_phrases import is_glue
from mcp_reflect.security.secret_tables import rows_of
from mcp_reflect.security.secret_values import Secret

_TABLE: Final = "secret_commands.txt"
_SHORTEST: Final = 4  # characters of a secret
_SHORTEST_NUMBER: Final = 6  # digits of one; a shorter number is a port, or a count
_NAME_SIGNS: Final = bytes(
    code if chr(code) in "abcdefghijklmnopqrstuvwxyz0123456789._-" else ord(" ")
    for code in range(256)
)
"""Turns every character that cannot stand in the name of a program into a blank."""

_NOT_BEFORE_NAME: Final = frozenset("_.$%@=-")
_BEHIND_NAME: Final = frozenset(" \t\r\n\"'\\")
_ENDINGS: Final = (".exe", ".cmd", ".bat")
_ENDING_CHARS: Final = 4
# What is no value of itself: a variable, a placeholder, a flag, a path, an address, a call, a mapping of ports
_VARIABLE: Final = lazy_compile(
    r"\$[{(]|^[$%@<*\[{]|^-|^/|^\.{0,2}/|^~|\\\\|^&|://|^\w*\(|%\}|\}\}"
    r"|^\d{1,5}(?::\d{1,5}){1,2}(?:/[a-z]{2,4})?$"
)
_WORD_OF_SENTENCE: Final = lazy_compile(r"(?!(?:address|priv|role|level)$)[a-z]{3,20}[.,;]?")


class CommandRow(NamedTuple):
    """A row of the table: the kind of the secret, the check of its value, the forms in which it stands."""

    kind: str
    check: str
    forms: str

    @property
    def begins_line(self) -> bool:
        """Whether it is a statement of a file of settings, whose program is the first word of its line."""
        return self.check in ("line", "statement")


def commanded_secrets(text: str, folded: str) -> list[Secret]:
    """Return the secrets in the arguments of programs; `folded` is the text in lower case, of the same length."""
    found: list[Secret] = []
    for name in _names_in(folded) & _program_names():
        for program, numbers in _programs_of_name(name).items():
            found += _of_program(text, folded, program, [_row(number) for number in numbers])
    return found


def _of_program(
    text: str, folded: str, program: str, rows: Sequence[CommandRow]
) -> Iterator[Secret]:
    """Yield the secrets of each command of a program; its name among the words of another one begins none."""
    read_up_to = 0
    for start, end in _occurrences(folded, program):
        if start < read_up_to:
            continue
        for reading in _readings(text, start, end, rows):
            if reading.words:
                read_up_to = max(read_up_to, reading.words[-1].end)
            for row in reading.rows:
                yield from _of_words(reading.words, row)


def _names_in(folded: str) -> set[str]:
    """Return the words of a text that can be the name of a program: what stands between other signs."""
    words = folded.encode(errors="replace").translate(_NAME_SIGNS).decode().split()
    names = set(words)
    if any(ending in folded for ending in _ENDINGS):
        names |= {name[:-_ENDING_CHARS] for name in names if name.endswith(_ENDINGS)}
    return names


@cache
def _program_names() -> frozenset[str]:
    """Return the names of the programs of the table, without a folder before them.

    Hooks are new processes: so no more is made of the table than this set, until a text has one of the names.
    """
    written = set(" ".join(row[2] for row in rows_of(_TABLE)).lower().split())
    with_folder = {program for program in written if "/" in program}
    return frozenset(written - with_folder | {_without_folder(program) for program in with_folder})


@cache
def _programs_of_name(name: str) -> dict[str, list[int]]:
    """Return the programs of a name, as the table writes them, with the numbers of their rows."""
    programs: dict[str, list[int]] = {}
    for number, row in enumerate(rows_of(_TABLE)):
        cell = row[2].lower()
        if name not in cell:
            continue
        for program in cell.split():
            if _without_folder(program) == name:
                programs.setdefault(program, []).append(number)
    return programs


def _without_folder(program: str) -> str:
    """Return the name of a program: "activate" for "bin/activate"."""
    return program.rpartition("/")[2]


@cache
def _row(number: int) -> CommandRow:
    """Return a row of the table by its number; its programs are read by `_programs_of_name`."""
    kind, check, _, forms = rows_of(_TABLE)[number]
    return CommandRow(kind, check, forms)


def _occurrences(folded: str, program: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each place where a program's name is a word, with or without a folder before it.

    In "cd /usr/bin; mysql.exe -pX" `mysql` stands once, with its ending; in "my-mysql" and "mysql.conf" it does not.
    """
    index = folded.find(program)
    while index >= 0:
        end = index + len(program)
        if folded.startswith(_ENDINGS, end):
            end += _ENDING_CHARS
        previous = folded[index - 1 : index]
        begins = not previous.isalnum() and previous not in _NOT_BEFORE_NAME
        if begins and folded[end : end + 1] in _BEHIND_NAME:
            yield index, end
        index = folded.find(program, index + len(program))


class _Reading(NamedTuple):
    """The words behind a program as a command or as a statement, and the rows of the table that are about such words."""

    words: list[ShellWord]
    rows: list[CommandRow]


def _readings(text: str, start: int, end: int, rows: Sequence[CommandRow]) -> Iterator[_Reading]:
    """Yield the words of a command as a shell reads it, and of a statement of settings, each with its rows."""
    rows_of_commands = [row for row in rows if not row.begins_line]
    if rows_of_commands:
        yield _Reading(words_of_command(text, start, end), rows_of_commands)
    rows_of_statements = [row for row in rows if row.begins_line]
    if rows_of_statements:
        yield _Reading(words_of_statement(text, start, end), rows_of_statements)


def _of_words(words: Sequence[ShellWord], row: CommandRow) -> Iterator[Secret]:
    """Yield the secrets of the words of a command; a command without arguments has none."""
    if not words:
        return
    for form in forms_in(row.forms):
        prefix = form.words[0].prefix.lower()
        if not any(word.text.lower().startswith(prefix) for word in words):
            continue
        starts = range(len(words) - len(form.words) + 1)
        for first in starts[: form.most_starts]:
            secret = _secret_at(words, first, form, row)
            if secret is not None:
                yield secret


class _FilledSlot(NamedTuple):
    """A word of a command that fills a slot of a form: its index, the word of the form, and how the two match."""

    word_index: int
    expected: FormWord
    match: re.Match[str]


def _slots_of(
    words: Sequence[ShellWord], first: int, form: CommandForm
) -> list[_FilledSlot] | None:
    """Return the words of a command, from `first` on, that fill the slots of a form; None where a word does not fit.

    For the form `-u *:_` and the words `-u ada:X` there is one slot, which `ada:X` fills.
    """
    slots: list[_FilledSlot] = []
    for index, expected in enumerate(form.words, first):
        word = words[index].text
        if expected.is_plain:
            if word != expected.written:
                return None
            continue
        match = expected.match(word)
        if match is None:
            return None
        slots.append(_FilledSlot(index, expected, match))
    return slots


def _secret_at(
    words: Sequence[ShellWord], first: int, form: CommandForm, row: CommandRow
) -> Secret | None:
    """Return the secret of a form that begins at the word `first`, None where the words are no such form.

    It is none either where the form's name is not that of a secret (`-d user=X`), where the value is not what the row
    asks for, and where the words are those of a sentence.
    """
    slot_of_secret: _FilledSlot | None = None
    for slot in _slots_of(words, first, form) or ():
        if row.begins_line and slot.expected.written == "*" and is_glue(slot.match[0]):
            return None
        groups = slot.match.groupdict()
        if "name" in groups and kind_of_name(groups["name"]) not in ("password", "key"):
            return None
        if "secret" in groups:
            slot_of_secret = slot
    if slot_of_secret is None:
        return None
    value = slot_of_secret.match["secret"]
    next_word = "".join(
        word.text for word in words[slot_of_secret.word_index + 1 : slot_of_secret.word_index + 2]
    )
    if not _CHECKS[row.check](value) or _is_prose(value, next_word):
        return None
    if row.begins_line and value.isalpha() and _WORD_OF_SENTENCE.fullmatch(next_word):
        return None
    indexes = words[slot_of_secret.word_index].indexes
    start, end = slot_of_secret.match.span("secret")
    return (indexes[start], indexes[end - 1] + 1, row.kind)


def _is_typed(value: str) -> bool:
    """Return whether somebody typed a value: it is no variable, placeholder, path, flag or word about secrets."""
    if len(value) < _SHORTEST or _VARIABLE.search(value):
        return False
    if value.isdigit() and len(value) < _SHORTEST_NUMBER:
        return False
    return values.word(value) and not values.is_label(value) and not is_glue(value)


def _is_random(value: str) -> bool:
    """Return whether a value that somebody typed looks like chance, as a key does."""
    return _is_typed(value) and values.random(value)


def _is_drawn(value: str) -> bool:
    """Return whether a value that somebody typed has digits or signs, as few words of a sentence do."""
    return _is_typed(value) and values.drawn(value)


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "word": _is_typed,
    "line": _is_typed,
    "statement": _is_drawn,
    "drawn": _is_drawn,
    "random": _is_random,
}


def _is_prose(value: str, next_word: str) -> bool:
    """Return whether a value is a word of a sentence about a flag: `docker login -p warns about it`."""
    if not value.isalpha() or not value.islower() or len(next_word) == 1:
        return False
    return is_glue(next_word) or values.is_said(next_word)
