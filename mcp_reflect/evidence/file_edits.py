"""The edits of a call as pairs of texts: what stood there, and what stands there now."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.common import Json

_MOST_EDITS: Final = 50  # of one call
_MOST_PATCH: Final = 200_000  # characters
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
    """Return the edits that the arguments of a call make, as the hosts that are known write them."""
    path = _text_of(arguments, _PATHS)
    patch = next((value for value in arguments.values() if _is_patch(value)), None)
    if isinstance(patch, str):
        return list(edits_in_patch(patch))
    if path is None:
        return []
    whole = _text_of(arguments, _WHOLE)
    if whole is not None:
        return [FileEdit(path, None, whole)]
    several = arguments.get("edits")
    pairs: Sequence[Json] = [dict(arguments)]
    if isinstance(several, list):
        pairs = several[:_MOST_EDITS]
    found = [
        FileEdit(path, _text_of(pair, _OLD), _text_of(pair, _NEW) or "")
        for pair in pairs
        if isinstance(pair, dict)
    ]
    return [edit for edit in found if edit.old is not None]


def edits_in_patch(text: str) -> Iterator[FileEdit]:
    """Return the edits of a patch of `apply_patch`."""
    path = ""
    old: list[str] = []
    new: list[str] = []
    is_added = False
    for line in [*text[:_MOST_PATCH].splitlines(), _END]:
        if not line.startswith("*** "):
            if line[:1] in ("-", " "):
                old.append(line[1:])
            if line[:1] in ("+", " "):
                new.append(line[1:])
            continue
        if " File: " not in line and line != _END:
            continue  # `*** Move to: …` and `*** End of File` belong to the file before
        if path and (old or new):
            yield FileEdit(path, None if is_added else "\n".join(old), "\n".join(new))
        action, _, path = line[4:].partition(" File: ")
        old = []
        new = []
        is_added = action == "Add"
        if action == "Delete":
            yield FileEdit(path, None, None)


def _is_patch(value: Json) -> bool:
    return isinstance(value, str) and _BEGIN in value[:2_000]


def _text_of(arguments: Mapping[str, Json], names: tuple[str, ...]) -> str | None:
    values = (arguments.get(name) for name in names)
    return next((value for value in values if isinstance(value, str)), None)
