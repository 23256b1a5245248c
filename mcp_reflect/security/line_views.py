"""Views of a text that undo what programs do to its lines: prefixes, wrapping, folding, continuation."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.secret_labels import has_names
from mcp_reflect.security.secret_shapes import long_words
from mcp_reflect.security.text_view import Change, Changes

_SHORT: Final = 5_000  # characters of a text of which every view is read
_LONG_WORD: Final = 20  # characters before a line end that may be a part of a key

_CONTINUED: Final = lazy_compile(r"\\[ \t]{0,8}\r?\n[ \t]{0,80}")
_FOLDED_BLOCK: Final = lazy_compile(r":[ \t]{0,8}>[+-]?[ \t]{0,8}\n")  # of YAML
_INDENT: Final = lazy_compile(r"\n[ \t]{1,80}")
_PREFIXES: Final = (
    # a time, with the job and step of a workflow before it, and a level and a logger behind it
    r"(?:[^\t\n]{1,60}\t){0,2}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S{0,12}Z (?![A-Z]{4,8}\b)",
    (
        r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,12}[ \t]{1,4}(?:\S{1,40}[ \t]{1,4})?"
        r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE)\S{0,3}[ \t]{1,4}(?:[\w.-]{1,60}:[ \t])?"
    ),
    r"[ \t]{0,20}(?:[+>|│┃#*]|//|--?)(?=[ \t\w\"'|-])[ \t]?",  # a diff, a quotation, a comment, a cell of a table
    r"[\w./-]{1,80}:\d{1,7}:(?:\d{1,5}:)?[ \t]?",  # grep -n
    r"[\w./-]{1,80}-\d{1,7}-",  # grep -C
    r"[ \t]{0,8}\d{1,6}[:|\t→][ \t]?",  # a numbered line
    r"E {3}(?= )",  # pytest
    r"[\w.-]{1,40}[ \t]{1,8}\|[ \t]?",  # docker compose logs
)
_PREFIX: Final = lazy_compile(rf"^(?:{'|'.join(_PREFIXES)})|<br ?/?>|\\\|", re.MULTILINE)
_WIDTHS: Final = frozenset(
    (40, 60, 64, 70, 72, 76, 78, 79, 80, 100, 120, 132)
)  # columns at which programs wrap
_LEAST_WIDTH: Final = 32
_MOST_LINES: Final = 100  # of a wrapped secret; more lines are data
_INSTEAD: Final = {"<": "\n", "\\": "|"}  # of a prefix, by its first sign


def views_of_lines(text: str) -> Iterator[Changes]:
    """Yield the changes that join lines which belong together, and take off what stands before each of them.

    A text of one line may have a prefix as well.
    """
    may_have_lines = "\n" in text or "<br" in text or _PREFIX.match(text) is not None
    if not may_have_lines:
        return
    yield Changes([(*end.span(), "") for end in _CONTINUED.finditer(text)])
    if block := _FOLDED_BLOCK.search(text):
        yield Changes([*_unfolded(text, block.end() - 1)])
    if len(text) <= _SHORT or has_names(text) or long_words(text):
        prefixes = _PREFIX.finditer(text)
        yield Changes([(*prefix.span(), _INSTEAD.get(prefix[0][0], "")) for prefix in prefixes])
        yield Changes(_wraps(text), only_across=True)


def _unfolded(text: str, start: int) -> Iterator[Change]:
    """Yield the line ends of a folded block of YAML, which stand for a blank, or for nothing inside a long word."""
    for end in _INDENT.finditer(text, start):
        instead = " "
        if _is_broken(text, end.start()):
            instead = ""
        yield (*end.span(), instead)


def _wraps(text: str) -> list[Change]:
    """Return the changes that join the lines which a program wrapped, and take all other lines out.

    Only what crosses a joined line end is looked for here, and lines between would come into such a secret.
    A line is wrapped if it is as long as programs wrap at, and the line end parts a word from what follows.
    """
    lines = text.split("\n")
    widths = _widths_of(lines)
    wrapped = [
        len(line) in widths and _parts_a_word(line, following)
        for line, following in pairwise(lines)
    ]
    wrapped = _without_long_runs(wrapped)
    if not any(wrapped):
        return []
    changes: list[Change] = []
    start = 0
    before_each, after_each = [False, *wrapped], [*wrapped, False]
    for line, wrapped_before, wrapped_after in zip(lines, before_each, after_each, strict=True):
        end = start + len(line)
        is_outside = not wrapped_before and not wrapped_after
        if wrapped_after:
            changes.append((end, end + 1, ""))
        elif is_outside and line:
            changes.append((start, end, ""))
        start = end + 1
    return changes


def _parts_a_word(line: str, following: str) -> bool:
    """Return whether the end of a line may stand within a word: a letter or digit is on one side, no blank behind it."""
    has_letter = line[-1:].isalnum() or following[:1].isalnum()
    return has_letter and not following[:1].isspace()


def _widths_of(lines: Sequence[str]) -> set[int]:
    """Return the widths at which lines may be wrapped: the usual ones, and the longest one where several have it."""
    lengths = Counter(map(len, lines))
    longest = max(lengths)
    widths: set[int] = set(_WIDTHS)
    if lengths[longest] > 1:
        widths.add(longest)
    return {width for width in widths if width >= _LEAST_WIDTH}


def _without_long_runs(wrapped: Sequence[bool]) -> list[bool]:
    """Return which lines are wrapped, but for those of a long run: so many lines are data, and no secret."""
    kept: list[bool] = []
    for is_wrapped, run in groupby(wrapped):
        count = len(list(run))
        kept += [is_wrapped and count <= _MOST_LINES] * count
    return kept


def _is_broken(text: str, end: int) -> bool:
    """True if a long word with a digit continues on the next line."""
    before = text[max(0, end - _LONG_WORD) : end]
    return (
        len(before) == _LONG_WORD
        and not any(map(str.isspace, before))
        and any(map(str.isdigit, before))
    )
