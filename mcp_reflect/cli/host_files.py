"""Change the files of hosts: other entries stay, and in TOML and YAML also comments, order and quotes.

tomlkit and ruamel.yaml change TOML and YAML. A file in JSON is written anew, with the indentation that it has; one with
comments is refused, because they would be lost.
"""

import json
import re
from collections.abc import Mapping, MutableMapping
from io import StringIO
from typing import Any, Final, Literal, cast

from mcp_reflect.errors import InputError
from mcp_reflect.security.redact import quoted

_BY_HAND: Final = "Correct the file, or write the entry by hand (--print)."

Language = Literal["json", "toml", "yaml"]
Table = MutableMapping[str, Any]


def set_entry(language: Language, text: str, block: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return the document with `entry` as `name` in the table `block`.

    Raises InputError if the text is not in the language, or `block` is not a table.
    """
    document = parse(language, text)
    if document.get(block) is None:
        document[block] = {}
    parent = table(document[block], block)
    if parent.get(name) == entry:
        return text
    parent[name] = dict(entry)
    return write(language, document, text)


def remove_entry(language: Language, text: str, block: str, name: str) -> str:
    """Return the document without that entry, and without the table `block` if it is empty then."""
    document = parse(language, text)
    if not document.get(block) or name not in (parent := table(document[block], block)):
        return text
    del parent[name]
    if not parent:
        del document[block]
    return write(language, document, text) if document else ""


def parse(language: Language, text: str) -> Table:
    """Return a document; an empty text has no entries. Raises InputError for what is not a table in the language."""
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - only an installation needs it
    from tomlkit import parse as parse_toml  # noqa: PLC0415 - same
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415 - same

    try:
        match language:
            case "json":
                document: Any = json.loads(text, object_pairs_hook=_unique) if text.strip() else {}
            case "toml":
                document = parse_toml(text)
            case "yaml":
                document = _yaml().load(text)
    except json.JSONDecodeError as error:
        fault = f"it is not JSON{' (comments are not)' * ('//' in text or '/*' in text)}: {error.msg}"
        raise InputError(f"line {error.lineno}", fault, _BY_HAND) from None
    except RecursionError:
        raise InputError("the file", "it is nested too deep", _BY_HAND) from None
    except (TOMLKitError, YAMLError) as error:
        fault = f"it is not {language.upper()}: {' '.join(str(error).split())}"
        raise InputError("the file", fault, _BY_HAND) from None
    return table({} if document is None else document, "the file")


def write(language: Language, document: Table, before: str) -> str:
    """Return a document as text, in the form that it had before."""
    if language == "json":
        indent = re.search(r"\n([ \t]+)\S", before)
        end = "" if before and not before.endswith("\n") else "\n"
        has_half = re.search(r"\\u[dD][89a-fA-F]", before) is not None  # half a pair can only be written as an escape
        return json.dumps(document, ensure_ascii=has_half, indent=indent[1] if indent else "  ") + end
    if language == "toml":
        from tomlkit import dumps  # noqa: PLC0415 - only an installation needs it

        return dumps(document)
    yaml = _yaml()
    if any(line.startswith("  - ") for line in before.splitlines()):  # lists keep the indentation that they have
        yaml.indent(mapping=2, sequence=4, offset=2)
    stream = StringIO()
    yaml.dump(document, stream)
    return stream.getvalue()


def table(value: Any, name: str) -> Table:
    """Return a table. Raises InputError, which names it, for another value."""
    if not isinstance(value, MutableMapping):
        raise InputError(name, "it is not a table", _BY_HAND)
    return cast("Table", value)


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    names: set[str] = set()
    for name, _ in members:
        if name in names:
            raise InputError("the file", f"'{quoted(name, 40)}' is there twice", _BY_HAND)
        names.add(name)
    return dict(members)


def _yaml() -> Any:
    from ruamel.yaml import YAML  # noqa: PLC0415 - only an installation needs it

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1_000_000
    return yaml
