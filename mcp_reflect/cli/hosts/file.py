"""A host's file: shown before it is changed, backed up, replaced whole."""

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_reflect.cli.common import replacing
from mcp_reflect.errors import InputError

BACKUP: Final = ".before-mcp-reflect"
_QUOTED: Final = re.compile(r"(\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')")


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is (null where there is none) and as it is to be (null: it goes)."""

    path: Path
    before: str | None
    after: str | None

    @property
    def needed(self) -> bool:
        """Whether anything changes."""
        return self.before != self.after

    @property
    def backup(self) -> Path:
        """Where the file as it was is kept."""
        return self.path.with_name(f"{self.path.name}{BACKUP}")

    def shown(self) -> str:
        """The change as a unified diff."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            str(self.path),
            str(self.path),
            n=2,
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def apply(self) -> None:
        """Write it, the file as it was beside it first. InputError where the disk does not let us."""
        try:
            if self.after is None:
                self.path.unlink(missing_ok=True)
                _rmdir(self.path.parent)
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.before is not None and not self.backup.exists():
                _write(self.backup, self.before, self.path)
            _write(self.path, self.after, self.path)
        except OSError as error:
            raise InputError(
                str(self.path), f"it cannot be written: {error.strerror}", "Nothing was changed."
            ) from None

    def settled(self) -> None:
        """Take the backup away where it holds nothing that the file does not."""
        if self.backup.exists() and self.backup.read_text(encoding="utf-8") == (self.after or ""):
            self.backup.unlink()


def text_of(path: Path) -> str | None:
    """A file's text, null where there is none; InputError where it cannot be read."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(str(path), f"it cannot be read: {error.strerror}", "Nothing was changed.") from None
    except UnicodeDecodeError:
        raise InputError(str(path), "it is not UTF-8", "Write the entry by hand (--print).") from None


def same_but_for_spaces(one: str, other: str) -> bool:
    """Whether two texts differ at most in the spaces and line ends outside of quotation marks."""
    return _QUOTED.split(one)[1::2] == _QUOTED.split(other)[1::2] and "".join(one.split()) == "".join(other.split())


def _write(path: Path, text: str, like: Path) -> None:
    """Replace a file whole. Its mode is that of `like`."""
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
    with replacing(path, mode) as file:
        file.write(text)


def _rmdir(folder: Path) -> None:
    """Take away the folders that were made for the file, and hold nothing else."""
    while folder != Path.home() and folder.is_relative_to(Path.home()) and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
