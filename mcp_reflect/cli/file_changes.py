"""Changes of hosts' files: shown before they are made, made together or not at all, with the files as they were beside them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from mcp_reflect.cli.files import replace_file
from mcp_reflect.errors import InputError

Edit = Callable[[str], str]
"""Returns a file's new text for its present text."""

_NO_ENTRY: Final = re.compile(r'\{("\w+":\{\})?\}')
"""A JSON document without an entry, or with one empty block."""

_NEW_FILE_MODE: Final = 0o600  # settings of hosts may hold keys


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's text before and after a change; None means that there is no file.

    With `drops_backup` the copy from before the first change is removed, since the file has all of it again.
    """

    path: Path
    before: str | None
    after: str | None
    drops_backup: bool = False

    def apply(self) -> None:
        """Back the file up and write it, or remove it with its empty folders. InputError if that cannot be done."""
        if read_file(self.path) != self.before:
            raise InputError(str(self.path), "it changed in the meantime", "Run the command again.")
        backup = backup_of(self.path)
        mode = _NEW_FILE_MODE
        try:
            if self.before is not None:
                mode = self.path.stat().st_mode & 0o777
                if self.after is not None and not backup.exists():
                    replace_file(backup, self.before, mode)
            if self.after is None:
                self.path.unlink()
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(self.path, self.after, mode)
            if self.drops_backup:
                backup.unlink()
            _remove_empty_folders(self.path.parent)
        except OSError as error:
            fault = f"it cannot be written: {error.strerror}"
            raise InputError(str(self.path), fault, "Nothing was changed.") from None

    def take_back(self, *, had_backup: bool) -> None:
        """Put the file back as it was; nothing is done where another program changed the file meanwhile."""
        if read_file(self.path) == self.after:
            FileChange(self.path, self.after, self.before).apply()
            if not had_backup:
                backup_of(self.path).unlink(missing_ok=True)


def _remove_empty_folders(folder: Path) -> None:
    """Remove a folder if it is empty, and then those above it, inside of the home and the working folder only."""
    roots = (Path.home(), Path.cwd())
    while any(root in folder.parents for root in roots) and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def backup_of(path: Path) -> Path:
    """Return the path of the copy of a file that is made before its first change."""
    return path.with_name(f"{path.name}.before-mcp-reflect")


def read_file(path: Path) -> str | None:
    """Return a file's text, or None if there is no file. Raises InputError if it cannot be read."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(str(path), "it is not a regular file", "Nothing was changed.")
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(
            str(path), f"it cannot be read: {error.strerror}", "Nothing was changed."
        ) from None
    except UnicodeDecodeError:
        raise InputError(
            str(path), "it is not UTF-8", "Write the entry by hand (--print)."
        ) from None


def change_of(path: Path, edits: Sequence[Edit], *, removes: bool) -> FileChange:
    """Return the change that `edits` make of a file; where they change nothing, `before` and `after` are the same.

    With `removes` the edits take our entries out, so that a file without any other entry may go as well.
    """
    before = read_file(path)
    text = before or ""
    try:
        after = _edited(text, edits)
    except InputError as error:
        raise InputError(f"{path}, {error.field}", error.fault, error.fix) from None
    if after == text:
        return FileChange(path, before, before)
    if not removes:
        return FileChange(path, before, after)
    return _removal(path, before, after, edits)


def _removal(path: Path, before: str | None, after: str, edits: Sequence[Edit]) -> FileChange:
    """Return the change that takes our entries out of a file; `after` is its text without them.

    | without our entries, the file has   | becomes                                   | its copy   |
    |-------------------------------------|-------------------------------------------|------------|
    | no entry, and there is no copy      | nothing: we created it, and it is removed |            |
    | other entries, and there is no copy | `after`                                   |            |
    | other entries than the copy         | `after`                                   | stays      |
    | the entries of the copy             | the copy: as it was, to the last blank    | is removed |

    A second installation keeps the copy of the first, so that entries of ours may be in it: they are taken out before the
    two are compared, and then the copy itself is not put back.
    """
    new_text = None
    if _compact(after):
        new_text = after
    copy = read_file(backup_of(path))
    if copy is None:
        return FileChange(path, before, new_text)
    copy_without_us = _edited(copy, edits)
    if _compact(copy_without_us) != _compact(after):
        return FileChange(path, before, new_text)
    if copy_without_us == copy:
        new_text = copy
    return FileChange(path, before, new_text, drops_backup=True)


def _edited(text: str, edits: Sequence[Edit]) -> str:
    """Return a text after all edits, one after the other."""
    for edit in edits:
        text = edit(text)
    return text


def _compact(text: str) -> str:
    """Return a text without spaces; nothing if it has no entry."""
    compact = "".join(text.split())
    if _NO_ENTRY.fullmatch(compact):
        return ""
    return compact


class _AppliedChange(NamedTuple):
    """A change that was made, and whether its file had a backup before: an undo removes only a backup of its own."""

    change: FileChange
    had_backup: bool


def apply_all(changes: Sequence[FileChange]) -> None:
    """Make all changes, or none: where one fails, those before it are taken back, the latest first."""
    applied: list[_AppliedChange] = []
    try:
        for change in changes:
            had_backup = backup_of(change.path).exists()
            change.apply()
            applied.append(_AppliedChange(change, had_backup))
    except InputError:
        for change, had_backup in reversed(applied):
            change.take_back(had_backup=had_backup)
        raise
