"""Views of a text: what it says where a program escaped, encoded, quoted or wrapped it.

A secret is searched in every view, and cut out of the text itself: a view knows the way back.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.secret_labels import has_names
from mcp_reflect.security.secret_shapes import long_words

_SHORT: Final = 5_000  # characters of a text of which every view is read
_LONG_WORD: Final = 20  # characters before a line end that may be a part of a key

_ESCAPE: Final = lazy_compile(
    r"\\{1,16}(?:(?:u001[bB]|x1[bB]|033|e)(\[[0-?]{0,60}[ -/]{0,8}[@-~])"  # a color of a terminal
    r"|u([0-9a-fA-F]{4})|([nrt\"'/])|x([0-9a-fA-F]{2}))"
)
_BYTES: Final = lazy_compile(r"(?:\\{1,2}x[89a-fA-F][0-9a-fA-F]){2,4}")  # a letter in UTF-8
_ENTITY: Final = lazy_compile(r"&(?:quot|apos|amp|lt|gt|nbsp|#\d{1,5}|#[xX][0-9a-fA-F]{1,4});")
_QUOTE_IN_QUOTES: Final = lazy_compile(r"'(?:\\'|\"'\")'")  # of a shell: 'it'\''s'
_CELL_IN_QUOTES: Final = lazy_compile(
    r"(?:^|(?<=[,;\t]))\"(?=[^\"])(?:[^\"]|\"\"){2,4000}+\"(?=[,;\t\r\n]|\Z)", re.MULTILINE
)
_RETURN: Final = lazy_compile(r"\r+(?=\n)")
_HIGHLIGHT: Final = lazy_compile(r"</?(?:em|b|i|u|strong|mark|span|font|code|wbr)\b[^<>\n]{0,80}>")
_PERCENT: Final = lazy_compile(r"(?:%[0-9A-Fa-f]{2})+")
_WIDE: Final = lazy_compile(
    "[\uff01-\uff5e]|[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
)  # signs of full width, and blanks of other widths
_BASE64: Final = lazy_compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{16,4000}={0,2}")
_OF_MAIL: Final = ("quoted-printable", "=3A", "=3D", "=C3=")
"""What quoted-printable leaves in a text: an encoded colon, sign of equality or letter."""
_MAIL_CODE: Final = lazy_compile(r"(?:=[0-9A-F]{2})+|(?<=[^\s=])=\r?\n")
_JOINED: Final = (
    lazy_compile(  # two literals in the same quotes, with nothing or a sign of joining between them
        r"(?P<quote>[\"'])(?<=[^\s\"'=(,:\[][\"'])[ \t]{0,8}(?:\\[ \t]{0,8})?(?:\r?\n[ \t]{0,80})?"
        r"(?:[+.&]|\|\|)?[ \t]{0,8}(?:\r?\n[ \t]{0,80})?(?P=quote)(?=[^\s\"'])"
    )
)
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
_SIGNS: Final = {"n": "\n", "r": "\n", "t": "\t"}


Change = tuple[int, int, str]
"""Where a view differs from its text: start and end in the text, and what stands there in the view."""


class Changes(NamedTuple):
    """The changes that make a view, sorted and apart; whether only secrets that cross one of them count."""

    changes: Sequence[Change]
    only_across: bool = False
    is_local: bool = False
    """Few changes of a long text: only the text around them has to be read again."""


class _Position(NamedTuple):
    """A place of a view: in the text that the change `number` put in, or behind it, at `place` of the text itself."""

    number: int
    is_changed: bool
    place: int = -1


class View:
    """A text with changes applied, and the way back from its places to those of the text."""

    def __init__(self, text: str, changes: Sequence[Change]) -> None:
        self._changes = changes
        self._starts: list[int] = []  # of what each change put in, in the view
        pieces: list[str] = []
        place = length = 0
        for start, end, instead in changes:
            length += start - place
            self._starts.append(length)
            length += len(instead)
            pieces += (text[place:start], instead)
            place = end
        pieces.append(text[place:])
        self.text = "".join(pieces)

    def crosses_a_change(self, start: int, end: int) -> bool:
        """True where a part of the view does not lie in one piece."""
        first = self._position(start)
        last = self._position(end - 1)
        return (first.number, first.is_changed) != (last.number, last.is_changed)

    def changes_in(self, start: int, end: int) -> range:
        """Return the numbers of the changes of which a part of the view has something."""
        first = self._position(start)
        last = self._position(end - 1)
        return range(first.number if first.is_changed else first.number + 1, last.number + 1)

    def span_in_text(self, start: int, end: int) -> tuple[int, int]:
        """Return where a part of the view stands in the text; a change counts as a whole."""
        first = self._position(start)
        last = self._position(end - 1)
        begins = first.place
        if first.is_changed:
            begins = self._changes[first.number][0]
        ends = last.place + 1
        if last.is_changed:
            ends = self._changes[last.number][1]
        return begins, ends

    def _position(self, at: int) -> _Position:
        number = bisect_right(self._starts, at) - 1
        if number < 0:
            return _Position(number, is_changed=False, place=at)
        _, end, instead = self._changes[number]
        behind = at - self._starts[number] - len(instead)
        if behind < 0:
            return _Position(number, is_changed=True)
        return _Position(number, is_changed=False, place=end + behind)


def views_of(text: str) -> Iterator[Changes]:
    """Yield sets of changes that decode a text, each where the text has the signs for it."""
    for decoding in _DECODINGS:
        if decoding.has_signs(text):
            changes = [*decoding.changes_in(text)]
            yield Changes(changes, only_across=decoding.only_across, is_local=decoding.is_local)
    if "\n" in text or "<br" in text or _PREFIX.match(text):
        yield from _views_of_lines(text)


class Decoding(NamedTuple):
    """A way in which programs write a text, and its undoing.

    `signs`: one of them stands in a text that has it. For `only_across` and `is_local` see `Changes`.
    """

    signs: tuple[str, ...]
    changes_in: Callable[[str], Iterable[Change]]
    only_across: bool = False
    is_local: bool = False

    def has_signs(self, text: str) -> bool:
        """Return whether a text may be written so; of no signs, one beyond ASCII is the sign."""
        if not self.signs:
            return not text.isascii()
        return any(sign in text for sign in self.signs)


def _views_of_lines(text: str) -> Iterator[Changes]:
    """Yield the changes that join lines which belong together, and take off what stands before each of them."""
    yield Changes([(*end.span(), "") for end in _CONTINUED.finditer(text)])
    if block := _FOLDED_BLOCK.search(text):
        yield Changes([*_unfolded(text, block.end() - 1)])
    if len(text) <= _SHORT or has_names(text) or long_words(text):
        prefixes = _PREFIX.finditer(text)
        yield Changes([(*prefix.span(), _INSTEAD.get(prefix[0][0], "")) for prefix in prefixes])
        yield Changes(_wraps(text), only_across=True)


def _plain_percents(text: str) -> list[Change]:
    """Return what percent codes stand for; one alone is a share, and no code."""
    codes = [*_PERCENT.finditer(text)]
    if len(codes) < 2:
        return []
    return [(*code.span(), _unquoted(code[0])) for code in codes]


@lru_cache(maxsize=1_000)
def _unquoted(codes: str) -> str:
    """Return what percent codes stand for; a text that is full of them has the same ones again."""
    from urllib.parse import unquote  # noqa: PLC0415 - few texts have codes, and a hook has no time

    return unquote(codes)


def _plain_mail(text: str) -> Iterator[Change]:
    """Yield what the codes of quoted-printable stand for, and the line ends that it put in."""
    for code in _MAIL_CODE.finditer(text):
        plain = "" if "\n" in code[0] else _unquoted(code[0].replace("=", "%"))
        yield (*code.span(), plain)


def _unfolded(text: str, start: int) -> Iterator[Change]:
    """Yield the line ends of a folded block of YAML, which stand for a blank, or for nothing inside a long word."""
    for end in _INDENT.finditer(text, start):
        instead = " "
        if _is_broken(text, end.start()):
            instead = ""
        yield (*end.span(), instead)


def _plain_escapes(text: str) -> Iterator[Change]:
    r"""Yield what escapes of JSON and of programs stand for: `\n`, `\u003d`, and `\u001b[1m` for nothing."""
    for escape in _ESCAPE.finditer(text):
        yield (*escape.span(), _unescaped(escape))


def _unescaped(escape: re.Match[str]) -> str:
    color, code_of_unicode, sign, code_of_byte = escape.groups()
    if color:
        return ""
    if sign:
        return _SIGNS.get(sign, sign)
    code = int(code_of_unicode or code_of_byte, 16)
    is_half = 0xD800 <= code < 0xE000
    is_other_blank = code > 0x7F and chr(code).isspace()
    return " " if is_half or is_other_blank else chr(code)


def _plain_bytes(text: str) -> Iterator[Change]:
    r"""Yield the letters that a representation of bytes holds: `contrase\xc3\xb1a`."""
    for letter in _BYTES.finditer(text):
        digits = letter[0].replace("\\", "").replace("x", "")
        try:
            yield (*letter.span(), bytes.fromhex(digits).decode())
        except ValueError:
            continue


def _plain_widths(text: str) -> Iterator[Change]:
    """Yield the signs of full width as those of ASCII, and any blank as a plain one."""
    for sign in _WIDE.finditer(text):
        plain = " " if sign[0].isspace() else chr(ord(sign[0]) - 0xFEE0)
        yield (*sign.span(), plain)


def _removals(pattern: re.Pattern[str]) -> Callable[[str], Iterator[Change]]:
    """Return a function that takes out of a text what matches a pattern."""

    def removals(text: str) -> Iterator[Change]:
        for found in pattern.finditer(text):
            yield (*found.span(), "")

    return removals


def _plain_quotes(text: str) -> Iterator[Change]:
    r"""Yield the quotes that a shell has within quotes: `'it'\''s'` is `'it's'`."""
    for quote in _QUOTE_IN_QUOTES.finditer(text):
        yield (*quote.span(), "'")


def _plain_cells(text: str) -> Iterator[Change]:
    """Yield the doubled quotes in cells of CSV: `1,"{""user"": ""ada""}"` has `{"user": "ada"}`."""
    for cell in _CELL_IN_QUOTES.finditer(text):
        start, end = cell.start() + 1, cell.end() - 1
        at = text.find('""', start, end)
        while at >= 0:
            yield (at, at + 2, '"')
            at = text.find('""', at + 2, end)


def _plain_entities(text: str) -> Iterator[Change]:
    """Yield what entities of HTML stand for: `&quot;` is a quote."""
    from html import unescape  # noqa: PLC0415 - few texts have any, and a hook has no time

    for entity in _ENTITY.finditer(text):
        plain = unescape(entity[0])
        yield (*entity.span(), " " if plain.isspace() else plain)


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
    widths = _widths_of(lines)
    wrapped = [
        len(line) in widths
        and (line[-1:].isalnum() or following[:1].isalnum())
        and not following[:1].isspace()
        for line, following in pairwise(lines)
    ]
    wrapped = _without_long_runs(wrapped)
    if not any(wrapped):
        return []
    changes: list[Change] = []
    place = 0
    for line, before, after in zip(lines, [False, *wrapped], [*wrapped, False], strict=True):
        end = place + len(line)
        if after:
            changes.append((end, end + 1, ""))
        elif not before and line:
            changes.append((place, end, ""))
        place = end + 1
    return changes


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


_DECODINGS: Final = (
    Decoding(("\\",), _plain_escapes),
    Decoding(("\\x",), _plain_bytes, is_local=True),
    Decoding(("base64",), _plain_base64),
    Decoding(("%",), _plain_percents),
    Decoding(_OF_MAIL, _plain_mail, is_local=True),
    Decoding(('"', "'"), _removals(_JOINED), only_across=True, is_local=True),
    Decoding(
        ("<",), _removals(_HIGHLIGHT), only_across=True
    ),  # a search's marks around what it found
    Decoding((), _plain_widths),
    Decoding(('""',), _plain_cells, is_local=True),
    Decoding(("'\\''", "'\"'\"'"), _plain_quotes, is_local=True),
    Decoding(("&",), _plain_entities, is_local=True),
    Decoding(("\r\n",), _removals(_RETURN)),
)
"""Each is applied alone to the text itself."""
