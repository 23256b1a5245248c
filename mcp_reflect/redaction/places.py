"""Secrets by their place: in addresses, headers, commands and files of passwords."""

import re
from typing import Final

from mcp_reflect.redaction.commands import PROGRAMS
from mcp_reflect.redaction.marks import mark, replaced
from mcp_reflect.redaction.place import Family, anything, chance, credential, place, spans, strong, token, word
from mcp_reflect.redaction.prose import PROSE, told

_Q: Final = r"\\{0,7}[\"']?"
_VALUE: Final = r"(?P<secret>[^\s\"'\\]{4,500})"
_LINE: Final = r"[^\n]{0,200}?[ \t]"  # of a command, up to its flag
_HEADER: Final = rf"authorization{_Q}[ \t]{{0,3}}[:=][ \t]{{0,3}}f?{_Q}"

ADDRESSES: Final = Family(
    ("://", "jdbc:"),
    (
        place("url_password", ("://",), r"://[^\s:/@\"'<>]{0,200}:(?P<secret>[^\s/@\"'<>]{1,200})(?=@)", word),
        place("url_token", ("://",), r"://(?P<secret>[A-Za-z0-9_-]{20,300})(?=@)", chance),
        place(
            "url_password",
            ("jdbc:oracle:",),
            r"jdbc:oracle:\w{2,6}:\w{1,60}/(?P<secret>[^\s/@\"']{4,200})(?=@)",
            anything,
        ),
    ),
)
HEADERS: Final = Family(
    ("authorization", "bearer ", "basic "),
    (
        place(
            "authorization",
            ("response=", "signature=", "credential=", "oauth_"),
            r"\w{5,30}=\\{0,31}[\"']?(?P<secret>[^\s\"',;&\\]{8,2000})",
            strong,
        ),
        place(
            "authorization",
            ("authorization",),
            rf"{_HEADER}(?:[a-z][a-z0-9-]{{2,20}}[ \t]+)?(?P<secret>[A-Za-z0-9._~+/=:-]{{8,4000}})",
            credential,
        ),
        place(
            "bearer_token",
            ("bearer ", "basic "),
            r"(?:bearer|basic)[ \t]{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{20,4000})",
            token,
        ),
    ),
)
COMMANDS: Final = Family(
    (" -u", " -p", " -a", "--user", "--proxy-user", "--auth", "/user:"),
    (
        place(
            "url_password",
            ("curl", "wget", "http"),
            rf"\w{{4,6}}{_LINE}(?:-u|--user|--proxy-user|--auth|-a)[ =]{{0,2}}[\"']?[^\s:\"'$]{{1,80}}:"
            r"(?P<secret>[^\s\"'@]{4,200})",
            anything,
        ),
        place(
            "password",
            ("mysql", "mariadb"),
            rf"\w{{5,7}}[a-z-]{{0,12}}{_LINE}-p[\"']?(?P<secret>[^\s\"'=-][^\s\"']{{3,200}})",
            anything,
        ),
        place(
            "password",
            ("sshpass", "login", "upload"),
            rf"(?:sshpass|login|upload){_LINE}-p[ \t]?{_Q}{_VALUE}",
            anything,
        ),
        place("password", ("redis-cli",), rf"redis-cli{_LINE}-a[ \t]{_Q}{_VALUE}", anything),
        place("password", ("-pass",), rf"-pass(?:in|out)?[ \t]pass:{_VALUE}", anything),
        place("password", ("net use",), r"net use\b[^\n]{0,120}?/user:\S{1,80}[ \t](?P<secret>[^\s/]{6,100})", strong),
    ),
)
FILES: Final = Family(
    ("login", "auth"),
    (
        place(
            "password",
            ("machine",),
            r"machine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8}(?P<secret>[^\s\"'\\]{4,500})",
            word,
        ),
        place("password", ("login ",), r"login[ \t](?P<secret>[A-Za-z0-9_-]{24,200})\b", chance),
        place(
            "password",
            ("auth=", "auth ="),
            r"auth[ \t]?=[ \t]?\([ \t]?\\{0,7}[\"'][^\"'\n]{1,80}[\"'],"
            r"[ \t]?\\{0,7}[\"'](?P<secret>[^\"'\n\\]{4,200})\\{0,7}[\"']",
            anything,
        ),
    ),
)

# A line of a .pgpass file: host:port:database:user:password; amid other words only a strong password is one.
_PGPASS: Final = re.compile(
    r":(?:\d{2,5}|\*):[\w*.-]{1,60}:[\w*.-]{1,60}:(?P<secret>[^\s:\\\"']{4,200})(?=[ \t\"']*(?:$|\\))", re.MULTILINE
)
_HOST: Final = re.compile(r"(?:|.*\\n)[\w.*-]{1,100}$")
_COOKIES: Final = re.compile(
    r"cookie\\{0,7}[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\{0,7}[\"']?(?P<line>[^\r\n\"']{8,4000})", re.IGNORECASE
)
_PAIR: Final = re.compile(r"(?P<name>[\w.-]{1,80})=(?P<secret>[^;\s\\]{16,4000})")


def cut_places(text: str, folded: str) -> str:
    """The text with a mark for each secret that its place tells; `folded` is its lower case, sign by sign."""
    found = spans(text, folded, (ADDRESSES, HEADERS, COMMANDS, FILES, *PROGRAMS, *PROSE))
    found += told(text, folded)
    if ":" in text:
        found += [(*one.span("secret"), "password") for one in _PGPASS.finditer(text) if _is_of_pgpass(text, one)]
    text = replaced(text, found)
    if "cookie" in folded:
        text = _COOKIES.sub(_cut_cookies, text)
    return text


def _is_of_pgpass(text: str, one: re.Match[str]) -> bool:
    alone = _HOST.match(text[text.rfind("\n", 0, one.start()) + 1 : one.start()])
    return (word if alone else strong)(one["secret"])


def _cut_cookies(found: re.Match[str]) -> str:
    line = _PAIR.sub(
        lambda pair: f"{pair['name']}={mark('cookie')}" if chance(pair["secret"]) else pair[0], found["line"]
    )
    return found[0][: found.start("line") - found.start()] + line
