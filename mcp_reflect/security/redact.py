"""Redaction: secrets and invisible characters are taken out of texts.

Every text passes here once at the entrance, before it is split, and the database does it again over all that it
writes. Doing it twice changes nothing.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any, Final, cast

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.clean import Clean
from mcp_reflect.security.secret_names import CORES, FOREIGN_CORES, holds, named_secrets
from mcp_reflect.security.secret_phrases import phrased_secrets
from mcp_reflect.security.secret_shapes import (
    long_words,
    placed_secrets,
    private_keys,
    shaped_secrets,
)
from mcp_reflect.security.secret_values import START, Secret, mark

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
_SHORT: Final = 5_000  # characters of a text of which every view is read
_LEAST: Final = 20  # characters of one word from which on it can be a key
# A long text is read in pieces: a search holds the interpreter for all of its text, and other calls wait meanwhile
_PIECE: Final = 100_000
_OVERLAP: Final = 20_000  # characters of the longest secret
_PASSES: Final = 6  # a cut may lay bare another secret; one pass is enough for nearly every text
_LONGEST_KEPT: Final = 20_000  # characters of a text whose clean form is kept


def normalize(text: str) -> str:
    """Return a text as it is shown: without terminal sequences, overstrikes and unseen characters."""
    if not (text.encode().translate(None, _PLAIN) if text.isascii() else _UNSEEN.search(text)):
        return text
    if "\x1b" in text or not text.isascii():
        text = _TERMINAL.sub("", text)
    if "\b" in text:
        text = "\n".join(
            _without_overstrikes(line) if "\b" in line else line for line in text.split("\n")
        )
    return _UNSEEN.sub("", text)


def _without_overstrikes(line: str) -> str:
    """Return a line without what a backspace takes back: bold and underlined text of `man`."""
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
    if len(text) < _LEAST and text.isalnum():
        return Clean(text)
    return Clean(_cleaned(text) if len(text) <= _LONGEST_KEPT else _without_secrets(text))


def _without_secrets(text: str, *, keep_lines: bool = False) -> str:
    """Return the text with marks for its secrets; with `keep_lines`, each line of a secret has its own."""
    for attempt in range(_PASSES):
        spans: list[Secret] = []
        start = 0
        while start < len(text):
            piece = text[start : start + _PIECE + _OVERLAP]
            found = (
                _find_everywhere(piece) if not attempt or START in piece else ()
            )  # a piece without a cut is done
            spans += [(first + start, end + start, kind) for first, end, kind in found]
            line = text.rfind("\n", start, start + _PIECE) + 1 or start + _PIECE
            start = line if len(piece) == _PIECE + _OVERLAP else len(text)
        if not spans:
            break
        text = _replaced(text, spans, keep_lines=keep_lines)
    return text


# One call redacts the same text several times: at the entrance, for the index, for the disk.
_cleaned: Final = lru_cache(maxsize=2_000)(_without_secrets)


def _find_everywhere(text: str) -> list[Secret]:
    found = _find(text)
    for changes, across in _views(text):
        found += _find_in_view(text, changes, across=across) if changes else ()
    return found


def _find(text: str) -> list[Secret]:
    folded, words = _folded(text)
    named = named_secrets(text, folded, words) if not text.isascii() or _has_names(words) else ()
    return [
        *private_keys(text),
        *shaped_secrets(text),
        *named,
        *placed_secrets(text, folded, words),
        *phrased_secrets(text, folded),
    ]


def _replaced(text: str, spans: Iterable[Secret], *, keep_lines: bool) -> str:
    """Return the text with a mark for each span; overlapping spans get one mark, of the first one's kind."""
    pieces: list[str] = []
    done = 0
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= done:
            lines = text.count("\n", start, end) if keep_lines else 0
            pieces += [text[done:start], "\n".join([mark(kind)] * (lines + 1))]
        elif keep_lines and end > done:
            pieces.append("\n" * text.count("\n", done, end))
        done = max(done, end)
    if pieces:
        return "".join([*pieces, text[done:]])
    return text


_LETTERS: Final = bytes(at if chr(at).islower() and at < 128 else 32 for at in range(256))
_ENCODED: Final = lazy_compile(
    r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{70,}"
)  # a line of base64 holds no name


@lru_cache(maxsize=4)
def _folded(text: str) -> tuple[str, str]:
    """Return the text in lower case with base64 blanked out (same length), and its distinct runs of letters."""
    folded = _ENCODED.sub(
        lambda run: run[0] if run[0].isalpha() or run[0].islower() else " " * len(run[0]), text
    )
    folded = folded.replace("\u0130", "I").lower()  # the only character with a longer lower case
    words = set(folded.encode(errors="replace").translate(_LETTERS).split())
    return folded, b" ".join(words).decode()  # a text is searched faster than bytes


def _has_names(words: str) -> bool:
    return any(core in words for core in (*CORES, *FOREIGN_CORES))


Change = tuple[int, int, str]
"""Where a view differs from its text: start and end in the text, and what stands there in the view."""


def _find_in_view(text: str, changes: Sequence[Change], *, across: bool) -> Iterator[Secret]:
    """Yield the secrets of a text with the changes applied, by their places in the original text.

    The changes are sorted and do not overlap. With `across`, only secrets that cross a change count.
    """
    pieces: list[str] = []
    starts: list[int] = []  # of the segments in the view, by turns as in the text and changed
    places: list[int] = []  # and in the text
    place = length = 0
    for start, end, instead in (*changes, (len(text), len(text), "")):
        pieces += [text[place:start], instead]
        starts += [length, length + start - place]
        places += [place, start]
        length += start - place + len(instead)
        place = end
    for start, end, kind in _find("".join(pieces)):
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
        if not (across and first == last):
            begins = places[first] + (0 if first % 2 else start - starts[first])
            yield begins, places[last + 1] if last % 2 else places[last] + end - starts[last], kind


_ESCAPE: Final = lazy_compile(r"\\{1,16}(?:u([0-9a-fA-F]{4})|([nrt\"'/])|x([0-9a-fA-F]{2}))")
_HIGHLIGHT: Final = lazy_compile(r"</?(?:em|b|i|u|strong|mark|span|font|code|wbr)\b[^<>\n]{0,80}>")
_PERCENT: Final = lazy_compile(r"(?:%[0-9A-Fa-f]{2})+")
_WIDE: Final = lazy_compile("[\uff01-\uff5e]")
_BASE64: Final = lazy_compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{16,4000}={0,2}")
_CONTINUED: Final = lazy_compile(r"\\[ \t]{0,8}\r?\n[ \t]{0,80}")
_FOLDED_BLOCK: Final = lazy_compile(r":[ \t]{0,8}>[+-]?[ \t]{0,8}\n")  # of YAML
_INDENT: Final = lazy_compile(r"\n[ \t]{1,80}")
_PREFIX: Final = lazy_compile(  # of diffs, quotations, comments, `grep -n`, numbered lines, logs; cells of tables
    r"^(?:[ \t]{0,20}(?:[+>|#*]|//|--?)(?=[ \t\w\"'-])[ \t]?|[\w./-]{1,80}:\d{1,7}:(?:\d{1,5}:)?[ \t]?"
    r"|[ \t]{0,8}\d{1,6}[:|\t][ \t]?|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,12}[ \t]{1,4}(?:\S{1,40}[ \t]{1,4})?"
    r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE)\S{0,3}[ \t]{1,4}(?:[\w.-]{1,60}:[ \t])?)|<br ?/?>|\\\|",
    re.MULTILINE,
)
_WIDTHS: Final = frozenset(
    (40, 60, 64, 70, 72, 76, 78, 79, 80, 100, 120, 132)
)  # columns at which programs wrap
_LEAST_WIDTH: Final = 32
_MOST_LINES: Final = 100  # of a wrapped secret; more lines are data
_SIGNS: Final = {"n": "\n", "r": "\n", "t": "\t"}


def _views(text: str) -> Iterator[tuple[list[Change], bool]]:
    """Yield sets of changes that decode a text; with each, whether only secrets that cross a change count."""
    if "\\" in text:
        yield [(*escape.span(), _unescaped(escape)) for escape in _ESCAPE.finditer(text)], False
    if "base64" in text:
        yield [*_plain_base64(text)], False
    if len(codes := [*_PERCENT.finditer(text)] if "%" in text else ()) > 1:  # one alone is a share
        from urllib.parse import unquote  # noqa: PLC0415 - few texts have such codes, and a hook has no time

        yield [(*code.span(), unquote(code[0])) for code in codes], False
    if (
        tags := [*_HIGHLIGHT.finditer(text)] if "<" in text else ()
    ):  # of a search that marks what it found
        yield [(*tag.span(), "") for tag in tags], True
    if not text.isascii():
        yield [(*sign.span(), chr(ord(sign[0]) - 0xFEE0)) for sign in _WIDE.finditer(text)], False
    if "\n" not in text and "<br" not in text:
        return
    yield [(*end.span(), "") for end in _CONTINUED.finditer(text)], False
    if block := _FOLDED_BLOCK.search(text):
        ends = _INDENT.finditer(text, block.end() - 1)
        yield [(*end.span(), "" if _is_broken(text, end.start()) else " ") for end in ends], False
    if len(text) <= _SHORT or _has_names(text) or long_words(text):
        signs = {"<": "\n", "\\": "|"}
        yield (
            [(*prefix.span(), signs.get(prefix[0][0], "")) for prefix in _PREFIX.finditer(text)],
            False,
        )
        yield _wraps(text), True


def _unescaped(escape: re.Match[str]) -> str:
    if escape[2]:
        return _SIGNS.get(escape[2], escape[2])
    code = int(escape[1] or escape[3], 16)
    return " " if 0xD800 <= code < 0xE000 else chr(code)


def _plain_base64(text: str) -> Iterator[Change]:
    import base64  # noqa: PLC0415 - few texts have any, and a hook has no time

    for run in _BASE64.finditer(text):
        try:
            plain = base64.b64decode(run[0] + "=" * (-len(run[0]) % 4)).decode()
        except ValueError:
            continue
        if plain.isprintable() or "\n" in plain:
            yield (*run.span(), plain)


def _wraps(text: str) -> list[Change]:
    """Return the line ends at which a program wrapped a line, through words; the lines that are whole are left out."""
    lines = text.split("\n")
    lengths = Counter(map(len, lines))
    longest = max(lengths)
    widths = {
        width
        for width in (*_WIDTHS, *([longest] if lengths[longest] > 1 else ()))
        if width >= _LEAST_WIDTH
    }
    wrapped = [
        len(line) in widths
        and (line[-1:].isalnum() or following[:1].isalnum())
        and not following[:1].isspace()
        for line, following in pairwise(lines)
    ]
    runs = ((wraps, len([*run])) for wraps, run in groupby(wrapped))
    wrapped = [wraps for wraps, count in runs for wraps in [wraps and count <= _MOST_LINES] * count]
    changes: list[Change] = []
    place = 0
    for line, before, after in zip(lines, [False, *wrapped], [*wrapped, False], strict=True):
        end = place + len(line)
        if after:
            changes.append((end, end + 1, ""))
        elif not before and line:
            changes.append((place, end, ""))
        place = end + 1
    if not any(wrapped):
        return []
    return changes


def _is_broken(text: str, end: int) -> bool:
    """True if a long word with a digit continues on the next line."""
    before = text[max(0, end - _LEAST) : end]
    return (
        len(before) == _LEAST
        and not any(map(str.isspace, before))
        and any(map(str.isdigit, before))
    )


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
            hidden = isinstance(name, str) and _is_whole(name)
            return {
                clean_text(str(key)): _cut_whole(item)
                if _is_whole(str(key)) or (hidden and key == "value")
                else clean(item)
                for key, item in fields.items()
            }
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


def cuts(value: Any) -> str:
    """Return what `clean` cuts out of a value, such as "password in correction"; nothing if it cuts nothing."""
    found = [*dict.fromkeys(_cuts(value, clean(value), ""))]
    more = [f"{len(found) - _MOST_CUTS} more"] if len(found) > _MOST_CUTS else []
    return ", ".join(found[:_MOST_CUTS] + more)


def _cuts(before: Any, after: Any, place: str) -> Iterator[str]:
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
    """Return a list without the secrets that stand across its texts, or across one field of its objects."""
    if all(isinstance(item, str) for item in items):
        return _cut_lines(items)
    if not all(isinstance(item, dict) for item in items):
        return items
    rows = [dict(cast("dict[Any, Any]", item)) for item in items]
    places: dict[Any, list[int]] = {}
    for place, row in enumerate(rows):
        for name in (name for name, text in row.items() if isinstance(text, str)):
            places.setdefault(name, []).append(place)
    for name, those in places.items():
        for place, text in zip(
            those, _cut_lines([rows[place][name] for place in those]), strict=True
        ):
            rows[place][name] = text
    return rows


def _cut_lines(texts: Sequence[str]) -> Sequence[str]:
    if len(texts) < 2:
        return texts
    texts = [normalize(text) for text in texts]
    lines = iter(_without_secrets("\n".join(texts), keep_lines=True).split("\n"))
    return ["\n".join(next(lines) for _ in range(text.count("\n") + 1)) for text in texts]


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
