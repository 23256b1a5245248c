"""Secrets that a command line or a statement of configuration holds at a place of its program.

`mysql -pX`, `curl -u ada:X`, `rclone obscure X`, `enable secret 0 X`: the value may be any word there, so the table
says which program holds one where. A program without its flag, or with a variable as its value, holds none.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_labels import kind_of_name
from mcp_reflect.security.secret_phrases import is_glue
from mcp_reflect.security.secret_tables import rows_of
from mcp_reflect.security.secret_values import Secret

_TABLE: Final = "secret_commands.txt"
_LONGEST_LINE: Final = 2_000  # characters of a command line that are read
_MOST_WORDS: Final = 60
_SHORTEST: Final = 4


class ShellWord(NamedTuple):
    """A word of a command line without its quotes, and where each of its characters stands in the text."""

    text: str
    places: Sequence[int]
    end: int


class FormWord(NamedTuple):
    """A word of a form: as the table writes it, and what stands in it before its first slot."""

    written: str
    lead: str

    @property
    def is_plain(self) -> bool:
        """True for a word without a slot, which a word of a command has to be; flags of Windows have no case."""
        return self.lead == self.written and not self.written.startswith("/")

    def match(self, word: str) -> re.Match[str] | None:
        """Return the match with a word of a command; a pattern is made for those only that begin like it."""
        if not word.lower().startswith(self.lead.lower()):
            return None
        return _pattern_of_word(self.written).fullmatch(word)


class CommandForm(NamedTuple):
    """A row of words of which one holds the secret."""

    words: tuple[FormWord, ...]
    most_starts: int
    """The arguments at which the form may begin: the first one, or any."""


class CommandRow(NamedTuple):
    """A row of the table: the kind of the secret, the check of its value, the places where it stands."""

    kind: str
    check: str
    forms: str

    @property
    def begins_line(self) -> bool:
        """True for a statement of a file of settings."""
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
    done = 0
    for start, end in _occurrences(folded, program):
        if start < done:
            continue
        for words, those in _readings(text, start, end, rows):
            if words:
                done = max(done, words[-1].end)
            for row in those:
                yield from _of_words(words, row)


_NAME_SIGNS: Final = bytes(
    at if chr(at) in "abcdefghijklmnopqrstuvwxyz0123456789._-" else 32 for at in range(256)
)


def _names_in(folded: str) -> set[str]:
    """Return the words of a text that can be the name of a program: what stands between other signs."""
    words = folded.encode(errors="replace").translate(_NAME_SIGNS).decode().split()
    names = set(words)
    if any(ending in folded for ending in _ENDINGS):
        names |= {name[:-_ENDING] for name in names if name.endswith(_ENDINGS)}
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
    return program.rpartition("/")[2]


@cache
def _row(number: int) -> CommandRow:
    kind, check, _, forms = rows_of(_TABLE)[number]
    return CommandRow(kind, check, forms)


_NO_BEFORE: Final = frozenset("_.$%@=-")
_BEHIND: Final = frozenset(" \t\r\n\"'\\")
_ENDINGS: Final = (".exe", ".cmd", ".bat")
_ENDING: Final = 4  # characters of each


def _occurrences(folded: str, program: str) -> Iterator[tuple[int, int]]:
    """Yield where a program's name stands as a word of its own, with or without a folder before it."""
    at = folded.find(program)
    while at >= 0:
        end = at + len(program)
        if folded.startswith(_ENDINGS, end):
            end += _ENDING
        before = folded[at - 1 : at]
        begins = not before.isalnum() and before not in _NO_BEFORE
        if begins and folded[end : end + 1] in _BEHIND:
            yield at, end
        at = folded.find(program, at + len(program))


def _readings(
    text: str, start: int, end: int, rows: Sequence[CommandRow]
) -> Iterator[tuple[list[ShellWord], list[CommandRow]]]:
    """Yield the words of a command as a shell reads it, and of a statement of settings, each with its rows."""
    commands = [row for row in rows if not row.begins_line]
    if commands:
        yield _words_of_command(text, start, end), commands
    statements = [row for row in rows if row.begins_line]
    if statements:
        yield _words_of_statement(text, start, end), statements


# The words of a command: of a shell, of a list of texts in code, of a statement in a file of settings.

_SHELL_WORD: Final = lazy_compile(
    r"(?:[^\s\"'\\|;&()<>`]|\\[^\n]|\"(?:[^\"\\\n]|\\[^\n]){0,400}\"|'[^'\n]{0,400}'){1,400}"
)
_BLANKS: Final = lazy_compile(r"(?:[ \t]|[\\^`][ \t]?\r?\n){1,80}")
_IN_QUOTES: Final = lazy_compile(r"\\(?P<escaped>[^\n])|(?P<quote>[\"'])")


def _words_of_command(text: str, start: int, end: int) -> list[ShellWord]:
    if text[start - 1 : start] in ("'", '"') and text[end : end + 1] == text[start - 1]:
        return _items_of_list(text, end + 1)
    if text.startswith("\n", end) or text.startswith("\r\n", end):
        return _items_on_lines(text, start, end)
    limit = _end_of_command(text, start, end)
    words: list[ShellWord] = []
    at = end
    while len(words) < _MOST_WORDS and (blanks := _BLANKS.match(text, at, limit)):
        word = _SHELL_WORD.match(text, blanks.end(), limit)
        if word is None or word[0][0] == "#":
            break
        words.append(_without_quotes(text, *word.span()))
        at = word.end()
    return words


def _end_of_command(text: str, start: int, end: int) -> int:
    """Return where the text ends in which a command stands: at the quote that was open before it, or far behind."""
    limit = min(len(text), end + _LONGEST_LINE)
    line = max(text.rfind("\n", max(0, start - _LONGEST_LINE), start) + 1, start - _LONGEST_LINE)
    for quote, places in _quotes_in(text).items():
        before = bisect_left(places, start) - bisect_left(places, line)
        if before % 2:
            closes = text.find(quote, end, limit)
            if closes >= 0:
                limit = closes
    return limit


@lru_cache(maxsize=2)
def _quotes_in(text: str) -> dict[str, list[int]]:
    """Return where each kind of quote opens or closes a text; a text of many commands is read once for all of them."""
    places: dict[str, list[int]] = {quote: [] for quote in _QUOTES if quote in text}
    for sign in _QUOTE.finditer(text) if places else ():
        if sign["quote"]:
            places[sign["quote"]].append(sign.start())
    return places


_QUOTES: Final = "\"'`"
_QUOTE: Final = lazy_compile(
    r"\\[\"'`]|(?<=\w)'(?=\w)|(?P<quote>[\"'`])"
)  # no apostrophe, and none behind a backslash


def _without_quotes(text: str, start: int, end: int) -> ShellWord:
    """Return a word as its program gets it."""
    raw = text[start:end]
    if not any(sign in raw for sign in "\\\"'"):
        return ShellWord(raw, range(start, end), end)
    signs: list[str] = []
    places: list[int] = []
    quote = ""
    at = start
    while at < end:
        sign = text[at]
        if sign == quote:
            quote = ""
        elif sign in "\"'" and not quote:
            quote = sign
        else:
            if (
                sign == "\\"
                and quote != "'"
                and text[at + 1 : at + 2] in ("\\", '"', "'", " ", "$")
            ):
                at += 1
            signs.append(text[at])
            places.append(at)
        at += 1
    return ShellWord("".join(signs), places, end)


_LIST_ITEM: Final = lazy_compile(
    r"[ \t\r\n]{0,40},[ \t\r\n]{0,40}"
    r"(?:[rbfu]?(?P<quote>[\"'])(?P<item>[^\"'\n]{0,400})(?P=quote)|(?P<name>[\w.()\[\]]{1,80}))"
)


def _items_of_list(text: str, at: int) -> list[ShellWord]:
    """Return the arguments of a command that code or JSON writes as a list of texts."""
    words: list[ShellWord] = []
    while len(words) < _MOST_WORDS and (item := _LIST_ITEM.match(text, at)):
        if item["quote"]:
            words.append(ShellWord(item["item"], range(*item.span("item")), item.end()))
        else:
            words.append(ShellWord("$", range(*item.span("name")), item.end()))  # a variable
        at = item.end()
    return words


_LINE_ITEM: Final = lazy_compile(
    r"\r?\n[ \t]{0,40}-[ \t]{1,3}(?P<quote>[\"']?)(?P<item>[^\"'\n\r]{1,400}?)(?P=quote)"
    r"[ \t]{0,8}(?=\r?\n|\Z)"
)


def _items_on_lines(text: str, start: int, end: int) -> list[ShellWord]:
    """Return the arguments of a command that YAML writes as a list with an item a line."""
    line = text.rfind("\n", max(0, start - 80), start) + 1
    words: list[ShellWord] = []
    if text[line:start].strip(" \t\"'") != "-":
        return words
    at = end
    while len(words) < _MOST_WORDS and (item := _LINE_ITEM.match(text, at)):
        words.append(ShellWord(item["item"], range(*item.span("item")), item.end()))
        at = item.end()
    return words


_STATEMENT_START: Final = lazy_compile(r"[ \t]{0,40}(?:[\w.-]{1,40}(?:\([\w-]{1,30}\))?[#>] ?)?\Z")
_STATEMENT_WORD: Final = lazy_compile(
    r"[ \t]{1,40}(?P<quote>[\"']?)(?P<word>[^\s\"']{1,400})(?P=quote)"
)


def _words_of_statement(text: str, start: int, end: int) -> list[ShellWord]:
    """Return the words behind the first word of a line; a prompt of a router may stand before it."""
    line = text.rfind("\n", max(0, start - 81), start) + 1
    words: list[ShellWord] = []
    is_sentence = text[start].isupper() and text[start + 1 : end].islower()
    if is_sentence or start - line > 80 or not _STATEMENT_START.match(text, line, start):
        return words
    at = end
    while len(words) < _MOST_WORDS and (word := _STATEMENT_WORD.match(text, at)):
        words.append(ShellWord(word["word"], range(*word.span("word")), word.end()))
        at = word.end()
    return words


# The forms of the table, and the words that they fit.


@cache
def _forms_of(row: CommandRow) -> tuple[CommandForm, ...]:
    forms: list[CommandForm] = []
    for form in row.forms.split(" | "):
        most_starts = 1 if form.startswith("^") else _MOST_WORDS
        words = form.removeprefix("^").split()
        forms.append(CommandForm(tuple(map(_form_word, words)), most_starts))
        for flag, value in pairwise(words):
            if value == "_" and flag.startswith("--"):
                joined = form.replace(f"{flag} _", f"{flag}=_").split()
                forms.append(CommandForm(tuple(map(_form_word, joined)), most_starts))
    return tuple(forms)


@cache
def _form_word(written: str) -> FormWord:
    lead = written
    for slot in ("*", "NAME", "_@"):
        lead = lead.partition(slot)[0]
    if lead == written and _ends_in_slot(written):
        lead = written[:-1]
    return FormWord(written, lead)


def _ends_in_slot(written: str) -> bool:
    """True for an underscore behind a sign, or stuck to a flag of one letter: `--user=_`, `-p_`; not for `name_`."""
    before = written[:-1]
    if not written.endswith("_"):
        return False
    is_flag = before[-2:-1] == "-" and before[-1:].isalpha()
    return is_flag or before.endswith("-hp") or not before[-1:].isalnum()


_SLOT: Final = lazy_compile(r"(NAME|\*\?|\*|(?<![A-Za-z0-9])_(?=$|@)|(?<=-[A-Za-z])_$|(?<=-hp)_$)")
_ANY: Final = r".{0,300}?"
_SLOTS: Final = {
    "_": r"(?P<secret>.+)",
    "NAME": r"(?P<name>[\w./:-]{2,80})",
    "*": _ANY,
    "*?": r".{1,300}?",
}


@cache
def _pattern_of_word(word: str) -> re.Pattern[str]:
    """Return the pattern of a word of a form; flags of Windows have no case."""
    parts = _SLOT.split(word)
    written = "".join(_SLOTS.get(part) or re.escape(part) for part in parts)
    if word.startswith("/"):
        return re.compile(written, re.DOTALL | re.IGNORECASE)
    return re.compile(written, re.DOTALL)


def _of_words(words: Sequence[ShellWord], row: CommandRow) -> Iterator[Secret]:
    """Yield the secrets of the words of a command; a command without arguments has none."""
    if not words:
        return
    for form in _forms_of(row):
        lead = form.words[0].lead.lower()
        if not any(word.text.lower().startswith(lead) for word in words):
            continue
        starts = range(len(words) - len(form.words) + 1)
        for first in starts[: form.most_starts]:
            secret = _secret_at(words, first, form, row)
            if secret is not None:
                yield secret


def _slots_of(
    words: Sequence[ShellWord], first: int, form: CommandForm
) -> list[tuple[int, FormWord, re.Match[str]]] | None:
    """Return the words of a command that fill the slots of a form, with their numbers; None where a word does not fit."""
    slots: list[tuple[int, FormWord, re.Match[str]]] = []
    for number, expected in enumerate(form.words, first):
        word = words[number].text
        if expected.is_plain:
            if word != expected.written:
                return None
            continue
        match = expected.match(word)
        if match is None:
            return None
        slots.append((number, expected, match))
    return slots


def _secret_at(
    words: Sequence[ShellWord], first: int, form: CommandForm, row: CommandRow
) -> Secret | None:
    """Return the secret of a form that begins at the word `first`."""
    held: tuple[int, re.Match[str]] | None = None
    for number, expected, match in _slots_of(words, first, form) or ():
        if row.begins_line and expected.written == "*" and is_glue(match[0]):
            return None
        given = match.groupdict()
        if "name" in given and kind_of_name(match["name"]) not in ("password", "key"):
            return None
        if "secret" in given:
            held = (number, match)
    if held is None:
        return None
    number, match = held
    value = match["secret"]
    following = " ".join(word.text for word in words[number + 1 : number + 2])
    if not _CHECKS[row.check](value) or _is_prose(value, following):
        return None
    if row.begins_line and value.isalpha() and _GOES_ON.fullmatch(following):
        return None
    places = words[number].places
    start, end = match.span("secret")
    return (places[start], places[end - 1] + 1, row.kind)


# What is no value of itself: a variable, a placeholder, a flag, a path, an address, a call, a mapping of ports
_VARIABLE: Final = lazy_compile(
    r"\$[{(]|^[$%@<*\[{]|^-|^/|^\.{0,2}/|^~|\\\\|^&|://|^\w*\(|%\}|\}\}"
    r"|^\d{1,5}(?::\d{1,5}){1,2}(?:/[a-z]{2,4})?$"
)


def _is_typed(value: str) -> bool:
    """True for a value that somebody typed: no variable, place to fill in, path, flag or word about secrets."""
    if len(value) < _SHORTEST or _VARIABLE.search(value):
        return False
    if value.isdigit() and len(value) < 6:
        return False  # a port, or a count
    return values.word(value) and not values.is_label(value) and not is_glue(value)


def _is_random(value: str) -> bool:
    return _is_typed(value) and values.random(value)


def _is_drawn(value: str) -> bool:
    return _is_typed(value) and values.drawn(value)


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "word": _is_typed,
    "line": _is_typed,
    "statement": _is_drawn,
    "drawn": _is_drawn,
    "random": _is_random,
}


_GOES_ON: Final = lazy_compile(
    r"(?!(?:address|priv|role|level)$)[a-z]{3,20}[.,;]?"
)  # a word of a sentence


def _is_prose(value: str, following: str) -> bool:
    """True for a word of a sentence about a flag: `docker login -p warns about it`."""
    if not value.isalpha() or not value.islower() or len(following) == 1:
        return False
    return is_glue(following) or values.is_said(following)
