"""Passwords before a host, without a scheme of an address: `ada:X@10.0.0.1`, as tools and people write them."""

from collections.abc import Iterator
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_tables import words_of
from mcp_reflect.security.secret_values import Secret

_WORDS: Final = "secret_words.txt"
_MOST: Final = 1_000  # signs of a text that are looked at
_LONGEST: Final = 100
_USER: Final = lazy_compile(r"(?:^|(?<=[\s\"'`(=,*]))(?:[\w.-]{1,40}[/\\])?[\w.-]{1,40}\Z")
_NUMBER: Final = lazy_compile(r"\d{1,3}(?:\.\d{1,3}){3}(?![\w.])|localhost\b|(?:tcp|unix)\(")
_HOST: Final = lazy_compile(r"[a-z][\w-]{0,60}(?:\.[\w-]{1,60}){1,6}(?!\w)")
_SECRET: Final = lazy_compile(r"[^\s:/@\"'`<>$]{4,100}\Z")


_BEHIND: Final = lazy_compile(  # an address of mail, and its password
    r"@[a-z][\w-]{0,60}(?:\.[\w-]{1,60}){1,6} [/|] [`\"']?(?P<secret>[^\s\"'`/:,;]{6,60})(?=[.,;)\"'`]{0,2}(?:\s|\Z))"
)


def addressed_secrets(text: str) -> list[Secret]:
    """Return the passwords between a user and a host."""
    if "@" not in text:
        return []
    return [*_before_hosts(text)]


def _before_hosts(text: str) -> Iterator[Secret]:
    at = text.find("@")
    for _ in range(_MOST):
        if at < 0:
            return
        colon = text.rfind(":", max(0, at - _LONGEST), at)
        if colon > 0 and _is_password(text, colon, at):
            yield (colon + 1, at, "password")
        behind = _BEHIND.match(text, at)
        if behind and values.strange(behind["secret"]):
            yield (*behind.span("secret"), "password")
        at = text.find("@", at + 1)


def _is_password(text: str, colon: int, at: int) -> bool:
    """True behind a user: of a host by its number any word of its own, of another one only a strange word."""
    user = _USER.search(text, max(0, colon - 82), colon)
    value = text[colon + 1 : at]
    if user is None or user[0].lower() in words_of(_WORDS, "scheme") or not _SECRET.match(value):
        return False
    if _NUMBER.match(text, at + 1):
        return values.is_own_word(value)
    return _HOST.match(text, at + 1) is not None and values.strange(value)
