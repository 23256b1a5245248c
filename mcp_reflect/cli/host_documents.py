"""Set one entry in a host's file of JSON, TOML or YAML, so that all other entries stay.

In JSON and TOML every byte of the others stays (`json_text`, `toml_text`), in YAML what ruamel.yaml keeps. A JSON file
with comments is refused: most hosts cannot read it either.
"""

import json
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from io import StringIO
from tomllib import TOMLDecodeError
from typing import Any, Final, Literal, cast

from mcp_reflect.cli.json_text import changed_json
from mcp_reflect.cli.toml_text import toml_values, with_table, without_table
from mcp_reflect.errors import InputError

_BYTE_ORDER_MARK: Final = "\ufeff"
"""The byte order mark, which Windows puts before UTF-8."""

_BY_HAND: Final = "Correct the file, or write the entry by hand (--print)."

Language = Literal["json", "toml", "yaml"]
Table = MutableMapping[str, Any]


def set_entry(
    language: Language, text: str, block: str, name: str, entry: Mapping[str, Any] | None
) -> str:
    """Return the document with `entry` as `name` in the table `block`; with None for `entry` it is taken out.

    A table that becomes empty is taken out as well, and a document without any entry becomes an empty text: the JSON text
    `{}` with the block "mcpServers" becomes `{"mcpServers": {"mcp-reflect": {…}}}`, and empty again without the entry.

    Raises InputError if the text is not in the language, or `block` is not a table.
    """
    if language == "toml":
        return _set_toml(text, block, name, entry)
    document = parse(language, text)
    if document.get(block) is None:
        document[block] = {}
    parent = table(document[block], block)
    if parent.get(name) == entry:
        return text
    if entry is not None:
        parent[name] = dict(entry)
    else:
        del parent[name]
        if not parent:
            del document[block]
    if not document:
        return ""
    return text_of(language, document, text)


def _set_toml(text: str, block: str, name: str, entry: Mapping[str, Any] | None) -> str:
    """Do what `set_entry` does in TOML: as text, so that every other byte stays, else by tomlkit.

    The tables may stand within one value (`mcp_servers = { a = {} }`), where no text can be added behind them: tomlkit
    writes these. The text that either way gives is read again, and has to say what is wanted; InputError if neither does.
    """
    before = _toml(text)
    entries = table(before.get(block, {}), block)
    if entries.get(name) == entry:
        return text
    wanted_entries = {key: value for key, value in entries.items() if key != name}
    if entry is not None:
        wanted_entries[name] = dict(entry)
    wanted = {**before, block: wanted_entries}
    for change in (_as_text, _by_tomlkit):
        with suppress(InputError):
            changed = change(text, block, name, entry)
            if _comparable(_toml(changed), block) == _comparable(wanted, block):
                if not changed.strip(f"{_BYTE_ORDER_MARK}\r\n\t "):
                    return ""
                return changed
    raise InputError(block, "an entry cannot be added to it without changing others", _BY_HAND)


def _as_text(text: str, block: str, name: str, entry: Mapping[str, Any] | None) -> str:
    """Return the document with the entry set or (None) taken out, where no other byte changes."""
    if entry is None:
        return without_table(text, block, name)
    return with_table(text, block, name, entry)


def _by_tomlkit(text: str, block: str, name: str, entry: Mapping[str, Any] | None) -> str:
    """Return the document with the entry set or (None) taken out, as tomlkit writes it: comments stay."""
    from tomlkit import dumps  # noqa: PLC0415 - few files need it

    document = parse("toml", text)
    entries = table(document.setdefault(block, {}), block)
    if entry is None:
        del entries[name]
    else:
        entries[name] = dict(entry)
    changed = dumps(document)
    if text.startswith(_BYTE_ORDER_MARK):
        changed = _BYTE_ORDER_MARK + changed
    return changed


def _toml(text: str) -> dict[str, Any]:
    """Return what a TOML text says; InputError if it is none."""
    try:
        return toml_values(text)
    except (TOMLDecodeError, RecursionError) as error:
        raise InputError("the file", f"it is not TOML: {error}", _BY_HAND) from None


def _comparable(values: Mapping[str, Any], block: str) -> str:
    """Return what a document says as one text, to compare it with another; an empty table `block` counts as none."""
    present = {name: value for name, value in values.items() if name != block or value}
    return json.dumps(present, sort_keys=True, default=repr)


def parse(language: Language, text: str) -> Table:
    """Return a document; an empty text has no entries. Raises InputError for what is not a table in the language."""
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - only an installation needs it
    from tomlkit import parse as parse_toml  # noqa: PLC0415 - same
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415 - same

    text = text.removeprefix(_BYTE_ORDER_MARK)
    try:
        match language:
            case "json" if not text.strip():
                document: Any = {}
            case "json":
                document = json.loads(text)
            case "toml":
                document = parse_toml(text)
            case "yaml":
                document = _yaml().load(text.replace("\r\n", "\n"))
    except json.JSONDecodeError as error:
        what_it_is_not = "JSON"
        if "//" in text or "/*" in text:
            what_it_is_not = "JSON (comments are not)"
        fault = f"it is not {what_it_is_not}: {error.msg}"
        raise InputError(f"line {error.lineno}", fault, _BY_HAND) from None
    except (TOMLKitError, YAMLError, RecursionError) as error:
        fault = f"it is not {language.upper()}: {' '.join(str(error).split())}"
        raise InputError("the file", fault, _BY_HAND) from None
    if document is None:  # YAML says so of an empty text
        document = {}
    return table(document, "the file")


def text_of(language: Literal["json", "yaml"], document: Table, before: str) -> str:
    """Return a document as text, in the form of the text `before`: its byte order mark, line ends and indentation."""
    write = {"json": _as_json, "yaml": _as_yaml}[language]
    text = write(document, before.removeprefix(_BYTE_ORDER_MARK))
    if before.startswith(_BYTE_ORDER_MARK):
        return _BYTE_ORDER_MARK + text
    return text


def _as_json(document: Table, before: str) -> str:
    """Return a document as JSON; of the text `before`, where there is any, only what differs changes."""
    if before.strip():
        return changed_json(before, json.loads(before), document)
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _as_yaml(document: Table, before: str) -> str:
    """Return a document as YAML, with the line ends and the indentation of lists of the text before."""
    yaml = _yaml()
    if any(line.startswith("  - ") for line in before.splitlines()):
        yaml.indent(mapping=2, sequence=4, offset=2)
    stream = StringIO()
    yaml.dump(document, stream)
    text = stream.getvalue()
    if "\r\n" in before:
        return text.replace("\n", "\r\n")
    return text


def table(value: Any, name: str) -> Table:
    """Return a value that is a table; InputError for any other value, in which `name` says where it stands."""
    if not isinstance(value, MutableMapping):
        raise InputError(name, "it is not a table", _BY_HAND)
    return cast("Table", value)


def _yaml() -> Any:
    """Return a reader and writer of YAML that keeps comments, quotes and long lines."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - only an installation needs it

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1_000_000
    return yaml
