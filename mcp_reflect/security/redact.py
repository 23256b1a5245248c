"""Redaction: secrets and invisible characters are taken out of texts.

Every text passes here once at the entrance, before it is split, and the database does it again over all that it
writes. Doing it twice changes nothing.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final, cast

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.clean import Clean
from mcp_reflect.security.secret_addresses import addressed_secrets
from mcp_reflect.security.secret_calls import called_secrets
from mcp_reflect.security.secret_columns import column_secrets
from mcp_reflect.security.secret_commands import commanded_secrets
from mcp_reflect.security.secret_documents import documented_secrets
from mcp_reflect.security.secret_inputs import input_secrets
from mcp_reflect.security.secret_labels import has_names, holds
from mcp_reflect.security.secret_names import named_secrets
from mcp_reflect.security.secret_phrases import phrased_secrets
from mcp_reflect.security.secret_references import referenced_secrets
from mcp_reflect.security.secret_shapes import placed_secrets, private_keys, shaped_secrets
from mcp_reflect.security.secret_tables import letters_of
from mcp_reflect.security.secret_values import START, Secret, mark
from mcp_reflect.security.views import Change, View, views_of

_PLAIN: Final = bytes([9, 10, 13, *range(32, 127)])
# Colors, moves of the cursor, titles and links of terminals (ECMA-48), with the characters that they consist of
_TERMINAL: Final = lazy_compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,200}[ -/]{0,8}[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]{0,4000}(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]{1,8}[0-~]|\x1b[0-~]"
)
# Control characters but tab, newline and return; zero-width and direction marks, annotations, tags: they hide text
_UNSEEN: Final = lazy_compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)

_LEAST: Final = 20  # characters of one word from which on it can be a key
# A long text is read in pieces: a search holds the interpreter for all of its text, and other calls wait meanwhile
_PIECE: Final = 100_000
_OVERLAP: Final = 20_000  # characters of the longest secret
_PASSES: Final = 6  # a cut may lay bare another secret; one pass is enough for nearly every text
_LONGEST_KEPT: Final = 20_000  # characters of a text whose clean form is kept


def normalize(text: str) -> str:
    """Return a text as it is shown: without terminal sequences, overstrikes and unseen characters."""
    if not _has_unseen(text):
        return text
    if "\x1b" in text or not text.isascii():
        text = _TERMINAL.sub("", text)
    if "\b" in text:
        text = "\n".join(map(_without_overstrikes, text.split("\n")))
    return _UNSEEN.sub("", text)


def _has_unseen(text: str) -> bool:
    """True for signs that are not shown; in ASCII they are found without a search."""
    if text.isascii():
        return bool(text.encode().translate(None, _PLAIN))
    return _UNSEEN.search(text) is not None


def _without_overstrikes(line: str) -> str:
    """Return a line without what a backspace takes back: bold and underlined text of `man`."""
    if "\b" not in line:
        return line
    kept: list[str] = []
    for sign in line:
        if sign != "\b":
            kept.append(sign)
        elif kept:
            kept.pop()
    return "".join(kept)


def clean_text(text: str) -> Clean:
    """Return the normal form of a text, each secret replaced by `[redacted:KIND]`."""
    text = normalize(text)
    if len(text) < _LEAST and text.isascii() and text.isalnum():
        return Clean(text)
    if len(text) > _LONGEST_KEPT:
        return Clean(_cleaned_long(text))
    return Clean(_cleaned(text))


def _without_secrets(text: str, *, keep_lines: bool = False) -> str:
    """Return the text with marks for its secrets; with `keep_lines`, each line of a secret has its own."""
    for attempt in range(_PASSES):
        spans: list[Secret] = []
        for start, piece in _pieces_of(text):
            if attempt and START not in piece:
                continue  # a piece without a cut is done
            found = _find_everywhere(piece)
            spans += [(first + start, end + start, kind) for first, end, kind in found]
        if not spans:
            break
        text = _replaced(text, spans, keep_lines=keep_lines)
    return text


def _pieces_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield a text in pieces with their starts, cut at line ends where it can be; each overlaps with the next one."""
    start = 0
    while start < len(text):
        piece = text[start : start + _PIECE + _OVERLAP]
        yield start, piece
        if len(piece) < _PIECE + _OVERLAP:
            return
        start = text.rfind("\n", start, start + _PIECE) + 1 or start + _PIECE


# One call redacts the same text several times: at the entrance, for the index, for the disk.
_cleaned: Final = lru_cache(maxsize=2_000)(_without_secrets)
_cleaned_long: Final = lru_cache(maxsize=6)(_without_secrets)


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
                cleaned[clean_text(str(key))] = _cut_whole(item) if is_secret else clean(item)
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
            return [clean(item) for item in _cut_across(items)]
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


def _cut_across(items: Sequence[Any]) -> Sequence[Any]:
    """Return a list without the secrets that stand across its texts, or across one field of its objects.

    Other items are passed over: the texts around them are read as one.
    """
    cut: list[Any] = [
        dict(cast("dict[Any, Any]", item)) if isinstance(item, dict) else item for item in items
    ]
    texts = [place for place, item in enumerate(cut) if isinstance(item, str)]
    for place, text in zip(texts, _cut_lines([cut[place] for place in texts]), strict=True):
        cut[place] = text
    fields: dict[Any, list[int]] = {}
    for place, row in enumerate(cut):
        if isinstance(row, dict):
            for name, text in cast("dict[Any, Any]", row).items():
                if isinstance(text, str):
                    fields.setdefault(name, []).append(place)
    for name, those in fields.items():
        for place, text in zip(those, _cut_lines([cut[row][name] for row in those]), strict=True):
            cut[place][name] = text
    return cut


_EDGE: Final = (
    400  # characters of a long text's first and last lines, which may belong to the text beside it
)
_APART: Final = "--"  # a line in place of the middle of a long text


def _cut_lines(texts: Sequence[str]) -> Sequence[str]:
    """Return texts without the secrets that stand across several of them; of a long one only its two ends are read."""
    if len(texts) < 2:
        return texts
    parts = [_ends_and_middle(normalize(text)) for text in texts]
    joined = "\n".join(
        _APART.join((head, tail)) if middle else head for head, middle, tail in parts
    )
    lines = iter(_cleaned_long(joined, keep_lines=True).split("\n"))
    cut: list[str] = []
    for head, middle, tail in parts:
        kept = "\n".join(islice(lines, head.count("\n") + 1))
        if middle:
            last_lines = [f"\n{line}" for line in islice(lines, tail.count("\n"))]
            kept = "".join((kept.removesuffix(_APART), middle, *last_lines))
        cut.append(kept)
    return cut


def _ends_and_middle(text: str) -> tuple[str, str, str]:
    """Return the first lines of a long text, its middle, and its last lines, if it has any; a short text is whole."""
    if len(text) <= 2 * _EDGE:
        return text, "", ""
    start = text.rfind("\n", 0, _EDGE) + 1
    end = text.find("\n", len(text) - _EDGE)
    if end < 0:
        end = len(text)
    return text[:start], text[start:end], text[end:]


_LEAST_NUMBER: Final = 100_000  # a password of digits; smaller numbers count something


def _cut_whole(value: Any) -> Any:
    """Return a value of a secret's name: texts and long numbers cut whole, structures looked into."""
    match value:
        case str() if value and not value.startswith(START):
            return mark("password")
        case int() if not isinstance(value, bool) and abs(value) >= _LEAST_NUMBER:
            return mark("password")
        case list():
            return [_cut_whole(item) for item in cast("list[Any]", value)]
        case _:
            return clean(value)


_NAME: Final = lazy_compile(
    r"[\w.$@-]{1,60}(?: [\w.$@-]{1,60})?"
)  # of one word or two; more are a sentence
# Names whose value is a secret whatever it looks like
_WHOLE: Final = lazy_compile(
    r"(?i)(?:.{0,40}[_-])?(?:secret|api[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|secret[_-]?key"
    r"|client[_-]?secret|private[_-]?key|authorization)$"
)


def _is_whole(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and (bool(_WHOLE.match(name)) or holds(name) == "password")


def context_hash(context: str | None) -> str | None:
    """Return the first 16 hex digits of the SHA-256 of a context, as it is kept: cleaned."""
    import hashlib  # noqa: PLC0415 - hooks need none, and have no time

    if not context:
        return None
    return hashlib.sha256(clean_text(context).encode()).hexdigest()[:16]
