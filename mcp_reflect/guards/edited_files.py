"""The files that a call of an editing tool changes: those that its arguments name, or that its patches change."""

from collections.abc import Iterator, Mapping
from typing import Final

from mcp_reflect.guards.folders import NamedChange
from mcp_reflect.guards.paths import joined
from mcp_reflect.guards.shell_tools import tool_words
from mcp_reflect.models.common import Json
from mcp_reflect.shell import patched_files

_EDIT_WORDS: Final = frozenset(
    "edit multiedit write create insert replace patch update str move rename".split()
)
_EDIT_WORDS_TOGETHER: Final = (frozenset(("apply", "diff")),)
_EDITOR: Final = "editor"
"""A word in the names of tools whose argument `command` says what they do: `text_editor`."""

_READING_COMMANDS: Final = frozenset("view read open show list find search print".split())
_REMOVING_WORDS: Final = frozenset("move rename delete remove".split())
_WORDS_FOR_FILES: Final = frozenset("file files path paths folder directory dir lines".split())
_LISTS_OF_CHANGES: Final = (
    *("replacements", "edits", "changes", "operations", "modifications", "file_edits"),
    *("files", "paths", "file_paths", "filePaths"),
)
"""Arguments that list what is changed, each with its file."""

_WORDS_FOR_LISTED_FILES: Final = frozenset(
    "edit multiedit write replace patch delete remove".split()
)
"""Words of tools that change each file in a list of names: another one, `create_archive`, may only read them."""

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
    | `edit_files` with `files: [{"path": "a.py"}]`  | a.py                                       |
    | `str_replace_editor` with `command: view`      | nothing: it only shows the file            |
    | `Read` with `file_path: a.py`                  | nothing: its name has no word for a change |
    """
    words = tool_words(tool)
    if not _changes_files(words, arguments):
        return ()
    values: dict[str, Json] = {"patch": arguments}
    if isinstance(arguments, dict):
        values = arguments
    removes = not words.isdisjoint(_REMOVING_WORDS)
    named_files = [*_files_in_arguments(values, removes=removes)]
    for changed in _listed_changes(values, words):
        named_files += _files_in_arguments(changed, removes=removes)
    if named_files:
        return tuple(named_files)
    return tuple(
        NamedChange(joined("", path), is_in_known_folder=True) for path in _files_in_patches(values)
    )


def _listed_changes(
    values: Mapping[str, Json], words: frozenset[str]
) -> Iterator[Mapping[str, Json]]:
    """Yield the changes that a tool lists, each with the arguments that it would have alone.

    `replacements: [{"filePath": "a.py"}]` has one, and so has `files: ["a.py"]` of a tool with one of some words.
    """
    for name in _LISTS_OF_CHANGES:
        listed = values.get(name)
        if not isinstance(listed, list):
            continue
        for item in listed[:_MOST_PARTS]:
            if isinstance(item, dict):
                yield item
            elif isinstance(item, str) and words & _WORDS_FOR_LISTED_FILES:
                yield {"path": item}


def _files_in_arguments(values: Mapping[str, Json], *, removes: bool) -> Iterator[NamedChange]:
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


def _changes_files(words: frozenset[str], arguments: Json) -> bool:
    """Return whether a tool with these words in its name changes files; the first row that fits decides.

    A word for removing alone does not say so, since a tool may remove anything else.

    | the tool                                          | changes files                  |
    |---------------------------------------------------|--------------------------------|
    | has a `command`, and shows with it: `view`        | no                             |
    | is an editor with a `command`: `text_editor`      | yes                            |
    | has a word for a change: `Edit`, `write_file`     | yes                            |
    | is called by the word for removing alone: `Delete` | yes                           |
    | has a word for removing, and one for files        | yes; so not `delete_issue`     |
    """
    command = arguments.get("command") if isinstance(arguments, dict) else None
    if isinstance(command, str):
        if command.lower() in _READING_COMMANDS:
            return False
        if _EDITOR in words:
            return True
    if words & _EDIT_WORDS or any(map(words.issuperset, _EDIT_WORDS_TOGETHER)):
        return True
    if words <= _REMOVING_WORDS:
        return bool(words)
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
