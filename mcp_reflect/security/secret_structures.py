"""Secrets that a JSON object names in one field and has in another: `{"selector": "#password", "text": …}`."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, cast

from mcp_reflect.patterns import lazy_compile

_NAMING: Final = frozenset(
    "key name selector element label field header column locator parameterkey".split()
)
_VALUES: Final = frozenset("value text fill content val parametervalue".split())
_COLUMNS: Final = ("columns", "fields", "headers", "header")
_ROWS: Final = ("rows", "data", "values", "records")
_OF_A_FIELD: Final = frozenset("field input box textbox element".split())
_WORD: Final = lazy_compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_BLANK: Final = lazy_compile(r"\s")
_MOST_NAME: Final = 80  # characters
_MOST_WORDS: Final = 2
"""Words at the end of a name that are read as the name of a secret: `api_key`, `client secret`."""

_MOST_ROWS: Final = 1_000  # of a table
_MOST_ARGUMENTS: Final = 200  # words of a command
_LEAST: Final = 6  # characters of a secret
_MOST_TEXT: Final = 200_000  # characters of a text that is read as JSON
_MOST_PARTS: Final = 20_000  # of its objects and lists
_ENDS: Final = "])}'\" \t\r\n"  # signs that may close a name

IsName = Callable[[str], bool]
"""Tells whether a name is one of a secret: `api_key`, `password`."""


def named_texts(fields: Mapping[Any, Any], is_name: IsName) -> Iterator[str]:
    """Yield the texts of an object that another of its fields names as secrets; the caller says which look like one.

    | the object                                                  | yields       |
    |-------------------------------------------------------------|--------------|
    | {"element": "Password field", "ref": "e12", "text": "hK29"}  | hK29         |
    | {"columns": ["user", "password"], "rows": [["ada", "hK29"]]} | hK29         |
    | {"label": "Password", "text": "Forgot it?"}                 | nothing      |
    """
    value_by_name = {name.lower(): value for name, value in fields.items() if isinstance(name, str)}
    names = [value_by_name[name] for name in _NAMING & value_by_name.keys()]
    if any(_names_secret(name, is_name) for name in names):
        values = [value_by_name[name] for name in _VALUES & value_by_name.keys()]
        yield from filter(_is_one_word, values)
    columns = _first_list(value_by_name, _COLUMNS)
    rows = _first_list(value_by_name, _ROWS)
    if columns is not None and rows is not None:
        yield from _cells(columns, rows, is_name)


def _first_list(value_by_name: Mapping[str, Any], names: Sequence[str]) -> list[Any] | None:
    """Return the list under the first of some names that has one, None where none has."""
    for name in names:
        value = value_by_name.get(name)
        if isinstance(value, list):
            return cast("list[Any]", value)
    return None


def command_words(fields: Mapping[Any, Any]) -> list[str]:
    """Return the words of a command that an object has as a list, alone or as `args` behind it; none for another one.

    {"command": "mysql", "args": ["-u", "root"]} gives mysql, -u and root.
    """
    command, arguments = fields.get("command"), fields.get("args")
    words: list[Any] = []
    if isinstance(command, list):
        words = cast("list[Any]", command)
    elif isinstance(command, str) and isinstance(arguments, list):
        words = [command, *cast("list[Any]", arguments)]
    if len(words) > _MOST_ARGUMENTS or not all(map(_is_without_blanks, words)):
        return []
    return words


def _is_without_blanks(word: Any) -> bool:
    """Return whether a word of a command is a text that stands for itself in a line."""
    return isinstance(word, str) and _BLANK.search(word) is None


def _cells(columns: list[Any], rows: list[Any], is_name: IsName) -> Iterator[str]:
    """Yield the cells of the columns of a table that are named after a secret."""
    indexes = [
        index for index, column in enumerate(columns) if _names_secret(_name_of(column), is_name)
    ]
    if not indexes:
        return
    for row in islice(rows, _MOST_ROWS):
        if isinstance(row, list):
            cells = cast("list[Any]", row)
            cells_of_secrets = [cells[index] for index in indexes if index < len(cells)]
            yield from filter(_is_one_word, cells_of_secrets)


def _name_of(column: Any) -> Any:
    """Return the name of a column, which stands alone or as `{"name": "password", "type": "text"}`."""
    if isinstance(column, dict):
        return cast("dict[str, Any]", column).get("name")
    return column


def _names_secret(name: Any, is_name: IsName) -> bool:
    """Return whether a name ends in the name of a secret: `#password`, `input[name=api_key]`, `Password field`."""
    if not isinstance(name, str) or len(name) > _MOST_NAME:
        return False
    words = [word.lower() for word in _WORD.findall(name.rstrip(_ENDS))]
    while words and words[-1] in _OF_A_FIELD:
        words.pop()
    if not words:
        return False
    if words[-1] == "token":
        return True
    endings = ["_".join(words[-count:]) for count in range(1, _MOST_WORDS + 1)]
    return any(map(is_name, endings))


def _is_one_word(value: Any) -> bool:
    """Return whether a value may be a secret by its form: a text without blanks that is not short."""
    return isinstance(value, str) and len(value) >= _LEAST and _BLANK.search(value) is None


def texts_in_json(text: str, is_name: IsName) -> list[str]:
    """Return what `named_texts` yields of every object in a text that is JSON, as the text has it."""
    if text.lstrip()[:1] not in ("{", "[") or len(text) > _MOST_TEXT:
        return []
    try:
        waiting: list[Any] = [json.loads(text)]
    except (ValueError, RecursionError):
        return []
    found: list[str] = []
    for _ in range(_MOST_PARTS):
        if not waiting:
            break
        part = waiting.pop()
        if isinstance(part, dict):
            fields = cast("dict[str, Any]", part)
            found += named_texts(fields, is_name)
            waiting += fields.values()
        elif isinstance(part, list):
            waiting += cast("list[Any]", part)
    return [json.dumps(secret, ensure_ascii=False)[1:-1] for secret in found]
