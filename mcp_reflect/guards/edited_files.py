"""The files that a call of an editing tool changes: those that its arguments name, or that its patches change."""

from collections.abc import Iterator
from typing import Final

from mcp_reflect.guards.folders import NamedChange
from mcp_reflect.guards.paths import joined
from mcp_reflect.guards.shell_tools import tool_words
from mcp_reflect.models.common import Json
from mcp_reflect.shell import patched_files

_EDIT_WORDS: Final = frozenset(
    "edit write create insert replace patch update str move rename".split()
)
_REMOVING_WORDS: Final = frozenset("move rename delete remove".split())
_WORDS_FOR_FILES: Final = frozenset("file files path paths folder directory dir lines".split())
_SOURCE_ARGUMENTS: Final = ("source", "old_path", "from")
_TARGET_ARGUMENTS: Final = ("destination",)
_MOST_PARTS: Final = 400
"""Parts of an argument that are looked at as patches; chosen, so that a large call costs little."""

# The arguments by which tools that edit name their file.
_PATH_ARGUMENTS: Final = (
    "file_path",
    "path",
    "filePath",
    "filename",
    "file",
    "absolute_path",
    "notebook_path",
    "target_file",
    "relative_path",  # serena
    "pathInProject",  # JetBrains
    "destination",  # of tools that move a file
)


def files_changed_by_tool(tool: str, arguments: Json) -> tuple[NamedChange, ...]:
    """Return the files that a call of a tool which is no shell changes, as its arguments name them.

    | the call                                       | changes                                    |
    |------------------------------------------------|--------------------------------------------|
    | `Edit` with `file_path: a.py`                  | a.py                                       |
    | `move_file` with `source: a`, `destination: b` | a, which is removed, and b                 |
    | `apply_patch` with `*** Update File: a.py`     | a.py                                       |
    | `Read` with `file_path: a.py`                  | nothing: its name has no word for a change |
    """
    words = tool_words(tool)
    if not _changes_files(words):
        return ()
    values: dict[str, Json] = {"patch": arguments}
    if isinstance(arguments, dict):
        values = arguments
    named_files = tuple(_files_in_arguments(values, removes=not words.isdisjoint(_REMOVING_WORDS)))
    if named_files:
        return named_files
    return tuple(
        NamedChange(joined("", path), is_in_known_folder=True) for path in _files_in_patches(values)
    )


def _files_in_arguments(values: dict[str, Json], *, removes: bool) -> Iterator[NamedChange]:
    """Yield the files that the arguments name; a tool that removes a file, or moves it away, names its source too."""
    names = _PATH_ARGUMENTS
    if removes:
        names = (*_PATH_ARGUMENTS, *_SOURCE_ARGUMENTS)
    for name in names:
        path = values.get(name)
        if isinstance(path, str):
            yield NamedChange(
                joined("", path),
                is_in_known_folder=True,
                removes=removes and name not in _TARGET_ARGUMENTS,
            )


def _changes_files(words: frozenset[str]) -> bool:
    """Return whether a tool with these words in its name changes files: `Edit`, `write_file`, `delete_file`.

    A word for removing alone does not say so, since a tool may remove anything else: `delete_issue`.
    """
    if words & _EDIT_WORDS:
        return True
    return bool(words & _REMOVING_WORDS) and bool(words & _WORDS_FOR_FILES)


def _files_in_patches(values: dict[str, Json]) -> list[str]:
    """Return the files of the patches among the arguments of a tool: those behind `*** Update File: a.py` or `+++ b/a.py`.

    A patch may be a text, or a list of texts.
    """
    files: list[str] = []
    for value in values.values():
        parts = value if isinstance(value, list) else [value]
        for part in parts[:_MOST_PARTS]:
            if isinstance(part, str):
                files += patched_files(part)
    return files
