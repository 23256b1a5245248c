"""Redaction: secrets and invisible characters are taken out of texts.

Every text passes here once at the entrance, before it is split, and the database does it again over all that it
writes. Doing it twice changes nothing.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, cast

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.clean import Clean
from mcp_reflect.security.cleaned_texts import CleanedTexts
from mcp_reflect.security.normal_form import normalize
from mcp_reflect.security.reading_allowance import shared_allowance
from mcp_reflect.security.secret_addresses import addressed_secrets
from mcp_reflect.security.secret_calls import called_secrets
from mcp_reflect.security.secret_columns import column_secrets
from mcp_reflect.security.secret_commands import commanded_secrets
from mcp_reflect.security.secret_documents import documented_secrets
from mcp_reflect.security.secret_inputs import input_secrets
from mcp_reflect.security.secret_labels import has_names, kind_of_name
from mcp_reflect.security.secret_names import named_secrets
from mcp_reflect.security.secret_phrases import phrased_secrets
from mcp_reflect.security.secret_references import referenced_secrets
from mcp_reflect.security.secret_shapes import placed_secrets, private_keys, shaped_secrets
from mcp_reflect.security.secret_tables import letters_of
from mcp_reflect.security.secret_values import START, Secret, mark
from mcp_reflect.security.texts_of_lists import cut_across, joined_columns
from mcp_reflect.security.views import Change, View, views_of

_LEAST: Final = 20  # characters of one word from which on it can be a key
# A long text is read in pieces: a search holds the interpreter for all of its text, and other calls wait meanwhile
_PIECE: Final = 100_000
LONGEST_SECRET: Final = 20_000
"""Characters of the longest secret that is found, a private key: by so many pieces of a text overlap."""

_PASSES: Final = 6  # a cut may lay bare another secret; one pass is enough for nearly every text
_MOST_KEPT: Final = 4_000_000  # characters of texts whose clean forms are kept


def clean_text(text: str) -> Clean:
    """Return the normal form of a text, each secret replaced by `[redacted:KIND]`."""
    if isinstance(text, Clean):
        return text
    text = normalize(text)
    if len(text) < _LEAST and text.isascii() and text.isalnum():
        return Clean(text)
    return _cleaned_once(text, _cleaned, keep_lines=False)


def note_clean(text: str) -> Clean:
    """Note that a text was put together of clean ones, and return it; only the gate says so."""
    known = Clean(text)
    _cleaned.add(known, known)
    return known


def _cleaned_once(text: str, cleaned: CleanedTexts, *, keep_lines: bool) -> Clean:
    """Return the clean form of a text: the known one, or a new one, which is remembered if nothing is left to find."""
    known = cleaned.get(text)
    if known is not None:
        return known
    form, is_done = _without_secrets(text, keep_lines=keep_lines)
    if is_done:
        cleaned.add(text, Clean(form))
    return Clean(form)


def _without_secrets(text: str, *, keep_lines: bool) -> tuple[str, bool]:
    """Return the text with marks for its secrets, and whether the last pass found none.

    With `keep_lines`, each line of a secret has its own mark.
    """
    with shared_allowance() as allowance:
        allowance.begin_text(pieces=1 + len(text) // _PIECE)
        for attempt in range(_PASSES):
            spans: list[Secret] = []
            for start, piece in _pieces_of(text):
                if attempt and START not in piece:
                    continue  # a piece without a cut is done
                found = _find_everywhere(piece)
                spans += [(first + start, end + start, kind) for first, end, kind in found]
            if not spans:
                return text, True
            text = _replaced(text, spans, keep_lines=keep_lines)
        return text, False


def _pieces_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield a text in pieces with their starts, cut at line ends where it can be; each overlaps with the next one."""
    start = 0
    while start < len(text):
        piece = text[start : start + _PIECE + LONGEST_SECRET]
        yield start, piece
        if len(piece) < _PIECE + LONGEST_SECRET:
            return
        start = text.rfind("\n", start, start + _PIECE) + 1 or start + _PIECE


_cleaned: Final = CleanedTexts(_MOST_KEPT)
_cleaned_lines: Final = CleanedTexts(_MOST_KEPT)
"""Those of texts that are read as lines of one: a secret of several lines has a mark in each."""


def _find_everywhere(text: str) -> list[Secret]:
    found = _find(text)
    for changes, only_across, is_local in views_of(text):
        if changes and is_local and len(text) > _LONG:
            for start, end, those in _surroundings(text, changes):
                near = _find_in_view(text[start:end], those, across=only_across)
                found += [(first + start, last + start, kind) for first, last, kind in near]
        elif changes:
            found += _find_in_view(text, changes, across=only_across)
    found += referenced_secrets(text, _find)
    return found


_LONG: Final = 5_000  # characters from which on only the surroundings of few changes are read
_AROUND: Final = 500


def _surroundings(
    text: str, changes: Sequence[Change]
) -> Iterator[tuple[int, int, Sequence[Change]]]:
    """Yield the parts of a text around its changes, with the changes as they stand in each part."""
    first = 0
    for number in range(1, len(changes) + 1):
        if number < len(changes) and changes[number][0] - changes[number - 1][1] <= 2 * _AROUND:
            continue
        start = max(0, changes[first][0] - _AROUND)
        end = min(len(text), changes[number - 1][1] + _AROUND)
        near = changes[first:number]
        yield start, end, [(begins - start, ends - start, new) for begins, ends, new in near]
        first = number


def _find(text: str) -> list[Secret]:
    folded, words = _folded(text)
    found = [*private_keys(text), *shaped_secrets(text)]
    if not text.isascii() or has_names(words):
        found += named_secrets(text, folded, words)
    found += placed_secrets(text, folded, words)
    found += addressed_secrets(text)
    found += called_secrets(text, folded, words)
    found += commanded_secrets(text, folded)
    found += input_secrets(text)
    found += column_secrets(text, folded, words)
    found += phrased_secrets(text, folded, words)
    found += documented_secrets(text, words)
    return found


def _replaced(text: str, spans: Iterable[Secret], *, keep_lines: bool) -> str:
    """Return the text with a mark for each span; overlapping spans get one mark, of the first one's kind."""
    pieces: list[str] = []
    done = 0
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= done:
            pieces += [text[done:start], mark(kind)]
            if keep_lines:
                pieces.append(f"\n{mark(kind)}" * text.count("\n", start, end))
        elif keep_lines and end > done:
            pieces.append("\n" * text.count("\n", done, end))
        done = max(done, end)
    if pieces:
        return "".join([*pieces, text[done:]])
    return text


_LINE_OF_BASE64: Final = 70  # characters of a line of base64, which holds no name
_ENCODED: Final = lazy_compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{70,}")


def _blanked_base64(run: re.Match[str]) -> str:
    """Return blanks for a run of base64; one of letters alone, or without a capital, may be words."""
    if run[0].isalpha() or run[0].islower():
        return run[0]
    return " " * len(run[0])


@lru_cache(maxsize=4)
def _folded(text: str) -> tuple[str, str]:
    """Return the text in lower case with base64 blanked out (same length), and its distinct runs of letters."""
    folded = text
    if len(text) >= _LINE_OF_BASE64:
        folded = _ENCODED.sub(_blanked_base64, text)
    folded = folded.replace("\u0130", "I").lower()  # the only character with a longer lower case
    words = set(letters_of(folded))
    return folded, b" ".join(words).decode()  # a text is searched faster than bytes


def _find_in_view(text: str, changes: Sequence[Change], *, across: bool) -> Iterator[Secret]:
    """Yield the secrets of a text with the changes applied, by their places in the original text."""
    view = View(text, changes)
    for start, end, kind in _find(view.text):
        if not across or view.crosses_a_change(start, end):
            yield (*view.span_in_text(start, end), kind)


def quoted(value: object, most: int = 80) -> Clean:
    """Return what an error may repeat of a value: redacted first, then cut, because half a secret is not recognized."""
    return Clean(clean_text(str(value)[: most * 50])[:most])


def clean(value: Any) -> Any:
    """Return a JSON value with every text in it cleaned, and every value of a secret's name cut out."""
    with shared_allowance():
        return _clean(value)


def _clean(value: Any) -> Any:
    match value:
        case str():
            return clean_text(value)
        case dict():
            fields = cast("dict[Any, Any]", value)
            name = fields.get("name", fields.get("key"))  # {"name": "DB_PASSWORD", "value": …}
            is_pair = isinstance(name, str) and _is_whole(name)
            cleaned: dict[str, Any] = {}
            for key, item in fields.items():
                is_secret = _is_whole(str(key)) or (is_pair and key == "value")
                cleaned[clean_text(str(key))] = _cut_whole(item) if is_secret else _clean(item)
            return cleaned
        case list() | tuple():
            items = cast("list[Any]", value)
            if (
                len(items) == 2
                and isinstance(items[0], str)
                and isinstance(items[1], str)
                and _is_whole(items[0])
            ):
                return [clean_text(items[0]), _cut_whole(items[1])]  # a header as a pair
            return _clean_list(items)
        case _:
            return value


_MARK: Final = lazy_compile(r"\[redacted:(\w{1,40})\]")
_MOST_CUTS: Final = 5  # that a note names


def cuts(value: Any, cleaned: Any) -> str:
    """Return what `clean` cut out of a value, such as "password in correction"; nothing if it cut nothing."""
    found = [*dict.fromkeys(_cuts(value, cleaned, ""))]
    told = found[:_MOST_CUTS]
    if len(found) > _MOST_CUTS:
        told.append(f"{len(found) - _MOST_CUTS} more")
    return ", ".join(told)


def _cuts(before: Any, after: Any, place: str) -> Iterator[str]:
    if before is after:
        return
    match before, after:
        case dict(), dict():
            names: dict[str, Any] = {
                clean_text(str(name)): item for name, item in cast("dict[Any, Any]", before).items()
            }
            for name, item in cast("dict[str, Any]", after).items():
                yield from _cuts(names[name], item, f"{place}.{name}" if place else name)
        case (list() | tuple(), list()):
            for one, cleaned in zip(
                cast("list[Any]", before), cast("list[Any]", after), strict=True
            ):
                yield from _cuts(one, cleaned, place)
        case _:
            for kind in Counter(_MARK.findall(str(after))) - Counter(_MARK.findall(str(before))):
                yield f"{kind} in {place}" if place else kind


def _clean_list(items: Sequence[Any]) -> list[Any]:
    """Return a list clean: each of its items, and what stands across several of them."""
    cleaned = [_clean(item) for item in cut_across(items, _clean_lines)]
    for joined in joined_columns(cleaned):  # it is not read once more before it is stored
        _cleaned_lines.add(joined, Clean(joined))
    return cleaned


def _clean_lines(joined: str) -> str:
    """Return a text clean, with as many lines as it had."""
    return _cleaned_once(joined, _cleaned_lines, keep_lines=True)


_LEAST_NUMBER: Final = 100_000  # a password of digits; smaller numbers count something


def _cut_whole(value: Any) -> Any:
    """Return a value of a secret's name: texts and long numbers cut whole, structures looked into."""
    match value:
        case str() if value and not value.startswith(START):
            return mark("password")
        case int() if not isinstance(value, bool) and abs(value) >= _LEAST_NUMBER:
            return mark("password")
        case list() | tuple():
            return [_cut_whole(item) for item in cast("Sequence[Any]", value)]
        case _:
            return _clean(value)


_NAME: Final = lazy_compile(
    r"[\w.$@-]{1,60}(?: [\w.$@-]{1,60})?"
)  # of one word or two; more are a sentence
# Names whose value is a secret whatever it looks like
_WHOLE: Final = lazy_compile(
    r"(?i)(?:.{0,40}[_-])?(?:secret|api[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|secret[_-]?key"
    r"|client[_-]?secret|private[_-]?key|authorization)$"
)


def _is_whole(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and (
        bool(_WHOLE.match(name)) or kind_of_name(name) == "password"
    )


def context_hash(context: str | None) -> str | None:
    """Return the first 16 hex digits of the SHA-256 of a context, as it is kept: cleaned."""
    import hashlib  # noqa: PLC0415 - hooks need none, and have no time

    if not context:
        return None
    return hashlib.sha256(clean_text(context).encode()).hexdigest()[:16]
