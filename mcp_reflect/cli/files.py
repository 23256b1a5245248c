"""Read and write files that a person names and files of hosts, without destroying what is there.

In files of hosts other entries stay, and in TOML and YAML also comments, order and quotes: tomlkit and ruamel.yaml
change those. A file in JSON is written anew, with the indentation that it has; one with comments is refused, because
they would be lost.
"""

import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Generator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from typing import Any, Final, Literal, TextIO, cast

from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError
from mcp_reflect.security.redact import quoted

_HEAD_CHARS: Final = 4096  # of an existing file, which tell whether the same command wrote it


@contextmanager
def replace_file(path: Path, mode: int = 0o600) -> Generator[TextIO]:
    """Open a text file (UTF-8, line ends as written) that replaces `path` if the block ends without an error.

    A reader sees the old text or the new one, never a part. A link stays, and the file it leads to is replaced.
    `mode` holds the permissions. Raises OSError, with `path` unchanged, if the disk refuses or if `path` is
    there and is not a regular file.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise OSError(0, "it is not a regular file", str(path))
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(mode)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # Windows cannot open a folder
        descriptor = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def write_output(name: str, argument: str, *, mark: str, force: bool) -> Generator[TextIO]:
    """Open the file that a person named for a command's output.

    A new file, or one that has the `mark` of this command in its beginning, is replaced whole and is private (0600). A
    device or pipe is written through to. Any other file is replaced only with `force`. InputError names the `argument`.
    """
    path = Path(name)
    try:
        through = path.exists() and not stat.S_ISREG(path.stat().st_mode)
        if path.is_file() and not force:
            with path.open(encoding="utf-8", errors="replace") as file:
                head = file.read(_HEAD_CHARS)
            if head and mark not in head:
                fix = "Name another, or add --force."
                raise InputError(argument, f"{name} exists and is not from this command", fix)
        with path.open("w", encoding="utf-8", newline="") if through else replace_file(path) as file:
            yield file
    except OSError as error:
        raise InputError(argument, f"{name} cannot be written: {error.strerror}", "Name another file.") from None


def read_text(name: str, limits: Limits) -> str:
    """Return the text of a file, or of stdin for `-`. Raises InputError if it is unreadable or too large."""
    try:
        if name == "-":
            text = sys.stdin.read(limits.max_file_bytes + 1)
            limits.refuse_more("max_file_bytes", "file", len(text), "characters or more")
            return text
        with Path(name).open("rb") as file:
            content = file.read(limits.max_file_bytes + 1)  # a device has no size, and may have no end
        limits.refuse_more("max_file_bytes", "file", len(content), "bytes or more")
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise InputError("file", f"{name} cannot be read: {error.strerror}", "Give the path of a file.") from None
    except UnicodeDecodeError as error:
        raise InputError("file", f"{name} is not UTF-8 at byte {error.start}", "Save it as UTF-8.") from None


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
