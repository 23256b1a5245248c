"""Change an entry in TOML and YAML that people edit by hand: comments, order and quotes stay.

tomlkit and ruamel.yaml do the work; they are imported when a file is changed, never at start.
"""

from collections.abc import Mapping, MutableMapping
from io import StringIO
from typing import Any, Literal, cast

from mcp_reflect.errors import InputError

Language = Literal["toml", "yaml"]
Table = MutableMapping[str, Any]


def set_entry(language: Language, text: str, block: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return the document with `entry` as `name` in the table `block`.

    Raises InputError if the text is not in the language, or `block` is not a table.
    """
    document = _parse(language, text)
    if not document.get(block):
        document[block] = {}
    parent = _table(document[block], block)
    if parent.get(name) == entry:
        return text
    parent[name] = dict(entry)
    return _format(language, document, text)


def remove_entry(language: Language, text: str, block: str, name: str) -> str:
    """Return the document without that entry, and without the table `block` if it is empty then."""
    document = _parse(language, text)
    if not document.get(block) or name not in (parent := _table(document[block], block)):
        return text
    del parent[name]
    if not parent:
        del document[block]
    return _format(language, document, text) if document else ""


def _parse(language: Language, text: str) -> Table:
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - only an installation needs it
    from tomlkit import parse  # noqa: PLC0415 - same
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415 - same

    try:
        document: Any = parse(text) if language == "toml" else _yaml().load(text)
    except (TOMLKitError, YAMLError) as error:
        reason = " ".join(str(error).split())
        fault = f"it is not {language.upper()}: {reason}"
        raise InputError("the file", fault, "Correct the file; nothing was changed.") from None
    return _table({} if document is None else document, "the file")


def _format(language: Language, document: Table, before: str) -> str:
    if language == "toml":
        from tomlkit import dumps  # noqa: PLC0415 - only an installation needs it

        return dumps(document)
    yaml = _yaml()
    if any(line.startswith("  - ") for line in before.splitlines()):  # lists keep the indentation that they have
        yaml.indent(mapping=2, sequence=4, offset=2)
    stream = StringIO()
    yaml.dump(document, stream)
    return stream.getvalue()


def _yaml() -> Any:
    from ruamel.yaml import YAML  # noqa: PLC0415 - only an installation needs it

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1_000_000
    return yaml


def _table(value: Any, name: str) -> Table:
    if not isinstance(value, MutableMapping):
        raise InputError(name, "it is not a table", "Correct the file, or write the entry by hand (--print).")
    return cast("Table", value)
