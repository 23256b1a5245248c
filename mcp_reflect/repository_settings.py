"""Variables of ours that files of a repository set: a host, a shell or an editor may take them over.

Who wrote a repository can thereby lead us to another bank or switch guards off. In a process such a variable looks like
one of the person's, so that it is told, with the file that sets it. Hooks import this module, so that it imports little.
"""

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, cast

from mcp_reflect.places import BANK, GUARDS, NESTED, PROJECT

_FILES: Final = (
    # The field `env` of Claude Code and Qwen Code
    *(".claude/settings.json", ".claude/settings.local.json", ".qwen/settings.json"),
    # What Gemini CLI and Qwen Code read at their start
    *(".gemini/.env", ".qwen/.env", ".env"),
    # direnv, and the terminals of VS Code, in which hosts are started
    *(".envrc", ".vscode/settings.json"),
)
"""The files of a repository with variables that reach our hooks or server, below its folder."""

_MOST_BYTES: Final = 1 << 18  # of a file that is read
_MOST_FOLDERS: Final = 20  # from the one that is worked in upwards
_MOST_FOUND: Final = 12
_MOST_CHARS: Final = 60  # of a variable's name
_OUR_PREFIX: Final = "MCP_REFLECT"
_TERMINAL: Final = "terminal.integrated.env."

_OTHER_BANK: Final = (
    "another bank than yours may be asked, so that your guards and lessons do not count"
)
_CODE: Final = "code of the repository may run in our processes"
_EFFECTS: Final = {
    GUARDS: "it decides whether guards refuse a call",
    BANK: _OTHER_BANK,
    "XDG_DATA_HOME": _OTHER_BANK,
    "HOME": _OTHER_BANK,
    "USERPROFILE": _OTHER_BANK,
    "LOCALAPPDATA": _OTHER_BANK,
    PROJECT: "the guards and lessons of another project may count in place of this one's",
    NESTED: "it would silence our hooks and server, and is not followed",
    "PYTHONEXECUTABLE": _CODE,
    "LD_PRELOAD": _CODE,
    "DYLD_INSERT_LIBRARIES": _CODE,
}
"""What a variable does to guards; any other one of ours changes how mcp-reflect works."""


class RepositorySetting(NamedTuple):
    """A variable of ours, with the file of a repository that sets it."""

    file: str
    variable: str

    @property
    def weakens_guards(self) -> bool:
        """Whether guards may not hold by it."""
        return self.variable in _EFFECTS and self.variable != NESTED

    def __str__(self) -> str:
        """The sentence for a person: file, variable, and what it does."""
        effect = _EFFECTS.get(self.variable, "it changes how mcp-reflect works here")
        return f"{self.file} sets {self.variable}: {effect}."


def settings_in(folders: Iterable[str]) -> list[RepositorySetting]:
    """Return the variables of ours that files of the repositories around the folders set, those of a home left out.

    The first ones in the order of `_FILES`, a dozen at most.
    """
    found: dict[RepositorySetting, None] = {}
    for folder in _with_folders_above(folders):
        for name in _FILES:
            file = os.path.join(folder, name)  # noqa: PTH118 - hooks import no pathlib
            for variable in _variables_in(file, folder):
                if _is_ours(variable) and len(found) < _MOST_FOUND:
                    found[RepositorySetting(file, variable)] = None
    return list(found)


def settings_in_force(folders: Iterable[str]) -> list[RepositorySetting]:
    """Return those that this process has in its environment; no file is read where it has none of ours."""
    if not any(map(_is_ours, os.environ.keys() - {"HOME", "USERPROFILE", "LOCALAPPDATA"})):
        return []
    return [item for item in settings_in(folders) if item.variable in os.environ]


def is_within_our_command() -> bool:
    """Return whether this process runs within an agent program that answers us (`NESTED`).

    Then our hooks and server are silent. A repository that sets the variable silences nothing.
    """
    if not os.environ.get(NESTED):
        return False
    folders = (os.environ.get("CLAUDE_PROJECT_DIR"), os.getcwd())  # noqa: PTH109 - see above
    found = settings_in(folder for folder in folders if folder)
    return all(item.variable != NESTED for item in found)


def _is_ours(variable: str) -> bool:
    """Return whether a variable is one of ours, or leads our processes elsewhere."""
    return variable.startswith(_OUR_PREFIX) or variable in _EFFECTS


def _with_folders_above(folders: Iterable[str]) -> Iterator[str]:
    """Yield the folders with those above them up to their repository; the person's home is no repository."""
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 - see above
    seen: set[str] = set()
    for start in folders:
        folder = os.path.realpath(start)
        for _ in range(_MOST_FOLDERS):
            if folder in seen or folder == home:
                break
            seen.add(folder)
            yield folder
            parent = os.path.dirname(folder)  # noqa: PTH120 - see above
            if os.path.lexists(os.path.join(folder, ".git")) or parent == folder:  # noqa: PTH118 - same
                break
            folder = parent


def _variables_in(file: str, folder: str) -> list[str]:
    """Return the names of the variables that a file sets; none where it cannot be read, or is a link out of the folder."""
    from mcp_reflect.whole_files import open_regular  # noqa: PLC0415 - few processes come here

    place = os.path.realpath(file)
    if not place.startswith(folder.rstrip(os.sep) + os.sep):
        return []
    try:
        with open_regular(place) as opened:
            text = opened.read(_MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return []
    variables = _in_lines(text)
    if file.endswith(".json"):
        variables = _in_json(text)
    return [name for name in variables if len(name) <= _MOST_CHARS and name.isidentifier()]


def _in_json(text: str) -> list[str]:
    """Return the variables of `env`, and of VS Code's terminals; all of ours that it names where it is no plain JSON."""
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError):
        return _named_in(text)
    if not isinstance(document, dict):
        return []
    variables: list[str] = []
    for name, value in cast("dict[str, Any]", document).items():
        if isinstance(value, dict) and (name == "env" or name.startswith(_TERMINAL)):
            variables += cast("dict[str, Any]", value)
    return variables


def _named_in(text: str) -> list[str]:
    """Return what stands in quotation marks before a colon in a JSON text with comments, or one that is cut."""
    import re  # noqa: PLC0415 - hooks need it only then

    return re.findall(r'"(\w{1,60})"\s{0,9}:', text)


def _in_lines(text: str) -> list[str]:
    """Return the names before `=` in the lines of a .env or .envrc: `export MCP_REFLECT_GUARDS=off`."""
    names: list[str] = []
    for line in text.splitlines():
        before, is_set, _ = line.partition("=")
        if is_set and before.strip():
            names.append(before.split()[-1])
    return names


def told(found: Iterable[RepositorySetting]) -> str:
    """Return the line for a person at the start of a session; an empty one where nothing was found."""
    sentences = " ".join(map(str, found))
    if not sentences:
        return ""
    return f"mcp-reflect: {sentences} If you did not mean that, take it out of the file."
