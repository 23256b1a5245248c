"""Views of a text: what it says where a program escaped, encoded, quoted or wrapped it.

A secret is searched in every view, and cut out of the text itself: a view knows the way back (`text_view`). The ways of
writing a text are in the table _DECODINGS, below the functions that undo them; what is done to lines is in `line_views`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.line_views import views_of_lines
from mcp_reflect.security.text_view import Change, Changes

_ESCAPE: Final = lazy_compile(
    r"\\{1,16}(?:(?:u001[bB]|x1[bB]|033|e)(\[[0-?]{0,60}[ -/]{0,8}[@-~])"  # a color of a terminal
    r"|u([0-9a-fA-F]{4})|([nrt\"'/])|x([0-9a-fA-F]{2}))"
)
_LINE_OR_QUOTE: Final = lazy_compile(
    r"(?P<line>\\{1,16})n|(?P<quote>\\{0,16})[\"'](?=\s{0,80}[,\]})]|[ \t]{0,80}(?:\n|\Z))"
)
"""An escaped line end, or a quote that may end a literal: a list or an object goes on behind it, or its line ends."""
_BYTES: Final = lazy_compile(r"(?:\\{1,2}x[89a-fA-F][0-9a-fA-F]){2,4}")  # a letter in UTF-8
_ENTITY: Final = lazy_compile(r"&(?:quot|apos|amp|lt|gt|nbsp|#\d{1,5}|#[xX][0-9a-fA-F]{1,4});")
_QUOTE_IN_QUOTES: Final = lazy_compile(r"'(?:\\'|\"'\")'")  # of a shell: 'it'\''s'
_CELL_IN_QUOTES: Final = lazy_compile(
    r"(?:^|(?<=[,;\t]))\"(?=[^\"])(?:[^\"]|\"\"){2,4000}+\"(?=[,;\t\r\n]|\Z)", re.MULTILINE
)
_RETURN: Final = lazy_compile(r"\r(?=\n)")
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
_FROM_ASCII_TO_FULL_WIDTH: Final = (
    0xFEE0  # between the codes of a sign and of the same in full width
)
_SIGNS: Final = {"n": "\n", "r": "\n", "t": "\t"}


def views_of(text: str) -> Iterator[Changes]:
    """Yield sets of changes that decode a text, each where the text has the signs for it."""
    for decoding in _DECODINGS:
        if decoding.has_signs(text):
            changes = [*decoding.changes_in(text)]
            yield Changes(changes, only_across=decoding.only_across, is_local=decoding.is_local)
    yield from views_of_lines(text)


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
        is_line_end = "\n" in code[0]
        if is_line_end:
            yield (*code.span(), "")
        else:
            yield (*code.span(), _unquoted(code[0].replace("=", "%")))


def _plain_escapes(text: str) -> Iterator[Change]:
    r"""Yield what escapes of JSON and of programs stand for: `\n`, `\u003d`, and `\u001b[1m` for nothing.

    The quote that ends a literal of several lines ends its last line as well.
    """
    ends = _ends_of_literals(text)
    for escape in _ESCAPE.finditer(text):
        while ends and ends[-1].end() <= escape.start():
            yield _line_ended(ends.pop())
        is_end_of_literal = bool(ends) and ends[-1].start() < escape.end()
        if is_end_of_literal:
            yield _line_ended(ends.pop())
        else:
            yield (*escape.span(), _unescaped(escape))
    while ends:
        yield _line_ended(ends.pop())


def _ends_of_literals(text: str) -> list[re.Match[str]]:
    r"""Return the quotes that end a literal with escaped line ends, the last one first.

    An escaped quote of the literal itself has at least as many backslashes before it as its line ends have: `\n` of
    JSON within JSON is `\\n`, its end is `\"`, and a quote in it is `\\\"`.
    """
    if "n" not in text:
        return []
    ends: list[re.Match[str]] = []
    depth = 0  # backslashes of a line end of the literal that is open
    for sign in _LINE_OR_QUOTE.finditer(text):
        if sign["line"]:
            depth = len(sign["line"])
        elif len(sign["quote"]) < depth:
            ends.append(sign)
            depth = 0
    ends.reverse()
    return ends


def _line_ended(quote: re.Match[str]) -> Change:
    """Return the change that puts a line end before the quote that ends a literal."""
    return (*quote.span(), f"\n{quote[0][-1]}")


def _unescaped(escape: re.Match[str]) -> str:
    r"""Return what an escape stands for.

    | the escape             | stands for                                             |
    |------------------------|--------------------------------------------------------|
    | a color: `\u001b[1m`   | nothing                                                |
    | a sign: `\n`, `\"`     | a line end, that sign                                  |
    | half a surrogate pair  | a blank: alone it is no letter                         |
    | a blank beyond ASCII   | a plain one, which patterns of secrets know            |
    | any other: `\x3d`      | the letter of that code                                |
    """
    color, code_of_unicode, sign, code_of_byte = escape.groups()
    if color:
        return ""
    if sign:
        return _SIGNS.get(sign, sign)
    code = int(code_of_unicode or code_of_byte, 16)
    is_half = 0xD800 <= code < 0xE000
    is_other_blank = code > 0x7F and chr(code).isspace()
    if is_half or is_other_blank:
        return " "
    return chr(code)


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
        if sign[0].isspace():
            yield (*sign.span(), " ")
        else:
            yield (*sign.span(), chr(ord(sign[0]) - _FROM_ASCII_TO_FULL_WIDTH))


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
        index = text.find('""', start, end)
        while index >= 0:
            yield (index, index + 2, '"')
            index = text.find('""', index + 2, end)


def _plain_entities(text: str) -> Iterator[Change]:
    """Yield what entities of HTML stand for: `&quot;` is a quote."""
    from html import unescape  # noqa: PLC0415 - few texts have any, and a hook has no time

    for entity in _ENTITY.finditer(text):
        plain = unescape(entity[0])
        if plain.isspace():
            plain = " "
        yield (*entity.span(), plain)


def _plain_base64(text: str) -> Iterator[Change]:
    """Yield what long words in base64 stand for, if that is text: `cGFzc3dvcmQ9aHVudGVyMg==` is `password=hunter2`."""
    import base64  # noqa: PLC0415 - few texts have any, and a hook has no time

    for run in _BASE64.finditer(text):
        try:
            plain = base64.b64decode(run[0] + "=" * (-len(run[0]) % 4)).decode()
        except ValueError:
            continue
        if plain.isprintable() or "\n" in plain:
            yield (*run.span(), plain)


_DECODINGS: Final = (
    Decoding(("\\",), _plain_escapes),
    Decoding(("\\x",), _plain_bytes, is_local=True),
    Decoding(("base64",), _plain_base64),
    Decoding(("%",), _plain_percents),
    Decoding(_OF_MAIL, _plain_mail, is_local=True),
    Decoding(('"', "'"), _removals(_JOINED), only_across=True, is_local=True),
    # The marks of a search around what it found
    Decoding(("<",), _removals(_HIGHLIGHT), only_across=True),
    Decoding((), _plain_widths),
    Decoding(('""',), _plain_cells, is_local=True),
    Decoding(("'\\''", "'\"'\"'"), _plain_quotes, is_local=True),
    Decoding(("&",), _plain_entities, is_local=True),
    Decoding(("\r\n",), _removals(_RETURN)),
)
"""Each is applied alone to the text itself."""
