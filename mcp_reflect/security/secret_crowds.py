"""Names of secrets that stand close together all over a text: to stall its reader, or in a long list of secrets.

To read what stands behind each of them would take too long, so from some number of names on it is not read but cut. That
is quick, and no secret stays because others stand before it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_labels import SecretName, name_at
from mcp_reflect.security.secret_surroundings import Surroundings
from mcp_reflect.security.secret_values import START, Secret

_LEAST_NAMES: Final = 50  # that are read in full of a short text
_EACH_NAME: Final = 120  # characters that a text has for each more of them
_BEFORE: Final = 120  # characters before a name in which a sentence may say its value
_BEHIND: Final = 400  # characters behind it, in which its value or its default stands
_LONGEST_MARK: Final = 60


def most_names_of(text: str) -> int:
    """Return how many names of a text are read in full, if its call may still read as many.

    A mark counts as long as what it may have replaced: a text that is redacted again has as many names as before.
    """
    length = len(text) + _BEHIND * text.count(f"]{START}")
    return _LEAST_NAMES + length // _EACH_NAME


_CUT: Final = lazy_compile(
    r"[\"'`]?[ \t]{0,3}(?:=>|:=|=|:|\b(?:is|was)\b)?[ \t]{0,3}[\"'`]?\[redacted:"
)


def is_cut(text: str, label: re.Match[str]) -> bool:
    """True where a mark stands behind a name, as behind all of them when a list of secrets is read again."""
    return _CUT.match(text, label.end(label.lastgroup or 0)) is not None


def crowded_secrets(
    text: str, labels: Sequence[re.Match[str]], done: int, surroundings: Surroundings
) -> Iterator[Secret]:
    """Yield all that stands around names which are not read one by one, from `done` on, and are not quiet.

    A label within what is cut makes the cut longer, whatever it names: what it is a part of is not read any more.
    """
    start = end = done  # of the cut that is under way
    kind = "secret"
    for label in labels:
        label_start, label_end = label.span(label.lastgroup or 0)
        if start < end and label_start < end:
            end = max(end, _end_behind(text, label_end))
            continue
        if is_cut(text, label):
            continue
        name = name_at(text, label, end)
        if not name.kind or surroundings.is_quiet(name) or _is_none(text, name):
            continue
        yield from _in_pieces(text, start, end, kind)
        kind = "password" if name.kind == "password" else "secret"
        before = _start_before(text, name, end)
        if before < name.start:
            yield (before, name.start, kind)
        start, end = max(end, name.end), max(end, _end_behind(text, name.end))
    yield from _in_pieces(text, start, end, kind)


_MARK: Final = lazy_compile(r"\[redacted:\w{1,40}\]")


def _in_pieces(text: str, start: int, end: int, kind: str) -> Iterator[Secret]:
    """Yield a long cut as several, and without the marks in it, so that its marks count as much as the text that it takes.

    `most_names_of` counts them.
    """
    end = _out_of_mark(text, end)
    for cut_mark in _MARK.finditer(text, start, end):
        yield from _of_one_length(start, cut_mark.start(), kind)
        start = cut_mark.end()
    yield from _of_one_length(start, end, kind)


def _of_one_length(start: int, end: int, kind: str) -> Iterator[Secret]:
    """Yield a cut as several that are as long as a mark counts."""
    for piece_start in range(start, end, _BEHIND):
        yield (piece_start, min(end, piece_start + _BEHIND), kind)


def _start_before(text: str, name: SecretName, done: int) -> int:
    """Return where the sentence before a name begins at the earliest: in its line, and behind what is cut."""
    line = text.rfind("\n", max(0, name.start - _BEFORE), name.start) + 1
    return max(done, line, _out_of_mark(text, name.start - _BEFORE))


_BARE_WORD: Final = lazy_compile(r"[ \t]{0,3}(?:=>|:=|=|:)[ \t]{0,3}\w")


def _end_behind(text: str, name_end: int) -> int:
    """Return where the value of a name ends at the latest: with the line, if a bare word is assigned in it."""
    end = min(len(text), name_end + _BEHIND)
    if not _BARE_WORD.match(text, name_end):
        return end
    line_end = text.find("\n", name_end, end)
    return end if line_end < 0 else line_end


def _out_of_mark(text: str, at: int) -> int:
    """Return a place, or the end of the mark in which it would stand."""
    start = text.rfind(START, max(0, at - _LONGEST_MARK), max(0, at))
    end = text.find("]", start) + 1
    if start >= 0 and end > at:
        return end
    return at


_COUNT: Final = lazy_compile(r"[\"'`]?[ \t]{0,3}[:=][ \t]{0,3}\d{1,9}(?![\w.])")
_WORD_ALONE: Final = lazy_compile(
    r"[\"'`]?[ \t]{0,3}(?:=>|:=|=|:)[ \t]{0,3}[\"'`]?(?P<word>\w{1,40})[\"'`]?[,;]?[ \t\r]{0,4}(?=\n|\Z)"
)


def _is_none(text: str, name: SecretName) -> bool:
    """True for a count of tokens, and for a name that has a word about secrets alone in its line: `password: none`."""
    if name.kind == "many" and _COUNT.match(text, name.end):
        return True
    alone = _WORD_ALONE.match(text, name.end)
    return alone is not None and values.is_said(alone["word"])
