"""Secrets that a declaration gives as the default: of Terraform, templates, command lines, schemas and models."""

import re
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_values import Secret

_WINDOW: Final = 400  # characters between the name and the default
_LEAST_UNQUOTED: Final = 8  # characters from which on any word is taken for a password
_ASSIGNED: Final = r"(?i)\bdefault(?:_?value)?[\"']?[ \t]{0,8}[:=][ \t]{0,8}"
_DEFAULT: Final = lazy_compile(
    rf"{_ASSIGNED}(?:<<[-~]?\w{{1,12}}\r?\n[ \t]{{0,20}})?"  # a here-document of Terraform
    r"(?P<open>[\"'`]?)(?P<secret>[^\s\"'`\\]{4,200})"
)
_DEFAULT_WORDS: Final = lazy_compile(
    rf"{_ASSIGNED}[\"'](?P<secret>[^\s\"'\\]{{1,40}}(?: [^\s\"'\\]{{1,40}}){{1,7}})[\"']"
)
_NEXT: Final = lazy_compile(
    r"\n\}|\n[ \t]{0,20}\n|\bvariable\b|\bparam\b|add_argument|option\(|\bvar\b|;"
    r"|\n[ \t]{0,20}[\w-]{1,60}:[ \t]{0,3}\r?\n|\}[ \t]{0,3},"
)
"""What begins another declaration, or ends this one."""

_BEHIND_NAME: Final = 2
"""Characters behind a name in which nothing ends its declaration: the line end there opens a mapping of YAML."""


def default_of(text: str, end: int, *, is_password: bool) -> Secret | None:
    """Return the default that is declared for the name which ends at `end`, or None.

    | the declaration                                     | the secret              |
    |-----------------------------------------------------|-------------------------|
    | `variable "db_password" { default = "Kestrel77" }`  | Kestrel77               |
    | `password: {default: "correct horse battery"}`      | the words in quotes     |
    | `api_key: default: name`                            | none: it is no random one |
    """
    window = text[end : end + _WINDOW]
    if "default" not in window.lower():
        return None
    words = _DEFAULT_WORDS.search(window)
    if words is not None and is_password and _is_of_this_name(window, words.start()):
        if not values.is_phrase(words["secret"], may_have_glue=True):
            return None
        return (end + words.start("secret"), end + words.end("secret"), "password")
    found = _DEFAULT.search(window)
    if found is None or not _is_of_this_name(window, found.start()):
        return None
    value = _value_of(found)
    is_quoted_word = bool(found["open"]) and is_password and values.is_own_word(value)
    if not is_quoted_word and not _is_secret(value, is_password=is_password):
        return None
    start = end + found.start("secret")
    kind = "password" if is_password else "secret"
    return (start, start + len(value), kind)


def _is_of_this_name(window: str, start: int) -> bool:
    """Return whether no other declaration begins between the name and the default, which stands at `start`."""
    return _NEXT.search(window, _BEHIND_NAME, start) is None


def _value_of(found: re.Match[str]) -> str:
    """Return the value of a default, without what closes the declaration behind a bare one."""
    if found["open"]:
        return found["secret"]
    return found["secret"].rstrip(",)}")


def _is_secret(value: str, *, is_password: bool) -> bool:
    """Return whether a value is a secret by its looks: of a key or token a random one, of a password nearly any word."""
    if values.is_placeholder(value) or values.is_said(value) or values.is_reference(value):
        return False
    if not is_password:
        return values.is_random(value) and not values.is_setting(value)
    has_looks = values.is_password(value) or values.is_random(value)
    return has_looks or len(value) >= _LEAST_UNQUOTED
