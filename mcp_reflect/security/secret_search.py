"""Find the secrets of one text, and put marks in their place; `redact` asks here for each text once.

All detectors (`secret_*`) read the text, and each *view* of it, in which a form that hides a secret is undone: a quote
between its halves, an escape, base64. A cut may lay bare another secret, so that the text is read again until none is
left.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.reading_allowance import shared_allowance
from mcp_reflect.security.secret_addresses import addressed_secrets
from mcp_reflect.security.secret_calls import called_secrets
from mcp_reflect.security.secret_columns import column_secrets
from mcp_reflect.security.secret_commands import commanded_secrets
from mcp_reflect.security.secret_documents import documented_secrets
from mcp_reflect.security.secret_inputs import input_secrets
from mcp_reflect.security.secret_labels import has_names
from mcp_reflect.security.secret_names import named_secrets
from mcp_reflect.security.secret_phrases import phrased_secrets
from mcp_reflect.security.secret_references import referenced_secrets
from mcp_reflect.security.secret_shapes import placed_secrets, private_keys, shaped_secrets
from mcp_reflect.security.secret_tables import letters_of
from mcp_reflect.security.secret_values import START, Secret, mark
from mcp_reflect.security.text_view import Change, View
from mcp_reflect.security.views import views_of

LONGEST_SECRET: Final = 20_000
"""Characters of the longest secret that is found, a private key: by so many pieces of a text overlap."""

_PIECE: Final = 100_000
"""Characters of a piece. A search holds the interpreter for all of its text, and other calls wait meanwhile."""

_PASSES: Final = 6
"""Times that a text is read at most; one pass is enough for nearly every text."""

_LONG_TEXT: Final = 5_000
"""Characters from which on a view with few changes is read only around them."""

_AROUND: Final = 500
"""Characters on either side of a change that are read then."""

_LINE_OF_BASE64: Final = 70  # characters of a line of base64, which holds no name
_ENCODED: Final = lazy_compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{70,}")


class Redacted(NamedTuple):
    """A text with marks for its secrets, and whether the last pass over it found none."""

    text: str
    is_done: bool


def without_secrets(text: str, *, keep_lines: bool) -> Redacted:
    """Return a text with a mark for each secret: "export TOKEN=[redacted:github_token]".

    With `keep_lines`, each line of a secret has its own mark, so that the text keeps its number of lines.
    """
    with shared_allowance() as allowance:
        allowance.begin_text(pieces=1 + len(text) // _PIECE)
        for attempt in range(_PASSES):
            secrets: list[Secret] = []
            for piece in _pieces_of(text):
                has_cut = START in piece.text
                if attempt and not has_cut:
                    continue  # the pass before has found all in it
                secrets += _moved(_secrets_in_all_views(piece.text), piece.start)
            if not secrets:
                return Redacted(text, is_done=True)
            text = _with_marks(text, secrets, keep_lines=keep_lines)
        return Redacted(text, is_done=False)


class _PieceOfText(NamedTuple):
    """A part of a text, and the index at which it starts."""

    start: int
    text: str


def _pieces_of(text: str) -> Iterator[_PieceOfText]:
    """Yield a text in pieces, cut at line ends where it can be.

    Each piece overlaps with the next one by the longest secret, so that none is halved by a cut.
    """
    start = 0
    while start < len(text):
        piece = text[start : start + _PIECE + LONGEST_SECRET]
        yield _PieceOfText(start, piece)
        if len(piece) < _PIECE + LONGEST_SECRET:
            return
        last_line_end = text.rfind("\n", start, start + _PIECE)
        start = last_line_end + 1 or start + _PIECE


def _moved(secrets: Iterable[Secret], start: int) -> list[Secret]:
    """Return secrets of a part of a text by their indexes in the whole text; the part begins at `start`."""
    return [(first + start, last + start, kind) for first, last, kind in secrets]


def _secrets_in_all_views(text: str) -> list[Secret]:
    """Return the secrets of a text as it is written and in each view of it, by their indexes in the text.

    A view is local where each of its changes stands alone: of a long text only what is around them is read again.
    """
    secrets = _secrets_in(text)
    for changes, only_across, is_local in views_of(text):
        if not changes:
            continue
        if not is_local or len(text) <= _LONG_TEXT:
            secrets += _secrets_in_view(text, changes, across=only_across)
            continue
        for part in _surroundings(text, changes):
            part_text = text[part.start : part.end]
            found = _secrets_in_view(part_text, part.changes, across=only_across)
            secrets += _moved(found, part.start)
    secrets += referenced_secrets(text, _secrets_in)
    return secrets


class _Surroundings(NamedTuple):
    """A part of a text around changes that stand near each other, with the changes by their indexes in the part."""

    start: int
    end: int
    changes: Sequence[Change]


def _surroundings(text: str, changes: Sequence[Change]) -> Iterator[_Surroundings]:
    """Yield the parts of a text around its changes; changes whose surroundings meet share one part."""
    for group in _groups_of_near(changes):
        start = max(0, group[0][0] - _AROUND)
        end = min(len(text), group[-1][1] + _AROUND)
        changes_in_part = [(begins - start, ends - start, new) for begins, ends, new in group]
        yield _Surroundings(start, end, changes_in_part)


def _groups_of_near(changes: Sequence[Change]) -> Iterator[Sequence[Change]]:
    """Yield changes in groups: in each the gap between two neighbors is at most twice what is read around a change."""
    first = 0
    for index in range(1, len(changes)):
        gap = changes[index][0] - changes[index - 1][1]
        if gap > 2 * _AROUND:
            yield changes[first:index]
            first = index
    yield changes[first:]


def _secrets_in_view(text: str, changes: Sequence[Change], *, across: bool) -> Iterator[Secret]:
    """Yield the secrets of a text with the changes applied, by their indexes in the original text.

    With `across` only those count that reach over a change: the others stand in the text itself, and were found there.
    """
    view = View(text, changes)
    for start, end, kind in _secrets_in(view.text):
        if not across or view.crosses_a_change(start, end):
            yield (*view.span_in_text(start, end), kind)


def _secrets_in(text: str) -> list[Secret]:
    """Return what all detectors find in a text as it is written; the spans may overlap."""
    folded, words = _folded(text)
    secrets = [*private_keys(text), *shaped_secrets(text)]
    if not text.isascii() or has_names(words):
        secrets += named_secrets(text, folded, words)
    secrets += placed_secrets(text, folded, words)
    secrets += addressed_secrets(text)
    secrets += called_secrets(text, folded, words)
    secrets += commanded_secrets(text, folded)
    secrets += input_secrets(text)
    secrets += column_secrets(text, folded, words)
    secrets += phrased_secrets(text, folded, words)
    secrets += documented_secrets(text, words)
    return secrets


class _Folded(NamedTuple):
    """A text as most detectors look for names in it: in lower case, and its distinct runs of letters with blanks between."""

    text: str
    words: str


@lru_cache(maxsize=4)
def _folded(text: str) -> _Folded:
    """Return a text in lower case, of the same length, with base64 blanked out: no name stands in that."""
    folded = text
    if len(text) >= _LINE_OF_BASE64:
        folded = _ENCODED.sub(_blanked_base64, text)
    folded = folded.replace("\u0130", "I").lower()  # the only character with a longer lower case
    words = set(letters_of(folded))
    return _Folded(folded, b" ".join(words).decode())  # a text is searched faster than bytes


def _blanked_base64(run: re.Match[str]) -> str:
    """Return blanks for a run of base64; one of letters alone, or without a capital, may be words, and stays."""
    if run[0].isalpha() or run[0].islower():
        return run[0]
    return " " * len(run[0])


def _with_marks(text: str, secrets: Iterable[Secret], *, keep_lines: bool) -> str:
    """Return the text with a mark for each secret; secrets that overlap get one mark, of the first one's kind.

    "a=x&y" with the secrets (2, 5, "password") and (4, 5, "secret") becomes "a=[redacted:password]".
    """
    pieces: list[str] = []
    copied_to = 0
    for start, end, kind in sorted(secrets, key=lambda secret: (secret[0], -secret[1])):
        if start >= copied_to:
            pieces += [text[copied_to:start], mark(kind)]
            if keep_lines:
                pieces.append(f"\n{mark(kind)}" * text.count("\n", start, end))
        elif keep_lines and end > copied_to:
            pieces.append("\n" * text.count("\n", copied_to, end))
        copied_to = max(copied_to, end)
    if not pieces:
        return text
    return "".join([*pieces, text[copied_to:]])
