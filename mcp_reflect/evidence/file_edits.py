"""The edits of a call as pairs of texts: what stood there, and what stands there now."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mcp_reflect.models.common import Json

_MOST_EDITS: Final = 50  # edits of one call
_MOST_PATCH: Final = 200_000  # characters of a patch that are read
_MOST_OPENING: Final = 2_000  # characters of a text in which a patch begins
_PATHS: Final = ("file_path", "path", "absolute_path", "filePath", "target_file")
_OLD: Final = ("old_string", "old_str", "oldText", "oldString")
_NEW: Final = ("new_string", "new_str", "newText", "newString")
_WHOLE: Final = ("content", "contents", "file_text")
_BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"


@dataclass(frozen=True, slots=True)
class FileEdit:
    """An edit of a file. `old` is None where the whole file was written; `new` is None where it was deleted."""

    path: str
    old: str | None
    new: str | None


def edits_in(arguments: Mapping[str, Json]) -> list[FileEdit]:
    """Return the edits that the arguments of a call make; the first row that fits decides.

    | the arguments have                            | edits                                            |
    |-----------------------------------------------|--------------------------------------------------|
    | a patch, under any name                       | those of its hunks                               |
    | no path                                       | none                                             |
    | a path and a content                          | one that writes the whole file                   |
    | a path and a list `edits`                     | one for each pair of an old and a new text in it |
    | a path, an old text and a new one             | one that changes a part of the file              |
    """
    for value in arguments.values():
        if isinstance(value, str) and _BEGIN in value[:_MOST_OPENING]:
            return list(edits_in_patch(value))
    path = _text_of(arguments, _PATHS)
    if path is None:
        return []
    content = _text_of(arguments, _WHOLE)
    if content is not None:
        return [FileEdit(path, None, content)]
    several = arguments.get("edits")
    pairs: Sequence[Json] = [dict(arguments)]
    if isinstance(several, list):
        pairs = several[:_MOST_EDITS]
    edits: list[FileEdit] = []
    for pair in pairs:
        old = _text_of(pair, _OLD) if isinstance(pair, dict) else None
        if isinstance(pair, dict) and old is not None:
            edits.append(FileEdit(path, old, _text_of(pair, _NEW) or ""))
    return edits


def edits_in_patch(text: str) -> Iterator[FileEdit]:
    """Yield the edits of a patch of `apply_patch`, one for each hunk.

    Hunks are separate, since the lines between them are not shown: a test may be deleted in one and asserted in
    another.

    - `*** Update File: a.py`, `-old`, `+new`    -> FileEdit("a.py", "old", "new")
    - `*** Add File: a.py`, `+new`               -> FileEdit("a.py", None, "new")
    - `*** Delete File: a.py`                    -> FileEdit("a.py", None, None)
    - `*** Move to: b.py`, `*** End of File`     -> nothing: they belong to the file before
    """
    hunk = _Hunk("")
    for line in text[:_MOST_PATCH].splitlines():
        if line.startswith(_END):
            break
        if line.startswith("@@"):
            yield from hunk.edits()
            hunk = _Hunk(hunk.path, hunk.is_of_new_file)
        elif not line.startswith("*** "):
            hunk.take(line)
        elif " File: " in line:
            yield from hunk.edits()
            action, _, path = line.removeprefix("*** ").partition(" File: ")
            hunk = _Hunk(path, is_of_new_file=action == "Add")
            if action == "Delete":
                yield FileEdit(path, None, None)
    yield from hunk.edits()


@dataclass(slots=True)
class _Hunk:
    """Lines of a patch that stand together in a file: before the edit, and after it."""

    path: str
    is_of_new_file: bool = False
    old: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])
    has_lines: bool = False

    def take(self, line: str) -> None:
        """Add a line by its mark; one without any is blank context, whose single blank was cut off."""
        mark, rest = line[:1] or " ", line[1:]
        self.has_lines = self.has_lines or bool(line)
        if mark == "+":
            self.new.append(rest)
        elif mark == "-":
            self.old.append(rest)
        elif mark == " " and not self.is_of_new_file:
            self.old.append(rest)
            self.new.append(rest)

    def edits(self) -> Iterator[FileEdit]:
        """Yield the edit, if the hunk has any line."""
        if not self.path or not self.has_lines:
            return
        old = None if self.is_of_new_file else "\n".join(self.old)
        yield FileEdit(self.path, old, "\n".join(self.new))


def _text_of(arguments: Mapping[str, Json], names: tuple[str, ...]) -> str | None:
    """Return the text under the first of these names that has one, None where none has: hosts name it differently."""
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str):
            return value
    return None
