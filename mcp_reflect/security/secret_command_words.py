"""The words of a command, wherever a text has one, with the index of each character in the text.

A command stands in a line of a shell, in a list of texts in code (`["mysql", "-pX"]`), in YAML with an item a line, or as
a statement in a file of settings. The indexes are needed to cut a secret out of the text itself.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile

_LONGEST_LINE: Final = 2_000  # characters of a command line that are read
MOST_WORDS: Final = 60
"""Words of a command that are read."""

_MOST_PROMPT: Final = 80  # characters before the first word of a statement
_SHELL_WORD: Final = lazy_compile(
    r"(?:[^\s\"'\\|;&()<>`]|\\[^\n]|\"(?:[^\"\\\n]|\\[^\n]){0,400}\"|'[^'\n]{0,400}'){1,400}"
)
_BLANKS: Final = lazy_compile(r"(?:[ \t]|[\\^`][ \t]?\r?\n){1,80}")
_QUOTES: Final = "\"'`"
_QUOTE: Final = lazy_compile(r"\\[\"'`]|(?<=\w)'(?=\w)|(?P<quote>[\"'`])")
"""A quote: no apostrophe within a word, and none behind a backslash."""

_ESCAPED: Final = ("\\", '"', "'", " ", "$")
"""Characters that a backslash before them escapes."""

_LIST_ITEM: Final = lazy_compile(
    r"[ \t\r\n]{0,40},[ \t\r\n]{0,40}"
    r"(?:[rbfu]?(?P<quote>[\"'])(?P<item>[^\"'\n]{0,400})(?P=quote)|(?P<name>[\w.()\[\]]{1,80}))"
)
_LINE_ITEM: Final = lazy_compile(
    r"\r?\n[ \t]{0,40}-[ \t]{1,3}(?P<quote>[\"']?)(?P<item>[^\"'\n\r]{1,400}?)(?P=quote)"
    r"[ \t]{0,8}(?=\r?\n|\Z)"
)
_STATEMENT_START: Final = lazy_compile(r"[ \t]{0,40}(?:[\w.-]{1,40}(?:\([\w-]{1,30}\))?[#>] ?)?\Z")
_STATEMENT_WORD: Final = lazy_compile(
    r"[ \t]{1,40}(?P<quote>[\"']?)(?P<word>[^\s\"']{1,400})(?P=quote)"
)


class ShellWord(NamedTuple):
    """A word of a command line without its quotes, and the index of each of its characters in the text."""

    text: str
    indexes: Sequence[int]
    end: int


def words_of_command(text: str, start: int, end: int) -> list[ShellWord]:
    """Return the words behind a program whose name stands from `start` to `end`, wherever the command is written.

    | the name stands                     | the words are                          |
    |-------------------------------------|----------------------------------------|
    | in quotes: `["mysql", "-pX"]`       | the next items of the list             |
    | alone on its line, as in YAML       | the items of the next lines            |
    | anywhere else                       | those of a shell, up to a `;` or `|`   |
    """
    if text[start - 1 : start] in ("'", '"') and text[end : end + 1] == text[start - 1]:
        return _items_of_list(text, end + 1)
    if text.startswith("\n", end) or text.startswith("\r\n", end):
        return _items_on_lines(text, start, end)
    limit = _end_of_command(text, start, end)
    words: list[ShellWord] = []
    index = end
    while len(words) < MOST_WORDS:
        blanks = _BLANKS.match(text, index, limit)
        word = _SHELL_WORD.match(text, blanks.end(), limit) if blanks else None
        if word is None or word[0][0] == "#":
            break
        words.append(_without_quotes(text, *word.span()))
        index = word.end()
    return words


def words_of_statement(text: str, start: int, end: int) -> list[ShellWord]:
    """Return the words behind the first word of a line; a prompt of a router may stand before it.

    `router(config)# enable secret 0 X` has `secret`, `0` and `X` behind `enable`. A word in capitals begins a sentence.
    """
    line_start = text.rfind("\n", max(0, start - _MOST_PROMPT - 1), start) + 1
    words: list[ShellWord] = []
    is_sentence = text[start].isupper() and text[start + 1 : end].islower()
    is_far = start - line_start > _MOST_PROMPT
    if is_sentence or is_far or not _STATEMENT_START.match(text, line_start, start):
        return words
    word = _STATEMENT_WORD.match(text, end)
    while len(words) < MOST_WORDS and word:
        words.append(ShellWord(word["word"], range(*word.span("word")), word.end()))
        word = _STATEMENT_WORD.match(text, word.end())
    return words


def _end_of_command(text: str, start: int, end: int) -> int:
    """Return where the text ends in which a command stands: at the quote that was open before it, or far behind."""
    limit = min(len(text), end + _LONGEST_LINE)
    earliest = start - _LONGEST_LINE
    line_start = max(text.rfind("\n", max(0, earliest), start) + 1, earliest)
    for quote, indexes in _quotes_in(text).items():
        quotes_before = bisect_left(indexes, start) - bisect_left(indexes, line_start)
        is_open = quotes_before % 2 == 1
        if not is_open:
            continue
        closing = text.find(quote, end, limit)
        if closing >= 0:
            limit = closing
    return limit


@lru_cache(maxsize=2)
def _quotes_in(text: str) -> dict[str, list[int]]:
    """Return the indexes at which each kind of quote opens or closes, for all commands of a text at once."""
    indexes: dict[str, list[int]] = {quote: [] for quote in _QUOTES if quote in text}
    if not indexes:
        return indexes
    for match in _QUOTE.finditer(text):
        if match["quote"]:
            indexes[match["quote"]].append(match.start())
    return indexes


def _without_quotes(text: str, start: int, end: int) -> ShellWord:
    """Return the word from `start` to `end` as its program gets it: `a b` for `"a b"`."""
    raw = text[start:end]
    if not any(char in raw for char in "\\\"'"):
        return ShellWord(raw, range(start, end), end)
    chars: list[str] = []
    indexes: list[int] = []
    open_quote = ""
    index = start
    while index < end:
        char = text[index]
        if char == open_quote:
            open_quote = ""
        elif char in "\"'" and not open_quote:
            open_quote = char
        else:
            is_escape = char == "\\" and open_quote != "'"
            if is_escape and text[index + 1 : index + 2] in _ESCAPED:
                index += 1
            chars.append(text[index])
            indexes.append(index)
        index += 1
    return ShellWord("".join(chars), indexes, end)


def _items_of_list(text: str, start: int) -> list[ShellWord]:
    """Return the arguments of a command that code or JSON writes as a list of texts: `-pX` of `["mysql", "-pX"]`."""
    words: list[ShellWord] = []
    item = _LIST_ITEM.match(text, start)
    while len(words) < MOST_WORDS and item:
        if item["quote"]:
            words.append(ShellWord(item["item"], range(*item.span("item")), item.end()))
        else:
            words.append(ShellWord("$", range(*item.span("name")), item.end()))  # a variable
        item = _LIST_ITEM.match(text, item.end())
    return words


def _items_on_lines(text: str, start: int, end: int) -> list[ShellWord]:
    """Return the arguments of a command that YAML writes as a list with an item a line."""
    line_start = text.rfind("\n", max(0, start - _MOST_PROMPT), start) + 1
    words: list[ShellWord] = []
    is_item = text[line_start:start].strip(" \t\"'") == "-"
    if not is_item:
        return words
    item = _LINE_ITEM.match(text, end)
    while len(words) < MOST_WORDS and item:
        words.append(ShellWord(item["item"], range(*item.span("item")), item.end()))
        item = _LINE_ITEM.match(text, item.end())
    return words
