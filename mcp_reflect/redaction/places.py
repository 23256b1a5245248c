"""Secrets by their place: in addresses, headers, commands and files of passwords."""

import re
from typing import Final

from mcp_reflect.patterns import late
from mcp_reflect.redaction.calls import CALLS, inserted
from mcp_reflect.redaction.commands import PROGRAMS
from mcp_reflect.redaction.marks import mark, replaced
from mcp_reflect.redaction.place import (
    Place,
    anything,
    by_word,
    chance,
    credential,
    spans_at,
    strange,
    strong,
    token,
    word,
)
from mcp_reflect.redaction.prose import NOUNS, PROSE, told

_Q: Final = r"\\{0,7}[\"']?"
_VALUE: Final = r"(?P<secret>[^\s\"'\\]{4,5000})"
_LINE: Final = r"[^\n]{0,200}?[ \t]"  # of a command, up to its flag
_HEADER: Final = rf"authorization{_Q}[ \t]{{0,3}}[:=][ \t]{{0,3}}f?{_Q}"

ADDRESSES: Final = (
    Place("url_password", ("://",), r"://[^\s:/@\"'<>]{0,200}:(?P<secret>[^\s/@\"'<>]{1,200})(?=@)", word),
    Place("url_token", ("://",), r"://(?P<secret>[A-Za-z0-9_-]{20,300})(?=@|:[^\s/@]{0,60}@)", chance),
    Place("url_password", ("://",), r"://[^\s:/@\"'<>]{0,60}:(?P<secret>[A-Za-z0-9+/]{20,200}={0,2})(?=@)", chance),
    Place("url_token", ("ss://", "vmess://", "trojan://"), r"\w{2,6}://(?P<secret>[A-Za-z0-9+/=_-]{16,4000})", chance),
    Place(
        "url_token",
        (
            "/verify/",
            "/reset/",
            "/reset-password/",
            "/password-reset/",
            "/invite/",
            "/magic/",
            "/confirm/",
            "/activate/",
        ),
        r"/[a-z-]{5,15}/(?P<secret>[A-Za-z0-9_.-]{20,300})",
        chance,
    ),
    Place(
        "url_password",
        ("jdbc:oracle:",),
        r"jdbc:oracle:\w{2,6}:\w{1,60}/(?P<secret>[^\s/@\"']{4,200})(?=@)",
        anything,
    ),
)
HEADERS: Final = (
    Place(
        "authorization",
        ("response=", "signature=", "credential=", "oauth_"),
        r"\w{5,30}=\\{0,31}[\"']?(?P<secret>[^\s\"',;&\\]{8,2000})",
        strong,
        ("authorization",),
    ),
    Place(
        "authorization",
        ("authorization",),
        rf"{_HEADER}(?:[a-z][a-z0-9-]{{2,20}}[ \t]+)?(?P<secret>[A-Za-z0-9._~+/=:-]{{8,4000}})(?![(A-Za-z0-9._~+/=:-])",
        credential,
    ),
    Place(
        "bearer_token",
        ("bearer ", "basic ", "bearer, ", "ssws "),
        r"(?:bearer,?|basic|ssws)[ \t]{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{20,4000})",
        token,
    ),
)
COMMANDS: Final = (
    Place(
        "url_password",
        ("curl", "wget", "http", "etcdctl", "jenkins-cli", "jira"),
        rf"[\w-]{{4,11}}{_LINE}(?:-u|--user|--proxy-user|--auth|-auth|-a)[ =]{{0,2}}[\"']?[^\s:\"']{{1,80}}:"
        r"(?P<secret>[^\s\"'@]{4,200})",
        anything,
    ),
    Place(
        "token",
        ("curl", "wget", "http"),
        rf"\w{{4,6}}{_LINE}(?:-u|--user)[ =]{{0,2}}[\"']?(?P<secret>[A-Za-z0-9_-]{{16,300}}):(?:x|api_token)?"
        r"(?=[\s\"'])",
        chance,
    ),
    Place(
        "password",
        ("mysql", "mariadb"),
        rf"\w{{5,7}}[a-z-]{{0,12}}{_LINE}-p[\"']?(?P<secret>[^\s\"'=-][^\s\"']{{3,200}})",
        anything,
    ),
    Place(
        "password",
        ("sshpass", "login", "upload"),
        rf"(?:sshpass|login|upload){_LINE}-p[ \t]?{_Q}{_VALUE}",
        anything,
    ),
    Place("password", ("redis-cli",), rf"redis-cli{_LINE}-a[ \t]{_Q}{_VALUE}", anything),
    Place("password", ("-pass",), rf"-pass(?:in|out)?[ \t]pass:{_VALUE}", anything),
    Place("password", ("net use",), r"net use\b[^\n]{0,120}?/user:\S{1,80}[ \t](?P<secret>[^\s/]{6,100})", strong),
)
FILES: Final = (
    Place(
        "password",
        ("machine",),
        r"machine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8}(?P<secret>[^\s\"'\\]{4,500})",
        word,
    ),
    Place("password", ("login ", "login="), r"login[ \t=](?P<secret>[A-Za-z0-9_-]{24,200})\b", chance),
    Place(
        "password",
        ("auth=", "auth ="),
        r"auth[ \t]?=[ \t]?\([ \t]?\\{0,7}[\"'][^\"'\n]{1,80}[\"'],"
        r"[ \t]?\\{0,7}[\"'](?P<secret>[^\"'\n\\]{4,200})\\{0,7}[\"']",
        anything,
    ),
)

# A line of a .pgpass file: host:port:database:user:password; amid other words only a strong password is one.
_PGPASS: Final = late(
    r":(?:\d{2,5}|\*):[\w*.-]{1,60}:[\w*.-]{1,60}:(?P<secret>[^\s:\\\"']{4,200})(?=[ \t\"']*(?:$|\\|>))", re.MULTILINE
)
# A name and its password before a host, without a scheme: `user:password@tcp(…)`, `user/password@//host`
_BEFORE_HOST: Final = late(
    r"(?<![\w/:.@-])[\w.-]{1,40}(?::(?P<secret>[^\s:/@\"'<>]{4,100})@(?:tcp|unix)\(|/(?P<slashed>[^\s/@\"'<>]{4,100})@//"
    r"|:(?P<other>[^\s:/@\"'<>]{8,100})@(?=[\w.-]{4,100}(?:[:/\s\"']|$)))"
)
_WORD_BEFORE: Final = late(r"[^\s:/@]{1,60}[:/][^\s]{4,100}\Z")
_LOOK_BACK: Final = 142  # characters of a name and its password
_JWK: Final = late(
    r"[\"'](?:dp?|d?q|p|qi|k)\\{0,7}[\"'][ \t]{0,3}:[ \t]{0,3}\\{0,7}[\"'](?P<secret>[A-Za-z0-9_-]{20,4000})"
)  # the private members of a JSON web key
_HOST: Final = late(r"(?:|.*\\n)[\w.*-]{1,100}$")
_COOKIES: Final = late(
    r"cookie\\{0,7}[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\{0,7}[\"']?(?P<line>[^\r\n\"']{8,4000})", re.IGNORECASE
)
_PAIR: Final = late(r"(?P<name>[\w.-]{1,80})=(?P<secret>[^;\s\\]{16,4000})")


_PLACES: Final = by_word((*ADDRESSES, *HEADERS, *COMMANDS, *FILES, *PROGRAMS, *CALLS, *PROSE))
WORDS: Final = (*_PLACES, *NOUNS, "cookie", '"kty', "'kty", "into ")
"""Without one of these in it, no place of a text is one of a secret, but for a line of a .pgpass file."""


def cut_places(text: str, folded: str, words: list[str]) -> str:
    """The text with a mark for each secret that its place tells; the arguments are those of `cut_assigned`."""
    found = [span for word in words if word in _PLACES for span in spans_at(text, folded, word, _PLACES[word])]
    found += told(text, folded, [word for word in words if word in NOUNS])
    if ":" in text:
        found += [(*one.span("secret"), "password") for one in _PGPASS.finditer(text) if _is_of_pgpass(text, one)]
    if "@" in text:
        found += _before_hosts(text)
    if "into " in words and "values" in folded:
        found += inserted(text)
    if '"kty' in words or "'kty" in words:
        found += [(*one.span("secret"), "private_key") for one in _JWK.finditer(text) if chance(one["secret"])]
    text = replaced(text, found)
    if "cookie" in words:
        text = _COOKIES.sub(_cut_cookies, text)
    return text


def _before_hosts(text: str) -> list[tuple[int, int, str]]:
    """Where a password stands before a host, with the name before it: start, end, kind."""
    spans: list[tuple[int, int, str]] = []
    at = text.find("@")
    while at >= 0:
        word_before = _WORD_BEFORE.search(text, max(at - _LOOK_BACK, 0), at)
        if word_before and (one := _BEFORE_HOST.search(text, word_before.start(), at + 102)):
            group = next(name for name in ("secret", "slashed", "other") if one[name] is not None)
            if (strange if group == "other" else word)(one[group]):
                spans.append((*one.span(group), "url_password"))
        at = text.find("@", at + 1)
    return spans


def _is_of_pgpass(text: str, one: re.Match[str]) -> bool:
    alone = _HOST.match(text[text.rfind("\n", 0, one.start()) + 1 : one.start()])
    return (word if alone else strong)(one["secret"])


def _cut_cookies(found: re.Match[str]) -> str:
    line = _PAIR.sub(
        lambda pair: f"{pair['name']}={mark('cookie')}" if chance(pair["secret"]) else pair[0], found["line"]
    )
    return found[0][: found.start("line") - found.start()] + line
