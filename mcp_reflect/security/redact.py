"""Redaction: secrets and characters that nobody sees are taken out of a text, a structure or a context.

Every text passes here once at the entrance, before it is split, and the database does it again over all that it
writes. Doing it twice changes nothing.
"""

import base64
import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, cast
from urllib.parse import unquote

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_assignments as assigned
from mcp_reflect.security import secret_places as places
from mcp_reflect.security.normalize import normalize
from mcp_reflect.security.secret_assignments import assigned_secrets
from mcp_reflect.security.secret_places import placed_secrets
from mcp_reflect.security.secret_shapes import private_keys, shaped_secrets
from mcp_reflect.security.secret_values import Holds, Secret, compiled, holds, is_mark, mark, replaced

_LETTERS: Final = bytes(at if chr(at).islower() and at < 128 else 32 for at in range(256))
_RUNS: Final = lazy_compile(r"[a-z]+")
_ENCODED: Final = lazy_compile(r"(?<![a-z0-9+/])[a-z0-9+/]{70,}")  # of a line of base64, which holds no name
_MOST_WORDS: Final = 40_000  # remembered, some 3 MB
_MOST_NEW: Final = 400  # words of one text: what has more is no text of words
_LONGEST_WORD: Final = 24


class Anchors:
    """Texts in lower case of which one stands wherever a name or a place tells a secret, by their longest letter runs.

    An anchor is in a text only where its run is in a word of the text. The words of texts are remembered, so that a
    text of known words costs a split and a look into a set.
    """

    def __init__(self, anchors: Iterable[str]) -> None:
        self._order = {anchor: place for place, anchor in enumerate(dict.fromkeys(anchors))}
        self._by_run: dict[bytes, list[str]] = {}
        self._others: list[str] = []  # without two letters a to z in a row
        for anchor in self._order:
            run = max(_RUNS.findall(anchor), key=len, default="")
            (self._by_run.setdefault(run.encode(), []) if len(run) > 1 else self._others).append(anchor)
        self._known: dict[bytes, tuple[bytes, ...]] = {}

    def within(self, folded: str) -> list[str]:
        """Return the anchors in a text in lower case, in their order."""
        folded = _ENCODED.sub(lambda run: " " if "+" in run[0] and "/" in run[0] else run[0], folded)
        words = set(folded.encode(errors="replace").translate(_LETTERS).split())
        new = words - self._known.keys()
        runs = {run for word in words - new for run in self._known[word]}
        if new:
            joined = b" ".join(new)
            found = [run for run in self._by_run if run in joined]
            runs.update(found)
            if len(new) <= _MOST_NEW:
                if len(self._known) > _MOST_WORDS:
                    self._known.clear()
                for word in new:
                    if len(word) <= _LONGEST_WORD:
                        self._known[word] = tuple(run for run in found if run in word)
        anchors = [anchor for anchor in self._others if anchor in folded]
        anchors += [anchor for run in runs for anchor in self._by_run[run] if anchor in folded]
        return sorted(anchors, key=self._order.__getitem__)


_LEAST: Final = 20  # characters of one word from which on it can be a key
_PASSES: Final = 6  # a cut may lay bare another secret; one pass is enough for nearly every text

_ANCHORS: Final = Anchors((*places.WORDS, *assigned.WORDS))

# Texts without a secret: one call redacts the same text several times, at the entrance, for the index, for the disk.
_clean: Final[set[str]] = set()
_MOST_CLEAN: Final = 2_000
_LONGEST_CLEAN: Final = 20_000


def clean_text(text: str) -> str:
    """Return the normal form of a text, each secret replaced by `[redacted:KIND]`."""
    text = normalize(text)
    if (len(text) < _LEAST and text.isalnum()) or text in _clean:
        return text
    spans = secrets_of(text)
    if spans:
        return replaced(text, spans)
    if len(text) <= _LONGEST_CLEAN:
        if len(_clean) >= _MOST_CLEAN:
            _clean.clear()
        _clean.add(text)
    return text


def secrets_of(text: str) -> list[Secret]:
    """Return the secrets of a text in normal form, in order and apart: as it stands, and as each view of it reads."""
    spans = _find(text)
    for view in _views(text):
        spans += view.mapped(_find(view.text))
    return _joined(spans)


def _joined(spans: Iterable[Secret]) -> list[Secret]:
    """Return the spans in order, those that overlap as one of the first one's kind."""
    joined: list[Secret] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if joined and start < joined[-1][1]:
            first, last, kind_before = joined[-1]
            joined[-1] = (first, max(last, end), kind_before)
        else:
            joined.append((start, end, kind))
    return joined


def _find(text: str) -> list[Secret]:
    """Return the secrets of a text as it stands. What is found is cut before the next rule looks."""
    found: list[Secret] = []
    current = text
    for _ in range(_PASSES):
        before = current
        for finder in (private_keys, shaped_secrets, _told):
            if spans := finder(current):
                cut = View(text, [(start, end, mark(kind)) for start, end, kind in found])
                found = _joined([*found, *cut.mapped(spans)])
                current = replaced(text, found)
        if current == before:
            break
    return found


def _told(text: str) -> list[Secret]:
    """Return the secrets that their place or a name before them tells."""
    folded = _folded(text)
    anchors = _ANCHORS.within(folded)
    return [*placed_secrets(text, folded, anchors), *assigned_secrets(text, folded, anchors)]


def _folded(text: str) -> str:
    """The text in lower case, of the same length: a few characters have a longer lower case, and keep theirs."""
    folded = text.lower()
    if len(folded) == len(text):
        return folded
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


# Views: a text as it reads once it is decoded, or its lines are joined. What is found in one is cut in the text.

Change = tuple[int, int, str]  # start and end in the text, and what stands there in the view


class View:
    """A text with changes, and the way back from a place in it to the text."""

    def __init__(self, text: str, changes: Sequence[Change], *, across: bool = False) -> None:
        """`changes` are in order and apart. With `across`, only what stands across a change counts as found."""
        pieces: list[str] = []
        self._at: list[int] = []  # where each segment begins in the view
        self._segments: list[tuple[int, int | None]] = []  # and in the text; the end, where it was changed
        self._across = across
        place = length = 0
        for start, end, instead in (*changes, (len(text), len(text), "")):
            for piece, segment in ((text[place:start], (place, None)), (instead, (start, end))):
                self._at.append(length)
                self._segments.append(segment)
                pieces.append(piece)
                length += len(piece)
            place = end
        self.text = "".join(pieces)

    def mapped(self, spans: Iterable[Secret]) -> list[Secret]:
        """Return where spans of the view stand in the text."""
        return [
            (self._place(start)[0], self._place(end - 1)[1], kind)
            for start, end, kind in spans
            if end > start and not (self._across and self._segment(start) == self._segment(end - 1))
        ]

    def _segment(self, at: int) -> int:
        return bisect_right(self._at, at) - 1

    def _place(self, at: int) -> tuple[int, int]:
        """Return where the character of the view begins and ends in the text."""
        segment = self._segment(at)
        start, end = self._segments[segment]
        if end is not None:
            return start, end
        start += at - self._at[segment]
        return start, start + 1


_ESCAPE: Final = lazy_compile(r"\\{1,16}(?:u([0-9a-fA-F]{4})|([nrt\"'/]))")
_PERCENT: Final = lazy_compile(r"(?:%[0-9A-Fa-f]{2})+")
_WIDE: Final = lazy_compile("[\uff01-\uff5e]{4}")
_TO_NARROW: Final = {0xFF01 + offset: 0x21 + offset for offset in range(0x5E)}
_BASE64: Final = lazy_compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{16,4000}={0,2}")
_BACKSLASH: Final = lazy_compile(r"\\[ \t]{0,8}\r?\n[ \t]{0,80}")
_FOLDED_BLOCK: Final = lazy_compile(r":[ \t]{0,8}>[+-]?[ \t]{0,8}\n")
_INDENT: Final = lazy_compile(r"\n[ \t]{1,80}")
_LEVEL: Final = r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE)\S{0,3}[ \t]{1,4}(?:[\w.-]{1,60}:[ \t])?"
_PREFIX: Final = lazy_compile(  # of diffs, quotations, comments, `grep -n`, numbered lines, logs; cells of tables
    r"^(?:[ \t]{0,20}(?:[+>|#*]|//|--?)(?=[ \t\w\"'-])[ \t]?|[\w./-]{1,80}:\d{1,7}:(?:\d{1,5}:)?[ \t]?"
    r"|[ \t]{0,8}\d{1,6}[:|\t][ \t]?"
    rf"|\[?\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{{0,12}}[ \t]{{1,4}}(?:\S{{1,40}}[ \t]{{1,4}})?{_LEVEL})|<br ?/?>|\\\|",
    re.MULTILINE,
)
_WIDTHS: Final = frozenset((40, 60, 64, 70, 72, 76, 78, 79, 80, 100, 120, 132))  # columns at which programs wrap
_LEAST_WIDTH: Final = 32
_SIGNS: Final = {"n": "\n", "r": "\n", "t": "\t"}


def _views(text: str) -> Iterator[View]:
    """Return the views of a text that show more than the text itself."""
    if "\\" in text and (changes := [_unescaped(match) for match in _ESCAPE.finditer(text)]):
        yield View(text, changes)
    if "base64" in text and (changes := list(_plain_base64(text))):
        yield View(text, changes)
    if "%" in text and len(changes := [(*one.span(), unquote(one[0])) for one in _PERCENT.finditer(text)]) > 1:
        yield View(text, changes)
    if not text.isascii() and _WIDE.search(text):
        wide = View(text, [])
        wide.text = text.translate(_TO_NARROW)
        yield wide
    if "\n" in text or "<br" in text:
        yield from _line_views(text)


def _unescaped(match: re.Match[str]) -> Change:
    code = int(match[1], 16) if match[1] else 0
    char = _SIGNS.get(match[2], match[2]) if match[2] else chr(code)
    return (*match.span(), " " if 0xD800 <= code < 0xE000 else char)


def _plain_base64(text: str) -> Iterator[Change]:
    """Yield what stands in base64 beside a command that decodes it."""
    for run in _BASE64.finditer(text):
        try:
            plain = base64.b64decode(run[0] + "=" * (-len(run[0]) % 4)).decode()
        except ValueError:
            continue
        if plain.isprintable() or "\n" in plain:
            yield (*run.span(), plain)


def _line_views(text: str) -> Iterator[View]:
    prefixes = [
        (*one.span(), "\n" if one[0][:1] == "<" else "|" if one[0] == "\\|" else "") for one in _PREFIX.finditer(text)
    ]
    if prefixes:
        yield View(text, prefixes)
    if continued := [(*one.span(), "") for one in _BACKSLASH.finditer(text)]:
        yield View(text, continued)
    if wrapped := _wraps(text):
        yield View(text, wrapped, across=True)
    if block := _FOLDED_BLOCK.search(text):
        breaks = _INDENT.finditer(text, block.end() - 1)
        yield View(text, [(*one.span(), "" if _is_broken(text, one) else " ") for one in breaks])


def _wraps(text: str) -> list[Change]:
    """Return the line ends at which a program wrapped a line, through words; the lines that are whole are left out."""
    lines = text.split("\n")
    lengths = Counter(map(len, lines))
    longest = max(lengths)
    widths = _WIDTHS | {longest} if lengths[longest] > 1 else _WIDTHS
    ends = [False]  # of each line: it is wrapped
    ends += [_is_wrapped(line, following, widths) for line, following in pairwise(lines)]
    if not any(ends):
        return []
    changes: list[Change] = []
    place = 0
    for line, before, after in zip(lines, ends, [*ends[1:], False], strict=True):
        end = place + len(line)
        if after:
            changes.append((end, end + 1, ""))
        elif not before and line:
            changes.append((place, end, ""))
        place = end + 1
    return changes


def _is_wrapped(line: str, following: str, widths: frozenset[int]) -> bool:
    in_word = line[-1:].isalnum() or following[:1].isalnum()
    return in_word and len(line) >= _LEAST_WIDTH and len(line) in widths and not following[:1].isspace()


def _is_broken(text: str, line_end: re.Match[str]) -> bool:
    """True if a word without a blank goes on behind the line end."""
    before = text[max(0, line_end.start() - _LEAST) : line_end.start()]
    return len(before) == _LEAST and not any(map(str.isspace, before)) and any(map(str.isdigit, before))


def quoted(value: object, most: int = 80) -> str:
    """Return what an error may repeat of a value: redacted first, then cut, because half a secret is not recognized."""
    text = str(value)
    return clean_text(text[: most * 50])[:most]


def clean(value: Any) -> Any:
    """A JSON value with every text in it cleaned, and every value of a secret's name cut out."""
    match value:
        case str():
            return clean_text(value)
        case dict():
            named = cast("dict[Any, Any]", value)
            told = named.get("name", named.get("key"))  # {"name": "DB_PASSWORD", "value": …}
            hidden = isinstance(told, str) and _whole(told)
            return {
                clean_text(str(name)): _cut_whole(item) if hidden and name == "value" else _clean_named(str(name), item)
                for name, item in named.items()
            }
        case list() | tuple():
            items = cast("list[Any]", value)
            if len(items) == 2 and isinstance(items[0], str) and isinstance(items[1], str) and _whole(items[0]):
                return [clean_text(items[0]), _cut_whole(items[1])]  # a header as a pair
            return [clean(item) for item in _cut_across(items)]
        case _:
            return value


def _cut_across(items: Sequence[Any]) -> Sequence[Any]:
    """Return a list without the secrets that stand across its items, such as the lines of a key.

    Texts are looked at in a row, and of objects the texts of a field.
    """
    if len(items) < 2:
        return items
    if all(isinstance(item, str) for item in items):
        return _cut_lines(items)
    if not all(isinstance(item, dict) for item in items):
        return items
    rows = [dict(cast("dict[Any, Any]", item)) for item in items]
    for name in dict.fromkeys(name for row in rows for name in row):
        places = [place for place, row in enumerate(rows) if isinstance(row.get(name), str)]
        for place, text in zip(places, _cut_lines([rows[place][name] for place in places]), strict=True):
            rows[place][name] = text
    return rows


def _cut_lines(texts: Sequence[str]) -> Sequence[str]:
    """Return texts as if they were lines of one, with a mark in each that a secret reaches into."""
    lines = [normalize(text) for text in texts]
    spans = secrets_of("\n".join(lines)) if len(lines) > 1 else []
    cut: list[str] = []
    start = 0
    for text in lines:
        inside = [
            (max(first - start, 0), min(end - start, len(text)), kind)
            for first, end, kind in spans
            if first < start + len(text) and end > start
        ]
        cut.append(replaced(text, inside))
        start += len(text) + 1
    return cut


def _clean_named(name: str, value: Any) -> Any:
    return _cut_whole(value) if _whole(name) else clean(value)


def _cut_whole(value: Any) -> Any:
    """A value that is a secret whatever it looks like; structures, and numbers that only count, are looked into."""
    match value:
        case str() if value and not is_mark(value):
            return mark("password")
        case int() if not isinstance(value, bool) and abs(value) >= _LEAST_NUMBER:
            return mark("password")
        case list():
            return [_cut_whole(item) for item in cast("list[Any]", value)]
        case _:
            return clean(value)


_LEAST_NUMBER: Final = 100_000  # a password of digits; what is smaller counts something

_NAME: Final = lazy_compile(r"[\w .$@-]{1,80}")

# Names whose value is a secret whatever it looks like.
_WHOLE: Final = lazy_compile(
    r"(?i)(?:.{0,40}[_-])?(?:secret|api[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|secret[_-]?key"
    r"|client[_-]?secret|private[_-]?key|authorization)$"
)


def _whole(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and (bool(_WHOLE.match(name)) or holds(name) is Holds.PASSWORD)


def context_hash(context: str | None) -> str | None:
    """The first 16 hex digits of the SHA-256 of a context, as it is kept: cleaned."""
    return hashlib.sha256(clean_text(context).encode()).hexdigest()[:16] if context else None


__all__ = ["clean", "clean_text", "compiled", "context_hash", "quoted"]
