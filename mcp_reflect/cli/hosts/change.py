"""Change a host's file: shown as a diff first, backed up, replaced whole."""

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_reflect.cli.files import replace_file
from mcp_reflect.errors import InputError

BACKUP_SUFFIX: Final = ".before-mcp-reflect"


@dataclass(frozen=True, slots=True)
class Change:
    """A file's text before and after a change; None means that there is no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def backup(self) -> Path:
        """The path of the copy that is made before the first change."""
        return self.path.with_name(f"{self.path.name}{BACKUP_SUFFIX}")

    def diff(self) -> str:
        """Return the change as a unified diff."""
        before, after = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        lines = difflib.unified_diff(before, after, str(self.path), str(self.path), n=2)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def apply(self) -> None:
        """Back the file up and write it, or remove it with its empty folders. InputError if the disk refuses."""
        try:
            if self.after is None:
                self.path.unlink(missing_ok=True)
                folder = self.path.parent
                while folder != Path.home() and folder.is_relative_to(Path.home()) and not any(folder.iterdir()):
                    folder.rmdir()
                    folder = folder.parent
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.keep_backup()
            self._write(self.path, self.after)
        except OSError as error:
            fault = f"it cannot be written: {error.strerror}"
            raise InputError(str(self.path), fault, "Nothing was changed.") from None

    def keep_backup(self) -> None:
        """Copy the file as it was, unless a copy from before an earlier change exists."""
        if self.before is not None and not self.backup.exists():
            self._write(self.backup, self.before)

    def drop_backup(self) -> None:
        """Remove the copy if the file is the same again."""
        if self.backup.exists() and self.backup.read_text(encoding="utf-8") == (self.after or ""):
            self.backup.unlink()

    def _write(self, path: Path, text: str) -> None:
        mode = self.path.stat().st_mode & 0o777 if self.path.exists() else 0o600
        with replace_file(path, mode) as file:
            file.write(text)


def read_file(path: Path) -> str | None:
    """Return a file's text, or None if there is no file. Raises InputError if it cannot be read."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(str(path), "it is not a regular file", "Nothing was changed.")
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(str(path), f"it cannot be read: {error.strerror}", "Nothing was changed.") from None
    except UnicodeDecodeError:
        raise InputError(str(path), "it is not UTF-8", "Write the entry by hand (--print).") from None
