"""Secrets by their place: in addresses, headers, commands and files of passwords."""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from mcp_reflect.redaction.marks import compiled, mark, replaced
from mcp_reflect.redaction.values import is_chance, is_mixed, is_password, is_place, is_said


class Place(NamedTuple):
    """A kind of secret: the words (in lower case) that its pattern begins with, the pattern, what a value must be.

    The pattern's group `secret` is what goes.
    """

    kind: str
    words: tuple[str, ...]
    pattern: str
    fits: Callable[[str], bool]


class Family(NamedTuple):
    """Places of which none is in a text without one of the gate's words."""

    gate: tuple[str, ...]
    places: tuple[Place, ...]


def _any(value: str) -> bool:
    return not is_place(value)


def _word(value: str) -> bool:
    return not is_place(value) and not is_said(value)


def _strong(value: str) -> bool:
    return not is_place(value) and is_password(value)


def _chance(value: str) -> bool:
    return not is_place(value) and (is_chance(value) or is_mixed(value))


def _credential(value: str) -> bool:
    """What follows a scheme of authorization: long, or with a digit, or padded."""
    if is_place(value) or _FIELD.match(value):
        return False
    return len(value) >= 8 and (is_password(value) or len(value) >= 24)


def _token(value: str) -> bool:
    return _credential(value) and ("=" in value or any(map(str.isdigit, value)))


_FIELD: Final = re.compile(r"[A-Za-z_]{2,20}=")  # of a header that names its parts


def _place(kind: str, words: tuple[str, ...], pattern: str, fits: Callable[[str], bool]) -> Place:
    return Place(kind, words, pattern, fits)


_Q: Final = r"\\{0,7}[\"']?"
_VALUE: Final = r"(?P<secret>[^\s\"'\\]{4,500})"
_LINE: Final = r"[^\n]{0,200}?[ \t]"  # of a command, up to its flag
_HEADER: Final = rf"authorization{_Q}[ \t]{{0,3}}[:=][ \t]{{0,3}}f?{_Q}"

ADDRESSES: Final = Family(
    ("://", "jdbc:"),
    (
        _place("url_password", ("://",), r"://[^\s:/@\"'<>]{0,200}:(?P<secret>[^\s/@\"'<>]{1,200})(?=@)", _any),
        _place("url_token", ("://",), r"://(?P<secret>[A-Za-z0-9_-]{20,300})(?=@)", _chance),
        _place(
            "url_password", ("jdbc:oracle:",), r"jdbc:oracle:\w{2,6}:\w{1,60}/(?P<secret>[^\s/@\"']{4,200})(?=@)", _any
        ),
    ),
)
HEADERS: Final = Family(
    ("authorization", "bearer ", "basic "),
    (
        _place(
            "authorization",
            ("response=", "signature=", "credential=", "oauth_"),
            r"\w{5,30}=\\{0,31}[\"']?(?P<secret>[^\s\"',;&\\]{8,2000})",
            _strong,
        ),
        _place(
            "authorization",
            ("authorization",),
            rf"{_HEADER}(?:[a-z][a-z0-9-]{{2,20}}[ \t]+)?(?P<secret>[A-Za-z0-9._~+/=:-]{{8,4000}})",
            _credential,
        ),
        _place(
            "bearer_token",
            ("bearer ", "basic "),
            r"(?:bearer|basic)[ \t]{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{20,4000})",
            _token,
        ),
    ),
)
COMMANDS: Final = Family(
    (" -u", " -p", " -a", "--user", "--proxy-user", "--auth", "/user:"),
    (
        _place(
            "url_password",
            ("curl", "wget", "http"),
            rf"\w{{4,6}}{_LINE}(?:-u|--user|--proxy-user|--auth|-a)[ =]{{0,2}}[\"']?[^\s:\"'$]{{1,80}}:"
            r"(?P<secret>[^\s\"'@]{4,200})",
            _any,
        ),
        _place(
            "password",
            ("mysql", "mariadb"),
            rf"\w{{5,7}}[a-z-]{{0,12}}{_LINE}-p[\"']?(?P<secret>[^\s\"'=-][^\s\"']{{3,200}})",
            _any,
        ),
        _place(
            "password",
            ("sshpass", "login", "upload"),
            rf"(?:sshpass|login|upload){_LINE}-p[ \t]?{_Q}{_VALUE}",
            _any,
        ),
        _place("password", ("redis-cli",), rf"redis-cli{_LINE}-a[ \t]{_Q}{_VALUE}", _any),
        _place("password", ("-pass",), rf"-pass(?:in|out)?[ \t]pass:{_VALUE}", _any),
        _place(
            "password", ("net use",), r"net use\b[^\n]{0,120}?/user:\S{1,80}[ \t](?P<secret>[^\s/]{6,100})", _strong
        ),
    ),
)
FILES: Final = Family(
    ("login", "auth"),
    (
        _place(
            "password",
            ("machine",),
            r"machine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8}(?P<secret>[^\s\"'\\]{4,500})",
            _word,
        ),
        _place("password", ("login ",), r"login[ \t](?P<secret>[A-Za-z0-9_-]{24,200})\b", _chance),
        _place(
            "password",
            ("auth=", "auth ="),
            r"auth[ \t]?=[ \t]?\([ \t]?[\"'][^\"'\n]{1,80}[\"'],[ \t]?[\"'](?P<secret>[^\"'\n]{4,200})[\"']",
            _any,
        ),
    ),
)

# A line of a .pgpass file: host:port:database:user:password.
_PGPASS: Final = re.compile(
    r":(?:\d{2,5}|\*):[\w*.-]{1,60}:[\w*.-]{1,60}:(?P<secret>[^\s:\\\"']{6,200})(?=[ \t\"']*(?:$|\\))", re.MULTILINE
)
_COOKIES: Final = re.compile(
    r"cookie\\{0,7}[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\{0,7}[\"']?(?P<line>[^\r\n\"']{8,4000})", re.IGNORECASE
)
_PAIR: Final = re.compile(r"(?P<name>[\w.-]{1,80})=(?P<secret>[^;\s\\]{16,4000})")


def cut_places(text: str, folded: str) -> str:
    """The text with a mark for each secret that its place tells; `folded` is its lower case, sign by sign."""
    spans: list[tuple[int, int, str]] = []
    for family in (ADDRESSES, HEADERS, COMMANDS, FILES):
        for word in family.gate:
            if word in folded:
                spans += [span for place in family.places for span in _spans(text, folded, place)]
                break
    if ":" in text:
        spans += [(*one.span("secret"), "password") for one in _PGPASS.finditer(text) if _strong(one["secret"])]
    text = replaced(text, spans)
    if "cookie" in folded:
        text = _COOKIES.sub(_cut_cookies, text)
    return text


def _spans(text: str, folded: str, place: Place) -> list[tuple[int, int, str]]:
    spans: list[tuple[int, int, str]] = []
    for word in place.words:
        at = folded.find(word)
        while at >= 0:
            found = compiled(place.pattern, re.IGNORECASE).match(text, at)
            if found and place.fits(found["secret"]):
                spans.append((*found.span("secret"), place.kind))
            at = folded.find(word, at + len(word))
    return spans


def _cut_cookies(found: re.Match[str]) -> str:
    line = _PAIR.sub(
        lambda pair: f"{pair['name']}={mark('cookie')}" if _chance(pair["secret"]) else pair[0], found["line"]
    )
    return found[0][: found.start("line") - found.start()] + line
