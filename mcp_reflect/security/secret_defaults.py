"""Secrets that a declaration gives as the default: of Terraform, templates, command lines, schemas and models."""

from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_values import Secret

_WINDOW: Final = 400  # characters between the name and the default
_DEFAULT: Final = lazy_compile(
    r"(?i)\bdefault(?:_?value)?[\"']?[ \t]{0,8}[:=][ \t]{0,8}(?:<<[-~]?\w{1,12}\r?\n[ \t]{0,20})?"
    r"(?P<open>[\"'`]?)(?P<secret>[^\s\"'`\\]{4,200})"
)
_DEFAULT_WORDS: Final = lazy_compile(
    r"(?i)\bdefault(?:_?value)?[\"']?[ \t]{0,8}[:=][ \t]{0,8}[\"'](?P<secret>[^\s\"'\\]{1,40}(?: [^\s\"'\\]{1,40}){1,7})[\"']"
)
# What begins another declaration, or ends this one.
_NEXT: Final = lazy_compile(
    r"\n\}|\n[ \t]{0,20}\n|\bvariable\b|\bparam\b|add_argument|option\(|\bvar\b|;|\n[ \t]{0,20}[\w-]{1,60}:[ \t]{0,3}\r?\n|\}[ \t]{0,3},"
)


def default_of(text: str, end: int, *, is_password: bool) -> Secret | None:
    """Return the default that is declared for the name which ends at `end`, or None."""
    window = text[end : end + _WINDOW]
    if "default" not in window.lower():
        return None
    words = _DEFAULT_WORDS.search(window)
    if words and is_password and not _NEXT.search(window, 2, words.start()):
        if values.is_phrase(words["secret"], may_have_glue=True):
            return (end + words.start("secret"), end + words.end("secret"), "password")
        return None
    found = _DEFAULT.search(window)
    # The line end behind the name itself opens a mapping of YAML.
    if found is None or _NEXT.search(window, 2, found.start()):
        return None
    value = found["secret"] if found["open"] else found["secret"].rstrip(",)}")
    is_quoted_word = bool(found["open"]) and is_password and values.is_own_word(value)
    if not is_quoted_word and not _is_secret(value, is_password=is_password):
        return None
    start = end + found.start("secret")
    return (start, start + len(value), "password" if is_password else "secret")


def _is_secret(value: str, *, is_password: bool) -> bool:
    if values.is_placeholder(value) or values.is_said(value) or values.is_reference(value):
        return False
    if not is_password:
        return values.is_random(value) and not values.is_setting(value)
    return values.is_password(value) or values.is_random(value) or len(value) >= 8
