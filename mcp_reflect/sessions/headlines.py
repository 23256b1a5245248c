"""The line of a failure's text that names the error, since a text of a thousand lines has one that matters."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.sessions.text import ends
from mcp_reflect.sessions.word_tables import pattern_table

LINE_LIMIT: Final = 300  # characters of a headline
# Characters of a text in which its headline is looked for, half from each end.
EDGES: Final = 16_000

# Error messages as programs print them. Every pattern is anchored to a line and bounded, so that it takes linear time.
ERROR_FORMS: Final = pattern_table("error_forms.txt")
EXCEPTION_LINE: Final = ERROR_FORMS["exception_line"]
# The forms that name an error, from the surest to the least sure; those of one row are equally sure.
_FROM_THE_SUREST: Final = (
    (ERROR_FORMS["anywhere"], ERROR_FORMS["program"]),
    (ERROR_FORMS["tests"],),
    (ERROR_FORMS["opening"],),
)
_EXIT = ERROR_FORMS["exit"]
_MOST_EXIT_LINE: Final = 60  # characters of a line that tells an exit code and nothing else

_PREFIX = lazy_compile(
    r"^(?:E   |Code output:|(?:/bin/)?(?:ba|z|da)?sh: (?:line )?(?:\d+: )?|\(eval\):(?:\w+:)?\d+: )"
)
_TAG = lazy_compile(r"</?\w{1,40}>|\x1b?\[[\d;]{1,12}m")
# Lines that name no error: rules, headings such as `ERRORS:`, warnings, what a runner says of itself.
_NO_ERROR = lazy_compile(
    r"\W*$|={3}(?:.*[^=])?={3,}$|[A-Z ]{4,40}:$|WARN(?:ING)?\b|> |platform \w+ --"
    r"|(?:cachedir|rootdir|configfile|plugins): "
    r"|collect(?:ed|ing) (?!.*\b0 selected)|asyncio: mode="
    r"|npm (?:ERR!|error) (?:command|code|errno|path|A complete log|Lifecycle|in workspace)"
)


def headline(text: str, otherwise: int = 0) -> str:
    """The line of a failure's text that names the error, of at most LINE_LIMIT characters.

    It is that of the last exception, since the cause comes last, else the first one that has the form of an error. Where
    no line names one, `otherwise` is the index of the line that is taken: 0 the first, -1 the last.
    """
    naming, lines = _lines_of(text)
    line = _PREFIX.sub("", naming or lines[otherwise]).strip()
    if len(line) <= LINE_LIMIT:
        return line
    return f"{line[: LINE_LIMIT - len(' ...')].rstrip()} ..."


@lru_cache(maxsize=256)  # a failure's text is asked for several times
def _lines_of(text: str) -> tuple[str | None, list[str]]:
    """The line that names the error (None where none does), and all lines that say something."""
    lines = _telling_lines(text)
    return _naming_line(lines), lines


def _telling_lines(text: str) -> list[str]:
    """The lines that may name an error; where there are none, those that are not blank, else all of them."""
    lines = [_TAG.sub("", line).strip() for line in ends(text, EDGES).split("\n")]
    without_exit_codes = [line for line in lines if not _tells_only_exit_code(line)]
    naming = [line for line in without_exit_codes if not _NO_ERROR.match(line)]
    return naming or [line for line in without_exit_codes if line] or lines


def _tells_only_exit_code(line: str) -> bool:
    """True for a line such as `Exit code 1`: it says that something failed, and never what."""
    return len(line) <= _MOST_EXIT_LINE and bool(_EXIT.match(line))


def _naming_line(lines: Sequence[str]) -> str | None:
    """The line of the last exception, else the first line of the surest form that any line has; None where none has any."""
    for line in reversed(lines):
        if EXCEPTION_LINE.match(line):
            return line
    for forms in _FROM_THE_SUREST:
        for line in lines:
            if any(form.match(line) for form in forms):
                return line
    return None


def first_line(text: str) -> str:
    """The first line that is not blank, without the frame that terminals draw before it ("╷ Error: …")."""
    return text.lstrip(" \t\r\n╷│")[: 2 * LINE_LIMIT].split("\n", 1)[0]


def last_lines(text: str, count: int) -> list[str]:
    """The last `count` lines that are not blank, looked for in the last 1,500 characters alone."""
    lines = (line.strip() for line in text.rstrip()[-1_500:].split("\n"))
    return [line for line in lines if line][-count:]
