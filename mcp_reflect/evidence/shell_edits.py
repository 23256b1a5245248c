"""The edits of files that a command of the shell makes, where its own text says what it puts there."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mcp_reflect.evidence.file_edits import FileEdit
from mcp_reflect.shell import Command

_MOST_FILES: Final = 20  # of one command
_SUBSTITUTE: Final = re.compile(
    r"^(?:[\d,$]{0,20})s([/|#,])((?:(?!\1).){1,500})\1((?:(?!\1).){0,500})\1[gIimM\d]*$"
)
_DELETE: Final = re.compile(r"^/((?:[^/\\]|\\.){1,500})/d$")


def edits_by_shell(command: Command, words: Sequence[str]) -> list[FileEdit]:
    """Return the edits of `cat > FILE <<EOF`, which writes a file, and of `sed -i`, which changes lines."""
    if words[:1] == ["sed"]:
        return list(_edits_by_sed(words[1:]))[:_MOST_FILES]
    if not command.document or words[:1] != ["cat"]:
        return []
    paths = [
        redirection.target for redirection in command.redirections if redirection.operator == ">"
    ]
    return [FileEdit(path, None, command.document) for path in paths[:_MOST_FILES]]


def file_shown_by(words: Sequence[str]) -> str | None:
    """Return the file that `cat FILE` prints whole, None for any other command."""
    if len(words) != 2 or words[0] != "cat" or words[1].startswith("-"):
        return None
    return words[1]


def _edits_by_sed(arguments: Sequence[str]) -> Iterator[FileEdit]:
    """Yield what `sed -i 's/old/new/' FILE` and `sed -i '/old/d' FILE` change; other scripts are not read."""
    if not any(word.startswith(("-i", "--in-place")) for word in arguments):
        return
    operands = [word for word in arguments if word and not word.startswith("-")]
    if len(operands) < 2:
        return
    script, *paths = operands
    change = _change_of(script)
    if change is None:
        return
    for path in paths:
        yield FileEdit(path, change.old, change.new)


class _LineChange(NamedTuple):
    """A text that an edit takes away, and the one in its place."""

    old: str
    new: str


def _change_of(script: str) -> _LineChange | None:
    """Return the text before and after of a sed script, "s/a/b/" or "/a/d"; None for any other."""
    substitution = _SUBSTITUTE.match(script)
    if substitution:
        new = substitution[3].replace("\\n", "\n").replace("\\t", "\t")
        return _LineChange(_unescaped(substitution[2]), new)
    deletion = _DELETE.match(script)
    if deletion:
        return _LineChange(_unescaped(deletion[1]), "")
    return None


def _unescaped(pattern: str) -> str:
    """Return the text that a plain pattern stands for, without its anchors and its backslashes."""
    text = pattern.removeprefix("^").removesuffix("$")
    return re.sub(r"\\(?=\W)", "", text)
