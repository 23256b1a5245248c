"""Secrets that a program reads from its input: a here-string, a here-document, or lines of `user:password`."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_labels import kind_of_name
from mcp_reflect.security.secret_values import Secret, Span

_MOST: Final = 200  # inputs of a text
_LONGEST_LINE: Final = 400
_MOST_LINES: Final = 50
_SHORTEST: Final = 4

_READS_PAIRS: Final = lazy_compile(r"\b(?:chpasswd|newusers)\b")
_READS_SETTINGS: Final = lazy_compile(
    r"\bsecrets import\b|\bsecret (?:put|create|bulk)\b|\benv import\b"
)
_READS: Final = lazy_compile(
    r"\b(?:passwd|vncpasswd|smbpasswd|kinit|cryptsetup|openconnect|veracrypt|su|sudo -\w*S|unlock-keychain)\b"
    r"|-(?:password|passwd|pw|pass)-?(?:on-)?(?:stdin|fd)|--stdin\b|--with-token|--passphrase-fd 0"
    r"|\bsecrets? (?:set|put|create)\b|\bpasswords?\b|\blogin\b|\bunlock\b|-pass(?:in|out)? stdin|env add|\bread\b.{0,40}\w*(?i:pass|secret|token|pwd?)\b"
)
_HERE_STRING: Final = lazy_compile(
    r"<<<[ \t]?(?:\$?'(?P<single>[^'\n]{1,400})'"
    r"|\"(?P<double>[^\"\n]{1,400})\"|(?P<bare>[^\s\"'$;|&)<]{1,400}))"
)
_HERE_DOCUMENT: Final = lazy_compile(
    r"<<-?[ \t]?[\"']?(?P<word>[A-Za-z_]{1,20})[\"']?[^\n]{0,100}\n"
)
_CLOUD_LIST: Final = lazy_compile(
    r"\bchpasswd:[^\n]{0,20}\n(?:[ \t]{1,20}expire:[^\n]{0,20}\n)?"
    r"[ \t]{1,20}list:[ \t]{0,4}(?:\||>)?[-+]?[ \t]{0,4}\r?\n"
)
_PAIR: Final = lazy_compile(
    r"[ \t]{0,40}(?:- )?[\"']?[\w.@-]{1,60}:(?P<secret>[^\s:\"'$<][^\s\"']{3,200})"
    r"[\"']?[ \t\r]{0,8}(?=\n|\Z)"
)
_SETTING: Final = lazy_compile(
    r"[ \t]{0,40}(?P<name>\w{1,60})=[\"']?(?P<secret>[^\s\"'$<][^\n\"']{3,200})"
    r"[\"']?[ \t\r]{0,8}(?=\n|\Z)"
)


def input_secrets(text: str) -> list[Secret]:
    """Return the secrets in the inputs of programs that read one."""
    if "<<" not in text and "chpasswd:" not in text:
        return []
    found = [*_here_strings(text), *_here_documents(text), *_cloud_lists(text)]
    return [(start, end, "password") for start, end in found]


def _here_strings(text: str) -> Iterator[Span]:
    for given in islice(_HERE_STRING.finditer(text), _MOST):
        form = given.lastgroup or ""
        command = _command_before(text, given.start())
        start, end = given.span(form)
        if _READS_PAIRS.search(command):
            start = text.find(":", start, end) + 1 or end
        elif not _READS.search(command):
            continue
        if _is_typed(text[start:end]):
            yield start, end


def _command_before(text: str, at: int) -> str:
    first = max(0, at - _LONGEST_LINE)
    start = max(text.rfind(sign, first, at) + 1 for sign in "\n;|")
    return text[max(start, first) : at]


def _here_documents(text: str) -> Iterator[Span]:
    for opened in islice(_HERE_DOCUMENT.finditer(text), _MOST):
        if text[opened.start() : opened.start() + 3] == "<<<":
            continue
        line_end = opened.end()
        command = _command_before(text, opened.start()) + opened[0]
        if _READS_PAIRS.search(command):
            yield from _lines_of(text, line_end, _PAIR)
        elif _READS_SETTINGS.search(command):
            yield from _lines_of(text, line_end, _SETTING)


def _cloud_lists(text: str) -> Iterator[Span]:
    """Yield the passwords of the users whom cloud-init sets up."""
    for opened in islice(_CLOUD_LIST.finditer(text), _MOST):
        yield from _lines_of(text, opened.end(), _PAIR)


def _lines_of(text: str, at: int, form: re.Pattern[str]) -> Iterator[Span]:
    """Yield the secrets of the lines that have a form, up to the first other line."""
    for _ in range(_MOST_LINES):
        line = form.match(text, at)
        if line is None:
            return
        is_open = "name" in line.re.groupindex and not kind_of_name(line["name"])
        if _is_typed(line["secret"]) and not is_open:
            yield line.span("secret")
        at = line.end() + 1


def _is_typed(value: str) -> bool:
    return len(value) >= _SHORTEST and not value.startswith(("$", "/")) and values.word(value)
