"""Secrets by their place in programs: as an argument of a call, as a value of a statement of SQL."""

import re
from collections.abc import Iterator
from typing import Final

from mcp_reflect.patterns import late
from mcp_reflect.redaction.names import Holds, holds
from mcp_reflect.redaction.place import Place, anything, chance, drawn, strong, word

_Q: Final = r"\\{0,7}[\"'`]"
_SHORT: Final = rf"{_Q}(?P<secret>[^\"'\n\\]{{4,200}}){_Q}"
_ARGUMENT: Final = r"(?:[^,()\"'\n]{1,80}|\\{0,7}\"[^\"\n]{0,200}\"|\\{0,7}'[^'\n]{0,200}')"


def _braced(value: str) -> bool:
    """A value in the braces of a connection string, and no name of a template's field."""
    return not value.strip("{}").replace("_", "").replace(".", "").isalpha()


_TELLS: Final = frozenset("the is a to of your for with and must be not this that it in on from should was are".split())


def _chosen(value: str) -> bool:
    """Words that somebody chose for a passphrase, and no sentence."""
    return _TELLS.isdisjoint(value.split())


_CALLS: Final = (
    Place("secret", ("jwt.",), rf"jwt\.(?:sign|verify|decode|encode)\([^\n]{{1,200}}?,\s{{0,3}}b?{_SHORT}", drawn),
    Place("secret", ("createhmac",), rf"createhmac\([^,\n]{{1,30}},\s{{0,3}}{_SHORT}", word),
    Place("secret", ("hmac.new",), rf"hmac\.new\(\s{{0,3}}b?{_SHORT}", word),
    Place("authorization", ("header(", "headers.set(", "header.set(", "header.add(", ".add(", ".append("),
          r"[\w.]{0,20}\(\s{0,3}\\{0,7}[\"'][\w-]{0,40}(?:key|token|auth\w{0,12}|secret|password|cookie)\\{0,7}[\"'],\s{0,3}"
          r"\\{0,7}[\"'](?:bearer |basic |token )?(?P<secret>[^\"'\n ]{8,4000})\\{0,7}[\"']", drawn),
    Place("secret", ("secret:", "secret ="),
          r"secret\s?[:=]\s{0,3}\\{0,7}[\"'](?P<secret>[a-z]{3,12}(?: [a-z]{3,12}){2,7})\\{0,7}[\"']", _chosen),
    # A name and a password, or more before it, as arguments
    Place("password", ("login(", "logon(", "signin(", "sign_in(", "authenticate(", "imap_open(", "mysqli_connect(",
                       "mysql_connect(", "pdo(", "getconnection(", "basicauth(", "digestauth(", "basic_auth(",
                       "credential(", "credentials(", "passwordauthentication(", "auth(", "auth.basic(", "wifi.begin(",
                       "createuser(", "create_user(", "create_superuser("),
          rf"[\w.]{{3,24}}\(\s{{0,3}}(?:{_ARGUMENT},\s{{0,3}}){{1,2}}(?:password=)?{_SHORT}\s{{0,3}}[,)]", strong),
    Place("secret", ("client(", "search(", "credentials(", "api(", "sdk(", "init("),
          rf"\w{{3,12}}\(\s{{0,3}}(?:{_ARGUMENT},\s{{0,3}})?{_Q}(?P<secret>[A-Za-z0-9+/=_]{{24,200}}){_Q}\s{{0,3}}[,)]",
          chance),
    Place("secret", ("fernet(", "aes.new(", "secretbox(", "chacha20poly1305("),
          rf"[\w.]{{6,18}}\(\s{{0,3}}(?:key=)?b?{_Q}(?P<secret>[A-Za-z0-9+/=_-]{{16,200}}){_Q}", chance),
    Place("password", ("convertto-securestring",),
          rf"convertto-securestring(?:\s{{1,3}}-(?:asplaintext|force|string)){{0,3}}\s{{1,3}}{_SHORT}", anything),
)  # fmt: skip
_DATABASES: Final = (
    Place("password", ("identified by",), rf"identified by\s{{1,3}}(?:password\s{{1,3}})?{_SHORT}", anything),
    Place("password", ("identified by ",), r"identified by\s{1,3}(?P<secret>[^\s;'\"\\]{5,100})", strong),
    Place("password", ("password '",), r"password\s{1,3}'(?P<secret>[^'\n\\]{6,200})'\s{0,3}(?:;|$|login|valid"
          r"|superuser|createdb|in\b|\")", anything),
    Place("password", ("password(",), r"password\(\s?'(?P<secret>[^'\n\\]{4,200})'\s?\)", anything),
    Place("password", ("setpassword(", "withpassword(", "with_password(", ".password("),
          rf"[\w.]{{0,8}}password\(\s?{_SHORT}\s?\)", word),
    Place("password", ("pwd={", "password={"),
          r"\w{3,8}=(?P<secret>\{[^}\n]{2,100}\}[^;\n]{0,60})(?=;|$|\")", _braced),
    Place("password", ("password",),
          r"password\w{0,10}\s{0,3}:\s{0,3}(?:\\{0,7}[\"'])?\{\{\s{0,3}['\"](?P<secret>[^'\"\n\\]{4,100})['\"]"
          r"\s{0,3}\|\s{0,3}(?:password_hash|hash|b64encode)", anything),
)  # fmt: skip

CALLS: Final = (*_CALLS, *_DATABASES)

_INSERT: Final = late(
    r"into\s{1,3}[^\s(]{1,100}\s{0,3}\((?P<names>[^()]{1,600})\)\s{0,3}values\s{0,3}\((?P<values>[^()]{1,2000})\)",
    re.IGNORECASE,
)
_ITEM: Final = late(r"\s{0,3}(?:N?'(?P<text>(?:[^']|''){0,500})'|[^,']{1,200})\s{0,3}(?:,|$)")


def inserted(text: str) -> Iterator[tuple[int, int, str]]:
    """Where a statement inserts a value into a column of a secret's name: start, end, kind."""
    for found in _INSERT.finditer(text):
        names = [name.strip(' `"[]') for name in found["names"].split(",")]
        at = found.start("values")
        for name in names:
            item = _ITEM.match(text, at, found.end("values"))
            if item is None:
                break
            at = item.end()
            value = item["text"]
            if value and len(value) >= 4 and _fits(name, value):
                yield (*item.span("text"), "password")


def _fits(name: str, value: str) -> bool:
    match holds(name):
        case Holds.PASSWORD:
            return word(value)
        case Holds.KEY:
            return chance(value)
        case _:
            return False
