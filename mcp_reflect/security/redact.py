"""Redaction: secrets and invisible characters are taken out of texts, and of all texts of a value.

Every text passes here once at the entrance, before it is split, and the database does it again over all that it
writes. Doing it twice changes nothing. `secret_search` finds the secrets of one text; here clean forms are remembered,
and a value of a field whose name is a secret's is cut whole.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, Final, cast

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.clean import Clean
from mcp_reflect.security.cleaned_texts import CleanedTexts
from mcp_reflect.security.normal_form import normalize
from mcp_reflect.security.printed_outputs import cut_printed, cut_printed_in_next
from mcp_reflect.security.reading_allowance import shared_allowance
from mcp_reflect.security.secret_labels import kind_of_name
from mcp_reflect.security.secret_search import without_secrets
from mcp_reflect.security.secret_structures import command_words, named_texts, texts_in_json
from mcp_reflect.security.secret_values import START, mark
from mcp_reflect.security.texts_of_lists import cut_across, joined_columns

_LEAST_KEY_CHARS: Final = 20  # of one word, from which on it can be a key
_MOST_REMEMBERED: Final = 4_000_000  # characters of texts whose clean forms are remembered
_MOST_CUTS: Final = 5  # that a note names
_LEAST_NUMBER: Final = (
    100_000  # that is taken for a password of digits; smaller numbers count something
)
_QUOTED_AHEAD: Final = 50
"""Times the characters of a quotation that are redacted before it is cut."""

_MARK: Final = lazy_compile(r"\[redacted:(\w{1,40})\]")
_NAME: Final = lazy_compile(r"[\w.$@-]{1,60}(?: [\w.$@-]{1,60})?")
"""A name of one word or two; more words are a sentence."""

_NAME_OF_SECRET: Final = lazy_compile(
    r"(?i)(?:.{0,40}[_-])?(?:secret|api[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|secret[_-]?key"
    r"|client[_-]?secret|private[_-]?key|authorization)$"
)
"""A name whose value is a secret whatever the value looks like."""

_DRAWN: Final = lazy_compile(r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[^\s(){}$<>./~][^\s(){}$<>]{5,}")
"""A word with letters and digits that is no path, call or place for a value."""

_MOST_NAMED: Final = 200  # texts of a text of JSON that its own fields name

_cleaned: Final = CleanedTexts(_MOST_REMEMBERED)
_cleaned_lines: Final = CleanedTexts(_MOST_REMEMBERED)
"""Clean forms of texts that are read as the lines of one: a secret of several lines has a mark in each."""


# Texts


def clean_text(text: str) -> Clean:
    """Return the normal form of a text, each secret replaced by `[redacted:KIND]`.

    "TOKEN=ghp_…" gives "TOKEN=[redacted:github_token]".
    """
    if isinstance(text, Clean):
        return text
    text = normalize(text)
    if len(text) < _LEAST_KEY_CHARS and text.isascii() and text.isalnum():
        return Clean(text)
    return _cleaned_once(text, _cleaned, keep_lines=False)


def quoted(value: object, most: int = 80) -> Clean:
    """Return what an error may repeat of a value: redacted first, then cut, because half a secret is not recognized."""
    beginning = str(value)[: most * _QUOTED_AHEAD]
    return Clean(clean_text(beginning)[:most])


def note_clean(text: str) -> Clean:
    """Note that a text was put together of clean ones, and return it; only the gate says so."""
    clean_form = Clean(text)
    _cleaned.add(clean_form, clean_form)
    return clean_form


def context_hash(context: str | None) -> str | None:
    """Return the first 16 hex digits of the SHA-256 of a context in its clean form, None for no context."""
    import hashlib  # noqa: PLC0415 - hooks need none, and have no time

    if not context:
        return None
    return hashlib.sha256(clean_text(context).encode()).hexdigest()[:16]


def _cleaned_once(text: str, remembered: CleanedTexts, *, keep_lines: bool) -> Clean:
    """Return the clean form of a text: the remembered one, or a new one.

    A new form is remembered if nothing is left to find in it: reading it again would change nothing.
    """
    clean_form = remembered.get(text)
    if clean_form is not None:
        return clean_form
    redacted = without_secrets(_without_named_texts(text), keep_lines=keep_lines)
    clean_form = Clean(redacted.text)
    if redacted.is_done:
        remembered.add(text, clean_form)
    return clean_form


def _without_named_texts(text: str) -> str:
    """Return a text that is JSON with marks for the texts that another field of their object names as secrets."""
    named = filter(_reads_as_secret, dict.fromkeys(texts_in_json(text, _is_name_of_secret)))
    for secret in islice(named, _MOST_NAMED):
        text = text.replace(f'"{secret}"', f'"{mark("password")}"')
    return text


# Values


def clean(value: Any) -> Any:
    """Return a JSON value with every text in it cleaned, and every value of a secret's name cut out.

    {"api_key": "abc", "note": "done"} gives {"api_key": "[redacted:password]", "note": "done"}.
    """
    with shared_allowance():
        return _clean(value)


def without_printed(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call with its answer without the secrets that its command printed alone; all else stays as it is."""
    return cut_printed(call, _clean_lines)


def _clean(value: Any) -> Any:
    """Return what `clean` does, for a part of the value that it was given."""
    match value:
        case str():
            return clean_text(value)
        case dict():
            return _clean_fields(cast("dict[Any, Any]", value))
        case [str() as name, str() as secret] if _is_name_of_secret(name):
            return [clean_text(name), _cut_whole(secret)]  # a header as a pair
        case list() | tuple():
            return _clean_list(cast("Sequence[Any]", value))
        case _:
            return value


def _clean_fields(fields: dict[Any, Any]) -> dict[str, Any]:
    """Return an object clean; the value of a field with a secret's name is cut whole.

    An object may be such a field itself: {"name": "DB_PASSWORD", "value": "x"} has a secret under "value".
    """
    fields = cut_printed(fields, _clean_lines)
    name = fields.get("name", fields.get("key"))
    is_named_value = isinstance(name, str) and _is_name_of_secret(name)
    secrets = {text for text in named_texts(fields, _is_name_of_secret) if _reads_as_secret(text)}
    secrets.update(_words_cut_from_command(fields))
    cleaned: dict[str, Any] = {}
    for key, value in _with_marks(fields, secrets).items():
        is_secret = _is_name_of_secret(str(key)) or (is_named_value and key == "value")
        cleaned[clean_text(str(key))] = _cut_whole(value) if is_secret else _clean(value)
    return cleaned


def _reads_as_secret(text: str) -> bool:
    """Return whether a text behind a secret's name is one: `hK29dsPq1xZ`, and not `required` or `/run/secrets/db`.

    It is asked of each of very many texts, so that the whole search is not made for it.
    """
    return _DRAWN.fullmatch(text) is not None


def _words_cut_from_command(fields: Mapping[Any, Any]) -> list[str]:
    """Return the words with a secret of a command that stands as a list: `-phK29` of ["mysql", "-u", "root", "-phK29"]."""
    words = command_words(fields)
    if not words:
        return []
    left = clean_text(" ".join(words)).split(" ")
    return [word for word in words if word not in left]


def _with_marks(value: Any, secrets: AbstractSet[str]) -> Any:
    """Return a value with a mark for each of its texts that is one of some secrets."""
    if not secrets:
        return value
    match value:
        case str() if value in secrets:
            return mark("password")
        case dict():
            fields = cast("dict[Any, Any]", value)
            return {name: _with_marks(item, secrets) for name, item in fields.items()}
        case list():
            return [_with_marks(item, secrets) for item in cast("list[Any]", value)]
        case _:
            return value


def _clean_list(items: Sequence[Any]) -> list[Any]:
    """Return a list clean: each of its items, and what stands across several of them, as a key with a line an item."""
    items = cut_printed_in_next(items, _clean_lines)
    cleaned = [_clean(item) for item in cut_across(items, _clean_lines)]
    for joined in joined_columns(cleaned):  # it is not read once more before it is stored
        _cleaned_lines.add(joined, Clean(joined))
    return cleaned


def _clean_lines(joined: str) -> str:
    """Return a text clean, with as many lines as it had."""
    return _cleaned_once(joined, _cleaned_lines, keep_lines=True)


def _is_name_of_secret(name: str) -> bool:
    """Return whether the value of a name is a secret whatever it looks like: `api_key`, `DB_PASSWORD`."""
    if not _NAME.fullmatch(name):
        return False
    return bool(_NAME_OF_SECRET.match(name)) or kind_of_name(name) == "password"


def _cut_whole(value: Any) -> Any:
    """Return the value of a secret's name without the secret.

    | the value                      | becomes                                |
    |--------------------------------|----------------------------------------|
    | a text                         | a mark; an empty or marked one stays   |
    | a number of six digits or more | a mark: it may be a password of digits |
    | a list                         | a list of its items, each cut so       |
    | any other                      | its clean form                         |
    """
    match value:
        case str() if value and not value.startswith(START):
            return mark("password")
        case int() if not isinstance(value, bool) and abs(value) >= _LEAST_NUMBER:
            return mark("password")
        case list() | tuple():
            return [_cut_whole(item) for item in cast("Sequence[Any]", value)]
        case _:
            return _clean(value)


# What was cut


def cuts(value: Any, cleaned: Any) -> str:
    """Return what `clean` cut out of a value, such as "password in correction"; nothing if it cut nothing."""
    found = [*dict.fromkeys(_cuts(value, cleaned, ""))]
    named = found[:_MOST_CUTS]
    if len(found) > _MOST_CUTS:
        named.append(f"{len(found) - _MOST_CUTS} more")
    return ", ".join(named)


def _cuts(before: Any, after: Any, path: str) -> Iterator[str]:
    """Yield each kind of secret that was cut with the path of its field: "password in headers.token".

    `before` and `after` are the same part of a value, at this path, before it was cleaned and behind that.
    """
    if before is after:
        return
    match before, after:
        case dict(), dict():
            fields = cast("dict[Any, Any]", before)
            value_by_name: dict[str, Any] = {
                clean_text(str(name)): value for name, value in fields.items()
            }
            for name, value in cast("dict[str, Any]", after).items():
                yield from _cuts(value_by_name[name], value, f"{path}.{name}" if path else name)
        case (list() | tuple(), list()):
            pairs = zip(cast("list[Any]", before), cast("list[Any]", after), strict=True)
            for item, cleaned_item in pairs:
                yield from _cuts(item, cleaned_item, path)
        case _:
            for kind in Counter(_MARK.findall(str(after))) - Counter(_MARK.findall(str(before))):
                yield f"{kind} in {path}" if path else kind
